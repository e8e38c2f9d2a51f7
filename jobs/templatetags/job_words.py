"""A job's fixed words in templates: state, flags, framework, kind, priority. The words are those of jobs.labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template

from clusters.domain.reasons import ReasonCode as C
from jobs import labels
from jobs.domain.words import Flag, Framework, JobState, Kind, Priority

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


@register.inclusion_tag("components/state.html")
def state_badge(state: str, size: str = "") -> dict[str, Any]:
    """One of the seven states; ``size="l"`` at the head of a job's page."""
    word = JobState(state)
    return {"state": word.value, "icon_name": labels.STATE_ICONS[word], "label": labels.STATES[word], "size": size}


@register.inclusion_tag("components/flags.html")
def flag_signs(flags: Iterable[str]) -> dict[str, Any]:
    """What holds beside the state: held, stopping, partly ready."""
    words = [Flag(flag) for flag in flags]
    return {"flags": [(word.value, _FLAG_ICONS[word], labels.FLAGS[word]) for word in words]}


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
