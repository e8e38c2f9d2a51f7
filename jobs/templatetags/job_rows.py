"""Rows of lists of jobs.

A page shows a hundred of them and asks for itself every few seconds, while hardly a row changes. So a row is made of
its facts alone, and the text of the newest thousand is kept: the same facts in the same language are the same text.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from common.durations import duration_words
from common.signs import icon, moment
from jobs import labels
from jobs.card_sharing import card_sharing
from jobs.domain.operations import Operation
from jobs.domain.words import JobState

if TYPE_CHECKING:
    from jobs.models import Job
    from jobs.pages.lists import JobRow

register = template.Library()


class RowFacts(NamedTuple):
    """All that a row shows; its template is given nothing else. Texts are as the reader may read them."""

    job_id: str
    name: str
    can_be_ticked: bool
    state: str
    flags: tuple[str, ...]
    age: str
    owner: str  # "" where the list is one person's
    team: str
    local_queue: str
    framework: str
    kind: str
    attempt: int
    is_demo: bool
    cards: int
    group: str
    pods: int
    cards_per_pod: int
    sharing: str  # "" for a job without cards
    reason: str
    at: datetime
    at_what: str  # ended, started or submitted
    priority: str
    acts: tuple[str, ...]
    place: str


class _Reader(NamedTuple):
    """Of whom the text of a row depends."""

    language: str | None
    zone: tzinfo
    today: date


def _reader() -> _Reader:
    return _Reader(get_language(), timezone.get_current_timezone(), timezone.localdate())


@register.simple_tag
def job_rows(rows: Iterable[JobRow], show_owner: object = False, show_team: object = False) -> SafeString:
    """Rows of a list of jobs."""
    reader, now = _reader(), timezone.now()
    facts = (_facts(row, now, owner=bool(show_owner), team=bool(show_owner and show_team)) for row in rows)
    return format_html_join("", "{}", ((_text("jobs/row.html", each, reader),) for each in facts))


@register.simple_tag
def queue_rows(rows: Iterable[JobRow], place: str = "") -> SafeString:
    """Rows of a team's queue; ``place``: what stands before each, `#` for its number."""
    reader, now = _reader(), timezone.now()
    facts = (
        _facts(row, now, owner=True, place=str(number) if place == "#" else place)
        for number, row in enumerate(rows, start=1)
    )
    return format_html_join("", "{}", ((_text("jobs/queue_row.html", each, reader),) for each in facts))


@lru_cache(maxsize=1_024)
def _text(template_name: str, row: RowFacts, _reader: _Reader) -> SafeString:
    return render_to_string(template_name, {"row": row})


def _facts(row: JobRow, now: datetime, *, owner: bool = False, team: bool = False, place: str = "") -> RowFacts:
    job = row.job
    at, at_what = _newest(job)
    return RowFacts(
        job_id=job.public_id,
        name=job.display_name,
        can_be_ticked=row.can_be_ticked,
        state=job.state,
        flags=tuple(job.flags),
        age=_age(job, now),
        owner=job.owner.display_name if owner else "",
        team=job.team.name if team else "",
        local_queue=job.local_queue.name,
        framework=job.framework,
        kind=job.kind,
        attempt=job.attempt_no,
        is_demo=job.is_demo,
        cards=job.cards,
        group=job.group.title if job.group else "",
        pods=job.pods,
        cards_per_pod=job.cards_per_pod,
        sharing=card_sharing(job) or "",
        reason=row.reason.text,
        at=at,
        at_what=at_what,
        priority=job.priority,
        acts=tuple(each.operation.value for each in row.possible if each.allowed and each.offered),
        place=place,
    )


def _age(job: Job, now: datetime) -> str:
    """How long it has been in its state; of an ended job how long it ran."""
    if not job.ended_at:
        return duration_words(now - job.state_since)
    if not job.started_at:
        return ""
    return gettext("ran %(time)s") % {"time": duration_words(job.ended_at - job.started_at)}


def _newest(job: Job) -> tuple[datetime, str]:
    """The newest moment that matters."""
    if job.ended_at:
        return job.ended_at, "ended"
    if job.started_at and job.state == JobState.RUNNING:
        return job.started_at, "started"
    return job.submitted_at, "submitted"


# --- cells ------------------------------------------------------------------------


@register.simple_tag
def tick(row: RowFacts) -> SafeString | str:
    """A tick, where the reader may do something with the job."""
    if not row.can_be_ticked:
        return ""
    return format_html(
        '<input type="checkbox" name="ids" form="bulk" id="tick-{0}" value="{0}" aria-label="{1}"> ',
        row.job_id,
        gettext("Choose %(name)s") % {"name": row.name},
    )


@register.simple_tag
def cards(row: RowFacts) -> SafeString | str:
    """Cards, group, shape, and whether they are whole."""
    if not row.cards:
        return gettext("no cards")
    return format_html(
        '<span class="sl-strong">{}</span> {}<span class="sl-sub sl-inline">{} × {} {}</span>',
        row.cards,
        row.group,
        row.pods,
        row.cards_per_pod,
        render_to_string("components/card_sharing.html", {"sharing": row.sharing}),
    )


_AT = {"ended": _("ended %(time)s"), "started": _("started %(time)s"), "submitted": _("submitted %(time)s")}
_PLAIN = '<span class="sl-when">{}{}{}<span class="sl-sub">{}</span></span>'
_STRONG = '<span class="sl-when"><b>{}{}{}</b><span class="sl-sub">{}</span></span>'


@register.simple_tag
def when(row: RowFacts) -> SafeString:
    """The newest moment that matters, in a sentence."""
    before, _time, after = str(_AT[row.at_what]).partition("%(time)s")
    form = _PLAIN if row.at_what == "submitted" else _STRONG
    return format_html(form, before, moment(row.at, "clock"), after, moment(row.at, "day"))


_SMALL = {
    Operation.CANCEL: ("x", _("Cancel %(name)s")),
    Operation.HOLD: ("player-pause", _("Hold %(name)s")),
    Operation.PREEMPT: ("arrows-exchange", _("Preempt %(name)s")),
    Operation.RESUME: ("player-play", _("Resume %(name)s")),
}
_SMALL_ACT = (
    '<a class="sl-icon-btn" id="act-{0}-{1}" href="{2}" hx-get="{2}" hx-target="#confirm" hx-swap="innerHTML"'
    ' aria-label="{3}" title="{4}">{5}</a>'
)


@register.simple_tag
def small_acts(row: RowFacts) -> SafeString:
    """What may be done with the job now, as icons: links to the question."""
    shown = [Operation(each) for each in row.acts if each in _SMALL]
    return format_html_join("", _SMALL_ACT, (_small_act(row, operation) for operation in shown))


def _small_act(row: RowFacts, operation: Operation) -> tuple[object, ...]:
    icon_name, sentence = _SMALL[operation]
    return (
        operation.value,
        row.job_id,
        reverse("jobs:operate", args=[row.job_id, operation.value]),
        sentence % {"name": row.name},
        labels.OPERATIONS[operation],
        icon(icon_name),
    )
