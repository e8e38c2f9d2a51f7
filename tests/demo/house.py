"""A demo house in virtual time: the sandbox as it stands, quotas by the demo's shares, a rehearsal over it."""

from __future__ import annotations

from collections.abc import Iterable

from clusters.simulation.commands import QueueDef, SetNodes, SetQuotas
from clusters.simulation.engine import Engine
from clusters.simulation.world import World
from console.demo.layout import GROUPS, SHARES, TEAMS, nodes
from console.demo.rehearsal import Guest, Rehearsal
from console.demo.situation import GroupSight, Holder, JobSight, NodeSight, Situation
from jobs.domain.words import JobState
from quotas.domain.shares import apportion

BEGIN_MS = 1_760_000_000_000
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
TICK = 5 * SECOND
"""As often as the console asks the director."""


def house(seed: int, guests: Iterable[Guest] = ()) -> Rehearsal:
    """An empty house whose director is about to be asked for the first time."""
    engine = Engine(World(now_ms=BEGIN_MS, seed=seed))
    engine.apply(SetNodes(BEGIN_MS, nodes(), GROUPS))
    cards = {group.name: sum(node.cards for node in nodes() if node.group == group.name) for group in GROUPS}
    parts = {name: apportion(total, SHARES).nominal for name, total in cards.items()}
    queues = tuple(
        QueueDef(team, tuple((name, nominal[team]) for name, nominal in parts.items()), local_queues=("default",))
        for team in TEAMS
    )
    engine.apply(SetQuotas(BEGIN_MS, queues))
    return Rehearsal(engine, seed, {team: f"slu-{team}" for team in TEAMS}, guests)


# --------------------------------------------------------------------------- situations by hand


def job(key: str, **changes: object) -> JobSight:
    """A running demo job of one card unless told otherwise."""
    values: dict[str, object] = {
        "key": key,
        "is_demo": True,
        "team": "vision",
        "group": "a100",
        "cards": 1,
        "pods": 1,
        "priority": "normal",
        "state": JobState.RUNNING,
        "submitted_ms": BEGIN_MS,
        "running_since_ms": BEGIN_MS,
        "run_ms": HOUR,
    }
    return JobSight(**values | changes)  # type: ignore[arg-type]


def node(name: str, *holders: tuple[str, int], cards: int = 8) -> NodeSight:
    held = tuple(Holder(key, count) for key, count in holders)
    return NodeSight(name, cards, cards - sum(holder.cards for holder in held), holders=held)


def group(name: str, *members: NodeSight, nominal: dict[str, int] | None = None, **held: int) -> GroupSight:
    quota = nominal or {"vision": 13, "language": 13, "robotics": 6}
    return GroupSight(name, members, quota, {team: held.get(team, 0) for team in quota})


def situation(*groups: GroupSight, jobs: Iterable[JobSight] = (), now_ms: int = BEGIN_MS) -> Situation:
    return Situation(now_ms, TICK, {g.name: g for g in groups}, tuple(jobs))
