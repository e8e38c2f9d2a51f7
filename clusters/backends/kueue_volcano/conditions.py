"""What the conditions of an object say, and of a Workload: what the gate has decided about it. Pure.

A condition keeps one time and whole seconds: when its status last changed. What an earlier status lasted from is
lost, so some times below are bounds; which ones is said at the field.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from clusters.backends.kueue_volcano.wire import Condition, Conditions, Workload
from clusters.contract import EvictionCause, FailureCode

TICK = timedelta(milliseconds=1)
"""Puts two moments of one second in the order that the statuses prove."""
_DAWN = datetime(1970, 1, 2, tzinfo=UTC)


def find(conditions: Conditions, kind: str) -> Condition | None:
    for condition in conditions:
        if condition.type == kind:
            return condition
    return None


def holding(conditions: Conditions, kind: str) -> Condition | None:
    """The condition if its status is True."""
    found = find(conditions, kind)
    return found if found is not None and found.status == "True" else None


def moment(at: datetime | None) -> datetime | None:
    """In UTC; Go's zero time is no time."""
    if at is None or at < _DAWN:
        return None
    return at if at.tzinfo is UTC else at.astimezone(UTC)


def changed_at(condition: Condition | None) -> datetime | None:
    return moment(condition.last_transition_time) if condition is not None else None


def earliest(*times: datetime | None) -> datetime | None:
    found = None
    for at in times:
        if at is not None and (found is None or at < found):
            found = at
    return found


def latest(*times: datetime | None) -> datetime | None:
    found = None
    for at in times:
        if at is not None and (found is None or at > found):
            found = at
    return found


# --------------------------------------------------------------------------- the gate's decisions


@dataclass(frozen=True, slots=True)
class Gate:
    """What Kueue has decided about one Workload. Quota is held exactly while ``reserved_at`` is set."""

    active: bool = True
    queued_at: datetime | None = None
    reserved_at: datetime | None = None
    admitted_at: datetime | None = None
    leaving: bool = False  # evicted, and the quota is not free yet
    evicted_at: datetime | None = None  # quota freed; after a new admission no more than an upper bound
    evictions: int = 0  # those that freed their quota
    cause: EvictionCause | None = None
    beneficiary: str = ""  # uid of the object that got the cards
    given_up: FailureCode | None = None  # the gate will not try again
    given_up_at: datetime | None = None
    given_up_because: str = ""


NO_GATE = Gate()

_PREEMPTIONS = {
    "InClusterQueue": EvictionCause.HIGHER_PRIORITY,
    "InCohortReclamation": EvictionCause.QUOTA_RECLAIMED,
    "InCohortReclaimWhileBorrowing": EvictionCause.WHILE_BORROWING,
    "InCohortFairSharing": EvictionCause.FAIR_SHARE,
}
_EVICTIONS = {
    "PodsReadyTimeout": EvictionCause.NOT_READY,
    "AdmissionCheck": EvictionCause.CHECK,
    "ClusterQueueStopped": EvictionCause.QUEUE_DRAINED,
    "LocalQueueStopped": EvictionCause.QUEUE_DRAINED,
    "NodeFailures": EvictionCause.NODE_FAILURE,
    "Deactivated": EvictionCause.HELD,
}
_TEXTS = (  # of evictions that are over: their reason is overwritten, their message is kept after "Previously: "
    ("due to prioritization in the ClusterQueue", EvictionCause.HIGHER_PRIORITY),
    ("due to reclamation within the cohort while borrowing", EvictionCause.WHILE_BORROWING),
    ("due to reclamation within the cohort", EvictionCause.QUOTA_RECLAIMED),
    ("due to Fair Sharing within the cohort", EvictionCause.FAIR_SHARE),
    ("The workload is deactivated", EvictionCause.HELD),
    ("Exceeded the PodsReady timeout", EvictionCause.NOT_READY),
    ("Queue is stopped", EvictionCause.QUEUE_DRAINED),
    ("no replacement for unhealthy node", EvictionCause.NODE_FAILURE),
    ("admission check", EvictionCause.CHECK),
)
_GIVEN_UP = (  # part of the reason after "DeactivatedDueTo", or of the message where the reason has no cause
    ("RequeuingLimitExceeded", "maximum number of re-queuing", FailureCode.NEVER_READY),
    ("MaximumExecutionTimeExceeded", "maximum execution time", FailureCode.TIME_LIMIT),
    ("AdmissionCheck", "dmission check", FailureCode.REJECTED),
)
_BENEFICIARY = re.compile(r"\bUID: (\S+?), JobUID: (\S+?)\)")
UNKNOWN_UID = "UNKNOWN"


def gate_of(workload: Workload) -> Gate:
    """The decisions in one view. Total: whatever the conditions say, and whichever are missing."""
    conditions = workload.status.conditions
    evicted = find(conditions, "Evicted")
    is_evicted = evicted is not None and evicted.status == "True"
    reserved = find(conditions, "QuotaReserved")
    holds = reserved is not None and reserved.status == "True"
    made_at = moment(workload.metadata.creation_timestamp)
    reserved_at = (changed_at(reserved) or made_at) if holds else None
    admitted = holding(conditions, "Admitted") if holds else None
    admitted_at = latest(changed_at(admitted), reserved_at) if admitted is not None else None
    given_up, because = _given_up(workload, evicted if is_evicted else None)
    over = given_up is not None and not holds
    count = _count(workload, evicted) - int(is_evicted and (holds or over))
    leaving = is_evicted and holds
    cause, beneficiary = _cause_of(conditions, evicted) if count > 0 or leaving else (None, "")
    return Gate(
        active=workload.spec.active,
        queued_at=_queued_at(workload, reserved_at, is_evicted=is_evicted),
        reserved_at=reserved_at,
        admitted_at=admitted_at,
        leaving=leaving,
        evicted_at=_freed_at(conditions, count, reserved_at, evicted) if count > 0 else None,
        evictions=max(0, count),
        cause=cause,
        beneficiary=beneficiary,
        given_up=given_up if over else None,
        given_up_at=latest(changed_at(evicted), changed_at(reserved)) if over else None,
        given_up_because=because if over else "",
    )


def _count(workload: Workload, evicted: Condition | None) -> int:
    """Evictions that took an admission. Kueue also counts the hold of one that only waited."""
    stats = workload.status.scheduling_stats
    counts = [(part.reason, max(0, part.count)) for part in stats.evictions] if stats is not None else []
    if not any(count for _, count in counts) and evicted is not None:
        counts = [("Deactivated" if "deactivated" in evicted.message else evicted.reason, 1)]
    holds = sum(count for reason, count in counts if reason.startswith("Deactivated"))
    total = sum(count for _, count in counts)
    return total if _lost_an_admission(workload, evicted) else total - holds


def _lost_an_admission(workload: Workload, evicted: Condition | None) -> bool:
    if workload.status.accumulated_past_execution_time_seconds is not None:
        return True
    admitted, told = find(workload.status.conditions, "Admitted"), changed_at(evicted)
    ended = changed_at(admitted) if admitted is not None and admitted.status == "False" else None
    return ended is not None and told is not None and ended >= told


def _freed_at(
    conditions: Conditions, count: int, reserved_at: datetime | None, evicted: Condition | None
) -> datetime | None:
    """When the newest eviction freed its quota. Strictly before an admission that came after it."""
    requeued = changed_at(holding(conditions, "Requeued"))
    if reserved_at is None:
        return latest(changed_at(find(conditions, "QuotaReserved")), changed_at(evicted))
    known = requeued if count == 1 else None  # with more of them this time may be of an older one
    return earliest(known, reserved_at - TICK)


def _queued_at(workload: Workload, reserved_at: datetime | None, *, is_evicted: bool) -> datetime | None:
    """When it entered the queue for the newest admission, or for the one it waits for."""
    conditions = workload.status.conditions
    requeued = changed_at(holding(conditions, "Requeued"))
    freed = changed_at(find(conditions, "QuotaReserved")) if is_evicted and reserved_at is None else None
    entered = latest(moment(workload.metadata.creation_timestamp), requeued, freed)
    return earliest(entered, reserved_at)


def _cause_of(conditions: Conditions, evicted: Condition | None) -> tuple[EvictionCause, str]:
    """Cause and beneficiary's uid of the newest eviction, also of one that is over."""
    if evicted is None:
        return EvictionCause.OTHER, ""
    preempted = find(conditions, "Preempted")
    text = evicted.message
    match = _BENEFICIARY.search(text)
    beneficiary = ""
    if match is not None:
        beneficiary = match[2] if match[2] != UNKNOWN_UID else match[1]
    if evicted.status == "True":
        if evicted.reason == "Preempted" and preempted is not None and preempted.reason in _PREEMPTIONS:
            return _PREEMPTIONS[preempted.reason], beneficiary
        known = _EVICTIONS.get(evicted.reason.partition("DueTo")[0])
        if known is not None:
            return known, beneficiary
    return next((cause for part, cause in _TEXTS if part in text), EvictionCause.OTHER), beneficiary


def _given_up(workload: Workload, evicted: Condition | None) -> tuple[FailureCode | None, str]:
    """A Workload that the gate itself took out of the queue for good (C-17); a person's hold is not one."""
    if workload.spec.active or evicted is None or not evicted.reason.startswith("Deactivated"):
        return None, ""
    for part, text, code in _GIVEN_UP:
        if part in evicted.reason or text in evicted.message:
            return code, evicted.message or evicted.reason
    return None, ""
