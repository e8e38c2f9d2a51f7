"""A person asks something of a job at the very moment when the loop records a step of it."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from django.utils import timezone

from jobs.domain.operations import Operation
from jobs.models import Job, JobSync
from jobs.reconcile.loop import reconcile_jobs
from jobs.services.operations import job_operate
from jobs.services.submit import job_submit
from tests.cast import Cast, build_cast
from tests.stage import BODY

PATIENCE = 20


@pytest.fixture
def open_cast(transactional_db: None) -> Cast:
    """The cast, committed, so that other connections see it."""
    return build_cast()


def _reconcile(job_id: int) -> int:
    try:
        return reconcile_jobs([job_id])
    finally:
        connection.close()


def _wait_until_somebody_waits(worker: Future[int]) -> None:
    """Until another session waits for a lock that this one holds."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and not worker.done():
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))")
            if cursor.fetchone()[0]:
                return
        time.sleep(0.01)
    raise AssertionError("the loop never waited for the job's row")


def test_the_loop_waits_for_an_operation_instead_of_locking_each_other_out(open_cast: Cast) -> None:
    actor = open_cast.actor("eng-vision-1")
    job = job_operate(actor=actor, job=job_submit(actor=actor, data=BODY).job, operation=Operation.HOLD)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():  # as an operation does: the job's row first, then that of its claim
            Job.objects.select_for_update().get(pk=job.pk)
            worker = pool.submit(_reconcile, job.pk)
            _wait_until_somebody_waits(worker)
            JobSync.objects.filter(job=job).update(due_at=timezone.now())
        worker.result(timeout=PATIENCE)
    assert Job.objects.get(pk=job.pk).reason_code == "held"
    sync = JobSync.objects.get(job=job)
    assert (sync.token, sync.failures, sync.last_error) == ("", 0, "")
