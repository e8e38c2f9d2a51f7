"""B1b: eight programs submit single jobs over HTTP at the same time, beside a bare view that commits one row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import psycopg

from tests.benchmarks import stack
from tests.benchmarks.filled import Filled, filled
from tests.benchmarks.load import Caller, Times, at_once
from tests.benchmarks.measure import ROUNDS, Row, Spread, percentile

CLIENTS, EACH = 8, 25
BODY = json.dumps({"framework": "pytorch", "image": "registry.example/bert:1", "cards": 1, "priority": "normal"})
GOAL = 1.6
TABLE = "CREATE TABLE bare_submitted (id bigserial PRIMARY KEY, body jsonb NOT NULL)"


def rows() -> Iterator[Row]:
    with filled(100, 1_000) as base, psycopg.connect(base.servers.database_url, autocommit=True) as database:
        database.execute(TABLE)
        with (
            stack.running(base.servers, ("web",)) as ours,
            stack.running(base.servers, ("web",), application="tests.benchmarks.bare:application") as bare,
        ):
            yield _compared(base, database, ours.port, bare.port)


def _compared(base: Filled, database: psycopg.Connection, port: int, bare_port: int) -> Row:
    sides = {"ours": (port, "/api/v1/jobs"), "bare": (bare_port, "/submit")}
    headers = {**base.caller(port, "engineer", "/api/").headers, "Content-Type": "application/json"}

    def program(port: int, address: str) -> Callable[[Times], None]:
        def submit(times: Times) -> None:
            caller = Caller(port, headers)
            for _ in range(EACH):
                seconds, status, answer = caller.ask(address, "POST", BODY.encode())
                assert status == 201, answer
                times["submit"].append(seconds)

        return submit

    p95s: dict[str, list[float]] = {name: [] for name in sides}
    medians: dict[str, list[float]] = {name: [] for name in sides}
    before = _stored(database)
    for number in range(ROUNDS + 1):
        for name, side in sides.items():
            times = at_once([program(*side)] * CLIENTS)["submit"]
            if number:  # the first warms up
                p95s[name].append(percentile(times, 0.95))
                medians[name].append(percentile(times, 0.5))
    assert _stored(database) == tuple(count + CLIENTS * EACH * (ROUNDS + 1) for count in before)
    ratio = Spread(tuple(a / b for a, b in zip(p95s["ours"], p95s["bare"], strict=True)))
    mine, reference = (
        f"{1000 * Spread(tuple(p95s[name])).median:.0f} ms ({1000 * Spread(tuple(medians[name])).median:.0f} ms)"
        for name in sides
    )
    what = f"one job a request by {CLIENTS} programs at once, p95 (median); reference: a bare view with one INSERT"
    return Row("B1b", what, mine, reference, f"{ratio:.1f}", f"<= {GOAL}", ratio.median <= GOAL, gauge=ratio.median)


def _stored(database: psycopg.Connection) -> tuple[int, ...]:
    row = database.execute("SELECT (SELECT count(*) FROM jobs_job), (SELECT count(*) FROM bare_submitted)").fetchone()
    assert row is not None
    return row
