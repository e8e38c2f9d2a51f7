"""R17: the broker only rings. Without it nothing is lost, and the sweeps alone bring everything to its end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery, current_app
from kombu.exceptions import OperationalError
from pytest_django import DjangoCaptureOnCommitCallbacks

from common import hints
from jobs.domain.operations import Operation
from jobs.models import Attempt, Job
from jobs.services.operations import job_operate
from jobs.services.submit import job_submit
from jobs.tasks import collect_logs_task, reconcile_task, sweep_task
from tests.cast import Cast, build_cast
from tests.services.jobs.situations import OWNER, until_state
from tests.stage import BODY, Stage

PATIENCE = 20


@pytest.fixture
def cast(db: None) -> Cast:
    return build_cast()


@pytest.fixture
def no_broker() -> Iterator[None]:
    """A real client, set up as the product's, whose broker is a closed port."""
    previous = current_app._get_current_object()
    app = Celery("away", set_as_current=False)
    app.config_from_object("django.conf:settings", namespace="CELERY")
    app.conf.broker_url = "redis://127.0.0.1:1/0"
    app.set_current()
    try:
        yield
    finally:
        previous.set_current()
        app.close()


def test_submit_and_operate_answer_at_once_without_a_broker(
    cast: Cast,
    no_broker: None,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "common.hints"):
        begun = time.monotonic()
        with django_capture_on_commit_callbacks(execute=True) as rung:
            job = job_submit(actor=cast.actor(OWNER), data=BODY).job
            job_operate(actor=cast.actor(OWNER), job=job, operation=Operation.HOLD)
        assert time.monotonic() - begun < 2
        assert hints.ringer.settle(PATIENCE)
    assert len(rung) == 2
    assert {record.args[0] for record in caplog.records if record.args} == {"jobs.reconcile"}


def test_a_lost_hint_costs_no_more_than_a_sweep(
    cast: Cast, no_broker: None, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with Stage(cast) as stage:
        with django_capture_on_commit_callbacks(execute=True):
            job = stage.submit(command="sleep 20; exit 0")
        stage.run(2, 2)
        assert Attempt.objects.get(job=job).submitted_at is not None
        until_state(stage, job, "succeeded")


def test_hints_are_rung_after_the_commit_and_only_then(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    rung: list[Any] = []
    monkeypatch.setattr(current_app, "send_task", lambda name, **options: rung.append((name, options)))
    with django_capture_on_commit_callbacks(execute=True):
        job = job_submit(actor=cast.actor(OWNER), data=BODY).job
        assert rung == []
    assert hints.ringer.settle(PATIENCE)
    ((name, options),) = rung
    assert (name, options["args"]) == ("jobs.reconcile", (job.pk,))
    assert options["retry"] is False and 0 < options["expires"] <= 60


@pytest.mark.parametrize("error", [OperationalError("gone"), ConnectionResetError(), RuntimeError("broken client")])
def test_an_error_of_the_broker_reaches_nobody_and_the_next_hint_is_sent(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    tried: list[str] = []

    def fail(name: str, **options: Any) -> None:
        tried.append(name)
        raise error

    monkeypatch.setattr(current_app, "send_task", fail)
    for task in ("first", "second"):
        hints._ring(task, ())
        assert hints.ringer.settle(PATIENCE)
    assert tried == ["first", "second"]


def test_nobody_waits_for_a_broker_that_hangs_and_what_was_asked_meanwhile_goes_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hangs, goes_on = threading.Event(), threading.Event()
    sent: list[tuple[str, Any]] = []

    def send_task(name: str, args: Any, **options: Any) -> None:
        hangs.set()
        assert goes_on.wait(PATIENCE)
        sent.append((name, args))

    monkeypatch.setattr(current_app, "send_task", send_task)
    hints._ring("jobs.reconcile", (1,), takes_many=True)
    assert hangs.wait(PATIENCE)
    for key in (2, 3, 2):
        hints._ring("jobs.reconcile", (key,), takes_many=True)
    for cluster in (7, 8, 7):
        hints._ring("clusters.sync", (cluster,))
    assert sent == [] and not hints.ringer.settle(0)
    goes_on.set()
    assert hints.ringer.settle(PATIENCE)
    assert sent[0] == ("jobs.reconcile", (1,))
    assert sorted(sent[1:]) == [("clusters.sync", (7,)), ("clusters.sync", (8,)), ("jobs.reconcile", (2, 3))]


def test_hints_for_an_absent_broker_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    sent: list[Any] = []

    def send_task(name: str, args: Any, **options: Any) -> None:
        assert goes_on.wait(PATIENCE)
        sent.extend(args)

    monkeypatch.setattr(current_app, "send_task", send_task)
    monkeypatch.setattr(hints, "WAITING_MAX", 5)
    ringer = hints.Ringer()
    for key in range(100):
        ringer.ring(hints.Hint(current_app._get_current_object(), "jobs.reconcile", (key,), True))
    goes_on.set()
    assert ringer.settle(PATIENCE)
    assert 5 <= len(sent) <= 10  # those that waited, and those taken before


def test_a_call_has_no_more_jobs_than_a_worker_takes_at_once() -> None:
    app = current_app._get_current_object()
    asked = [hints.Hint(app, "jobs.reconcile", (key,), True) for key in range(hints.TOGETHER_MAX + 1)]
    assert [len(call.args) for call in hints.calls(asked)] == [hints.TOGETHER_MAX, 1]


def test_tasks_run_twice_or_for_a_job_that_is_gone_change_nothing(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 600"), "running")
        before = Job.objects.filter(pk=job.pk).values().get()
        for _ in range(3):
            reconcile_task(job.pk)
            reconcile_task(10**9)
            sweep_task()
            collect_logs_task()
        assert Job.objects.filter(pk=job.pk).values().get() == before
