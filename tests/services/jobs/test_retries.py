"""Who retries and how often: infrastructure twice, the program as often as the job says (decisions 3 and 4)."""

from __future__ import annotations

import pytest

from clusters.backends.sandbox import driver
from clusters.contract import FailureCode
from clusters.models import ObservedWorkload
from clusters.simulation.commands import EvictPod, ExitPod, NodePower
from jobs.domain.operations import Operation
from jobs.models import Attempt, Job, JobEvent, Run
from tests.cast import Cast
from tests.faults.truth import quota_problems
from tests.services.jobs.situations import fill, operate, until, until_state
from tests.stage import Stage


def _object(job: Job) -> str:
    newest = Attempt.objects.filter(job=job).order_by("number").last()
    assert newest is not None
    return newest.object_name


def _evict_pod(stage: Stage, job: Job, rank: int = 0) -> None:
    driver.send(stage.cast.cluster, EvictPod(driver.now_ms(), _object(job), rank))


def _exit_pod(stage: Stage, job: Job, code: int, reason: FailureCode = FailureCode.APP_EXIT, rank: int = 0) -> None:
    driver.send(stage.cast.cluster, ExitPod(driver.now_ms(), _object(job), rank, code, reason))


def _running_attempt(stage: Stage, job: Job, number: int) -> Job:
    return until(stage, job, lambda now: now.state == "running" and now.attempt_no == number)


def _attempts(job: Job) -> list[tuple[str, str, bool]]:
    rows = Attempt.objects.filter(job=job).order_by("number")
    return list(rows.values_list("end", "end_reason", "is_infrastructure"))


def test_infrastructure_causes_are_retried_twice_and_then_fail(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(cards=16, command="sleep infinity")
        for number in (1, 2, 3):
            _running_attempt(stage, job, number)
            _evict_pod(stage, job, rank=1)
            stage.run(4)
            assert quota_problems() == []
        until_state(stage, job, "failed")
        assert _attempts(job) == [("failed", "disruption", True)] * 3
        assert stage.job(job).reason_code == "disruption"


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_the_programs_own_failures_are_retried_as_often_as_the_job_says(cast: Cast, limit: int) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 2; exit 3", retry_limit=limit)
        until(stage, job, lambda now: now.state == "failed", seconds=300, step=4)
        assert _attempts(job) == [("failed", "app_exit", False)] * (limit + 1)
        assert set(Attempt.objects.filter(job=job).values_list("exit_code", flat=True)) == {3}
        stage.run(30, 10)
        assert stage.job(job).attempt_no == limit + 1


def test_neither_kind_of_retry_uses_up_the_other(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep infinity", retry_limit=1)
        for number, fail in enumerate((_evict_pod, _exit_one, _evict_pod, _exit_one), start=1):
            _running_attempt(stage, job, number)
            fail(stage, job)
            stage.run(2)
        until_state(stage, job, "failed")
        assert [is_infrastructure for *_, is_infrastructure in _attempts(job)] == [True, False, True, False]


def _exit_one(stage: Stage, job: Job) -> None:
    _exit_pod(stage, job, 1)


@pytest.mark.parametrize(
    ("reason", "retried"),
    [
        (FailureCode.APP_EXIT, False),
        (FailureCode.OUT_OF_MEMORY, False),
        (FailureCode.BAD_CONFIG, False),
        (FailureCode.NODE_PRESSURE, True),
        (FailureCode.NODE_SHUTDOWN, True),
        (FailureCode.DEVICE_ADMISSION, True),
    ],
)
def test_a_cause_is_the_platforms_or_the_programs(cast: Cast, reason: FailureCode, retried: bool) -> None:
    with Stage(cast) as stage:
        job = _running_attempt(stage, stage.submit(command="sleep infinity"), 1)
        _exit_pod(stage, job, 137, reason)
        stage.run(2)
        now = stage.job(job)
        assert (now.state, now.reason_code) == ("retrying" if retried else "failed", reason.value)


def test_a_lost_node_is_retrying_node_lost_and_names_the_node(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = _running_attempt(stage, stage.submit(command="sleep infinity"), 1)
        run = Run.objects.get(attempt__job=job)
        driver.send(cast.cluster, NodePower(driver.now_ms(), run.nodes[0], up=False))
        until_state(stage, job, "retrying")
        now = stage.job(job)
        assert (now.reason_code, now.reason_facts["node"]) == ("node_lost", run.nodes[0])
        _running_attempt(stage, job, 2)
        assert Run.objects.get(attempt__job=job, attempt__number=2).nodes != run.nodes
        assert quota_problems() == []


def test_a_retry_goes_to_the_tail_of_its_priority(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(card_model="h100", cards=32, command="sleep 20; exit 1", retry_limit=1)
        _running_attempt(stage, job, 1)
        other = stage.submit(card_model="h100", cards=32, command="sleep 60; exit 0")
        until_state(stage, other, "running")
        stage.run(10)
        assert (stage.job(job).state, stage.job(job).attempt_no) == ("queued", 2)
        until_state(stage, job, "failed", seconds=240, step=5)


def test_retrying_lasts_until_the_next_object_is_seen(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 2; exit 1", retry_limit=1)
        until_state(stage, job, "retrying", step=1)
        events = JobEvent.objects.filter(job=job, code="app_exit")
        assert events.count() == 1
        assert not ObservedWorkload.objects.filter(job_ulid=job.public_id, attempt_no=2).exists()
        now = until(stage, job, lambda now: now.state != "retrying", step=1)
        assert now.attempt_no == 2 and now.state in {"queued", "creating", "running"}
        assert ObservedWorkload.objects.filter(job_ulid=job.public_id, attempt_no=2).exists()


def test_preemption_and_hold_use_up_no_retry(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = _running_attempt(stage, stage.submit(card_model="h100", cards=32, command="sleep infinity"), 1)
        urgent = stage.submit("lead-vision", card_model="h100", cards=8, priority="high", command="sleep 20; exit 0")
        until_state(stage, urgent, "running", "creating")
        now = until_state(stage, job, "queued")
        assert now.reason_code == "preempted_higher_priority" and now.reason_facts["by"] == urgent.public_id
        assert quota_problems() == []
        _running_attempt(stage, job, 1)
        operate(stage, job, Operation.HOLD)
        stage.run(10)
        operate(stage, job, Operation.RESUME)
        for number in (1, 2):
            _running_attempt(stage, job, number)
            _evict_pod(stage, job)
            stage.run(2)
        _running_attempt(stage, job, 3)
        first = Run.objects.filter(attempt__job=job, attempt__number=1).order_by("ordinal")
        assert [run.end_cause for run in first] == ["higher_priority", "held", "failed"]


def test_a_job_that_loses_borrowed_cards_is_queued_again_and_says_so(cast: Cast) -> None:
    with Stage(cast) as stage:
        borrower = fill(stage, "h100", 32, "eng-language-1")
        owner = stage.submit(card_model="h100", cards=8, command="sleep 600")
        until_state(stage, owner, "running")
        now = stage.job(borrower)
        assert (now.state, now.reason_code) == ("queued", "preempted_quota_reclaimed")
        assert quota_problems() == []
