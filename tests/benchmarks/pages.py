"""B5: every page and endpoint, with ten thousand live jobs and a million that have ended, and with next to none.

Two consoles run beside each other, one on each database, and are asked in turn.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.benchmarks import stack
from tests.benchmarks.filled import Filled
from tests.benchmarks.load import Times, at_once
from tests.benchmarks.measure import Row, Spread, percentile
from tests.policy.addresses import ACTORS, MATRIX

ROLES = {"owner": "engineer", "lead": "lead", "admin": "admin"}
"""Columns of the matrix that are asked, and who answers to them here."""
WARM, ROUNDS, MORE_ROUNDS = 2, 10, 30
USERS, PAGES_EACH = 4, 60
LIST = "/api/v1/jobs"
GOAL = 1.5
ONLY = os.environ.get("ONLY", "").split()
"""Parts of addresses: B5a asks those that have one of them, and nothing else is measured. Empty = all."""


@dataclass(frozen=True)
class Asked:
    """An address as one role asks for it, in the database with few jobs and in that with many."""

    role: str
    few: str
    many: str

    @property
    def title(self) -> str:
        return f"{self.few} ({self.role})"


def rows_of(few: Filled, many: Filled) -> Iterator[Row]:
    with stack.running(few.servers, ("web",)) as small, stack.running(many.servers, ("web",)) as large:
        asked = addresses(few, many)
        if ONLY:
            chosen = [each for each in asked if any(part in each.many for part in ONLY)]
            yield from _by_size(chosen, few, many, small.port, large.port)
            return
        yield from _by_size(asked, few, many, small.port, large.port)
        yield from _by_users(asked, many, large)
    yield _overhead(many)


# --------------------------------------------------------------------------- which addresses


def addresses(few: Filled, many: Filled) -> list[Asked]:
    """Every address of the matrix that can be read, as each role that may; lists also filtered and further back."""
    names = [name for name in MATRIX if "GET" in MATRIX[name]]
    paths: list[dict[str, str]] = [
        stack.told_by("addresses", *names, servers=each.servers, KNOWN=json.dumps(each.known)) for each in (few, many)
    ]
    columns = list(ACTORS)
    asked = []
    for name, few_path in paths[0].items():
        statuses = MATRIX[name.partition("?")[0]]["GET"].statuses
        for column, role in ROLES.items():
            is_for_all = statuses[columns.index("stranger")] == 200 and role != "admin"  # asked once is enough
            if statuses[columns.index(column)] == 200 and not is_for_all:
                asked.append(Asked(role, few_path, paths[1][name]))
    return asked


# --------------------------------------------------------------------------- B5a


def _by_size(asked: Sequence[Asked], few: Filled, many: Filled, small: int, large: int) -> Iterator[Row]:
    """Noise only ever adds: an address above the goal is asked again, more often, and that counts."""
    found = {each.title: _compared(each, few, many, small, large, ROUNDS) for each in asked}
    for each in asked:
        if _ratio(found[each.title]) > GOAL:
            found[each.title] = _compared(each, few, many, small, large, MORE_ROUNDS)
    worst = sorted(found, key=lambda title: _ratio(found[title]), reverse=True)
    for title in worst[:12]:
        sys.stderr.write(f"    {title}: {_p95(found[title][1])} against {_p95(found[title][0])}\n")
    slow, quick = found[worst[0]][1], found[worst[0]][0]
    over = sum(_ratio(pair) > GOAL for pair in found.values())
    all_of_them = Spread(tuple(_ratio(pair) for pair in found.values()))
    what = (
        f"p95 of every page and endpoint ({len(asked)} by address and role), {many.size}; reference: {few.size}. "
        f"The times are those of {worst[0]}, whose ratio is the largest"
    )
    ratio = f"{all_of_them:.2f}; {over} above {GOAL}"
    yield Row("B5a", what, _p95(slow), _p95(quick), ratio, f"<= {GOAL} each", not over, gauge=_ratio(found[worst[0]]))


def _compared(
    asked: Asked, few: Filled, many: Filled, small: int, large: int, rounds: int
) -> tuple[list[float], list[float]]:
    callers = few.caller(small, asked.role, asked.few), many.caller(large, asked.role, asked.many)
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(WARM + rounds):
        for caller, path, mine in zip(callers, (asked.few, asked.many), times, strict=True):
            seconds, status, _body = caller.ask(path)
            assert status == 200, (path, asked.role, status)
            if number >= WARM:
                mine.append(seconds)
    for caller in callers:
        caller.close()
    return times


def _ratio(pair: tuple[list[float], list[float]]) -> float:
    return percentile(pair[1], 0.95) / percentile(pair[0], 0.95)


def _p95(seconds: Sequence[float]) -> str:
    return f"{percentile(seconds, 0.95) * 1000:.0f} ms"


# --------------------------------------------------------------------------- B5b


def _by_users(asked: Sequence[Asked], many: Filled, large: stack.Stack) -> Iterator[Row]:
    """Four people read pages as fast as they are answered; then four programs the list of jobs."""
    pages = [each for each in asked if not each.many.startswith(("/api/", "/healthz", "/readyz"))]
    roles = ("engineer", "engineer", "lead", "admin")

    def person(place: int, role: str) -> Callable[[Times], None]:
        mine = [each.many for each in pages if each.role == role]

        def read(times: Times) -> None:
            caller = many.caller(large.port, role, mine[0])
            for number in range(PAGES_EACH):
                seconds, status, _body = caller.ask(mine[(number + place * 5) % len(mine)])
                assert status == 200
                times["pages"].append(seconds)

        return read

    def program(times: Times) -> None:
        caller = many.caller(large.port, "engineer", LIST)
        for _ in range(PAGES_EACH):
            seconds, status, _body = caller.ask(LIST)
            assert status == 200
            times["list"].append(seconds)

    people = [person(place, role) for place, role in enumerate(roles)]
    what = f"{USERS} people read pages at the same time, p95 (median)"
    yield _absolute("B5b", what, large, people, "pages", 0.15)
    what = f"the same: {USERS} programs read a list of 50 jobs by the API"
    yield _absolute("B5b2", what, large, [program] * USERS, "list", 0.08)


def _absolute(
    number: str, what: str, large: stack.Stack, workers: list[Callable[[Times], None]], name: str, goal: float
) -> Row:
    """The gauge is the web server's CPU time of one answer: the rest is how busy the machine is."""
    before = large.cpu_seconds("web")
    times = at_once(workers)[name]
    cpu = (large.cpu_seconds("web") - before) / len(times) * 1000
    p95 = percentile(times, 0.95)
    ours = f"{p95 * 1000:.0f} ms ({percentile(times, 0.5) * 1000:.0f} ms); CPU {cpu:.0f} ms each"
    return Row(number, what, ours, "", "", f"<= {goal * 1000:.0f} ms", p95 <= goal, gauge=cpu)


# --------------------------------------------------------------------------- B5d


def _overhead(many: Filled) -> Row:
    ours, bare = (Spread(tuple(values)) for values in stack.told_by("overhead", servers=many.servers))
    ratio = Spread(tuple(a / b for a, b in zip(ours.values, bare.values, strict=True)))
    what = "200 jobs read and written as JSON by the API's functions; reference: values_list() and msgspec, CPU"
    mine, reference = (f"{1000 * spread.median:.1f} ms" for spread in (ours, bare))
    return Row("B5d", what, mine, reference, f"{ratio:.1f}", "<= 3", ratio.median <= 3, gauge=ratio.median)
