"""A job's fixed words in templates: state, flags, framework, kind, priority. The words are those of jobs.labels."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from clusters.domain.reasons import ReasonCode as C
from jobs import card_sharing as sharing
from jobs import labels
from jobs.domain.words import Flag, Framework, JobState, Kind, Priority
from jobs.models import Job

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
def card_sharing(job: Job) -> str:
    """What `components/card_sharing.html` takes."""
    return sharing.card_sharing(job) or ""


@register.filter
def priority_label(value: str) -> str:
    return str(labels.PRIORITIES[Priority(value)])
