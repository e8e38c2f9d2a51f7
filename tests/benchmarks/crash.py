"""B13a: a worker is killed in the middle of a burst of 1,000 jobs; how much later is all of it on the cluster?"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator

import psycopg

from tests.benchmarks import stack
from tests.benchmarks.filled import Filled, filled
from tests.benchmarks.load import Caller
from tests.benchmarks.measure import Row, Spread

JOBS, AT_ONCE, ROUNDS = 1_000, 100, 3
KILL_AFTER = 300
"""So many are sent when the worker is killed."""
LEASE_SECONDS = 30.0
"""SLUICE_LEASE_SECONDS by default: what the dead worker had taken is free again after it."""
RATIO = 1.5
POLL_SECONDS = 0.05
PATIENCE_SECONDS = 300.0
BODY = {"framework": "pytorch", "image": "registry.example/bert:1", "cards": 32, "priority": "normal"}
ATTEMPTS = "SELECT count(*) FROM jobs_attempt"
SENT, SEEN = f"{ATTEMPTS} WHERE submitted_at IS NOT NULL", f"{ATTEMPTS} WHERE seen_at IS NOT NULL"
OBJECTS = "SELECT count(*) FROM clusters_sandboxobject WHERE kind = 'workload'"


def rows() -> Iterator[Row]:
    undisturbed, disturbed = [], []
    for _ in range(ROUNDS):
        undisturbed.append(_burst(kill=False))
        disturbed.append(_burst(kill=True))
    ratio = Spread(tuple(a / b for a, b in zip(disturbed, undisturbed, strict=True)))
    late = max(a - RATIO * b for a, b in zip(disturbed, undisturbed, strict=True))
    what = (
        f"{JOBS:,} jobs submitted until the cluster has all, a worker killed after {KILL_AFTER}, started again at once;"
        f" none lost, none twice; reference: undisturbed; a lease lasts {LEASE_SECONDS:.0f} s"
    )
    mine, reference = f"{Spread(tuple(disturbed)):.1f} s", f"{Spread(tuple(undisturbed)):.1f} s"
    goal = f"<= {RATIO} + a lease"
    yield Row("B13a", what, mine, reference, f"{ratio:.1f}", goal, late <= LEASE_SECONDS, gauge=ratio.median)


def _burst(*, kill: bool) -> float:
    """Seconds from the first request until the sandbox has told of every job."""
    with (
        filled(0, 0) as base,
        stack.running(base.servers) as all_of_it,
        psycopg.connect(base.servers.database_url, autocommit=True) as database,
    ):
        begun = time.perf_counter()
        _submit(base, all_of_it.port)
        if kill:
            _until(database, SENT, KILL_AFTER)
            os.kill(all_of_it.children["worker"].pid, signal.SIGKILL)
            all_of_it.start("worker")
        _until(database, SEEN, JOBS)
        seconds = time.perf_counter() - begun
        assert _count(database, ATTEMPTS) == _count(database, OBJECTS) == JOBS
    return seconds


def _submit(base: Filled, port: int) -> None:
    headers = {**base.caller(port, "engineer", "/api/").headers, "Content-Type": "application/json"}
    caller = Caller(port, headers)
    for _ in range(JOBS // AT_ONCE):
        body = json.dumps({"jobs": [BODY] * AT_ONCE})
        _seconds, status, answer = caller.ask("/api/v1/jobs/bulk", "POST", body.encode())
        assert status == 201, answer


def _until(database: psycopg.Connection, query: str, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := _count(database, query)) < count:
        assert time.monotonic() < deadline, f"{found} of {count}"
        time.sleep(POLL_SECONDS)


def _count(database: psycopg.Connection, query: str) -> int:
    row = database.execute(query).fetchone()
    assert row is not None
    return int(row[0])
