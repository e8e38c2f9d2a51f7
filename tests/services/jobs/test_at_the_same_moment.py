"""A person asks something of a job at the very moment when the loop records a step of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from django.db import connection, transaction
from django.utils import timezone

from jobs.domain.operations import Operation, Situation
from jobs.domain.words import JobState
from jobs.models import Job, JobSync
from jobs.reconcile.claims import claim_jobs
from jobs.reconcile.load import Loaded, load
from jobs.reconcile.loop import reconcile_jobs, reconcile_loaded, sweep
from jobs.services.operations import job_operate
from jobs.services.submit import job_submit
from tests.cast import Cast, build_cast
from tests.services.jobs.situations import job_in, operate
from tests.stage import BODY, Stage

PATIENCE = 20


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


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


def test_a_restart_during_a_step_is_looked_at_next_and_not_when_the_lease_runs_out(stage: Stage) -> None:
    job = job_in(stage, Situation(JobState.FAILED))
    Job.objects.filter(pk=job.pk).update(is_stopping=True)  # its pods were still leaving, and have now left
    claim = claim_jobs([job.pk], timezone.now())
    (loaded,) = load(claim.job_ids)
    assert isinstance(loaded, Loaded)
    operate(stage, job, Operation.RESTART)
    reconcile_loaded(claim, [loaded])
    sync = JobSync.objects.get(job=job)
    assert sync.token == "" and sync.due_at is not None and sync.due_at <= timezone.now()
    assert sweep() == 1
    assert job.attempts.get(number=2).submitted_at is not None
    assert stage.job(job).reason_code == "submitted"


def test_a_restart_between_two_reads_of_one_step_shows_neither_half(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row says cancelled still, and the second attempt is there: it must not be stopped for that."""
    job = job_in(stage, Situation(JobState.CANCELLED))
    rows = list(Job.objects.select_related("team", "cluster", "group", "local_queue__queue", "sync"))
    claim = claim_jobs([job.pk], timezone.now())
    operate(stage, job, Operation.RESTART)
    (loaded,) = _load_with(monkeypatch, rows, claim.job_ids)
    assert loaded.attempt.number == 1
    reconcile_loaded(claim, [loaded])
    sweep()
    assert job.attempts.get(number=2).stop_asked_at is None
    assert (stage.job(job).state, stage.job(job).flags) == ("queued", [])


def _load_with(monkeypatch: pytest.MonkeyPatch, rows: list[Job], ids: tuple[int, ...]) -> list[Loaded]:
    """What the loop loads when its read of the jobs was this much earlier than its read of the attempts."""
    with monkeypatch.context() as patch:
        patch.setattr(Job.objects, "filter", lambda **_: SimpleNamespace(select_related=lambda *_names: rows))
        return [loaded for loaded in load(ids) if isinstance(loaded, Loaded)]
