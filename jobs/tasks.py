"""Celery's doors into jobs: ticks and doorbells. Losing one, or running one twice, changes nothing."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from jobs.housekeeping import clear_old_rows, clear_unused_archives
from jobs.logs import collect_logs
from jobs.maintenance import tell_owners
from jobs.reconcile.loop import reconcile_jobs, sweep
from jobs.strays import tell_of_strays


@shared_task(name="jobs.sweep")
def sweep_task() -> None:
    """Reconcile what is due, one batch."""
    sweep()


@shared_task(name="jobs.reconcile")
def reconcile_task(*job_ids: int) -> None:
    """Reconcile these jobs now, because somebody asked something of them."""
    reconcile_jobs(job_ids)


@shared_task(name="jobs.collect_logs")
def collect_logs_task() -> None:
    """Bring new log lines into the archive."""
    collect_logs()


@shared_task(name="jobs.housekeeping")
def housekeeping_task() -> None:
    """Drop bookkeeping that nobody needs any more and uploads that no job has named; name objects of no job."""
    clear_old_rows()
    clear_unused_archives()
    tell_of_strays()


@shared_task(name="jobs.tell_of_maintenance")
def tell_of_maintenance_task() -> None:
    """Tell owners of maintenance that their jobs run into."""
    tell_owners(timezone.now())
