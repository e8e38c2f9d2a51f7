"""Checked intents become rows: jobs with their first attempts, demands, stories and audit rows.

Two statements, for many jobs as for one. Runs inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action
from clusters.domain.reasons import ReasonCode
from common.ids import new_ulid
from common.names import object_name, slug
from common.rows import draw_keys, insert_together
from jobs.domain.words import JobState
from jobs.models import Attempt, Job, JobEvent, JobSync
from jobs.services.intent import Intent
from jobs.specs import spec_hash
from quotas.models import Demand


def jobs_store(actor: Actor, intents: Sequence[Intent], now: datetime, *, is_demo: bool = False) -> list[Attempt]:
    """First attempts of the stored jobs with their jobs, in the order of the intents; the loop finds all of them due.

    The jobs have their keys, the attempts have none.
    """
    jobs = [_job(actor, intent, now, is_demo=is_demo) for intent in intents]
    draw_keys(jobs)
    attempts = [attempt_row(job, 1, now, retries_from=1) for job in jobs]
    insert_together(
        jobs,
        attempts,
        [JobSync(job=job, job_ulid=job.public_id, due_at=now) for job in jobs],
        [_demand(job) for job in jobs],
        [_event(actor, job, now) for job in jobs],
        audit.rows_of(
            actor,
            Action.JOB_SUBMIT.value,
            target_type="job",
            acts=[_act(job, intent) for job, intent in zip(jobs, intents, strict=True)],
        ),
    )
    return attempts


def attempt_create(job: Job, number: int, now: datetime, *, retries_from: int) -> Attempt:
    """The row of attempt ``number``; its object is made by the reconcile loop.

    ``retries_from`` is the first attempt since a person's last restart: only those count as retries.
    """
    attempt = attempt_row(job, number, now, retries_from=retries_from)
    attempt.save(force_insert=True)
    return attempt


def attempt_row(job: Job, number: int, now: datetime, *, retries_from: int) -> Attempt:
    """The same, not yet stored."""
    return Attempt(
        job=job,
        number=number,
        object_name=object_name(job.slug, job.salt, number),
        spec_hash=spec_hash(job, number),
        retries_from=retries_from,
        created_at=now,
    )


def _job(actor: Actor, intent: Intent, now: datetime, *, is_demo: bool) -> Job:
    public_id = new_ulid()
    return Job(
        public_id=public_id,
        team=intent.team,
        owner=actor.user,
        cluster=intent.place.cluster,
        local_queue=intent.local_queue,
        group=intent.group.group if intent.group else None,
        is_demo=is_demo,
        display_name=intent.display_name,
        slug=slug(intent.display_name),
        salt=public_id[-10:].lower(),
        framework=intent.framework.value,
        image=intent.image,
        command=intent.command,
        env=intent.env,
        kind=intent.kind.value,
        priority=intent.priority.value,
        cards=intent.shape.cards,
        pods=intent.shape.pods,
        cards_per_pod=intent.shape.cards_per_pod,
        cpu_millis=intent.cpu_millis,
        memory_bytes=intent.memory_bytes,
        max_run_seconds=intent.max_run_seconds,
        retry_limit=intent.retry_limit,
        code=intent.given.code,
        datasets=intent.given.datasets,
        submitted_at=now,
        state=JobState.QUEUED.value,
        state_since=now,
        reason_code=ReasonCode.SUBMITTED.value,
        reason_since=now,
    )


def _demand(job: Job) -> Demand:
    return Demand(
        job_ulid=job.public_id,
        local_queue_id=job.local_queue_id,
        group_id=job.group_id,
        owner_id=job.owner_id,
        cards=job.cards,
        priority=job.gate_priority,
        since=job.submitted_at,
    )


def _event(actor: Actor, job: Job, now: datetime) -> JobEvent:
    return JobEvent(
        job=job,
        at=now,
        recorded_at=now,
        code="submitted",
        facts={"cards": job.cards, "group": job.group.title if job.group else ""},
        attempt_no=1,
        actor=actor.user,
    )


def _act(job: Job, intent: Intent) -> audit.Act:
    reason = {"reason": intent.priority_reason} if intent.priority_reason else {}
    return audit.Act(job.public_id, job.team_id, {"cards": job.cards, "priority": job.priority, **reason})
