"""What a decision about a job takes and gives: the recorded intent, what was seen, and the move. Pure values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from clusters.contract import WorkloadFacts
from clusters.domain.reasons import FactValue, Reason, ReasonCode
from jobs.domain.words import AttemptEnd, Desired, JobState, Kind


class Effect(StrEnum):
    """What to ask of the backend."""

    SUBMIT = "submit"
    STOP = "stop"
    HOLD = "hold"
    RELEASE = "release"
    PRIORITY = "priority"
    SCALE = "scale"
    STEER = "steer"  # to other nodes, while it waits


@dataclass(frozen=True, slots=True)
class AttemptView:
    """The newest attempt as recorded."""

    number: int
    not_before: datetime | None = None  # so long those that waited go first: it follows another attempt (decision 3)
    submitted_at: datetime | None = None
    seen: bool = False
    stop_asked_at: datetime | None = None
    stop_cause: str = ""
    ended: bool = False
    logs_complete: bool = False
    logs_tried_at: datetime | None = None  # newest read of its log, also one that failed
    infra_failures: int = 0  # of earlier attempts since a person's last restart
    app_failures: int = 0
    releases: int = 0  # earlier attempts that gave their cards back because no nodes could take them
    ran_seconds: int = 0  # running time of its closed runs


@dataclass(frozen=True, slots=True)
class Rest:
    """A preempted job gives way: out of the queue until its beneficiary has what it needs, or until a time."""

    until: datetime
    beneficiary: str = ""  # ULID; '' = nobody is named
    beneficiary_waits: bool = True

    def is_over(self, now: datetime) -> bool:
        return now >= self.until or not self.beneficiary_waits

    @property
    def reason(self) -> Reason:
        facts: dict[str, FactValue] = {"until": self.until.isoformat()}
        if self.beneficiary:
            facts["by"] = self.beneficiary
        return Reason(ReasonCode.PREEMPTED_BY_PERSON, facts)


@dataclass(frozen=True, slots=True)
class JobView:
    """The intent and the last recorded state."""

    desired: Desired
    held: bool
    kind: Kind
    state: JobState
    reason: Reason
    is_stopping: bool
    attempt: AttemptView
    retry_limit: int = 0
    max_run: timedelta | None = None
    can_hold: bool = True
    rest: Rest | None = None
    priority: int | None = None  # what the gate shall compare; None: as it is
    can_prioritise: bool = True
    replicas: int | None = None  # of a service, as wanted; None: it is none
    can_scale: bool = True

    @property
    def stays_out(self) -> bool:
        """Out of the queue, by a hold or because it gives way."""
        return self.held or self.rest is not None


@dataclass(frozen=True, slots=True)
class Sight:
    """What the observed rows say about the newest attempt. ``complete_at`` = time of the newest complete look."""

    facts: WorkloadFacts | None
    gone: bool
    complete_at: datetime | None

    def looked_after(self, at: datetime | None) -> bool:
        return self.complete_at is not None and at is not None and self.complete_at > at


@dataclass(frozen=True, slots=True)
class AttemptEnding:
    """How the newest attempt ended."""

    end: AttemptEnd
    reason: Reason
    at: datetime
    infrastructure: bool = False
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """One step. ``state`` and ``reason`` are what people see after it."""

    state: JobState
    reason: Reason
    effects: tuple[Effect, ...] = ()
    stopping: bool = False
    held: bool = False
    degraded: bool = False
    ending: AttemptEnding | None = None
    next_attempt: bool = False
    stop_cause: str | None = None
    released: bool = False
    rest_over: bool = False
    hold: bool = False  # we give up trying: held until a person resumes it (decision 9)
    due_in: timedelta | None = None  # None: nothing until something new is seen or asked
    notes: Mapping[str, FactValue] = field(default_factory=dict)
