"""R20: the worker is killed, twice, in a burst of a thousand jobs, and the broker emptied: nothing lost or doubled.

Real processes in real time: the product's own worker and beat against the test database and a real broker.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from django.db import connection

from accounts.models import AuditEvent
from clusters.models import SandboxWorld
from console.embedded.children import ROOT, console_commands
from jobs.models import Attempt, Job, JobEvent, JobSync, Run
from jobs.services.submit import job_submit
from tests.cast import Cast, build_cast
from tests.faults.invariants import at_rest
from tests.faults.rehearsal import OWNER
from tests.faults.truth import quota_problems
from tests.stage import BODY

pytestmark = [pytest.mark.system, pytest.mark.timeout(400)]

BURST = 1_000
STANDSTILL_SECONDS = 40
"""More than the lease of a killed worker."""


@pytest.fixture
def open_cast(transactional_db: None) -> Cast:
    return build_cast()


@pytest.fixture
def broker() -> Iterator[redis.Redis]:
    """A database of the tests' Valkey, emptied before and after."""
    with redis.Redis.from_url(os.environ["REDIS_URL"]) as client:
        client.flushdb()
        yield client
        client.flushdb()


class Processes:
    """The product's worker and beat, each a process group of its own; started again when told to."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._commands = {c.name: c.argv for c in console_commands("127.0.0.1:1", state)}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        log = (self._state / f"{name}.log").open("ab")
        with log:
            self._running[name] = subprocess.Popen(
                self._commands[name], env=_environment(), cwd=ROOT, stdout=log, stderr=log, start_new_session=True
            )

    def start_again(self, name: str) -> None:
        """Start it if it has ended by itself, as whoever runs the product's processes does."""
        if self._running[name].poll() is not None:
            self.start(name)

    def kill(self, name: str) -> None:
        process = self._running.pop(name)
        assert process.poll() is None, f"{name} had ended: {self.log(name)}"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)

    def log(self, name: str) -> str:
        return (self._state / f"{name}.log").read_text(errors="replace")[-2_000:]

    def stop(self) -> None:
        for name in list(self._running):
            if self._running[name].poll() is None:
                self.kill(name)


def _environment() -> dict[str, str]:
    database = connection.settings_dict
    query = f"?host={database['HOST']}&port={database['PORT']}"
    return os.environ | {
        "DATABASE_URL": f"postgresql://{database['USER']}:{database['PASSWORD']}@/{database['NAME']}{query}",
        "DJANGO_SETTINGS_MODULE": "console.settings.base",
        "SLUICE_SECRET_KEY": "tests only, tests only, tests only",
        "SLUICE_LEASE_SECONDS": "10",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'platform'}",
    }


@contextmanager
def _processes(state: Path) -> Iterator[Processes]:
    processes = Processes(state)
    try:
        yield processes
    finally:
        processes.stop()


def _wait(reached: Callable[[], bool], seconds: float, what: str) -> None:
    begun = time.monotonic()
    while not reached():
        assert time.monotonic() - begun < seconds, f"not after {seconds} s: {what}"
        time.sleep(0.25)


def _wait_while_it_moves() -> None:
    """Until everything has ended; a slow machine may take its time, but something has to happen all the time."""
    ended, changed_at = -1, time.monotonic()
    while not at_rest():
        now = Attempt.objects.filter(log_complete=True).count() + Job.objects.exclude(ended_at=None).count()
        if now != ended:
            ended, changed_at = now, time.monotonic()
        assert time.monotonic() - changed_at < STANDSTILL_SECONDS, f"nothing moves after {ended} steps"
        time.sleep(0.5)


def test_a_worker_killed_in_a_burst_loses_and_doubles_nothing(
    open_cast: Cast, broker: redis.Redis, tmp_path: Path
) -> None:
    actor = open_cast.actor(OWNER)
    body = {**BODY, "cards": 0, "cpu": "100m", "memory": "64Mi", "command": "sleep 0; exit 0"}
    with _processes(tmp_path) as processes:
        processes.start("worker")
        processes.start("beat")
        _wait(lambda: broker.exists("_kombu.binding.reconcile") > 0, 30, "the worker listens")
        acknowledged = set()
        for number in range(BURST):
            acknowledged.add(job_submit(actor=actor, data=body, idempotency_key=f"burst {number}").job.public_id)
            if number in (BURST // 3, 2 * BURST // 3):
                processes.kill("worker")
                broker.flushdb()
                processes.start("worker")
        assert len(acknowledged) == BURST
        _wait_while_it_moves()
        assert set(Job.objects.values_list("public_id", flat=True)) == acknowledged
        assert set(Job.objects.values_list("state", flat=True)) == {"succeeded"}
        assert Attempt.objects.count() == Run.objects.count() == BURST
        assert SandboxWorld.objects.get().header["sequence"] == BURST
        assert AuditEvent.objects.filter(action="job.submit").count() == BURST
        assert JobEvent.objects.filter(code="submitted", actor__isnull=False).count() == BURST
        assert JobEvent.objects.filter(code="completed").count() == BURST
        assert not JobSync.objects.exclude(last_error="").exists()
        assert quota_problems() == []
