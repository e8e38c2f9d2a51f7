"""Two clusters, one of them sick: it takes connections and never answers. The other one does not notice (B15)."""

from __future__ import annotations

import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import yaml
from django.db import connection
from django.utils import timezone

from clusters.backends.kueue_volcano import client
from clusters.backends.kueue_volcano.credentials import Account, seal_accounts
from clusters.backends.kueue_volcano.kubeconfig import parse_kubeconfig
from clusters.models import Cluster, Node, NodeGroup
from clusters.selectors import freshness
from clusters.sync import due_clusters, sync_safely
from jobs.models import Attempt, Job
from jobs.reconcile.loop import reconcile_jobs, sweep
from quotas.services import shares_set, team_queue_create
from tests.controlplane.conftest import Speaker
from tests.controlplane.console import Console

pytestmark = pytest.mark.django_db(transaction=True)

SILENCE_SECONDS = 5.0
"""After so long without an answer a call is given up here."""
FOR_EVER = 120.0
ROUNDS = 8


class Silent:
    """A server on loopback that takes every connection and says nothing."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._taken: list[socket.socket] = []
        threading.Thread(target=self._take, daemon=True).start()

    @property
    def port(self) -> int:
        return self._socket.getsockname()[1]

    @property
    def connections(self) -> int:
        return len(self._taken)

    def _take(self) -> None:
        while True:
            try:
                taken, _ = self._socket.accept()
            except OSError:
                return
            self._taken.append(taken)

    def close(self) -> None:
        self._socket.close()
        for taken in self._taken:
            taken.close()


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    give_up_after(SILENCE_SECONDS, monkeypatch)
    server = Silent()
    yield server
    server.close()


def give_up_after(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "READ_SECONDS", seconds)
    monkeypatch.setattr(client, "CONNECT_SECONDS", seconds)  # a TLS handshake counts as connecting


def credentials(console: Console, server: str | None = None) -> str:
    """Of the plane's accounts, at another address where one is given."""
    accounts = {}
    for account in (Account.RUNTIME, Account.QUOTA):
        kubeconfig = yaml.safe_load(console.plane.kubeconfig(account.value).read_text())
        if server is not None:
            kubeconfig["clusters"][0]["cluster"]["server"] = server
        accounts[account] = parse_kubeconfig(yaml.safe_dump(kubeconfig).encode())
    return seal_accounts(accounts)


def sick_cluster(console: Console, silent: Silent) -> Cluster:
    """A cluster with cards of another model that was well until now; the vision team has all of it."""
    sick = Cluster.objects.create(
        slug="sick",
        name="Sick",
        kind="kueue_volcano",
        credentials=credentials(console, f"https://127.0.0.1:{silent.port}"),
        synced_at=timezone.now(),
    )
    group = NodeGroup.objects.create(
        cluster=sick,
        slug="a100",
        title="A100 PCIe",
        vendor="nvidia",
        card_model="A100",
        sharing="exclusive",
        unit="card",
        cards_per_node=8,
        resource="nvidia.com/gpu",
    )
    Node.objects.create(cluster=sick, group=group, name="a-1", health="ready", installed=8, seen_at=timezone.now())
    queue = team_queue_create(actor=None, team=console.teams["vision"], cluster=sick)
    shares_set(actor=None, group=group, basis_points={queue.pk: 10_000})
    return sick


@contextmanager
def workers(sick: Cluster, silent: Silent) -> Iterator[None]:
    """Two threads of a worker hang at what the beat asks for: one looks at the sick cluster, one sends its jobs."""

    def look() -> None:
        sync_safely(sick)
        connection.close()

    def send() -> None:
        sweep()
        connection.close()

    threads = [threading.Thread(target=task, name=task.__name__) for task in (look, send)]
    for thread in threads:
        thread.start()
    wait(lambda: silent.connections >= 2, "both hang")
    try:
        yield
        assert threads[0].is_alive()  # the other one gives its jobs back before their lease is over
    finally:
        silent.close()
        for thread in threads:
            thread.join(60)


def wait(check: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def lags(console: Console, name: str) -> list[float]:
    """Seconds from the answer to a submit until the job's object is made, as a hint asks of a thread of the worker."""
    found = []
    for number in range(ROUNDS):
        job = console.submit(cards=1, name=f"{name} {number}")
        begun = time.monotonic()
        assert reconcile_jobs([job.pk]) == 1
        found.append(time.monotonic() - begun)
        console.operate(job, "cancel", "eng-vision-1")
        reconcile_jobs([job.pk])
    return found


def test_jobs_of_a_well_cluster_do_not_wait_for_a_sick_one(
    console: Console, silent: Silent, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    give_up_after(FOR_EVER, monkeypatch)
    alone = lags(console, "alone")
    sick = sick_cluster(console, silent)
    for number in range(3):
        console.submit(card_model="a100", name=f"for the sick {number}")
    assert Job.objects.filter(cluster=sick).count() == 3
    with workers(sick, silent):
        beside = lags(console, "beside")
    ratio = statistics.median(beside) / statistics.median(alone)
    Speaker(request.config)(
        f"From 201 to object: median {statistics.median(alone) * 1000:.0f} ms alone, "
        f"{statistics.median(beside) * 1000:.0f} ms beside a sick cluster (ratio {ratio:.2f}), "
        f"worst {max(beside) * 1000:.0f} ms"
    )
    assert Attempt.objects.filter(job__cluster=sick, submitted_at=None).count() == 3


def test_a_sweep_with_jobs_of_both_writes_the_well_ones_at_once_and_asks_the_sick_one_once(
    console: Console, silent: Silent
) -> None:
    sick = sick_cluster(console, silent)
    for number in range(5):
        console.submit(card_model="a100", name=f"for the sick {number}")
    job = console.submit(cards=1)

    def run() -> None:
        sweep()
        connection.close()

    sweeping = threading.Thread(target=run)
    begun = time.monotonic()
    sweeping.start()
    wait(lambda: not Attempt.objects.filter(job=job, submitted_at=None).exists(), "the well one is written")
    assert sweeping.is_alive()
    sweeping.join(60)
    assert time.monotonic() - begun < 2.5 * SILENCE_SECONDS  # five calls side by side, one silence
    found = Cluster.objects.get(pk=sick.pk)
    assert found.sync_error == "silent" and found.rest_until is not None
    asked = silent.connections
    console.work()
    assert silent.connections == asked
    console.until(job, "running")


def test_a_sick_cluster_rests_says_so_and_comes_back(console: Console, silent: Silent) -> None:
    sick = sick_cluster(console, silent)
    job = console.submit(card_model="a100")
    assert not sync_safely(sick)
    sick.refresh_from_db()
    assert sick.sync_error == "silent"
    assert sick not in due_clusters(timezone.now())
    with console.later(seconds=120):
        told = {fresh.name: (fresh.stale, fresh.error) for fresh in freshness()}
        assert told["Sick"] == (True, "silent")
        assert sick in due_clusters(timezone.now())
        Cluster.objects.filter(pk=sick.pk).update(credentials=credentials(console))
        assert sync_safely(Cluster.objects.get(pk=sick.pk))
        sweep()
    sick.refresh_from_db()
    assert (sick.sync_error, sick.rest_until) == ("", None)
    assert len(console.objects(job)) == 1 and Job.objects.get(pk=job.pk).state == "queued"
