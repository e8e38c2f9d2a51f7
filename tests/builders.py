"""Builders of facts and views: each gives a sensible whole, a test names only what it is about.

Times are minutes of one day, so that a table of a case reads like the case: `at(10, 5)` is 10:05.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from clusters.contract import (
    EvictionCause,
    Failure,
    FailureCode,
    Outcome,
    PodFacts,
    PodPhase,
    Wait,
    WaitCode,
    WorkloadFacts,
)
from clusters.domain.reasons import Reason, ReasonCode
from jobs.domain.moves import AttemptView, JobView, Sight
from jobs.domain.words import Desired, JobState, Kind

DAY = datetime(2026, 3, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def at(hour: int, minute: int = 0, second: int = 0) -> datetime:
    """A moment of the day on which all tests play."""
    return DAY + timedelta(hours=hour, minutes=minute, seconds=second)


CREATED = at(10)
ADMITTED = at(10, 5)
LOOKED = at(10, 10)
ENDED = at(10, 30)


# --------------------------------------------------------------------------- pods


def pod(rank: int = 0, phase: PodPhase = PodPhase.RUNNING, **more: Any) -> PodFacts:
    """One pod of eight cards on a node of its own."""
    on_node = phase is not PodPhase.WAITING
    values = {"node": f"node-{rank + 1}" if on_node else None, "cards": 8, **more}
    return PodFacts(rank=rank, name=f"job-{rank}", phase=phase, **values)


def pods(*phases: PodPhase) -> tuple[PodFacts, ...]:
    """Pods of these phases, by rank."""
    return tuple(pod(rank, phase) for rank, phase in enumerate(phases))


# --------------------------------------------------------------------------- facts


def queued(wait: WaitCode | Wait | None = None, **more: Any) -> WorkloadFacts:
    """One pod of eight cards in the queue since 10:00, with the gate's word if there is one."""
    told = Wait(wait, asked=8) if isinstance(wait, WaitCode) else wait
    return WorkloadFacts(**{"created_at": CREATED, "queued_at": CREATED, "cards": 8, "wait": told, **more})


def admitted(since: datetime = ADMITTED, *, phases: Iterable[PodPhase] = (), **more: Any) -> WorkloadFacts:
    """Admitted at ``since``; pods of these phases, which decide how many are wanted."""
    made = pods(*phases)
    values = {
        "created_at": CREATED,
        "queued_at": CREATED,
        "reserved_at": since,
        "admitted_at": since,
        "wanted_pods": max(1, len(made)),
        "cards": 8 * max(1, len(made)),
        "pods": made,
    }
    return WorkloadFacts(**{**values, **more})


def running(since: datetime = ADMITTED, *, count: int = 1, **more: Any) -> WorkloadFacts:
    """All pods of a gang run since its admission."""
    values = {"phases": [PodPhase.RUNNING] * count, "scheduled_at": since, "ready_at": since}
    return admitted(since, **{**values, **more})


def service(*phases: PodPhase, wanted: int | None = None, **more: Any) -> WorkloadFacts:
    """A service of eight cards a replica: those of these phases are admitted since 10:05, the others wait."""
    made = more.pop("pods", pods(*phases))
    replicas = len(made) if wanted is None else wanted
    values = {
        "wanted_pods": replicas,
        "cards": 8 * replicas,
        "admitted_pods": len(made),
        "wait": Wait(WaitCode.QUOTA, asked=8) if replicas > len(made) else None,
        "pods": made,
        **more,
    }
    return admitted(**values) if made else queued(**values)


def evicted(when: datetime, cause: EvictionCause = EvictionCause.HIGHER_PRIORITY, **more: Any) -> WorkloadFacts:
    """Ran from 10:05 until its first eviction at ``when``; in the queue again."""
    values = {
        "queued_at": when,
        "scheduled_at": ADMITTED,
        "ready_at": ADMITTED,
        "evicted_at": when,
        "evictions": 1,
        "eviction_cause": cause,
        "cards": 8,
        "wait": Wait(WaitCode.QUOTA, asked=8),
    }
    return admitted(ADMITTED, **{**values, **more})


def deleted(when: datetime, **more: Any) -> WorkloadFacts:
    """Ran from 10:05 until its object was deleted; its quota is free since ``when``, its pod still ends."""
    values = {"phases": [PodPhase.ENDING], "evicted_at": when, "ending": True}
    return running(**{**values, **more})


def succeeded(when: datetime = ENDED, **more: Any) -> WorkloadFacts:
    """Ran from 10:05 and ended well."""
    values = {"phases": [PodPhase.SUCCEEDED], "outcome": Outcome.SUCCEEDED, "ended_at": when, "released_at": when}
    return running(**{**values, **more})


def failed(
    code: FailureCode = FailureCode.APP_EXIT, when: datetime = ENDED, *, exit_code: int | None = 1, **more: Any
) -> WorkloadFacts:
    """Ran from 10:05 and ended badly, by its first pod."""
    failure = Failure(code, rank=0, exit_code=exit_code, node="node-1", at=when)
    values = {
        "phases": [PodPhase.FAILED],
        "outcome": Outcome.FAILED,
        "failure": failure,
        "ended_at": when,
        "released_at": when,
    }
    return running(**{**values, **more})


# --------------------------------------------------------------------------- views of a job


def attempt_view(**more: Any) -> AttemptView:
    """Attempt 1, sent and seen."""
    return AttemptView(**{"number": 1, "submitted_at": CREATED, "seen": True, **more})


def unsent(**more: Any) -> AttemptView:
    """An attempt of which the cluster knows nothing yet."""
    return AttemptView(**{"number": 1, **more})


def job_view(state: JobState = JobState.RUNNING, **more: Any) -> JobView:
    """A training job that shall run, as last recorded."""
    reasons = {JobState.RUNNING: ReasonCode.RUNNING, JobState.QUEUED: ReasonCode.SUBMITTED}
    values = {
        "desired": Desired.RUN,
        "held": False,
        "kind": Kind.TRAINING,
        "state": state,
        "reason": Reason(reasons.get(state, ReasonCode.WAITING)),
        "is_stopping": False,
        "attempt": attempt_view(),
    }
    return JobView(**{**values, **more})


def sees(facts: WorkloadFacts | None, *, looked: datetime = LOOKED, gone: bool = False) -> Sight:
    """The newest complete look at ``looked`` shows these facts; ``gone`` = the object has vanished since."""
    return Sight(facts=facts, gone=gone, complete_at=looked)


NOTHING = sees(None)
