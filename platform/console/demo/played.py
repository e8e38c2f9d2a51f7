"""One job of a rehearsal: what the reconcile loop would have stored about it, in plain values.

The rules are the loop's own (`next_move`, `advance_runs`); this only keeps what they say, as the loop's
write-back does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from clusters.backends.sandbox.facts import to_ms
from clusters.contract import WorkloadFacts, WorkloadSpec
from clusters.domain.reasons import FactValue, Reason, ReasonCode
from common.names import object_name, slug
from console.demo.repertoire import planned_run_ms
from console.demo.situation import JobSight, Request
from jobs.domain.moves import AttemptView, JobView, Move
from jobs.domain.operations import Effect, Operation, Situation, cell
from jobs.domain.runs import RunView, advance_runs, close_unseen
from jobs.domain.shape import Shape
from jobs.domain.words import TERMINAL_STATES, AttemptEnd, Desired, JobState, priority_value

STOP_GRACE = timedelta(seconds=120)
RECORDED_AFTER = timedelta(seconds=2)
"""So soon after it happened the loop would have recorded what happened."""
CPU_MILLIS, MEMORY_BYTES = 4_000, 16 * 2**30
"""Of a job without cards (decision 54)."""


@dataclass(slots=True)
class PlayedAttempt:
    """One attempt, field by field as its row will be."""

    number: int
    object_name: str
    created_at: datetime
    uid: str = ""
    submitted_at: datetime | None = None
    seen_at: datetime | None = None
    stop_asked_at: datetime | None = None
    stop_cause: str = ""
    released_at: datetime | None = None
    ended_at: datetime | None = None
    end: AttemptEnd | None = None
    end_reason: Reason | None = None
    is_infrastructure: bool = False
    exit_code: int | None = None
    runs: tuple[RunView, ...] = ()

    @property
    def ran_seconds(self) -> int:
        closed = [(run.started_at, run.ended_at) for run in self.runs]
        return int(sum((end - start).total_seconds() for start, end in closed if start and end))


@dataclass(frozen=True, slots=True)
class PlayedEvent:
    """One entry of the story. ``by_owner`` = the owner did it; else the system saw it."""

    at: datetime
    recorded_at: datetime
    code: str
    facts: Mapping[str, FactValue]
    attempt_no: int
    run_ordinal: int | None = None
    by_owner: bool = False


@dataclass(frozen=True, slots=True)
class PlayedOperation:
    """What the owner asked for, and how the operations table answered."""

    at: datetime
    operation: Operation
    state: JobState
    effect: str


@dataclass(slots=True)
class PlayedJob:
    """One job, from its submission on."""

    key: str  # public id
    request: Request
    shape: Shape
    group_title: str
    space: str
    submitted_at: datetime
    attempts: list[PlayedAttempt] = field(default_factory=list)
    events: list[PlayedEvent] = field(default_factory=list)
    operations: list[PlayedOperation] = field(default_factory=list)
    desired: Desired = Desired.RUN
    held: bool = False
    state: JobState = JobState.QUEUED
    reason: Reason = field(default_factory=lambda: Reason(ReasonCode.SUBMITTED))
    state_since: datetime | None = None
    reason_since: datetime | None = None
    is_held: bool = False
    is_stopping: bool = False
    is_degraded: bool = False
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def attempt(self) -> PlayedAttempt:
        return self.attempts[-1]

    @property
    def is_over(self) -> bool:
        """Ended, and nothing of it is left on the cluster."""
        return self.state in TERMINAL_STATES and self.attempt.released_at is not None

    @property
    def slug(self) -> str:
        return slug(self.request.name)

    @property
    def salt(self) -> str:
        return self.key[-10:].lower()

    # what happens to it

    def submit(self) -> None:
        now = self.submitted_at
        self.state_since = self.reason_since = now
        self._next_attempt(now)
        self._event(now, "submitted", {"cards": self.request.cards, "group": self.group_title}, by_owner=True)
        if self.request.held:
            self.operate(Operation.HOLD, now)

    def operate(self, operation: Operation, now: datetime) -> None:
        """Cancel, hold or resume, as its owner asks; what the operations table refuses changes nothing."""
        cancelling = self.desired is Desired.CANCEL
        found = cell(operation, Situation(self.state, held=self.held, cancelling=cancelling))
        if found.effect is None or found.effect is Effect.NO_CHANGE:
            return
        if operation is Operation.CANCEL:
            self.desired = Desired.CANCEL
        else:
            self.held = operation is Operation.HOLD
        self.operations.append(PlayedOperation(now, operation, self.state, found.effect.value))
        self._event(now, f"asked_{operation.value}", {}, by_owner=True)

    def record(self, move: Move, facts: WorkloadFacts | None, now: datetime) -> None:
        """What the write-back of one step leaves behind."""
        attempt = self.attempt
        self._record_runs(move, facts, now)
        at = _happened_at(facts, move, now)
        state_changed = self.state is not move.state
        code_changed = self.reason.code is not move.reason.code
        self.is_held, self.is_stopping, self.is_degraded = move.held, move.stopping, move.degraded
        self.state, self.reason = move.state, move.reason
        if state_changed:
            self.state_since = at
        if state_changed or code_changed:
            self.reason_since = at
        if move.state is JobState.RUNNING and self.started_at is None:
            self.started_at = at
        if move.stop_cause is not None and not attempt.stop_cause:
            attempt.stop_cause = move.stop_cause
        if move.released and attempt.released_at is None:
            attempt.released_at = now
        if move.ending is not None and attempt.end is None:
            ending = move.ending
            attempt.end, attempt.end_reason, attempt.ended_at = ending.end, ending.reason, ending.at
            attempt.is_infrastructure, attempt.exit_code = ending.infrastructure, ending.exit_code
        if move.state in TERMINAL_STATES and self.ended_at is None:
            self.ended_at = move.ending.at if move.ending else now
        if state_changed or code_changed:
            self._event(at, move.reason.code.value, move.reason.facts)
        if move.next_attempt:
            self._next_attempt(now)

    def forget_object(self, name: str, now: datetime) -> None:
        """The object of an earlier attempt is gone: so are its pods."""
        for attempt in self.attempts[:-1]:
            if attempt.object_name == name and attempt.released_at is None:
                attempt.released_at = now
                attempt.runs = tuple(
                    replace(run, released_at=now) if run.ended_at is not None and run.released_at is None else run
                    for run in attempt.runs
                )

    def _record_runs(self, move: Move, facts: WorkloadFacts | None, now: datetime) -> None:
        attempt = self.attempt
        if facts is not None:
            attempt.runs = advance_runs(attempt.runs, facts, now)
        if move.ending is not None and move.ending.end in {AttemptEnd.STOPPED, AttemptEnd.LOST}:
            cause = attempt.stop_cause or ("cancelled" if move.ending.end is AttemptEnd.STOPPED else "lost")
            attempt.runs = close_unseen(attempt.runs, move.ending.at, cause)

    def _next_attempt(self, now: datetime) -> None:
        number = len(self.attempts) + 1
        self.attempts.append(PlayedAttempt(number, object_name(self.slug, self.salt, number), now))

    def _event(self, at: datetime, code: str, facts: Mapping[str, FactValue], *, by_owner: bool = False) -> None:
        runs = self.attempt.runs
        self.events.append(
            PlayedEvent(
                at=at,
                recorded_at=at if by_owner else at + RECORDED_AFTER,
                code=code,
                facts=dict(facts),
                attempt_no=self.attempt.number,
                run_ordinal=runs[-1].ordinal if runs and not by_owner else None,
                by_owner=by_owner,
            )
        )

    # how others see it

    def view(self) -> JobView:
        attempt = self.attempt
        older = self.attempts[:-1]
        return JobView(
            desired=self.desired,
            held=self.held,
            kind=self.request.kind,
            state=self.state,
            reason=self.reason,
            is_stopping=self.is_stopping,
            attempt=AttemptView(
                number=attempt.number,
                submitted_at=attempt.submitted_at,
                seen=attempt.seen_at is not None,
                stop_asked_at=attempt.stop_asked_at,
                stop_cause=attempt.stop_cause,
                ended=attempt.end is not None,
                logs_complete=attempt.end is not None,  # the archive of a rehearsal is written at its end
                infra_failures=sum(1 for a in older if a.is_infrastructure),
                app_failures=sum(1 for a in older if a.end is AttemptEnd.FAILED and not a.is_infrastructure),
                ran_seconds=attempt.ran_seconds,
            ),
            retry_limit=self.request.retry_limit,
        )

    def sight(self) -> JobSight:
        runs = self.attempt.runs
        running = runs[-1].started_at if runs and runs[-1].open else None
        return JobSight(
            key=self.key,
            is_demo=True,
            team=self.request.team,
            group=self.request.group,
            cards=self.request.cards,
            pods=self.shape.pods,
            priority=self.request.priority.value,
            state=self.state,
            submitted_ms=to_ms(self.submitted_at),
            held=self.held,
            stopping=self.is_stopping or self.desired is Desired.CANCEL,
            preemptions=sum(1 for run in runs if run.was_evicted),
            running_since_ms=to_ms(running) if running is not None else None,
            run_ms=planned_run_ms(self.request.command),
        )

    def spec(self) -> WorkloadSpec:
        """What the newest attempt asks of the cluster."""
        request = self.request
        return WorkloadSpec(
            job_ulid=self.key,
            attempt=self.attempt.number,
            object_name=self.attempt.object_name,
            spec_hash="",
            space=self.space,
            queue=request.team,
            local_queue="default",
            node_group=request.group,
            priority=priority_value(request.priority, request.kind),
            kind=request.kind.value,
            framework=request.framework,
            image=request.image,
            command=request.command,
            env=(),
            pods=self.shape.pods,
            cards_per_pod=self.shape.cards_per_pod,
            cpu_millis=0 if request.cards else CPU_MILLIS,
            memory_bytes=0 if request.cards else MEMORY_BYTES,
            stop_grace=STOP_GRACE,
            max_run=None,
        )


def _happened_at(facts: WorkloadFacts | None, move: Move, now: datetime) -> datetime:
    """The cluster's own time of what is shown, where it gave one; never in the future."""
    at: datetime | None = None
    if move.ending is not None:
        at = move.ending.at
    elif facts is not None:
        if move.state is JobState.RUNNING:
            at = facts.ready_at
        elif move.state is JobState.CREATING:
            at = facts.admitted_at
        elif move.state is JobState.QUEUED and facts.evictions:
            at = facts.evicted_at
    return min(at, now) if at is not None else now
