"""A job in templates: its fixed words (those of jobs.labels), and the cells that stand in every row of a list.

A page shows a hundred rows. So their cells are plain Python, and what follows from a few words alone is made once.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from clusters.domain.reasons import ReasonCode as C
from common.durations import duration_words
from common.signs import icon, moment
from jobs import labels
from jobs.domain.operations import Operation
from jobs.domain.words import Flag, Framework, JobState, Kind, Priority

if TYPE_CHECKING:
    from jobs.models import Job
    from jobs.pages.lists import JobRow

register = template.Library()

_GOOD = frozenset({C.RUNNING, C.COMPLETED, C.COMPLETED_BY_LAUNCHER})
_TAKEN = frozenset(
    {
        C.PREEMPTED_HIGHER_PRIORITY,
        C.PREEMPTED_QUOTA_RECLAIMED,
        C.PREEMPTED_WHILE_BORROWING,
        C.PREEMPTED_FAIR_SHARE,
        C.PREEMPTED_BY_PERSON,
        C.QUEUE_DRAINED,
    }
)
_BAD = frozenset(
    {
        C.NEVER_FITS,
        C.NAME_CONFLICT,
        C.IMAGE_NAME_INVALID,
        C.IMAGE_NOT_FOUND,
        C.IMAGE_UNAUTHORIZED,
        C.IMAGE_TIMEOUT,
        C.APP_EXIT,
        C.OUT_OF_MEMORY,
        C.TIME_LIMIT,
        C.BAD_CONFIG,
        C.NODE_LOST,
        C.NODE_SHUTDOWN,
        C.EVICTED_NODE_PRESSURE,
        C.DEVICE_ADMISSION_ERROR,
        C.DISRUPTION,
        C.NEVER_READY,
        C.REJECTED,
        C.UNKNOWN_FAILURE,
        C.OUTCOME_NOT_RECORDED,
    }
)
_FLAG_ICONS = {Flag.HELD: "player-pause", Flag.STOPPING: "player-stop", Flag.DEGRADED: "alert-triangle"}


# --- fixed words ------------------------------------------------------------------


@register.simple_tag
def state_badge(state: str, size: str = "") -> SafeString:
    """One of the seven states; ``size="l"`` at the head of a job's page."""
    return _state_badge(state, size, get_language())


@lru_cache(maxsize=64)
def _state_badge(state: str, size: str, _language: str | None) -> SafeString:
    word = JobState(state)
    facts = {"state": word.value, "icon_name": labels.STATE_ICONS[word], "label": labels.STATES[word], "size": size}
    return render_to_string("components/state.html", facts)


@register.simple_tag
def flag_signs(flags: Iterable[str]) -> SafeString | str:
    """What holds beside the state: held, stopping, partly ready."""
    words = tuple(flags)
    return _flag_signs(words, get_language()) if words else ""


@lru_cache(maxsize=64)
def _flag_signs(flags: tuple[str, ...], _language: str | None) -> SafeString:
    words = [Flag(flag) for flag in flags]
    return render_to_string(
        "components/flags.html", {"flags": [(word.value, _FLAG_ICONS[word], labels.FLAGS[word]) for word in words]}
    )


@register.inclusion_tag("components/event_sign.html")
def event_sign(code: str) -> dict[str, str]:
    """The sign of a timeline entry: what a person did, what went well, what took the cards away, what went wrong."""
    if code in _GOOD:
        return {"icon_name": "circle-check", "tone": "sl-ok"}
    if code == "submitted" or code.startswith("asked_"):
        return {"icon_name": "user", "tone": ""}
    if code in _TAKEN:
        return {"icon_name": "arrow-back-up", "tone": "sl-warn"}
    if code in _BAD:
        return {"icon_name": "circle-x", "tone": "sl-bad"}
    return {"icon_name": "clock", "tone": ""}


@register.filter
def framework_label(value: str) -> str:
    return str(labels.FRAMEWORKS[Framework(value)])


@register.filter
def kind_label(value: str) -> str:
    return str(labels.KINDS[Kind(value)])


@register.filter
def priority_label(value: str) -> str:
    return str(labels.PRIORITIES[Priority(value)])


@register.filter
def framework_and_kind(job: Job) -> str:
    """`PyTorch, training`."""
    return _framework_and_kind(job.framework, job.kind, get_language())


@lru_cache(maxsize=64)
def _framework_and_kind(framework: str, kind: str, _language: str | None) -> str:
    words = {"framework": framework_label(framework), "kind": kind_label(kind).lower()}
    return gettext("%(framework)s, %(kind)s") % words


# --- cells of a row ---------------------------------------------------------------


@register.simple_tag
def tick(row: JobRow) -> SafeString | str:
    """The tick of a row, where the reader may do something with its job."""
    if not row.can_be_ticked:
        return ""
    return format_html(
        '<input type="checkbox" name="ids" form="bulk" id="tick-{0}" value="{0}" aria-label="{1}"> ',
        row.job.public_id,
        gettext("Choose %(name)s") % {"name": row.job.display_name},
    )


@register.simple_tag
def job_age(job: Job) -> SafeString | str:
    """How long it has been in its state; of an ended job how long it ran."""
    if not job.ended_at:
        return format_html("<span>{}</span>", duration_words(timezone.now() - job.state_since))
    if not job.started_at:
        return ""
    ran = gettext("ran %(time)s") % {"time": duration_words(job.ended_at - job.started_at)}
    return format_html("<span>{}</span>", ran)


@register.simple_tag
def job_cards(job: Job) -> SafeString | str:
    """Cards, group and shape."""
    if not job.cards:
        return gettext("no cards")
    return format_html(
        '<span class="sl-strong">{}</span> {}<span class="sl-sub sl-inline">{} × {}</span>',
        job.cards,
        job.group.title if job.group else "",
        job.pods,
        job.cards_per_pod,
    )


@register.simple_tag
def job_when(job: Job) -> SafeString:
    """The newest moment that matters."""
    if job.ended_at:
        at, form, sentence = job.ended_at, _STRONG, gettext("ended %(time)s")
    elif job.started_at and job.state == JobState.RUNNING:
        at, form, sentence = job.started_at, _STRONG, gettext("started %(time)s")
    else:
        at, form, sentence = job.submitted_at, _PLAIN, gettext("submitted %(time)s")
    before, _time, after = sentence.partition("%(time)s")
    return format_html(form, before, moment(at, "clock"), after, moment(at, "day"))


_STRONG = '<span class="sl-when"><b>{}{}{}</b><span class="sl-sub">{}</span></span>'
_PLAIN = '<span class="sl-when">{}{}{}<span class="sl-sub">{}</span></span>'


_SMALL = {
    Operation.CANCEL: ("x", _("Cancel %(name)s")),
    Operation.HOLD: ("player-pause", _("Hold %(name)s")),
    Operation.PREEMPT: ("arrows-exchange", _("Preempt %(name)s")),
    Operation.RESUME: ("player-play", _("Resume %(name)s")),
}


@register.simple_tag
def small_acts(row: JobRow) -> SafeString:
    """What may be done with the job of a row now, as icons: links to the question."""
    doable = [each.operation for each in row.possible if each.allowed and each.offered and each.operation in _SMALL]
    return format_html_join("", _SMALL_ACT, (_small_act(row.job, operation) for operation in doable))


_SMALL_ACT = (
    '<a class="sl-icon-btn" id="act-{0}-{1}" href="{2}" hx-get="{2}" hx-target="#confirm" hx-swap="innerHTML"'
    ' aria-label="{3}" title="{4}">{5}</a>'
)


def _small_act(job: Job, operation: Operation) -> tuple[object, ...]:
    icon_name, sentence = _SMALL[operation]
    return (
        operation.value,
        job.public_id,
        reverse("jobs:operate", args=[job.public_id, operation.value]),
        sentence % {"name": job.display_name},
        labels.OPERATIONS[operation],
        icon(icon_name),
    )
