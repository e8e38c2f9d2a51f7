"""Acts of people on jobs, written down: the jobs' rows, their story and the audit trail, in one transaction.

Several jobs take as many statements as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from accounts import audit
from accounts.actors import Actor
from accounts.models import User
from clusters.domain.reasons import ReasonCode
from common.rows import insert_many
from jobs.domain.operations import Effect, Operation
from jobs.domain.words import Desired, JobState
from jobs.models import Job, JobEvent, JobSync
from jobs.services.store import attempt_create
from jobs.services.wishes import Particulars
from quotas.services import demand_hold, demand_prioritise, demand_put, demand_resize


@dataclass(frozen=True, slots=True)
class Act:
    """One decided act on one job, whose row is locked."""

    job: Job
    effect: Effect
    particulars: Particulars


_ALWAYS = ("generation", "acted_by")
_TOUCHED: dict[Operation, tuple[str, ...]] = {
    Operation.CANCEL: ("desired", "rests_for", "rests_until"),
    Operation.HOLD: ("held",),
    Operation.RESUME: ("held", "rests_for", "rests_until"),
    Operation.PREEMPT: ("rests_for", "rests_until"),
    Operation.REQUEUE: ("desired",),
    Operation.PRIORITY: ("priority",),
    Operation.SCALE: ("pods", "cards"),
    Operation.RESTART: (
        "desired", "held", "rests_for", "rests_until", "attempt_no", "state", "is_held", "is_stopping", "is_degraded",
        "state_since", "reason_code", "reason_facts", "reason_since", "started_at", "ended_at",
    ),
}  # fmt: skip
"""The columns an operation changes. Only a restart touches observed ones: it begins a life of its own."""


def record_acts(actor: Actor, operation: Operation, acts: Sequence[Act], now: datetime) -> None:
    """Change the rows, which the caller has locked, and tell about it; the loop finds all of them due."""
    if not acts:
        return
    jobs = [act.job for act in acts]
    told = [(act, act.particulars.facts(act.job), act.job.state) for act in acts]
    for act in acts:
        _CHANGES[operation](act, now)
        act.job.acted_by = _actor_shown(actor, act)
        act.job.generation += 1
    Job.objects.bulk_update(jobs, [*_ALWAYS, *_TOUCHED[operation]])
    for out in (False, True):
        if ulids := [job.public_id for job in jobs if (job.held or job.rests_until is not None) is out]:
            demand_hold(ulids, held=out)
    if operation is Operation.PRIORITY:
        for priority in {job.gate_priority for job in jobs}:
            demand_prioritise([job.public_id for job in jobs if job.gate_priority == priority], priority=priority)
    JobSync.objects.filter(job__in=jobs).update(due_at=now, failures=0, last_error="")
    insert_many(
        [
            JobEvent(
                job=act.job,
                at=now,
                recorded_at=now,
                code=f"asked_{operation.value}",
                facts=facts,
                attempt_no=act.job.attempt_no,
                actor=actor.user,
            )
            for act, facts, _state in told
        ]
    )
    audit.record_many(
        actor,
        f"job.{operation.value}",
        target_type="job",
        acts=[
            audit.Act(act.job.public_id, act.job.team_id, {"state": state, "effect": act.effect.value, **facts})
            for act, facts, state in told
        ],
    )


def _actor_shown(actor: Actor, act: Act) -> User | None:
    """Whose name stands beside a hold, a cancel or a preemption. One that gives way on was preempted by another."""
    return None if act.effect is Effect.GIVES_WAY_ON else actor.user


def _cancel(act: Act, now: datetime) -> None:
    act.job.desired = Desired.CANCEL.value
    _stop_giving_way(act.job)


def _hold(act: Act, now: datetime) -> None:
    act.job.held = True


def _resume(act: Act, now: datetime) -> None:
    if act.job.held:
        act.job.held = False
    else:
        _stop_giving_way(act.job)


def _preempt(act: Act, now: datetime) -> None:
    act.job.rests_for = act.particulars.beneficiary
    act.job.rests_until = act.particulars.rests_until


def _requeue(act: Act, now: datetime) -> None:
    act.job.desired = Desired.REQUEUE.value


def _priority(act: Act, now: datetime) -> None:
    assert act.particulars.priority is not None
    act.job.priority = act.particulars.priority.value


def _scale(act: Act, now: datetime) -> None:
    """Quota rows follow at once; the cards of a replica stay as they are."""
    job = act.job
    assert act.particulars.replicas is not None
    job.pods = act.particulars.replicas
    job.cards = job.pods * job.cards_per_pod
    demand_resize(job.public_id, cards=job.cards)


def _stop_giving_way(job: Job) -> None:
    job.rests_for = None
    job.rests_until = None


def _restart(act: Act, now: datetime) -> None:
    """A new attempt at the tail of the queue, on the same checkpoint folder (decision 6)."""
    job = act.job
    job.attempt_no += 1  # the row is locked
    attempt_create(job, job.attempt_no, now, retries_from=job.attempt_no)
    job.desired = Desired.RUN.value
    job.held = False
    _stop_giving_way(job)
    job.is_held = job.is_stopping = job.is_degraded = False
    job.state = JobState.QUEUED.value
    job.state_since = job.reason_since = now
    job.reason_code = ReasonCode.SUBMITTED.value
    job.reason_facts = {}
    job.started_at = job.ended_at = None
    demand_put(
        job_ulid=job.public_id,
        local_queue_id=job.local_queue_id,
        group_id=job.group_id,
        owner_id=job.owner_id,
        cards=job.cards,
        attempt_no=job.attempt_no,
        held=False,
        priority=job.gate_priority,
        since=now,
    )


_CHANGES = {
    Operation.CANCEL: _cancel,
    Operation.HOLD: _hold,
    Operation.RESUME: _resume,
    Operation.PREEMPT: _preempt,
    Operation.REQUEUE: _requeue,
    Operation.PRIORITY: _priority,
    Operation.SCALE: _scale,
    Operation.RESTART: _restart,
}
