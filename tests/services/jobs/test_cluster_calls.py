"""Calls to the cluster that fail, answer late, or find the name taken: no job is lost, none is made twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from clusters.backends.sandbox import driver
from clusters.backends.sandbox.backend import SandboxBackend
from clusters.contract import BackendError, Rejected, Retryable, Unauthorized, WorkloadSpec
from clusters.models import Cluster, ObservedWorkload
from clusters.simulation.commands import Delete, Submit
from clusters.supplies import Supplies
from clusters.sync import cluster_sync, sync_due
from jobs.models import Attempt, Job, JobSync
from jobs.reconcile.loop import sweep
from jobs.specs import workload_spec
from tests.cast import Cast
from tests.faults.truth import objects
from tests.services.jobs.situations import until, until_state
from tests.stage import Stage


class Calls:
    """Stands before one method of the sandbox: counts its calls, and breaks those that it is told to break."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
        self.count = 0
        self.times: list[Any] = []
        self._break: Callable[[int], tuple[BackendError, bool] | None] = lambda call: None
        original = getattr(SandboxBackend, method)

        def call(backend: SandboxBackend, *args: Any) -> Any:
            self.count += 1
            self.times.append(timezone.now())
            broken = self._break(self.count)
            if broken is None:
                return original(backend, *args)
            error, arrives = broken
            if arrives:
                original(backend, *args)
            raise error

        monkeypatch.setattr(SandboxBackend, method, call)

    def fail(self, error: BackendError, *, first: int, arrives: bool = False) -> None:
        """The first so many calls fail; ``arrives`` = the cluster did what was asked, only its answer was lost."""
        self._break = lambda call: (error, arrives) if call <= first else None


# --------------------------------------------------------------------------- lost answers and outages


@pytest.mark.parametrize("arrives", [True, False], ids=["answer lost", "never arrived"])
def test_a_submit_without_an_answer_is_one_object_in_the_end(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    """Case C-04: a time-out after the object was made is no second object, and never a failed job."""
    calls = Calls(monkeypatch, "submit")
    calls.fail(Retryable("timeout"), first=1, arrives=arrives)
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 20; exit 0")
        states = set()
        for _ in range(40):
            stage.run(2)
            states.add(stage.job(job).state)
            assert len([raw for raw in objects() if raw.ulid == job.public_id]) <= 1
        assert states <= {"queued", "creating", "running", "succeeded"} and "succeeded" in states
        assert Attempt.objects.filter(job=job).count() == 1


def test_while_the_cluster_is_away_jobs_are_kept_and_say_so_and_then_go_on(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(monkeypatch, "submit")
    calls.fail(Retryable("unreachable"), first=8)
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 20; exit 0")
        stage.run(4)
        assert stage.job(job).reason_code == "submitted"
        now = until(stage, job, lambda now: now.reason_code == "not_sent")
        assert now.state == "queued" and calls.count == 3
        sync = JobSync.objects.get(job=job)
        assert (sync.failures, sync.last_error) == (3, "unreachable")
        until_state(stage, job, "succeeded", seconds=600, step=5)
        assert JobSync.objects.get(job=job).failures == 0


def test_failed_calls_are_repeated_ever_more_slowly(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(monkeypatch, "submit")
    calls.fail(Retryable("unreachable"), first=1_000)
    with Stage(cast) as stage:
        stage.submit()
        stage.run(260, 4)
    gaps = [(later - earlier).total_seconds() for earlier, later in zip(calls.times, calls.times[1:], strict=False)]
    assert gaps[:6] == sorted(gaps[:6]) and gaps[0] >= 2
    assert max(gaps) <= 61 and gaps[-1] >= 60


def test_a_credential_that_is_not_accepted_is_tried_once_a_minute(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(monkeypatch, "submit")
    calls.fail(Unauthorized("forbidden"), first=1_000)
    with Stage(cast) as stage:
        stage.submit()
        stage.run(300, 5)
    assert calls.count <= 6


def test_a_stop_that_fails_is_repeated_until_it_works(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(monkeypatch, "stop")
    calls.fail(Retryable("timeout"), first=3)
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 5; exit 0"), "succeeded")
        stage.run(120, 5)
        assert not objects() and calls.count >= 4
        assert JobSync.objects.get(job=job).due_at is None


def test_a_job_the_cluster_refuses_for_good_fails_with_its_words(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(monkeypatch, "submit")
    calls.fail(Rejected("invalid", "spec.image: not allowed here"), first=1)
    with Stage(cast) as stage:
        job = stage.submit(retry_limit=3)
        stage.run(4)
        now = stage.job(job)
        assert (now.state, now.reason_code) == ("failed", "rejected")
        assert now.reason_facts == {"raw": "spec.image: not allowed here"}
        stage.run(60, 10)
        assert calls.count == 1 and not objects()


# --------------------------------------------------------------------------- a name of somebody else


def _occupy(stage: Stage, job: Job) -> str:
    """An object of the name the job's newest attempt wants, of another owner."""
    attempt = Attempt.objects.filter(job=job).order_by("number")[0]
    loaded = Job.objects.select_related("team", "local_queue__queue", "group").get(pk=job.pk)
    spec = workload_spec(loaded, attempt, Supplies())
    foreign = Submit.of(driver.now_ms(), _owned_by_another(spec))
    driver.send(stage.cast.cluster, foreign)
    driver.touch(stage.cast.cluster)
    return attempt.object_name


def _owned_by_another(spec: WorkloadSpec) -> WorkloadSpec:
    values = {name: getattr(spec, name) for name in WorkloadSpec.__dataclass_fields__}
    return WorkloadSpec(**{**values, "job_ulid": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "command": "sleep infinity"})


def test_a_taken_name_is_exchanged_once_and_the_other_object_left_alone(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 20; exit 0")
        taken = _occupy(stage, job)
        until_state(stage, job, "succeeded")
        attempt = Attempt.objects.get(job=job)
        assert attempt.object_name != taken and attempt.conflicts == 1
        assert {raw.name for raw in objects() if raw.ulid != job.public_id} == {taken}
        assert next(raw for raw in objects() if raw.name == taken).holds_quota


def test_a_second_taken_name_is_a_visible_conflict_until_it_is_free(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 20; exit 0")
        _occupy(stage, job)
        stage.run(2)
        second = _occupy(stage, job)
        now = until(stage, job, lambda now: now.reason_code == "name_conflict", seconds=20)
        assert now.state == "queued"
        assert [raw.ulid == job.public_id for raw in objects()] == [False, False]
        driver.send(cast.cluster, Delete(driver.now_ms(), second, 0))
        until_state(stage, job, "succeeded", seconds=240, step=5)
        assert Attempt.objects.get(job=job).object_name == second


def test_stopping_a_job_never_stops_an_object_of_somebody_else(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 600"), "running")
        attempt = Attempt.objects.get(job=job)
        driver.send(cast.cluster, Delete(driver.now_ms(), attempt.object_name, 0))
        stage.run(4, 1)
        assert stage.job(job).state == "failed"
        taken = _occupy(stage, job)
        stage.run(60, 10)
        assert [raw.name for raw in objects()] == [taken]


# --------------------------------------------------------------------------- one sick thing stops nothing else


def test_a_job_whose_rows_cannot_be_read_backs_off_and_stops_no_other(cast: Cast) -> None:
    with Stage(cast) as stage:
        sick = until_state(stage, stage.submit(command="sleep infinity"), "running")
        ObservedWorkload.objects.filter(job_ulid=sick.public_id).update(facts={"wanted_pods": "many"}, version=10**9)
        jobs = [stage.submit(cards=1, command="sleep 5; exit 0") for _ in range(3)]
        passes = 0
        for _ in range(30):
            stage.run(2)
            passes += JobSync.objects.get(job=sick).failures > 0
        assert [stage.job(job).state for job in jobs] == ["succeeded"] * 3
        sync = JobSync.objects.get(job=sick)
        assert sync.last_error == "internal_error" and 3 <= sync.failures <= 7
        assert stage.job(sick).state == "running"


def test_a_step_that_breaks_backs_off_and_stops_no_other(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    original = SandboxBackend.submit

    def submit(backend: SandboxBackend, spec: WorkloadSpec) -> Any:
        if spec.command == "boom":
            raise ZeroDivisionError
        return original(backend, spec)

    monkeypatch.setattr(SandboxBackend, "submit", submit)
    with Stage(cast) as stage:
        sick = stage.submit(command="boom")
        well = stage.submit(command="sleep 5; exit 0")
        until_state(stage, well, "succeeded")
        assert JobSync.objects.get(job=sick).last_error == "internal_error"
        monkeypatch.setattr(SandboxBackend, "submit", original)
        until_state(stage, sick, "running")


@pytest.mark.parametrize("broken", ["unknown kind", "no world"])
def test_a_sick_cluster_says_so_and_stops_no_other(cast: Cast, broken: str) -> None:
    kind = "sandbox" if broken == "no world" else "mainframe"
    sick = Cluster.objects.create(slug="aaa", name="Aaa", kind=kind)
    with Stage(cast):
        Cluster.objects.filter(pk=cast.cluster.pk).update(synced_at=timezone.now() - timedelta(minutes=1))
        assert sync_due() == 1
    sick.refresh_from_db()
    assert sick.sync_error and sick.synced_at is None
    cast.cluster.refresh_from_db()
    assert cast.cluster.sync_error == ""


def test_a_cluster_that_does_not_answer_keeps_what_was_seen(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep infinity"), "running")
        calls = Calls(monkeypatch, "observe")
        calls.fail(Retryable("unreachable"), first=30)
        before = list(ObservedWorkload.objects.values_list("version", "gone"))
        stage.run(60, 2)
        assert list(ObservedWorkload.objects.values_list("version", "gone")) == before
        assert stage.job(job).state == "running"
        assert Cluster.objects.get(pk=cast.cluster.pk).sync_error == "unreachable"
        assert cluster_sync(cast.cluster)
        assert Cluster.objects.get(pk=cast.cluster.pk).sync_error == ""


def test_an_incomplete_look_never_takes_an_object_for_gone(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep infinity"), "running")
        original = SandboxBackend.observe

        def observe(backend: SandboxBackend, scope: Any) -> Any:
            whole = original(backend, scope)
            return type(whole)(read_at=whole.read_at, complete=False, objects=())

        monkeypatch.setattr(SandboxBackend, "observe", observe)
        stage.run(120, 10)
        assert stage.job(job).state == "running"
        assert not ObservedWorkload.objects.filter(gone=True).exists()


def test_a_sweep_without_anything_due_writes_nothing(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep infinity"), "running")
        stage.run(10)
        rows = Job.objects.filter(pk=job.pk).values().get(), JobSync.objects.filter(job=job).values().get()
        stage.run(30, 1)
        assert sweep() == 0
        assert (Job.objects.filter(pk=job.pk).values().get(), JobSync.objects.filter(job=job).values().get()) == rows
