"""B17: pages and endpoints about quotas with 200 teams, and with 3, on 20 node groups with 5,000 nodes.

Two consoles run beside each other, one on each database, and are asked in turn. B17k is the preview of a change of
shares on a cluster with many live jobs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.benchmarks import stack
from tests.benchmarks.database import durable_servers
from tests.benchmarks.filled import Filled, filled
from tests.benchmarks.load import Caller
from tests.benchmarks.measure import Row, machine_unit, percentile
from tests.crowded_quotas import GROUPS, NODES

FEW, MANY = 3, 200
WARM, ROUNDS = 5, 40
GOAL = 1.5
ASKED = (
    ("admin", "/api/v1/quotas"),
    ("admin", "/api/v1/quotas?level=local"),
    ("admin", "/api/v1/quotas?level=cluster"),
    ("lead", "/api/v1/quotas"),
    ("lead", "/api/v1/quotas/team-000"),
    ("lead", "/team/team-000/"),
    ("lead", "/team/team-000/queues/"),
    ("admin", "/admin/queues/"),
    ("admin", "/admin/quotas/"),
    ("admin", "/admin/quotas/big/shares/"),
)
LIVE_JOBS, PREVIEW_SECONDS = 10_000, 0.5


@contextmanager
def prepared() -> Iterator[Callable[[], Iterator[Row]]]:
    """The consoles stand: most of the time goes into filling their databases, once for all runs."""
    with (
        _teams(FEW) as few,
        _teams(MANY) as many,
        filled(LIVE_JOBS, 0) as busy,
        stack.running(few.servers, ("web",)) as small,
        stack.running(many.servers, ("web",)) as large,
        stack.running(busy.servers, ("web",)) as console,
    ):

        def rows() -> Iterator[Row]:
            for letter, (role, address) in zip("abcdefghij", ASKED, strict=True):
                size = f"{MANY} teams, {GROUPS} node groups, {NODES:,} nodes; reference: {FEW} teams"
                what = f"p95 (median) of {address} as {role}: {size}"
                yield compared(f"B17{letter}", what, role, address, (few, small.port), (many, large.port))
            yield _preview(busy, console)

        yield rows


def _preview(busy: Filled, console: stack.Stack) -> Row:
    """A dry run over HTTP that gives half of a team's cards to the pool. The gauge is the web server's CPU time of one
    answer, in units of the machine: the rest is how busy the machine is.
    """
    address = f"/api/v1/clusters/{busy.known['cluster']}/quota-plan"
    headers = {"Authorization": f"Token {busy.known['tokens']['admin']}", "Content-Type": "application/json"}
    caller, times = Caller(console.port, headers), []
    version = json.loads(caller.ask(address)[2])["version"]
    queues = {"vision": {"groups": {"h100": {"basis_points": 2_000}}}}
    body = json.dumps({"expected_version": version, "dry_run": True, "queues": queues}).encode()
    before = console.cpu_seconds("web")
    for turn in range(WARM + ROUNDS):
        seconds, status, answer = caller.ask(address, "PUT", body)
        assert status == 200 and json.loads(answer)["preview"]["waiting_jobs"] > 0, answer[:500]
        if turn >= WARM:
            times.append(seconds)
    caller.close()
    cpu = (console.cpu_seconds("web") - before) / (WARM + ROUNDS) * 1000
    gauge = cpu / 1000 / min(machine_unit() for _ in range(5))
    p95 = percentile(times, 0.95)
    what = f"p95 of the preview of a change of shares, {LIVE_JOBS:,} live jobs (median)"
    mine = f"{p95 * 1000:.0f} ms ({percentile(times, 0.5) * 1000:.0f} ms); CPU {cpu:.0f} ms each"
    return Row("B17k", what, mine, "", "", f"<= {PREVIEW_SECONDS * 1000:.0f} ms", p95 <= PREVIEW_SECONDS, gauge=gauge)


@contextmanager
def _teams(count: int) -> Iterator[Filled]:
    with durable_servers() as servers:
        yield Filled(servers, 0, 0, stack.told_by("many_teams", str(count), servers=servers))


def compared(number: str, what: str, role: str, address: str, few: tuple[Filled, int], many: tuple[Filled, int]) -> Row:
    """One row: the same page on two consoles with their ports, asked in turn. The gauge is the ratio of the medians: a
    p95 of so few answers is not the same in two runs.
    """
    sides: list[tuple[Caller, list[float]]] = [(filled.caller(port, role, address), []) for filled, port in (few, many)]
    for turn in range(WARM + ROUNDS):
        for caller, times in sides:
            seconds, status, _body = caller.ask(address)
            assert status == 200, (address, role, status)
            if turn >= WARM:
                times.append(seconds)
    for caller, _times in sides:
        caller.close()
    few_p95, many_p95 = (percentile(times, 0.95) for _caller, times in sides)
    few_median, many_median = (percentile(times, 0.5) for _caller, times in sides)
    mine, reference = _milliseconds(many_p95, many_median), _milliseconds(few_p95, few_median)
    p95, median = many_p95 / few_p95, many_median / few_median
    return Row(number, what, mine, reference, f"{p95:.2f} ({median:.2f})", f"<= {GOAL}", p95 <= GOAL, gauge=median)


def _milliseconds(p95: float, median: float) -> str:
    return f"{p95 * 1000:.0f} ms ({median * 1000:.0f} ms)"
