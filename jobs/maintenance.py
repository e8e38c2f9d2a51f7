"""Telling the owners of running jobs that maintenance takes their nodes before they would end."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone

from clusters.nodes_maintenance import Ahead, maintenance_ahead, maintenances_ahead
from jobs.domain.words import TERMINAL_STATES
from jobs.models import Job, JobEvent, Run

CODE = "maintenance_ahead"


def tell_owners(now: datetime) -> int:
    """Write it into the timeline of each such job, once for each maintenance; returns how many were told.

    One query where nothing is planned, three elsewhere.
    """
    planned = maintenances_ahead(now)
    if not planned:
        return 0
    runs = Run.objects.filter(
        ended_at=None, admitted_at__isnull=False, attempt__job__cluster__in={each.cluster_id for each in planned}
    ).exclude(attempt__job__state__in=[state.value for state in TERMINAL_STATES])
    found = [
        (run, each)
        for run in runs.select_related("attempt__job")
        for each in planned
        if _concerns(run, each) and each.is_in_the_way(now, left_of(run.attempt.job, run, now))
    ]
    told = set(JobEvent.objects.filter(code=CODE, job__in={run.attempt.job_id for run, _ in found}).values_list(
        "job_id", "facts__maintenance"
    ))  # fmt: skip
    fresh = [
        JobEvent(
            job=run.attempt.job,
            at=now,
            recorded_at=now,
            code=CODE,
            facts={"maintenance": each.public_id, "until": each.starts_at.isoformat()},
            attempt_no=run.attempt.number,
            run_ordinal=run.ordinal,
        )
        for run, each in found
        if (run.attempt.job_id, each.public_id) not in told
    ]
    JobEvent.objects.bulk_create(fresh)
    return len(fresh)


def in_the_way_of(job: Job, run: Run | None) -> Ahead | None:
    """The next maintenance that takes nodes of a job's open run before it would end. One query, for one that runs."""
    if run is None or run.ended_at is not None or not run.nodes:
        return None
    now = timezone.now()
    found = maintenance_ahead(job.cluster_id, run.nodes, now)
    return found if found is not None and found.is_in_the_way(now, left_of(job, run, now)) else None


def left_of(job: Job, run: Run, now: datetime) -> timedelta | None:
    """How long it may still run; None without a limit."""
    if job.max_run_seconds is None:
        return None
    limit = timedelta(seconds=job.max_run_seconds)
    return limit if run.started_at is None else max(timedelta(0), limit - (now - run.started_at))


def _concerns(run: Run, each: Ahead) -> bool:
    return run.attempt.job.cluster_id == each.cluster_id and not each.nodes.isdisjoint(run.nodes)
