"""B3: how long it takes from an event on a cluster to the committed row, at a steady rate and in a burst."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import msgspec
from django.db import connections

from clusters import sync
from clusters.backends.kueue_volcano import mirror
from clusters.backends.kueue_volcano.client import read_lines
from clusters.contract import Observation
from clusters.models import Cluster
from tests.benchmarks import crowd
from tests.benchmarks.cold import connected, forget, official
from tests.benchmarks.measure import Row, Spread, percentile
from tests.benchmarks.prepared import Prepared, prepared_server

JOBS = 10_000
RATE, STEADY_SECONDS, BARE_SECONDS = 200.0, 60, 10  # the watcher lists everything again within the steady part
BURST, BURSTS = 5_000, 3
WINDOW = mirror.BATCH_SECONDS
PATIENCE_SECONDS = 120.0

Arrivals = dict[str, list[float]]
"""Monotonic times by job."""


def rows() -> Iterator[Row]:
    with prepared_server(JOBS) as server, connected(server) as cluster:
        yield _steady(server, cluster)
        yield _burst(server, cluster)
        forget()


# --------------------------------------------------------------------------- at a steady rate


def _steady(server: Prepared, cluster: Cluster) -> Row:
    count = int(RATE * STEADY_SECONDS)
    assert mirror.ROUND_SECONDS < STEADY_SECONDS
    with followed(cluster) as committed:
        server.emit(count, RATE)
        ours = _lags(server, count, committed)
    with bare(server) as seen:
        few = int(RATE * BARE_SECONDS)
        server.emit(few, RATE)
        reference = [lag + WINDOW for lag in _lags(server, few, seen)]
    p99, bare_p99 = percentile(ours, 0.99), percentile(reference, 0.99)
    what = (
        f"event to committed row, {RATE:.0f} events a second for {STEADY_SECONDS} s, p99 (median), with a relist;"
        " reference: a bare watcher and its window of 50 ms"
    )
    goal = "<= 250 ms; <= 1.5"
    met = p99 <= 0.25 and p99 <= 1.5 * bare_p99
    return Row("B3a", what, _millis(ours), _millis(reference), f"{p99 / bare_p99:.2f}", goal, met)


def _millis(lags: list[float]) -> str:
    return f"{percentile(lags, 0.99) * 1000:.0f} ms ({percentile(lags, 0.5) * 1000:.0f} ms)"


def _lags(server: Prepared, count: int, arrived: Arrivals) -> list[float]:
    """Seconds from each event to what came of it. Events of one job are half a minute apart."""
    wait_for(lambda: sum(map(len, arrived.values())) >= count)
    sent: Arrivals = defaultdict(list)
    for number, at in server.sent():
        sent[crowd.ulid(number)].append(at)
    assert {ulid: len(times) for ulid, times in sent.items()} == {ulid: len(times) for ulid, times in arrived.items()}
    return [end - begin for ulid in sent for begin, end in zip(sent[ulid], arrived[ulid], strict=True)]


@contextmanager
def followed(cluster: Cluster) -> Iterator[Arrivals]:
    """The product's watcher at work; gives the times of commits of each job from now on."""
    committed: Arrivals = defaultdict(list)
    known: dict[str, str] = {}
    ready, over = threading.Event(), threading.Event()
    store, tidy = sync._store_told, sync._tidy

    def timed(followed: Cluster, observation: Observation) -> int:
        written = store(followed, observation)
        now = time.monotonic()
        for row in observation.objects:
            if known.setdefault(row.job_ulid, row.revision) != row.revision:
                known[row.job_ulid] = row.revision
                committed[row.job_ulid].append(now)
        return written

    def tidied(*arguments: Any) -> None:
        """The last that is done of the first look."""
        tidy(*arguments)
        ready.set()

    def follow() -> None:
        try:
            sync.follow(cluster, over.is_set)
        finally:
            connections.close_all()

    with patch.object(sync, "_store_told", timed), patch.object(sync, "_tidy", tidied):
        thread = threading.Thread(target=follow)
        thread.start()
        try:
            assert ready.wait(PATIENCE_SECONDS)  # its watches are open
            yield committed
        finally:
            over.set()
            thread.join()


@contextmanager
def bare(server: Prepared) -> Iterator[Arrivals]:
    """A watcher that only parses lines; gives the times at which it had parsed those of each job."""
    seen: Arrivals = defaultdict(list)
    client = server.client()
    decode = msgspec.json.Decoder().decode
    version = str(decode(client.get(crowd.PODS.path(), {"limit": "1"}))["metadata"]["resourceVersion"])
    label = crowd.names.JOB

    def watch() -> None:
        params = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(BARE_SECONDS + 3)}
        with client.stream(crowd.PODS.path(), params) as response:
            for line in read_lines(response):
                ulid = decode(line)["object"]["metadata"]["labels"][label].upper()
                seen[ulid].append(time.monotonic())

    thread = threading.Thread(target=watch)
    thread.start()
    time.sleep(0.5)
    yield seen
    thread.join()


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "not all events have arrived"
        time.sleep(0.05)


# --------------------------------------------------------------------------- in a burst


def _burst(server: Prepared, cluster: Cluster) -> Row:
    ours, theirs = [], []
    for _ in range(BURSTS):
        with followed(cluster) as committed:
            server.emit(BURST, 0)
            wait_for(lambda: len(committed) >= BURST)
            ours.append(BURST / (max(max(committed.values())) - server.sent()[0][1]))
        theirs.append(_official_burst(server))
    ratio = Spread(tuple(a / b for a, b in zip(ours, theirs, strict=True)))
    what = f"{BURST:,} events at once: events a second until the last row is committed; reference: the official watch"
    mine, official_rate = Spread(tuple(ours)), Spread(tuple(theirs))
    met = mine.median >= 2000 and ratio.median >= 4
    goal = ">= 2,000/s; >= 4"
    return Row("B3b", what, f"{mine:.0f}/s", f"{official_rate:.0f}/s", f"{ratio:.1f}", goal, met)


def _official_burst(server: Prepared) -> float:
    from kubernetes import watch

    api = official(server).CoreV1Api()
    version = api.list_pod_for_all_namespaces(limit=1).metadata.resource_version
    stream = watch.Watch().stream(
        api.list_pod_for_all_namespaces, resource_version=version, timeout_seconds=int(PATIENCE_SECONDS)
    )
    threading.Timer(0.5, server.emit, (BURST, 0)).start()
    for count, _ in enumerate(stream, start=1):
        if count == BURST:
            break
    last = time.monotonic()
    return BURST / (last - server.sent()[0][1])
