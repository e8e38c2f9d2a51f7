"""Cancel, restart, hold and resume: each records the wish in one transaction, the reconcile loop carries it out.

What an operation does in which state is `jobs.domain.operations`; who may do it is `accounts.policy`.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.domain.reasons import ReasonCode
from common.errors import DomainError
from common.faults import reach
from common.hints import send
from jobs.domain.operations import Cell, Effect, Operation, Situation, cell
from jobs.domain.words import TERMINAL_STATES, Desired, JobState, Priority
from jobs.labels import REFUSALS
from jobs.models import Job, JobEvent, JobSync
from jobs.services.submit import attempt_create
from quotas.models import Demand
from quotas.services import demand_put

ACTIONS = {
    Operation.CANCEL: Action.JOB_CANCEL,
    Operation.RESTART: Action.JOB_RESTART,
    Operation.HOLD: Action.JOB_HOLD,
    Operation.RESUME: Action.JOB_RESUME,
}


_PRIORITY_ACTIONS = {Priority.HIGH: Action.PRIORITY_HIGH, Priority.URGENT: Action.PRIORITY_URGENT}


def actions_of(actor: Actor, operation: Operation, job: Job) -> list[Action]:
    """Everything the policy must allow. Who may not submit at a priority may not restart at it either; admins may."""
    needed = _PRIORITY_ACTIONS.get(Priority(job.priority)) if operation is Operation.RESTART else None
    return [ACTIONS[operation], *([needed] if needed is not None and not actor.is_admin else [])]


def situation_of(job: Job) -> Situation:
    """What the table asks about a job. The wish counts, not what the cluster has made of it yet."""
    ended = job.state in TERMINAL_STATES
    return Situation(
        JobState(job.state), held=job.held and not ended, cancelling=job.desired == Desired.CANCEL and not ended
    )


def refusal_of(operation: Operation, job: Job) -> DomainError | None:
    """The error an operation would raise for the job as it stands, or None."""
    found = cell(operation, situation_of(job))
    if found.refusal is None:
        return None
    return DomainError(found.refusal.value, REFUSALS[found.refusal], status=409)


def job_operate(*, actor: Actor, job: Job, operation: Operation) -> Job:
    """Record the wish and return the job as it now stands.

    ``job`` comes from a selector that already checked that the actor may see it. Asking twice changes nothing.
    Raises NotAllowed (403), DomainError with a refusal's code (409).
    """
    for action in actions_of(actor, operation, job):
        require(actor, action, job)
    with transaction.atomic():
        locked = Job.objects.select_for_update().get(pk=job.pk)
        if (refusal := refusal_of(operation, locked)) is not None:
            raise refusal
        found = cell(operation, situation_of(locked))
        if found.effect is not Effect.NO_CHANGE:
            _record(actor, locked, operation, found, timezone.now())
            send("jobs.reconcile", locked.pk)
        reach(f"{operation.value}.commit.before")
    reach(f"{operation.value}.commit.after")
    return locked


def _record(actor: Actor, job: Job, operation: Operation, found: Cell, now: datetime) -> None:
    if operation is Operation.CANCEL:
        job.desired = Desired.CANCEL.value
    elif operation is Operation.HOLD:
        job.held = True
    elif operation is Operation.RESUME:
        job.held = False
    else:
        _next_attempt(job, now)
    job.acted_by = actor.user
    job.generation += 1
    job.save()
    Demand.objects.filter(job_ulid=job.public_id).update(held=job.held)
    JobSync.objects.filter(job=job).update(due_at=now, failures=0, last_error="")
    JobEvent.objects.create(
        job=job,
        at=now,
        recorded_at=now,
        code=f"asked_{operation.value}",
        facts={},
        attempt_no=job.attempt_no,
        actor=actor.user,
    )
    audit.record(
        actor,
        ACTIONS[operation].value,
        target_type="job",
        target_id=job.public_id,
        team_id=job.team_id,
        state=job.state,
        effect=found.effect.value if found.effect else "",
    )


def _next_attempt(job: Job, now: datetime) -> None:
    """A person's restart: a new attempt at the tail of the queue, on the same checkpoint folder (decision 6)."""
    job.attempt_no += 1  # the row is locked
    attempt_create(job, job.attempt_no, now, retries_from=job.attempt_no)
    job.desired = Desired.RUN.value
    job.held = False
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
    )
