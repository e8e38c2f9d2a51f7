"""Operations on jobs: each records the wish in one transaction, the reconcile loop carries it out.

What an operation does in which state is `jobs.domain.operations`; who may do it is `accounts.policy`; what it needs
beside the job is `jobs.services.wishes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.services import capabilities_of
from common.errors import DomainError
from common.faults import reach
from common.hints import send_for
from jobs.domain.operations import NEEDS, Cell, Effect, Operation, Refusal, Situation, cell
from jobs.domain.words import TERMINAL_STATES, Desired, JobState, Priority
from jobs.labels import REFUSALS
from jobs.models import Job
from jobs.services.acts import Act, record_acts
from jobs.services.wishes import Wish, wish_of

ACTIONS = {
    Operation.CANCEL: Action.JOB_CANCEL,
    Operation.RESTART: Action.JOB_RESTART,
    Operation.HOLD: Action.JOB_HOLD,
    Operation.RESUME: Action.JOB_RESUME,
    Operation.PREEMPT: Action.JOB_PREEMPT,
    Operation.REQUEUE: Action.JOB_REQUEUE,
    Operation.PRIORITY: Action.JOB_PRIORITY,
    Operation.SCALE: Action.JOB_SCALE,
}


RELATED = ("cluster", "local_queue")
"""What :func:`decide` looks at beside the job's own row."""

_PRIORITY_ACTIONS = {Priority.HIGH: Action.PRIORITY_HIGH, Priority.URGENT: Action.PRIORITY_URGENT}


def actions_of(operation: Operation, job: Job) -> list[Action]:
    """Everything the policy must allow.

    Who may not submit at a priority may not restart at it either, and who may not preempt a job may not end its
    giving way before the time.
    """
    needed = [ACTIONS[operation]]
    if operation is Operation.RESTART and (priority := _PRIORITY_ACTIONS.get(Priority(job.priority))) is not None:
        needed.append(priority)
    if operation is Operation.RESUME and job.rests_until is not None and not job.held:
        needed.append(Action.JOB_PREEMPT)
    return needed


def situation_of(job: Job) -> Situation:
    """What the table asks about a job. The wish counts, not what the cluster has made of it yet."""
    state = JobState(job.state)
    if state in TERMINAL_STATES:
        return Situation(state)
    if job.keeps_trying:  # a service that does not come up holds its cards as one that runs
        state = JobState.CREATING
    if job.desired == Desired.CANCEL:
        return Situation(state, held=job.held, cancelling=True)
    return Situation(
        state,
        held=job.held,
        requeuing=job.desired == Desired.REQUEUE,
        resting=job.rests_until is not None,
    )


def cell_of(operation: Operation, job: Job) -> Cell:
    """What the table says about the job as it stands, and its cluster can do."""
    needed = NEEDS.get(operation)
    if needed is not None and needed not in capabilities_of(job.cluster):
        return Cell(None, refusal=Refusal.NOT_OFFERED)
    if operation is Operation.SCALE and not job.is_service:
        return Cell(None, refusal=Refusal.NO_SERVICE)
    found = cell(operation, situation_of(job))
    takes_jobs = job.local_queue.takes_jobs and not job.cluster.is_watched_only
    if operation is Operation.RESTART and found.refusal is None and not takes_jobs:
        return Cell(None, refusal=Refusal.QUEUE_TAKES_NONE)
    return found


def refusal_of(operation: Operation, job: Job) -> DomainError | None:
    """The error an operation would raise for the job as it stands, or None."""
    refusal = cell_of(operation, job).refusal
    return DomainError(refusal.value, REFUSALS[refusal], status=409) if refusal is not None else None


def job_operate(*, actor: Actor, job: Job, operation: Operation, data: Mapping[str, Any] | None = None) -> Job:
    """Record the wish and return the job as it now stands. ``data`` holds the fields of preempt and priority.

    ``job`` comes from a selector that already checked that the actor may see it. Asking twice changes nothing.
    Raises NotAllowed (403), InvalidInput (400), DomainError with a refusal's code (409).
    """
    for action in actions_of(operation, job):
        require(actor, action, job)
    wish = wish_of(actor, operation, data or {})
    with transaction.atomic():
        locked = Job.objects.select_related(*RELATED).select_for_update(of=("self",)).get(pk=job.pk)
        act = decide(actor, locked, wish)
        if act is not None:
            record_acts(actor, operation, [act], timezone.now())
            send_for("jobs.reconcile", locked.pk)
        reach(f"{operation.value}.commit.before")
    reach(f"{operation.value}.commit.after")
    return locked


def decide(actor: Actor, job: Job, wish: Wish) -> Act | None:
    """What the wish does to the job, whose row is locked; None when it was asked before.

    Raises DomainError: NotAllowed, a refusal of the table, or InvalidInput where the wish does not go with the job.
    """
    found = cell_for(actor, wish.operation, job)
    if found.effect is None or found.effect is Effect.NO_CHANGE:
        return None
    particulars = wish.particulars(actor, job)
    if particulars.changes_nothing_of(job):
        return None
    return Act(job, found.effect, particulars)


def cell_for(actor: Actor, operation: Operation, job: Job) -> Cell:
    """What the operation would do to the job for this person. Raises NotAllowed, or the table's refusal."""
    for action in actions_of(operation, job):
        require(actor, action, job)
    if (refusal := refusal_of(operation, job)) is not None:
        raise refusal
    return cell_of(operation, job)
