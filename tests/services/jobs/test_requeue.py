"""Requeue: the present attempt is stopped, then a new one goes to the end of the queue (decision 5)."""

from __future__ import annotations

import pytest

from clusters.backends.sandbox import driver
from clusters.simulation.commands import Delete, EvictPod
from jobs.domain.operations import Operation, Situation
from jobs.domain.words import JobState
from jobs.models import Attempt, Job, JobSync, LogChunk, Run
from quotas.models import Demand
from tests.cast import Cast
from tests.faults.truth import objects, quota_problems
from tests.services.jobs.situations import LEAD, OWNER, fill, job_in, operate, until, until_state
from tests.stage import Stage

LIVE = [JobState.QUEUED, JobState.CREATING, JobState.RUNNING, JobState.RETRYING]


def _live_objects(job: Job) -> list[int]:
    """Attempts that hold cards or could get some."""
    return [raw.attempt for raw in objects() if raw.ulid == job.public_id and not raw.finished and _counts(raw.data)]


def _counts(data: dict[str, object]) -> bool:
    return not (data["deleting"] and data["stage"] == "queued")  # quota freed, the last pods are ending


@pytest.mark.parametrize("state", LIVE)
def test_a_new_attempt_follows_when_the_present_one_has_freed_its_cards(cast: Cast, state: JobState) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(state))
        before = stage.job(job).attempt_no
        operate(stage, job, Operation.REQUEUE)
        seen = set()
        while stage.job(job).attempt_no == before:
            stage.run(1, 1)
            now = stage.job(job)
            assert len(_live_objects(job)) <= 1 and quota_problems() == []
            if now.attempt_no == before:
                seen.add((now.state in {s.value for s in LIVE}, "stopping" in now.flags, now.reason_code))
        assert seen <= {(True, True, "requeuing")}
        now = stage.job(job)
        assert (now.state, now.desired, now.started_at) == ("queued", "run", None)
        assert now.reason_code == "requeued_by_person"
        for _ in range(6):
            stage.run(1, 1)
            assert len(_live_objects(job)) <= 1 and quota_problems() == []
        old, new = Attempt.objects.filter(job=job, number__gte=before).order_by("number")
        assert (old.end, old.end_reason, old.is_infrastructure) == ("stopped", "requeued_by_person", False)
        assert old.ended_at is not None and old.released_at is not None
        assert not Run.objects.filter(attempt=old, ended_at=None).exists()
        assert (new.number, new.retries_from) == (before + 1, old.retries_from)
        assert Demand.objects.get(job_ulid=job.public_id).attempt_no == before + 1


def test_it_goes_to_the_end_of_the_queue(cast: Cast) -> None:
    with Stage(cast) as stage:
        blocker = fill(stage)
        first = stage.submit(OWNER, card_model="h100", cards=32, command="sleep 600")
        stage.run(4)
        second = stage.submit(OWNER, card_model="h100", cards=32, command="sleep 600")
        stage.run(4)
        operate(stage, first, Operation.REQUEUE, LEAD)
        stage.run(10)
        operate(stage, blocker, Operation.CANCEL, "eng-vision-2")
        until_state(stage, second, "running")
        assert (stage.job(first).state, stage.job(first).attempt_no) == ("queued", 2)


def test_a_job_that_runs_gives_its_cards_to_who_waits_and_its_next_attempt_waits_behind(cast: Cast) -> None:
    with Stage(cast) as stage:
        runs = fill(stage, username=OWNER)
        waits = stage.submit("eng-vision-2", card_model="h100", cards=32, command="sleep 600")
        stage.run(4)
        operate(stage, runs, Operation.REQUEUE)
        until_state(stage, waits, "running")
        assert (stage.job(runs).state, stage.job(runs).attempt_no) == ("queued", 2)
        run = Run.objects.get(attempt__job=runs, attempt__number=1)
        assert run.end_cause == "requeued" and run.released_at is not None and run.ended_at <= run.released_at
        assert LogChunk.objects.filter(attempt__job=runs, attempt__number=1).exists()


def test_the_next_attempt_does_not_wait_for_the_last_pod_of_the_one_before(cast: Cast) -> None:
    """Its cards are free as soon as the stop was told; a grace of minutes must not keep the job out of the queue."""
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.RUNNING))
        operate(stage, job, Operation.REQUEUE)
        until(stage, job, lambda now: now.attempt_no == 2, step=1)
        old = next(raw for raw in objects() if raw.ulid == job.public_id)
        assert old.attempt == 1 and {pod["phase"] for pod in old.pods()} == {"ending"}
        assert Attempt.objects.get(job=job, number=1).released_at is None
        until(stage, job, lambda now: Attempt.objects.get(job=now, number=1).released_at is not None, step=1)
        assert until_state(stage, job, "running").attempt_no == 2


def test_it_counts_as_no_retry(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(OWNER, command="sleep 20; exit 3", retry_limit=1)
        for attempt in (1, 2):
            until(stage, job, lambda now, n=attempt: (now.state, now.attempt_no) == ("running", n), step=1)
            operate(stage, job, Operation.REQUEUE)
        now = until(stage, job, lambda now: now.state == "failed", seconds=240)
        assert now.attempt_no == 4, "two requeues and one retry"
        ends = list(Attempt.objects.filter(job=job).order_by("number").values_list("end", flat=True))
        assert ends == ["stopped", "stopped", "failed", "failed"]


def test_one_that_fails_before_its_stop_is_requeued_all_the_same(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(OWNER, command="sleep 10; exit 3"), "running", step=1)
        operate(stage, job, Operation.REQUEUE)
        stage.run(20, 20)  # it has failed, and the loop has only now seen it
        now = stage.job(job)
        assert (now.state, now.attempt_no, now.desired) == ("queued", 2, "run")
        assert Attempt.objects.get(job=job, number=1).end_reason == "app_exit"
        until(stage, job, lambda now: (now.state, now.attempt_no) == ("failed", 2))


def test_one_that_ends_well_before_its_stop_has_ended(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(OWNER, command="sleep 10; exit 0"), "running", step=1)
        operate(stage, job, Operation.REQUEUE)
        stage.run(20, 20)
        now = stage.job(job)
        assert (now.state, now.attempt_no) == ("succeeded", 1)
        operate(stage, job, Operation.RESTART)
        until(stage, job, lambda now: (now.state, now.attempt_no) == ("succeeded", 2))


def test_a_cancel_that_comes_meanwhile_wins(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.RUNNING, requeuing=True))
        stage.run(1, 1)
        operate(stage, job, Operation.CANCEL)
        now = until_state(stage, job, "cancelled")
        assert now.attempt_no == 1
        until(stage, job, lambda now: JobSync.objects.get(job=now).due_at is None)
        assert not [raw for raw in objects() if raw.ulid == job.public_id]


def test_one_whose_object_somebody_deletes_meanwhile_is_requeued(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.RUNNING, requeuing=True))
        name = Attempt.objects.get(job=job).object_name
        driver.send(cast.cluster, Delete(driver.now_ms(), name, 0))
        until(stage, job, lambda now: (now.state, now.attempt_no) == ("running", 2))


def test_one_that_loses_a_pod_meanwhile_is_requeued_once(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.RUNNING, requeuing=True))
        driver.send(cast.cluster, EvictPod(driver.now_ms(), Attempt.objects.get(job=job).object_name, 0))
        until(stage, job, lambda now: (now.state, now.attempt_no) == ("running", 2))
        stage.run(30)
        assert Attempt.objects.filter(job=job).count() == 2


def test_one_that_was_never_sent_is_sent_once_as_its_next_attempt(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(OWNER, command="sleep 600")
        operate(stage, job, Operation.REQUEUE)
        until(stage, job, lambda now: (now.state, now.attempt_no) == ("running", 2))
        assert {raw.attempt for raw in objects() if raw.ulid == job.public_id} == {2}
