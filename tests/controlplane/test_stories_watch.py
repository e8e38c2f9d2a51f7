"""A cluster followed live: how soon its events are in the rows, and what breaks and mends a watch."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from django.db import connection

from clusters.backends.kueue_volcano import lists, mirror, names, raw
from clusters.backends.kueue_volcano.client import KubeClient
from clusters.contract import BackendError
from clusters.models import Cluster, ObservedWorkload
from clusters.sync import follow
from jobs.models import Job
from jobs.reconcile.loop import sweep
from tests.controlplane.console import Console

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.every_kueue]

SOON_SECONDS = 1.0
"""In the middle of several events: one of them may meet a machine that is busy with something else."""
EVENTS = 3
FORGOTTEN = "1"
"""A version of which the API server has kept no events."""
STEP_SECONDS = 0.02


class Watcher:
    """What `manage.py watch` does for one cluster, in a thread of this process."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._over = threading.Event()
        self.error: BackendError | None = None
        self._thread = threading.Thread(target=self._run, name="watcher")

    def _run(self) -> None:
        try:
            follow(self._cluster, self._over.is_set)
        except BackendError as error:
            self.error = error
        finally:
            connection.close()

    def start(self) -> None:
        self._thread.start()
        wait(lambda: self.ended or self._has_looked(), "the first look is stored", 30)
        assert not self.ended, self.error

    def _has_looked(self) -> bool:
        return Cluster.objects.get(pk=self._cluster.pk).watched_at is not None

    def stop(self) -> None:
        self._over.set()
        self._thread.join(10)
        assert not self._thread.is_alive()

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()


@contextmanager
def watching(console: Console) -> Iterator[Watcher]:
    Cluster.objects.filter(pk=console.cluster.pk).update(watched_at=None)
    watcher = Watcher(Cluster.objects.get(pk=console.cluster.pk))
    watcher.start()
    try:
        yield watcher
    finally:
        watcher.stop()


def wait(check: Callable[[], object], what: str, seconds: float) -> float:
    """Seconds until the check holds."""
    begun = time.monotonic()
    while not check():
        assert time.monotonic() - begun < seconds, f"not within {seconds} s: {what}"
        time.sleep(STEP_SECONDS)
    return time.monotonic() - begun


def work_until(job: Job, state: str) -> None:
    """Sweeps alone: nobody looks at the cluster but the watcher."""

    def is_so() -> bool:
        sweep()
        return Job.objects.get(pk=job.pk).state == state

    wait(is_so, f"{job.display_name} is {state}", 30)


def row_of(job: Job) -> ObservedWorkload:
    return ObservedWorkload.objects.get(job_ulid=job.public_id)


def test_events_are_in_the_rows_within_a_second_and_jobs_live_by_them(console: Console) -> None:
    with watching(console):
        jobs = [console.submit(name=f"job {number}") for number in range(EVENTS)]
        took = []
        for job in jobs:
            work_until(job, "running")
            before = row_of(job)
            console.exit_pods(job)
            console.plane.wait_for(partial(is_complete, console, job), "the Job is complete")
            took.append(wait(partial(has_succeeded, job), "its end is in the row", 10))
            assert row_of(job).version > before.version
            work_until(job, "succeeded")
        assert statistics.median(took) <= SOON_SECONDS, took


def is_complete(console: Console, job: Job) -> bool:
    (found,) = console.objects(job)
    return any(condition["type"] == "Complete" for condition in found["status"].get("conditions", []))


def has_succeeded(job: Job) -> bool:
    return bool(row_of(job).facts.get("outcome") == "succeeded")


def test_what_vanishes_is_told_as_gone(console: Console) -> None:
    with watching(console):
        jobs = [console.submit(name=f"job {number}") for number in range(EVENTS)]
        took = []
        for job in jobs:
            work_until(job, "running")
            (attempt,) = console.attempts(job)
            console.plane.client.delete(names.JOBS.path("slu-vision-000000", attempt.object_name))
            console.plane.wait_for(partial(has_no_pods, console, job), "its pods are gone")
            took.append(wait(partial(is_gone, job), "the row says gone", 10))
            work_until(job, "failed")
            assert Job.objects.get(pk=job.pk).reason_code == "outcome_not_recorded"
        assert statistics.median(took) <= SOON_SECONDS, took


def has_no_pods(console: Console, job: Job) -> bool:
    return not console.pods(job)


def is_gone(job: Job) -> bool:
    return row_of(job).gone


def test_an_expired_version_costs_one_list(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    expired: list[str] = []

    def watch_events(
        client: KubeClient, followed: lists.Followed, installation: str, version: str, seconds: int
    ) -> Iterator[raw.Event]:
        if followed.kind is names.WORKLOADS and not expired:  # of a kind added later no server knows version 1
            expired.append(version)
            version = FORGOTTEN
        return lists.watch_events(client, followed, installation, version, seconds)

    monkeypatch.setattr(mirror, "watch_events", watch_events)
    mark = console.plane.audit.mark()
    with watching(console):
        assert expired
        job = console.submit()
        work_until(job, "running")
        calls = console.plane.audit.calls(mark, user=console.plane.user_of("runtime"))
    asked = [(call.verb, call.status) for call in calls if call.resource == "workloads"]
    assert asked.count(("list", 200)) == 2
    assert [call.verb for call in calls if call.resource == "pods" and call.verb == "list"] == ["list"]


def test_a_watch_ends_with_its_api_server_and_a_fresh_one_goes_on(console: Console) -> None:
    job = console.submit()
    console.until(job, "running")
    with watching(console) as watcher:
        console.plane.stop_process("apiserver")
        wait(lambda: watcher.ended, "the watch ends", 30)
        assert watcher.error is not None
        assert not row_of(job).gone
        console.plane.start_process("apiserver")
    console.plane.wait_for(console.look, "everything can be listed again")
    with watching(console):
        console.exit_pods(job)
        work_until(job, "succeeded")
