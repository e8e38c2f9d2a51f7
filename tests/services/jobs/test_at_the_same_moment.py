"""A person asks something of a job at the very moment when the loop records a step of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import connection, transaction
from django.utils import timezone

from clusters.nodes_models import Maintenance
from clusters.sync import cluster_sync
from jobs.domain.operations import Operation, Situation
from jobs.domain.words import JobState
from jobs.models import Job, JobSync
from jobs.reconcile.claims import Claim, claim_jobs
from jobs.reconcile.load import Loaded, load
from jobs.reconcile.loop import reconcile_jobs, reconcile_loaded, sweep
from jobs.services.operations import job_operate
from jobs.services.submit import job_submit
from quotas.models import Demand, LocalQueue
from tests.cast import Cast, build_cast
from tests.services.jobs.situations import LEAD, job_in, operate, preempt, until_state
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


def test_the_loop_brings_the_transactions_that_its_locks_need(open_cast: Cast) -> None:
    """A job of a limited queue that waits for maintenance lets others pass, and one that is held gives its place up."""
    LocalQueue.objects.update(most_cards=8)
    group = open_cast.groups["h100"]
    with Stage(open_cast) as stage:
        held = stage.submit(card_model="a100")
        operate(stage, held, Operation.HOLD)
        tomorrow = {"starts_at": timezone.now() + timedelta(days=1), "ends_at": timezone.now() + timedelta(days=2)}
        Maintenance.objects.create(cluster=group.cluster, group=group, created_at=timezone.now(), **tomorrow)
        waits = stage.submit(card_model="h100")
        stage.run(30, 10)
        assert [stage.job(job).reason_code for job in (held, waits)] == ["held", "waiting_for_maintenance"]
        assert Demand.objects.get(job_ulid=waits.public_id).asks_from > timezone.now()


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


def _loaded(job: Job) -> tuple[Claim, Loaded]:
    """The loop has taken the job and read it; what people ask from now on comes too late for this step."""
    claim = claim_jobs([job.pk], timezone.now())
    (loaded,) = load(claim.job_ids)
    assert isinstance(loaded, Loaded)
    return claim, loaded


def test_a_hold_during_the_step_that_ends_a_rest_keeps_the_job_out(stage: Stage) -> None:
    job = job_in(stage, Situation(JobState.QUEUED, resting=True))
    stage.run(6)
    Job.objects.filter(pk=job.pk).update(rests_until=timezone.now())
    claim, loaded = _loaded(job)
    operate(stage, job, Operation.HOLD)
    reconcile_loaded(claim, [loaded])
    now = stage.job(job)
    assert (now.held, now.rests_until) == (True, None)
    assert Demand.objects.get(job_ulid=job.public_id).held
    stage.run(30)
    assert (stage.job(job).state, stage.job(job).flags) == ("queued", ["held"])


def test_a_longer_rest_that_is_asked_for_during_the_step_that_ends_one_is_kept(stage: Stage) -> None:
    job = job_in(stage, Situation(JobState.RUNNING, resting=True))
    Job.objects.filter(pk=job.pk).update(rests_until=timezone.now())
    claim, loaded = _loaded(job)
    operate(stage, job, Operation.RESUME, LEAD)
    preempt(stage, job)
    reconcile_loaded(claim, [loaded])
    assert stage.job(job).rests_until is not None
    until_state(stage, job, "queued")


def test_a_cancel_during_the_step_that_makes_the_requeued_attempt_ends_the_job(stage: Stage) -> None:
    job = job_in(stage, Situation(JobState.RUNNING, requeuing=True))
    sweep()
    cluster_sync(stage.cast.cluster)
    stage.skip(2)
    cluster_sync(stage.cast.cluster)
    claim, loaded = _loaded(job)
    operate(stage, job, Operation.CANCEL)
    reconcile_loaded(claim, [loaded])
    assert (stage.job(job).desired, stage.job(job).attempt_no) == ("cancel", 2)
    assert until_state(stage, job, "cancelled").attempt_no == 2
    assert not JobSync.objects.filter(job=job, token__gt="").exists()


def test_a_requeue_during_the_step_that_makes_a_retry_makes_no_third_attempt(stage: Stage) -> None:
    job = until_state(stage, stage.submit(command="sleep 5; exit 3", retry_limit=1), "running", step=1)
    stage.skip(8)
    cluster_sync(stage.cast.cluster)
    claim, loaded = _loaded(job)
    operate(stage, job, Operation.REQUEUE)
    reconcile_loaded(claim, [loaded])
    now = stage.job(job)
    assert (now.desired, now.attempt_no) == ("run", 2)
    until_state(stage, job, "failed")
    assert job.attempts.count() == 2


def _load_with(monkeypatch: pytest.MonkeyPatch, rows: list[Job], ids: tuple[int, ...]) -> list[Loaded]:
    """What the loop loads when its read of the jobs was this much earlier than its read of the attempts."""
    with monkeypatch.context() as patch:
        patch.setattr(Job.objects, "filter", lambda **_: SimpleNamespace(select_related=lambda *_names: rows))
        return [loaded for loaded in load(ids) if isinstance(loaded, Loaded)]
