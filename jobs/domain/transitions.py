"""Intent and facts → the next move of a job. Pure; `jobs.reconcile` only carries the move out.

One call decides: effects to apply on the cluster, the state people see, how the attempt stands, and when to
look again. The rules are decisions 2 to 9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from clusters.contract import INFRASTRUCTURE_FAILURES, FailureCode, Outcome, PodPhase, WorkloadFacts
from clusters.domain.reasons import Reason, ReasonCode
from clusters.domain.states import Derived, GroupSnapshot, ObservedState, derive
from jobs.domain.moves import AttemptEnding, AttemptView, Effect, JobView, Move, Sight
from jobs.domain.words import INFRA_RETRY_LIMIT, TERMINAL_STATES, AttemptEnd, Desired, JobState, Kind

RESUBMIT_AFTER = timedelta(seconds=10)
LOOK_AGAIN = timedelta(seconds=5)
ASK_AGAIN = timedelta(seconds=30)
KEEP_OBJECT = timedelta(minutes=10)
"""A finished object stays this long at most when its logs cannot be read to the end."""
LOGS_TRIED_WITHIN = timedelta(minutes=5)
"""So recently somebody must have tried: a clock that jumps ahead makes no log that nobody has read an old one."""

IMAGE_LIMITS: Mapping[FailureCode, timedelta] = {
    FailureCode.IMAGE_NAME_INVALID: timedelta(0),
    FailureCode.IMAGE_NOT_FOUND: timedelta(minutes=10),
    FailureCode.IMAGE_UNAUTHORIZED: timedelta(minutes=10),
    FailureCode.IMAGE_TIMEOUT: timedelta(minutes=30),
}
"""Decision 8: how long a job may hold cards for an image that cannot be pulled."""

STUCK_LIMIT = timedelta(minutes=60)
"""Decision 10: how long a service may hold cards while none of its replicas comes up."""

RELEASE_AFTER = timedelta(minutes=15)
RELEASES_MAX = 3
"""Decision 9: how long a job may hold cards that no nodes can give it, and how often it may try before it is held."""


def next_move(job: JobView, sight: Sight, group: GroupSnapshot, now: datetime) -> Move:
    """The one next step of a job. Total: every combination of intent and sight has an answer."""
    rest = job.rest
    if rest is None:
        return _step(job, sight, group, now)
    if rest.is_over(now):
        return replace(_step(replace(job, rest=None), sight, group, now), rest_over=True)
    move = _step(job, sight, group, now)
    if move.state in TERMINAL_STATES:
        return replace(move, rest_over=True)
    look = min(LOOK_AGAIN, rest.until - now)  # the beneficiary's admission is nothing that this job sees
    return replace(move, due_in=look if move.due_in is None else min(look, move.due_in))


def _step(job: JobView, sight: Sight, group: GroupSnapshot, now: datetime) -> Move:
    if job.state in TERMINAL_STATES and job.attempt.ended:
        return _after_the_end(job, sight, now)
    last = sight.facts
    if last is not None and last.outcome is not None and not job.attempt.stop_cause:
        return _ended(job, last, group, now)  # also when the object has vanished since: its last word counts
    facts = last if not sight.gone else None
    if job.desired is not Desired.RUN or job.attempt.stop_cause:
        return _stopping(job, sight, facts, group, now)
    if facts is None:
        return _without_object(job, sight, now)
    return _alive(job, facts, group, now)


# --------------------------------------------------------------------------- the object lives


def _alive(job: JobView, facts: WorkloadFacts, group: GroupSnapshot, now: datetime) -> Move:
    if facts.being_deleted:  # by somebody else: it is shown as it was until it is gone
        return Move(state=job.state, reason=job.reason, stopping=True, held=job.held, due_in=LOOK_AGAIN)
    derived = derive(facts, group, now)
    if (cause := _own_stop_cause(job, facts, derived, now)) is not None:
        kept = _shown(job, derived)  # recorded first, stopped in the next step: a crash between loses no cause
        return Move(state=kept.state, reason=kept.reason, stopping=True, stop_cause=cause, due_in=timedelta(0))
    shown = _shown(job, derived)
    effects: tuple[Effect, ...] = ()
    if job.can_hold and facts.active == job.stays_out:
        effects = (Effect.HOLD,) if job.stays_out else (Effect.RELEASE,)
    elif job.can_prioritise and job.priority is not None and facts.priority not in (None, job.priority):
        effects = (Effect.PRIORITY,)
    elif _is_to_scale(job, facts):
        effects = (Effect.SCALE,)
    return Move(
        state=shown.state,
        reason=shown.reason,
        effects=effects,
        stopping=derived.stopping,
        held=job.held,
        degraded=derived.degraded,
        due_in=LOOK_AGAIN if effects else _next_deadline(job, facts, derived, now),
    )


def _is_to_scale(job: JobView, facts: WorkloadFacts) -> bool:
    """One that is out of the queue gets its new number when it comes back."""
    return job.can_scale and job.replicas not in (None, facts.wanted_pods) and facts.is_service and not job.stays_out


@dataclass(frozen=True, slots=True)
class _Shown:
    state: JobState
    reason: Reason


def _shown(job: JobView, derived: Derived) -> _Shown:
    """Observed → shown. An unknown signal keeps the last state and says the raw text (decision 2)."""
    if derived.state is ObservedState.UNKNOWN:
        return _Shown(job.state, derived.reason)
    if derived.state is ObservedState.QUEUED:
        if job.held:
            return _Shown(JobState.QUEUED, Reason(ReasonCode.HELD, derived.reason.facts))
        if job.rest is not None:
            return _Shown(JobState.QUEUED, job.rest.reason)
        if derived.held and job.reason.code in _OUT_FOR_A_WHILE:
            return _Shown(JobState.QUEUED, job.reason)  # being let back into the queue
    return _Shown(JobState(derived.state.value), derived.reason)


_OUT_FOR_A_WHILE = frozenset({ReasonCode.PREEMPTED_BY_PERSON, ReasonCode.WAITING_FOR_MAINTENANCE})


def _own_stop_cause(job: JobView, facts: WorkloadFacts, derived: Derived, now: datetime) -> str | None:
    """A limit of ours that has passed: of run time (decision 7), of pulling an image (8), of finding nodes (9), of
    bringing a service up (10). A service keeps the replicas that run, whatever keeps the others from it.
    """
    started = _running_since(facts)
    if job.max_run is not None and started is not None:
        ran = timedelta(seconds=job.attempt.ran_seconds) + (now - started)
        if ran >= job.max_run:
            return "time_limit" if job.kind is Kind.TRAINING else "stopped_at_limit"
    if derived.reason.code is ReasonCode.NOT_PLACED and now - (facts.admitted_at or now) >= RELEASE_AFTER:
        return ReasonCode.NOT_PLACED.value
    stalled_for = now - (facts.stalled_since or now)
    if derived.reason.code is ReasonCode.ROLLOUT_STUCK and stalled_for >= STUCK_LIMIT:
        return ReasonCode.ROLLOUT_STUCK.value
    if facts.is_service and any(pod.phase is PodPhase.RUNNING for pod in facts.pods):
        return None
    for pod in facts.pods:
        limit = IMAGE_LIMITS.get(pod.image_problem) if pod.image_problem else None
        if limit is not None and now - (pod.image_problem_since or now) >= limit:
            return pod.image_problem.value if pod.image_problem else None
    return None


def _running_since(facts: WorkloadFacts) -> datetime | None:
    """Start of the present run, if it runs now."""
    if facts.ready_at is None or facts.ended_at is not None:
        return None
    if facts.evicted_at is not None and facts.ready_at <= facts.evicted_at:
        return None
    return facts.ready_at


def _next_deadline(job: JobView, facts: WorkloadFacts, derived: Derived, now: datetime) -> timedelta | None:
    """When the answer may change although nothing new is seen."""
    waits: list[timedelta] = []
    if job.max_run is not None and (started := _running_since(facts)) is not None:
        waits.append(job.max_run - timedelta(seconds=job.attempt.ran_seconds) - (now - started))
    if derived.state in (ObservedState.CREATING, ObservedState.RETRYING):
        waits.append(timedelta(seconds=30))
    if derived.state is ObservedState.QUEUED and not derived.held:
        waits.append(timedelta(seconds=20))  # node facts in the reason follow the cluster, not the object
    if not waits:
        return None
    return max(timedelta(seconds=1), min(waits))


# --------------------------------------------------------------------------- no object


def _without_object(job: JobView, sight: Sight, now: datetime) -> Move:
    attempt = job.attempt
    if attempt.seen and (sight.gone or sight.looked_after(attempt.submitted_at)):
        lost = Reason(ReasonCode.OUTCOME_NOT_RECORDED)
        return Move(
            state=JobState.FAILED,
            reason=lost,
            ending=AttemptEnding(AttemptEnd.LOST, lost, now),
            released=True,
            due_in=None,
        )
    between = job.state is JobState.RETRYING
    state = JobState.RETRYING if between else JobState.QUEUED
    if job.held:
        gave_up = job.reason.code is ReasonCode.HELD_NOT_PLACED
        reason = job.reason if gave_up else Reason(ReasonCode.HELD)
        return Move(state=JobState.QUEUED, reason=reason, held=True, due_in=None)
    if job.rest is not None:
        return Move(state=JobState.QUEUED, reason=job.rest.reason, due_in=LOOK_AGAIN)
    if attempt.submitted_at is None:
        is_next = between or job.reason.code in _NEXT_CODES
        reason = job.reason if is_next else Reason(ReasonCode.SUBMITTED)
        if attempt.not_before is not None and now < attempt.not_before:
            return Move(state=state, reason=reason, due_in=min(LOOK_AGAIN, attempt.not_before - now))
        return Move(state=state, reason=reason, effects=(Effect.SUBMIT,), due_in=LOOK_AGAIN)
    waited = now - attempt.submitted_at
    if waited >= RESUBMIT_AFTER and sight.looked_after(attempt.submitted_at):
        return Move(state=state, reason=job.reason, effects=(Effect.SUBMIT,), due_in=LOOK_AGAIN)
    return Move(state=state, reason=job.reason, due_in=LOOK_AGAIN)


_NEXT_CODES = frozenset({ReasonCode.REQUEUED_BY_PERSON, ReasonCode.RELEASED_NOT_PLACED})


# --------------------------------------------------------------------------- being stopped


def _stopping(job: JobView, sight: Sight, facts: WorkloadFacts | None, group: GroupSnapshot, now: datetime) -> Move:
    """A cancel, or a stop of ours: the end is recorded when the objects are gone (decision 2).

    A requeue goes on as soon as the quota is free: the next object must not wait for the last pod of this one.
    """
    attempt = job.attempt
    gone = sight.gone or (facts is None and sight.looked_after(attempt.stop_asked_at))
    goes_on = _goes_on(job)
    if attempt.stop_asked_at is not None and gone:
        return goes_on(job, now, released=True) if goes_on else _stopped(job, now)
    if goes_on and facts is not None and facts.being_deleted:
        return goes_on(job, facts.evicted_at or now, released=False)
    if facts is not None and not facts.being_deleted:
        derived = derive(facts, group, now)
        shown = _Shown(job.state, job.reason) if derived.state in _ENDED_STATES else _shown(job, derived)
    else:
        shown = _Shown(job.state if job.state not in TERMINAL_STATES else JobState.QUEUED, job.reason)
    reason = Reason(_STOPPING_CODES[job.desired]) if job.desired in _STOPPING_CODES else shown.reason
    return Move(
        state=shown.state,
        reason=reason,
        effects=(Effect.STOP,) if _may_ask_to_stop(attempt, now) else (),
        stopping=True,
        due_in=LOOK_AGAIN,
    )


_STOPPING_CODES = {Desired.CANCEL: ReasonCode.CANCELLING, Desired.REQUEUE: ReasonCode.REQUEUING}
_ENDED_STATES = frozenset({ObservedState.SUCCEEDED, ObservedState.FAILED})


def _goes_on(job: JobView) -> Callable[..., Move] | None:
    """How the job goes on after this attempt's stop; None: it is over with it."""
    if job.desired is Desired.REQUEUE:
        return _requeued
    is_release = job.attempt.stop_cause == ReasonCode.NOT_PLACED.value
    return _released if is_release and job.desired is Desired.RUN else None


def _stopped(job: JobView, now: datetime) -> Move:
    cause = job.attempt.stop_cause
    if not cause or job.desired is Desired.CANCEL:
        reason = Reason(ReasonCode.CANCELLED_BY_PERSON)
        state, end = JobState.CANCELLED, AttemptEnd.STOPPED
    else:
        reason = Reason(ReasonCode(cause), job.reason.facts)
        state = JobState.SUCCEEDED if cause == ReasonCode.STOPPED_AT_LIMIT.value else JobState.FAILED
        end = AttemptEnd.STOPPED
    return Move(state=state, reason=reason, ending=AttemptEnding(end, reason, now), released=True, due_in=None)


def _requeued(job: JobView, at: datetime, *, released: bool) -> Move:
    """The present attempt is over; the next one enters the queue at its end, and counts as no retry (decision 5)."""
    requeued = Reason(ReasonCode.REQUEUED_BY_PERSON)
    cause = job.attempt.stop_cause
    why = Reason(ReasonCode(cause), job.reason.facts) if cause else requeued
    return Move(
        state=JobState.QUEUED,
        reason=requeued,
        ending=AttemptEnding(AttemptEnd.STOPPED, why, at),
        next_attempt=True,
        released=released,
        held=job.held,
        due_in=timedelta(0),
    )


def _released(job: JobView, at: datetime, *, released: bool) -> Move:
    """It held cards that no nodes could give: the next attempt queues at the tail, or is held after the third time.

    Others must not wait overnight for a job that cannot start (decision 9).
    """
    times = job.attempt.releases + 1
    gives_up = times >= RELEASES_MAX
    code = ReasonCode.HELD_NOT_PLACED if gives_up else ReasonCode.RELEASED_NOT_PLACED
    return Move(
        state=JobState.QUEUED,
        reason=Reason(code, {**job.reason.facts, "times": times}),
        ending=AttemptEnding(AttemptEnd.STOPPED, Reason(ReasonCode.NOT_PLACED, job.reason.facts), at),
        next_attempt=True,
        released=released,
        held=job.held or gives_up,
        hold=gives_up,
        due_in=timedelta(0),
    )


# --------------------------------------------------------------------------- ended by itself


def _ended(job: JobView, facts: WorkloadFacts, group: GroupSnapshot, now: datetime) -> Move:
    derived = derive(facts, group, now)
    at = facts.ended_at or now
    if facts.outcome is Outcome.SUCCEEDED:
        ending = AttemptEnding(AttemptEnd.SUCCEEDED, derived.reason, at, exit_code=0)
        return Move(
            state=JobState.SUCCEEDED,
            reason=derived.reason,
            stopping=derived.stopping,
            ending=ending,
            due_in=LOOK_AGAIN,
        )
    failure = facts.failure
    infrastructure = failure is not None and failure.code in INFRASTRUCTURE_FAILURES
    ending = AttemptEnding(
        AttemptEnd.FAILED,
        derived.reason,
        at,
        infrastructure=infrastructure,
        exit_code=failure.exit_code if failure else None,
    )
    requeued = job.desired is Desired.REQUEUE
    if requeued or (job.desired is Desired.RUN and _may_retry(job, infrastructure)):
        return Move(
            state=JobState.QUEUED if requeued else JobState.RETRYING,
            reason=Reason(ReasonCode.REQUEUED_BY_PERSON) if requeued else derived.reason,
            ending=ending,
            next_attempt=True,
            held=job.held,
            due_in=timedelta(0),
        )
    return Move(
        state=JobState.FAILED,
        reason=derived.reason,
        stopping=derived.stopping,
        ending=ending,
        due_in=LOOK_AGAIN,
    )


def _may_retry(job: JobView, infrastructure: bool) -> bool:
    """Decision 4: two retries after infrastructure causes, ``retry_limit`` after the application's own."""
    if infrastructure:
        return job.attempt.infra_failures < INFRA_RETRY_LIMIT
    return job.attempt.app_failures < job.retry_limit


def _may_ask_to_stop(attempt: AttemptView, now: datetime) -> bool:
    """An object takes its time to go, and once gone takes a moment to be missed: it is not asked all the time."""
    return attempt.stop_asked_at is None or now - attempt.stop_asked_at >= ASK_AGAIN


def _after_the_end(job: JobView, sight: Sight, now: datetime) -> Move:
    """Terminal absorbs: only what is left on the cluster is cleared away, once its logs are read."""
    live = sight.facts if not sight.gone else None
    if live is None:
        return Move(state=job.state, reason=job.reason, released=True, due_in=None)
    attempt = job.attempt
    must_go = may_clear(
        live,
        logs_complete=attempt.logs_complete,
        logs_tried_at=attempt.logs_tried_at,
        seen_at=sight.complete_at,
    )
    if live.outcome is not None and not _may_ask_to_stop(attempt, now):
        must_go = False
    return Move(
        state=job.state,
        reason=job.reason,
        effects=(Effect.STOP,) if must_go else (),
        stopping=live.ending,
        due_in=LOOK_AGAIN,
    )


def may_clear(
    facts: WorkloadFacts, *, logs_complete: bool, logs_tried_at: datetime | None, seen_at: datetime | None
) -> bool:
    """Ask for the end of the object of an attempt that is over? At once while it lives, else when its logs are read."""
    if facts.being_deleted:
        return False  # it goes by itself, and its pods keep the grace they were given
    if facts.outcome is None or logs_complete:
        return True
    if facts.ended_at is None or seen_at is None or logs_tried_at is None:
        return False
    return seen_at - facts.ended_at > KEEP_OBJECT and seen_at - logs_tried_at <= LOGS_TRIED_WITHIN
