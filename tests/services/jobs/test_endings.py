"""Ends that are no plain exit: image, time limit, an object that vanished."""

from __future__ import annotations

from datetime import timedelta

import pytest

from clusters.backends.sandbox import driver
from clusters.simulation.commands import Delete
from jobs.domain.operations import Operation
from jobs.models import Attempt, Job, Run
from quotas.models import Demand
from tests.cast import Cast
from tests.faults.truth import objects, quota_problems, true_figures
from tests.services.jobs.situations import fill, operate, until, until_state
from tests.stage import Stage

MISSING = "sandbox.invalid/missing:1"


def _attempt(job: Job) -> Attempt:
    newest = Attempt.objects.filter(job=job).order_by("number").last()
    assert newest is not None
    return newest


# --------------------------------------------------------------------------- image (decision 8, case C-11)


def test_an_image_that_cannot_be_pulled_is_said_at_once_and_fails_after_ten_minutes(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(image=MISSING, retry_limit=2)
        now = until(stage, job, lambda now: now.reason_code == "image_not_found", seconds=20, step=1)
        assert now.state == "creating"
        since = now.reason_since
        stage.run(300, 30)
        assert (stage.job(job).state, stage.job(job).reason_code) == ("creating", "image_not_found")
        assert true_figures()["vision", "h100"].reserved == 8 and quota_problems() == []
        stage.run(270, 30)
        assert stage.job(job).state == "creating"
        now = until_state(stage, job, "failed", seconds=60)
        assert (now.reason_code, now.attempt_no) == ("image_not_found", 1)
        assert now.ended_at is not None and timedelta(minutes=10) <= now.ended_at - since < timedelta(minutes=11)
        assert _attempt(job).end == "stopped" and _attempt(job).stop_cause == "image_not_found"
        assert true_figures()["vision", "h100"].reserved == 0 and quota_problems() == []
        stage.run(60, 20)
        assert not [raw for raw in objects() if raw.ulid == job.public_id]
        assert stage.job(job).started_at is None


# --------------------------------------------------------------------------- time limit (decision 7)


def test_training_at_its_limit_fails_with_time_limit(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep infinity", max_run_seconds=60), "running", step=1)
        started = stage.job(job).started_at
        now = until_state(stage, job, "failed", step=1)
        assert now.reason_code == "time_limit"
        run = Run.objects.get(attempt__job=job)
        assert run.end_cause == "time_limit" and run.ended_at is not None and started is not None
        assert timedelta(seconds=60) <= run.ended_at - started < timedelta(seconds=65)
        assert not run.times_are_bounds
        assert run.released_at is not None and run.released_at >= run.ended_at


def test_development_at_its_limit_ends_well(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(kind="development", cards=1, command="sleep infinity", max_run_seconds=60)
        now = until_state(stage, job, "succeeded", "failed")
        assert (now.state, now.reason_code) == ("succeeded", "stopped_at_limit")


def test_held_time_does_not_count_towards_the_limit(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep infinity", max_run_seconds=120), "running")
        stage.run(60, 10)
        operate(stage, job, Operation.HOLD)
        stage.run(4)
        stage.run(600, 60)
        operate(stage, job, Operation.RESUME)
        until_state(stage, job, "running")
        stage.run(30, 5)
        assert stage.job(job).state == "running"
        now = until_state(stage, job, "failed", seconds=60)
        assert now.reason_code == "time_limit"
        ran = sum((r.ended_at - r.started_at).total_seconds() for r in Run.objects.filter(attempt__job=job))
        assert 120 <= ran < 130


def test_a_limit_starts_anew_with_a_restart(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep infinity", max_run_seconds=60), "failed")
        operate(stage, job, Operation.RESTART)
        until_state(stage, job, "running")
        stage.run(40, 5)
        assert stage.job(job).state == "running"


# --------------------------------------------------------------------------- deleted behind our back


@pytest.mark.parametrize("state", ["queued", "creating", "running"])
def test_an_object_deleted_by_somebody_else_is_failed_without_a_recorded_outcome(cast: Cast, state: str) -> None:
    with Stage(cast) as stage:
        if state == "queued":
            fill(stage)
        job = stage.submit(card_model="h100", command="sleep 600", retry_limit=3)
        stage.run(4)
        until_state(stage, job, state, step=1)
        driver.send(cast.cluster, Delete(driver.now_ms(), _attempt(job).object_name, 10_000))
        seen = set()
        for _ in range(15):
            stage.run(1, 1)
            assert quota_problems() == []
            seen.add(stage.job(job).state)
        assert seen <= {state, "failed"}
        now = stage.job(job)
        assert (now.state, now.flags, now.reason_code) == ("failed", [], "outcome_not_recorded")
        assert _attempt(job).end == "lost"
        assert not Run.objects.filter(attempt__job=job, ended_at=None).exists()
        assert not Demand.objects.filter(job_ulid=job.public_id).exists()


def test_a_job_whose_pods_are_being_deleted_is_shown_as_it_was_and_stopping(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(cards=16, command="sleep 600"), "running")
        driver.send(cast.cluster, Delete(driver.now_ms(), _attempt(job).object_name, 120_000))
        stage.run(1, 1)
        now = stage.job(job)
        assert (now.state, now.flags, now.reason_code) == ("running", ["stopping"], "running")
        assert true_figures()["vision", "h100"].used == 0 and quota_problems() == []


def test_a_finished_object_that_vanishes_keeps_the_end_that_was_seen(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 10; exit 0"), "succeeded", step=1)
        driver.send(cast.cluster, Delete(driver.now_ms(), _attempt(job).object_name, 0))
        stage.run(60, 10)
        assert (stage.job(job).state, _attempt(job).end) == ("succeeded", "succeeded")


def test_a_restart_after_a_vanished_object_is_a_new_attempt(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 20; exit 0"), "running")
        driver.send(cast.cluster, Delete(driver.now_ms(), _attempt(job).object_name, 0))
        until_state(stage, job, "failed")
        operate(stage, job, Operation.RESTART)
        until_state(stage, job, "succeeded")
        assert list(Attempt.objects.filter(job=job).order_by("number").values_list("end", flat=True)) == [
            "lost",
            "succeeded",
        ]
