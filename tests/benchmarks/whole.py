"""B11b and B13b: one of each process of the console together: their memory, and how soon they are there."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import psycopg

from tests.benchmarks import stack
from tests.benchmarks.filled import Filled
from tests.benchmarks.load import Caller
from tests.benchmarks.measure import Row, Spread
from tests.benchmarks.prepared import Prepared, prepared_server

MIRRORED = 10_000
SETTLE_SECONDS = 20.0
"""What goes with a first look, some ticks of the beat, and pages meanwhile."""
STARTS = 5
MEMORY_GOAL, START_GOAL = 650e6, 5.0
PAGE = 50
PATIENCE_SECONDS = 180.0


def rows_of(many: Filled) -> Iterator[Row]:
    yield _cold_start(many)
    with prepared_server(MIRRORED) as server:
        yield from _memory(many, server)


# --------------------------------------------------------------------------- B13b


def _cold_start(many: Filled) -> Row:
    """From the start of all processes at once to the first right answer; the servers run."""
    taken = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        with stack.running(many.servers) as all_of_it:
            seconds, status, body = many.caller(all_of_it.port, "engineer", "/api/v1/jobs").ask("/api/v1/jobs")
            taken.append(time.perf_counter() - begun)
        assert status == 200 and len(json.loads(body)["results"]) == PAGE, (status, seconds)
    spread = Spread(tuple(taken))
    what = f"all processes started at once: until the first page of jobs is there, right; {many.size}"
    goal = f"<= {START_GOAL:.0f} s"
    return Row("B13b", what, f"{spread:.1f} s", "", "", goal, spread.median <= START_GOAL, gauge=spread.median)


# --------------------------------------------------------------------------- B11b


def _memory(many: Filled, server: Prepared) -> Iterator[Row]:
    stack.told_by("joined", str(server.port), str(server.ca_file), servers=many.servers)
    with stack.running(many.servers) as all_of_it:
        _until_mirrored(many)
        callers = [many.caller(all_of_it.port, role, "/jobs/") for role in ("engineer", "lead", "admin")]
        until = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < until:
            for caller, path in zip(callers, ("/jobs/", "/team/vision/jobs/", "/admin/jobs/"), strict=True):
                _read(caller, path)
        found = all_of_it.pss_bytes()
    own = sum(found[name] for name in stack.EVERY_PROCESS)
    total = sum(found.values())
    parts = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in found.items())
    what = f"memory (PSS) of one of each process, {many.size}, the watcher following {MIRRORED:,} more; in MB: {parts}"
    goal = f"<= {MEMORY_GOAL / 1e6:.0f} MB"
    ours = f"{own / 1e6:.0f} MB; {total / 1e6:.0f} MB with PostgreSQL and Valkey"
    yield Row("B11b", what, ours, "", "", goal, own <= MEMORY_GOAL, gauge=own / 1e6)


def _until_mirrored(many: Filled) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    with psycopg.connect(many.servers.database_url, autocommit=True) as database:
        count = "SELECT count(*) FROM clusters_observedworkload o JOIN clusters_cluster c ON c.id = o.cluster_id"
        while True:
            row = database.execute(f"{count} WHERE c.slug = 'followed'").fetchone()
            if row is not None and row[0] >= MIRRORED:
                return
            assert time.monotonic() < deadline, row
            time.sleep(0.5)


def _read(caller: Caller, path: str) -> None:
    _seconds, status, _body = caller.ask(path)
    assert status == 200, (path, status)
