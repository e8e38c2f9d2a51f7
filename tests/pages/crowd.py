"""Many jobs at once, with everything that hangs on them; made in bulk, so that ten thousand take seconds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils import timezone

from clusters.models import ObservedWorkload
from common.ids import new_ulid
from jobs.models import Attempt, Job, JobEvent, JobSync, Run
from quotas.models import Demand
from tests.cast import Cast

STATES = ("queued", "creating", "running", "retrying", "succeeded", "failed", "cancelled")
REASONS = {
    "queued": ("split_over_nodes", {"pods": 1, "per_pod": 8, "group": "H100 NVLink", "free": 8, "blocks": [5, 3]}),
    "creating": ("pulling_image", {"pods": 1}),
    "running": ("running", {}),
    "retrying": ("node_lost", {"node": "h100-01"}),
    "succeeded": ("completed", {}),
    "failed": ("app_exit", {"exit_code": 1}),
    "cancelled": ("cancelled_by_person", {}),
}
_LIVE = ("queued", "creating", "running", "retrying")


def crowd(
    cast: Cast, count: int, *, states: Sequence[str] = STATES, usernames: Sequence[str] = ("eng-vision-1",)
) -> list[Job]:
    """``count`` jobs for each person, states in turn, a minute apart; each with an attempt, a run, events."""
    start = timezone.now() - timedelta(minutes=count + 60)
    groups = list(cast.groups.values())
    jobs = []
    for username in usernames:
        user = cast.users[username]
        team = user.memberships.select_related("team").get().team
        local_queue = cast.local_queue(team.slug)
        for number in range(count):
            job = _job(states[number % len(states)], number, start + timedelta(minutes=number))
            job.team, job.owner, job.cluster, job.local_queue = team, user, cast.cluster, local_queue
            job.group = groups[number % len(groups)]
            jobs.append(job)
    Job.objects.bulk_create(jobs)
    attempts = Attempt.objects.bulk_create(
        Attempt(
            job=job,
            number=1,
            object_name=f"j-{job.public_id.lower()}"[:40],
            spec_hash="0",
            created_at=job.submitted_at,
            end="" if job.state in _LIVE else "succeeded",
            end_reason="" if job.state in _LIVE else job.reason_code,
            log_complete=job.state not in _LIVE,
        )
        for job in jobs
    )
    Run.objects.bulk_create(
        Run(attempt=attempt, ordinal=1, queued_at=attempt.created_at, started_at=attempt.job.started_at)
        for attempt in attempts
    )
    JobEvent.objects.bulk_create(
        JobEvent(job=job, at=job.submitted_at, recorded_at=job.submitted_at, code=code, attempt_no=1, actor=job.owner)
        for job in jobs
        for code in ("submitted", job.reason_code)
    )
    JobSync.objects.bulk_create(JobSync(job=job, job_ulid=job.public_id) for job in jobs)
    live = [job for job in jobs if job.state in _LIVE]
    Demand.objects.bulk_create(
        Demand(job_ulid=job.public_id, local_queue=job.local_queue, group=job.group, owner_id=job.owner_id, cards=1)
        for job in live
    )
    ObservedWorkload.objects.bulk_create(
        ObservedWorkload(
            cluster=cast.cluster,
            job_ulid=job.public_id,
            attempt_no=1,
            uid=job.public_id,
            revision="1",
            version=number,
            facts={},
            seen_at=job.submitted_at,
        )
        for number, job in enumerate(live, start=1_000_000)
    )
    return jobs


def _job(state: str, number: int, at: datetime) -> Job:
    code, facts = REASONS[state]
    public_id = new_ulid()
    return Job(
        public_id=public_id,
        display_name=f"job {number}",
        slug="job",
        salt=public_id[-10:].lower(),
        framework="pytorch",
        image="registry.example/bert:1.0",
        priority="normal",
        cards=1,
        pods=1,
        cards_per_pod=1,
        submitted_at=at,
        state=state,
        state_since=at,
        reason_code=code,
        reason_facts=facts,
        reason_since=at,
        started_at=at if state not in ("queued", "creating") else None,
        ended_at=None if state in _LIVE else at + timedelta(minutes=1),
    )
