"""A database of the past beside a cluster that went on: what runs is taken over, nothing is made twice or killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from accounts.models import AuditEvent
from clusters.backends.sandbox import driver
from clusters.models import ObservedWorkload, SandboxCommand, SandboxObject, SandboxWorld
from clusters.simulation.commands import EvictPod
from clusters.sync import cluster_sync
from jobs.domain.operations import Operation
from jobs.models import Attempt, Job, JobEvent, Run
from jobs.strays import strays, tell_of_strays
from quotas.models import Demand
from tests.cast import Cast
from tests.faults.truth import objects, quota_problems
from tests.services.jobs.situations import operate, until, until_state
from tests.stage import Stage

SANDBOX = (SandboxWorld, SandboxObject, SandboxCommand)


@contextmanager
def lost_afterwards() -> Iterator[None]:
    """Everything in the block happens; then the database is as it was before, and the cluster is not."""
    point = transaction.savepoint()
    yield
    cluster = [list(model.objects.all()) for model in SANDBOX]
    transaction.savepoint_rollback(point)
    for model, rows in zip(SANDBOX, cluster, strict=True):
        model.objects.all().delete()
        model.objects.bulk_create(rows)


def look(stage: Stage) -> None:
    """As a restore does, before anything acts on what the database remembers."""
    assert cluster_sync(stage.cast.cluster)


def alive(job: Job) -> list[int]:
    """Numbers of the job's attempts that are on the cluster and not over."""
    return [raw.attempt for raw in objects() if raw.ulid == job.public_id and not raw.finished]


def _evicted_and_retried(stage: Stage, job: Job) -> None:
    until_state(stage, job, "running")
    driver.send(stage.cast.cluster, EvictPod(driver.now_ms(), objects_name(job), 0))
    until(stage, job, lambda now: now.attempt_no == 2 and now.state == "running")


def _requeued_twice(stage: Stage, job: Job) -> None:
    for number in (2, 3):
        until_state(stage, job, "running")
        operate(stage, job, Operation.REQUEUE)
        until(stage, job, lambda now, number=number: now.attempt_no == number and now.state == "running")


def _cancelled_and_restarted(stage: Stage, job: Job) -> None:
    operate(stage, job, Operation.CANCEL)
    until_state(stage, job, "cancelled")
    operate(stage, job, Operation.RESTART)
    until(stage, job, lambda now: now.attempt_no == 2 and now.state == "running")


def objects_name(job: Job) -> str:
    return Attempt.objects.filter(job=job).order_by("-number")[0].object_name


@pytest.mark.parametrize("known_as", ["just submitted", "queued", "running"])
def test_a_job_that_the_database_knows_is_found_where_the_cluster_has_it(cast: Cast, known_as: str) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep infinity")
        if known_as != "just submitted":
            stage.run(2)
        if known_as == "running":
            until_state(stage, job, "running")
        with lost_afterwards():
            until_state(stage, job, "running")
            stage.run(30)
        look(stage)
        stage.run(30)
        assert stage.job(job).state == "running"
        assert alive(job) == [1]
        assert quota_problems() == []


@pytest.mark.parametrize("meanwhile", [_evicted_and_retried, _requeued_twice, _cancelled_and_restarted])
@pytest.mark.parametrize("known_as", ["just submitted", "running"])
def test_a_later_attempt_that_runs_is_taken_over(
    cast: Cast, known_as: str, meanwhile: Callable[[Stage, Job], None]
) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep infinity")
        if known_as == "running":
            until_state(stage, job, "running")
        with lost_afterwards():
            meanwhile(stage, job)
            newest = stage.job(job).attempt_no
            stage.run(30)
        assert stage.job(job).attempt_no == 1
        look(stage)
        stage.run(10)
        found = stage.job(job)
        assert (found.state, found.attempt_no, found.desired) == ("running", newest, "run")
        assert alive(job) == [newest]
        ends = dict(Attempt.objects.filter(job=job).values_list("number", "end"))
        assert ends == dict.fromkeys(range(1, newest), "lost") | {newest: ""}
        assert not Run.objects.filter(attempt__job=job, attempt__number__lt=newest, ended_at=None).exists()
        assert JobEvent.objects.filter(job=job, code="attempt_adopted", attempt_no=newest).count() == 1
        assert Demand.objects.get(job_ulid=job.public_id).attempt_no == newest
        assert quota_problems() == []


def test_a_job_that_ended_before_the_backup_and_was_restarted_after_it_lives(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 1; exit 1")
        until_state(stage, job, "failed")
        stage.run(20)
        with lost_afterwards():
            Job.objects.filter(pk=job.pk).update(command="sleep infinity")
            operate(stage, job, Operation.RESTART)
            until(stage, job, lambda now: now.attempt_no == 2 and now.state == "running")
        look(stage)
        stage.run(10)
        found = stage.job(job)
        assert (found.state, found.attempt_no, found.ended_at) == ("running", 2, None)
        assert quota_problems() == []


def test_a_later_attempt_that_has_ended_tells_how(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 1; exit 3", retry_limit=1)
        with lost_afterwards():
            until(stage, job, lambda now: now.attempt_no == 2)
            stage.skip(60)
        look(stage)
        stage.run(10)
        assert (stage.job(job).state, stage.job(job).attempt_no) == ("failed", 2)
        assert Attempt.objects.get(job=job, number=2).exit_code == 3


def test_a_job_that_ended_meanwhile_is_not_run_again(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 5; exit 0")
        until_state(stage, job, "running")
        with lost_afterwards():
            until_state(stage, job, "succeeded")
            until(stage, job, lambda now: not alive(now) and not [o for o in objects() if o.ulid == now.public_id])
        look(stage)
        stage.run(60, 10)
        assert (stage.job(job).state, stage.job(job).reason_code) == ("failed", "outcome_not_recorded")
        assert alive(job) == []


@pytest.fixture
def stray(cast: Cast) -> Iterator[tuple[Stage, str]]:
    """A job that runs and was submitted after the backup, beside one that the database knows."""
    with Stage(cast) as stage:
        known = stage.submit(command="sleep infinity")
        until_state(stage, known, "running")
        with lost_afterwards():
            lost = stage.submit(command="sleep infinity")
            until_state(stage, lost, "running")
        look(stage)
        yield stage, lost.public_id
        assert stage.job(known).state == "running"


def _command(*arguments: str) -> str:
    out = StringIO()
    call_command("strays", *arguments, stdout=out)
    return out.getvalue()


def test_work_of_an_unknown_job_runs_on_and_is_named(
    stray: tuple[Stage, str], caplog: pytest.LogCaptureFixture
) -> None:
    stage, ulid = stray
    stage.run(300, 20)
    (found,) = strays()
    assert (found.cluster, found.job_ulid, found.attempt, found.cards) == ("sandbox", ulid, 1, 8)
    assert [raw.ulid for raw in objects() if raw.ulid == ulid and raw.holds_quota] == [ulid]
    assert ulid in _command()
    assert tell_of_strays() == 1
    assert "1 objects of jobs that are not known here" in caplog.text


def test_only_an_operators_word_ends_work_of_an_unknown_job(stray: tuple[Stage, str]) -> None:
    stage, ulid = stray
    assert "asked to end" in _command("--end", ulid.lower())
    stage.run(150, 10)
    assert strays() == []
    assert [raw for raw in objects() if raw.ulid == ulid] == []
    act = AuditEvent.objects.get(action="stray.end")
    assert (act.actor_name, act.target_id, act.detail["attempt"]) == ("command line", ulid, 1)
    assert "belongs to a job" in _command()


def test_a_known_job_is_no_stray_that_could_be_ended(stray: tuple[Stage, str]) -> None:
    known = Job.objects.get()
    assert ObservedWorkload.objects.filter(job_ulid=known.public_id, gone=False).exists()
    with pytest.raises(CommandError, match="No such stray"):
        _command("--end", known.public_id)
