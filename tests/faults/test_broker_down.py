"""R18: the broker is gone, is a replica that takes no writes, or drops every connection; then it is back.

The product's own worker against the test database and a broker of its own, in real time.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery, current_app
from django.test import Client

from common.cache import SteadyCache
from common.hints import _ring
from console.embedded import valkey
from console.embedded.osuser import choose_service_user
from console.embedded.process import ChildProcess, stop_all
from console.embedded.state import StateDir
from console.embedded.valkey import Valkey
from console.settings import base
from console.settings.environment import celery_broker_url
from jobs.models import Attempt, Job
from jobs.services.submit import job_submit
from tests.cast import PASSWORD, Cast, build_cast
from tests.faults.rehearsal import OWNER
from tests.faults.test_worker_killed import Processes
from tests.stage import BODY

pytestmark = [pytest.mark.system, pytest.mark.timeout(200)]

AGAIN_WITHIN = 30
"""Seconds from the broker's return until the worker consumes again by itself: 15, twice that beside other tests."""


class Broker:
    """A Valkey of this test alone, to be killed and started again under the same address."""

    def __init__(self, folder: Path) -> None:
        self._state = StateDir(folder)
        user = choose_service_user(None, say=lambda _text: None)
        self._server = Valkey(self._state, user, self._state.socket_folder(user), say=lambda _text: None)
        self._child: ChildProcess | None = None
        self.url = self._server.url

    def start(self) -> None:
        self._child = self._server.spawn()
        _wait(self._server.accepts_connections, 20, "the broker answers")

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait(10)
            self._child = None

    def tell(self, *command: str) -> None:
        with redis.Redis.from_url(self.url) as client:
            client.execute_command(*command)

    def close(self) -> None:
        if self._child is not None:
            stop_all([(self._child, valkey.STOP_LADDER)])
        self._server.close()
        self._state.remove_socket_folder()


@pytest.fixture
def broker() -> Iterator[Broker]:
    with tempfile.TemporaryDirectory(prefix="sluice-test-") as folder:
        broker = Broker(Path(folder))
        broker.start()
        try:
            yield broker
        finally:
            broker.close()


@pytest.fixture
def cast(transactional_db: None, caplog: pytest.LogCaptureFixture) -> Cast:
    caplog.set_level(logging.CRITICAL)
    return build_cast()


@pytest.fixture
def web(broker: Broker) -> Iterator[None]:
    """Hints of this process go to the broker of this test, by a client set up as the product's."""
    previous = current_app._get_current_object()
    app = Celery("web", set_as_current=False)
    app.config_from_object("django.conf:settings", namespace="CELERY")
    app.conf.broker_url = celery_broker_url(broker.url)
    app.set_current()
    try:
        yield
    finally:
        previous.set_current()
        app.close()


def _wait(reached: Callable[[], bool], seconds: float, what: str) -> float:
    begun = time.monotonic()
    while not reached():
        assert time.monotonic() - begun < seconds, f"not after {seconds} s: {what}"
        time.sleep(0.1)
    return time.monotonic() - begun


def _submit(cast: Cast) -> Job:
    begun = time.monotonic()
    job = job_submit(actor=cast.actor(OWNER), data={**BODY, "cards": 0, "command": "sleep 600"}).job
    assert time.monotonic() - begun < 3
    return job


def _signs_in() -> bool:
    """Its counters lie with the broker; how many there are is another test's matter."""
    SteadyCache._away_until = 0.0
    return Client().post("/sign-in/", {"login": OWNER, "password": PASSWORD}).status_code == 302


def _is_sent(job: Job) -> bool:
    return Attempt.objects.filter(job=job, submitted_at__isnull=False).exists()


def _consumes(cast: Cast, processes: Processes, seconds: float) -> float:
    """A fresh job rings until somebody hears it: a bell that was lost is no matter, a deaf worker is.

    A worker that gives up is started again, as the supervisor and the containers do: kombu now and then stumbles over
    a connection that is lost while it acknowledges. One that stays up and hears nothing is the fault.
    """
    job = _submit(cast)

    def heard() -> bool:
        processes.start_again("worker")
        _ring("jobs.reconcile", (job.pk,))
        return _is_sent(job)

    return _wait(heard, seconds, "the worker consumes")


def test_a_worker_whose_broker_went_away_consumes_again_by_itself(
    cast: Cast, broker: Broker, web: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """R18: killed and started again, READONLY after a failover, every connection reset while idle."""
    settings.CACHES = {"default": {**base.CACHES["default"], "LOCATION": broker.url}}
    monkeypatch.setenv("REDIS_URL", broker.url)
    visitor = Client()
    visitor.force_login(cast.users[OWNER], backend="allauth.account.auth_backends.AuthenticationBackend")
    processes = Processes(tmp_path)
    try:
        processes.start("worker")
        _consumes(cast, processes, 60)
        assert _signs_in()

        broker.kill()
        away = [_submit(cast) for _ in range(3)]
        assert visitor.get("/jobs/").status_code == 200
        assert _signs_in()
        time.sleep(4)
        broker.start()
        _consumes(cast, processes, AGAIN_WITHIN)

        broker.tell("REPLICAOF", "127.0.0.1", "1")
        away.append(_submit(cast))
        assert visitor.get("/jobs/").status_code == 200
        assert _signs_in()
        time.sleep(3)
        broker.tell("REPLICAOF", "NO", "ONE")
        _consumes(cast, processes, AGAIN_WITHIN)

        broker.tell("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        _consumes(cast, processes, AGAIN_WITHIN)

        for job in away:  # the next tick finds what nobody rang for
            _ring("jobs.sweep", ())
            _wait(lambda job=job: _is_sent(job), AGAIN_WITHIN, "a sweep finds it")  # type: ignore[misc]
    except AssertionError as error:
        raise AssertionError(f"{error}\n{processes.log('worker')}") from error
    finally:
        processes.stop()
