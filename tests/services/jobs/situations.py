"""Brings a real job into each situation the table of operations asks about, the way it would get there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from jobs.domain.operations import Operation, Situation
from jobs.domain.words import JobState
from jobs.models import Job
from jobs.services.operations import job_operate
from tests.stage import Stage

OWNER, LEAD = "eng-vision-1", "lead-vision"


def until(stage: Stage, job: Job, reached: Callable[[Job], bool], *, seconds: float = 120, step: float = 2) -> Job:
    """Let time pass in steps until the job is as wanted; it fails loudly when that never comes."""
    for _ in range(int(seconds / step)):
        now = stage.job(job)
        if reached(now):
            return now
        stage.run(step, step)
    now = stage.job(job)
    raise AssertionError(f"still {now.state} {now.flags} {now.reason_code} after {seconds} s")


def until_state(stage: Stage, job: Job, *states: str, seconds: float = 120, step: float = 2) -> Job:
    return until(stage, job, lambda now: now.state in states, seconds=seconds, step=step)


def fill(stage: Stage, group: str = "h100", cards: int = 32, username: str = "eng-vision-2") -> Job:
    """One job that takes all cards of a group and never ends; equal work of its own team cannot evict it."""
    job = stage.submit(username, card_model=group, cards=cards, command="sleep infinity")
    return until_state(stage, job, "running", step=5)


def operate(stage: Stage, job: Job, operation: Operation, username: str = OWNER, **data: Any) -> Job:
    return job_operate(actor=stage.cast.actor(username), job=stage.job(job), operation=operation, data=data)


def particulars(operation: Operation) -> dict[str, Any]:
    """What an operation has to be told beside the job, for one job as good as for another."""
    if operation is Operation.PREEMPT:
        return {"until": (timezone.now() + timedelta(minutes=10)).isoformat()}
    return {Operation.PRIORITY: {"priority": "low"}, Operation.SCALE: {"replicas": 2}}.get(operation, {})


def job_in(stage: Stage, situation: Situation) -> Job:
    """A job of OWNER in this situation. What people asked for are wishes the loop has not seen yet.

    Of jobs that give way, only one that holds no cards has been seen doing so.
    """
    builders = _RESTING_BUILDERS if situation.resting else _BUILDERS
    job = builders[situation.state](stage)
    for wanted, operation in (
        (situation.held, Operation.HOLD),
        (situation.requeuing, Operation.REQUEUE),
        (situation.cancelling, Operation.CANCEL),
    ):
        if wanted:
            operate(stage, job, operation)
    job = stage.job(job)
    assert job.state == situation.state.value, (job.state, job.reason_code)
    return job


def preempt(stage: Stage, job: Job) -> Job:
    return operate(stage, job, Operation.PREEMPT, LEAD, **particulars(Operation.PREEMPT))


def _queued(stage: Stage) -> Job:
    fill(stage)
    job = stage.submit(OWNER, card_model="h100", command="sleep 60")
    stage.run(4)
    return stage.job(job)


def _creating(stage: Stage) -> Job:
    return until_state(stage, stage.submit(OWNER, command="sleep 60"), "creating", step=1)


def _running(stage: Stage) -> Job:
    return until_state(stage, stage.submit(OWNER, command="sleep 600"), "running")


def _retrying(stage: Stage) -> Job:
    job = stage.submit(OWNER, command="sleep 5; exit 3", retry_limit=1)
    return until_state(stage, job, "retrying")


def _succeeded(stage: Stage) -> Job:
    return until_state(stage, stage.submit(OWNER, command="sleep 1; exit 0"), "succeeded")


def _failed(stage: Stage) -> Job:
    return until_state(stage, stage.submit(OWNER, command="sleep 1; exit 3"), "failed")


def _cancelled(stage: Stage) -> Job:
    job = _running(stage)
    operate(stage, job, Operation.CANCEL)
    return until_state(stage, job, "cancelled")


_BUILDERS: dict[JobState, Callable[[Stage], Job]] = {
    JobState.QUEUED: _queued,
    JobState.CREATING: _creating,
    JobState.RUNNING: _running,
    JobState.RETRYING: _retrying,
    JobState.SUCCEEDED: _succeeded,
    JobState.FAILED: _failed,
    JobState.CANCELLED: _cancelled,
}


def _queued_and_resting(stage: Stage) -> Job:
    return until_state(stage, preempt(stage, _running(stage)), "queued")


def _creating_and_resting(stage: Stage) -> Job:
    return preempt(stage, _creating(stage))


def _running_and_resting(stage: Stage) -> Job:
    return preempt(stage, _running(stage))


def _retrying_and_resting(stage: Stage) -> Job:
    """It fails by itself in the moment in which it shall give way."""
    job = until_state(stage, stage.submit(OWNER, command="sleep 5; exit 3", retry_limit=1), "running", step=1)
    preempt(stage, job)
    stage.run(8, 8)
    return stage.job(job)


_RESTING_BUILDERS: dict[JobState, Callable[[Stage], Job]] = {
    JobState.QUEUED: _queued_and_resting,
    JobState.CREATING: _creating_and_resting,
    JobState.RUNNING: _running_and_resting,
    JobState.RETRYING: _retrying_and_resting,
}
