"""What is true, read without the code under test: raw SQL over the jobs, raw JSON of the sandbox's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connection

from quotas.selectors import QuotaRow, quota_groups

TERMINAL = {"succeeded", "failed", "cancelled"}
ALIVE = {"waiting", "pulling", "running", "ending"}


def rows(sql: str, *values: object) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


# --------------------------------------------------------------------------- the sandbox


@dataclass(frozen=True)
class RawObject:
    """One workload row of the sandbox as stored."""

    name: str
    data: dict[str, Any]

    @property
    def ulid(self) -> str:
        return str(self.data["spec"]["job_ulid"])

    @property
    def attempt(self) -> int:
        return int(self.data["spec"]["attempt"])

    @property
    def queue(self) -> str:
        return str(self.data["spec"]["queue"])

    @property
    def group(self) -> str | None:
        group: str | None = self.data["spec"]["node_group"]
        return group

    @property
    def cards(self) -> int:
        return int(self.data["spec"]["pods"] * self.data["spec"]["cards_per_pod"])

    @property
    def holds_quota(self) -> bool:
        return self.data["stage"] in {"admitted", "evicting"}

    @property
    def finished(self) -> bool:
        return self.data["stage"] == "finished"

    def pods(self) -> list[dict[str, Any]]:
        """Pods of every admission."""
        return [pod for run in self.data["runs"] for pod in run["pods"]]

    def running_cards(self) -> int:
        """Cards of running pods of the present admission."""
        if not self.holds_quota:
            return 0
        return sum(self.data["spec"]["cards_per_pod"] for pod in self.data["runs"][-1]["pods"] if is_running(pod))


def is_running(pod: dict[str, Any]) -> bool:
    return bool(pod["phase"] == "running")


def objects() -> list[RawObject]:
    """Every workload there is, also finished ones that nobody has deleted yet."""
    found = rows("SELECT name, data::text::json FROM clusters_sandboxobject WHERE kind = 'workload' ORDER BY name")
    return [RawObject(name, data) for name, data in found]


def _others(kind: str) -> dict[str, dict[str, Any]]:
    return dict(rows("SELECT name, data::text::json FROM clusters_sandboxobject WHERE kind = %s", kind))


# --------------------------------------------------------------------------- quota rows


@dataclass(frozen=True)
class Figures:
    """What one team queue holds and asks of one group."""

    nominal: int
    used: int
    reserved: int
    pending: int
    pending_jobs: int


def true_figures() -> dict[tuple[str, str], Figures]:
    """Per (queue, group), from the sandbox's own rows and the jobs' states."""
    used: Counter[tuple[str, str]] = Counter()
    held: Counter[tuple[str, str]] = Counter()
    holders: Counter[tuple[str, int]] = Counter()  # cards of each attempt; a service may hold a part of its own
    for raw in objects():
        if raw.holds_quota and raw.cards and raw.group is not None:
            used[raw.queue, raw.group] += raw.running_cards()
            held[raw.queue, raw.group] += raw.cards
            holders[raw.ulid, raw.attempt] += raw.cards
    pending: Counter[tuple[str, str]] = Counter()
    pending_jobs: Counter[tuple[str, str]] = Counter()
    live = rows(
        """SELECT j.public_id, j.attempt_no, q.slug, g.slug, j.cards FROM jobs_job j
             JOIN quotas_localqueue l ON l.id = j.local_queue_id JOIN quotas_teamqueue q ON q.id = l.queue_id
             JOIN clusters_nodegroup g ON g.id = j.group_id
            WHERE NOT j.held AND j.rests_until IS NULL AND j.state NOT IN ('succeeded', 'failed', 'cancelled')"""
    )
    for ulid, attempt, queue, group, cards in live:
        pending[queue, group] += max(0, cards - holders[ulid, attempt])
        if not holders[ulid, attempt]:
            pending_jobs[queue, group] += 1
    return {
        (queue, group): Figures(
            nominal,
            used[queue, group],
            held[queue, group] - used[queue, group],
            pending[queue, group],
            pending_jobs[queue, group],
        )
        for queue, data in _others("queue").items()
        for group, nominal in data["quotas"].items()
    }


def quota_problems() -> list[str]:
    """What the quota table says that is not true, or does not add up (decision 19). Empty = all well."""
    problems: list[str] = []
    truth = true_figures()
    nodes = _others("node")
    for found in quota_groups(level="local"):
        group = found.group.slug
        teams = [row for row in found.rows if row.level == "team"]
        for row in teams:
            figures = truth[row.queue, group]
            said = Figures(row.nominal, row.used, row.reserved, row.pending, row.pending_jobs)
            if said != figures:
                problems.append(f"{row.queue} {group}: {said} instead of {figures}")
            problems += _row_problems(row)
            problems += _local_problems(row, [r for r in found.rows if r.queue.startswith(f"{row.queue}/")])
        mine = {name: node for name, node in nodes.items() if node["group"] == group}
        problems += [f"{group}: {text}" for text in _group_problems(teams, mine)]
    return problems


def _row_problems(row: QuotaRow) -> Iterable[str]:
    name = f"{row.queue} {row.node_group}"
    if row.usable != row.nominal - row.lent - row.down + row.borrowed + row.over:
        yield f"{name}: usable {row.usable} does not follow from its parts"
    if row.free != row.usable - row.used - row.reserved or row.free < 0:
        yield f"{name}: free {row.free}"
    held = row.used + row.reserved
    if row.borrowed + row.over != max(0, held - row.nominal):
        yield f"{name}: borrowed {row.borrowed} and over {row.over} are not the excess"
    if row.lent + row.down > max(0, row.nominal - held):
        yield f"{name}: lends or lost more than is idle"
    if min(row.used, row.reserved, row.borrowed, row.lent, row.over, row.down, row.borrowable) < 0:
        yield f"{name}: a negative figure"


def _local_problems(team: QuotaRow, locals_: list[QuotaRow]) -> Iterable[str]:
    for figure in ("used", "reserved", "pending", "pending_jobs", "nominal", "usable"):
        total = sum(getattr(row, figure) for row in locals_)
        if total != getattr(team, figure):
            yield f"{team.queue} {team.node_group}: local queues have {figure} {total}"


def _cards_on_nodes() -> Counter[str]:
    """Cards that pods hold on each node, or that were promised to pods which are not there yet."""
    cards: Counter[str] = Counter()
    for raw in objects():
        per_pod = raw.data["spec"]["cards_per_pod"]
        for pod in raw.pods():
            if pod["node"] is not None and pod["phase"] in ALIVE:
                cards[pod["node"]] += per_pod
        if raw.data["stage"] == "admitted" and raw.data["runs"][-1]["scheduled_ms"] is None:
            for node in raw.data["runs"][-1]["nodes"]:
                cards[node] += per_pod
    return cards


def _out_of_order(nodes: dict[str, dict[str, Any]]) -> int:
    """Cards nobody holds and nobody can have: sick ones, and all of a closed node."""
    held = _cards_on_nodes()
    total = 0
    for name, node in nodes.items():
        left = max(0, node["cards"] - node["outside"] - held[name])
        total += left if node["cordoned"] or node["down"] else min(left, node["sick"])
    return total


def _group_problems(teams: list[QuotaRow], nodes: dict[str, dict[str, Any]]) -> Iterable[str]:
    installed = sum(node["cards"] for node in nodes.values())
    pool = installed - sum(row.nominal for row in teams)
    idle = sum(max(0, row.nominal - row.used - row.reserved) for row in teams)
    excess = sum(max(0, row.used + row.reserved - row.nominal) for row in teams)
    borrowed = sum(row.borrowed for row in teams)
    if borrowed != min(excess, pool + idle):
        yield f"borrowed {borrowed} of an excess of {excess}"
    if sum(row.lent for row in teams) != borrowed - min(borrowed, pool):
        yield "lent and borrowed differ by more than the pool"
    down, most = sum(row.down for row in teams), sum(max(0, r.nominal - r.used - r.reserved) - r.lent for r in teams)
    if down != min(_out_of_order(nodes), most):
        yield f"{down} cards down instead of {min(_out_of_order(nodes), most)}"
    if pool < 0:
        yield f"{-pool} cards more than installed are given away"
