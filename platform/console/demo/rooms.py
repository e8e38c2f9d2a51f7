"""Free cards on nodes: where the gate would place a job, and whom to cancel to make room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from clusters.simulation.placement import least_free_capacity
from console.demo.situation import GroupSight, JobSight, NodeSight, Situation


def blocks_after(group: GroupSight, cards: int) -> dict[str, int] | None:
    """Free cards per node once a one-pod job was placed; None = it does not fit now."""
    chosen = least_free_capacity(group.rooms, 1, cards)
    if chosen is None or cards > group.quota_free:
        return None
    left = dict(group.rooms)
    left[chosen[0]] -= cards
    return left


def fits_now(group: GroupSight, job: JobSight) -> bool:
    return (
        job.cards <= group.quota_free
        and least_free_capacity(group.rooms, job.pods, job.cards // max(1, job.pods)) is not None
    )


def movable(situation: Situation, node: NodeSight) -> dict[str, int]:
    """Demo jobs that hold cards on this node and nowhere else, with the cards; none that is already leaving."""
    one_pod = {job.key for job in situation.jobs if job.is_demo and job.pods == 1 and not job.stopping}
    return {holder.key: holder.cards for holder in node.holders if not holder.ending and holder.key in one_pod}


def leaving(situation: Situation, node: NodeSight) -> int:
    """Cards of the node that come free by themselves in a moment."""
    stopping = {job.key for job in situation.jobs if job.stopping}
    return sum(holder.cards for holder in node.holders if holder.ending or holder.key in stopping)


def subset(cards: Mapping[str, int], wanted: int) -> tuple[str, ...] | None:
    """The fewest jobs that hold exactly so many cards together."""
    for count in range(len(cards) + 1):
        for keys in combinations(sorted(cards), count):
            if sum(cards[key] for key in keys) == wanted:
                return keys
    return None


def make_room(situation: Situation, group: GroupSight, wanted: int) -> tuple[str, ...]:
    """Demo jobs to cancel so that one node has ``wanted`` free cards; none if it has or will have them."""
    best: tuple[int, int, tuple[str, ...]] | None = None
    for node in group.nodes:
        if not node.is_open:
            continue
        need = wanted - node.free - leaving(situation, node)
        if need <= 0:
            return ()
        keys = _cover(movable(situation, node), need)
        if keys is not None and (best is None or (need, len(keys), keys) < best):
            best = (need, len(keys), keys)
    return best[2] if best is not None else ()


def _cover(cards: Mapping[str, int], need: int) -> tuple[str, ...] | None:
    """Jobs that free at least ``need`` cards, as little more as possible."""
    for exactly in range(need, sum(cards.values()) + 1):
        keys = subset(cards, exactly)
        if keys is not None:
            return keys
    return None


def has_people(situation: Situation, group: GroupSight) -> bool:
    """A job that somebody submitted himself holds cards here."""
    demo = {job.key for job in situation.demo_jobs(group.name)}
    return any(holder.key not in demo and not holder.ending for node in group.nodes for holder in node.holders)


def could_take_from_people(situation: Situation, group: GroupSight, team: str, cards: int) -> bool:
    """A demo job of the team that waited here could take back cards that a person's own job has borrowed."""
    if cards > group.room_within(team) or all(held <= group.nominal.get(t, 0) for t, held in group.held.items()):
        return False
    return has_people(situation, group)


def rivals(situation: Situation, group: GroupSight, leaving_keys: Sequence[str]) -> list[str]:
    """Waiting demo jobs that would be inside their team's share once these have left: they would go before people."""
    left: Counter[str] = Counter()
    for job in situation.demo_jobs(group.name):
        if job.key in leaving_keys:
            left[job.team] += job.cards
    return [
        job.key
        for job in situation.demo_jobs(group.name)
        if job.waits and left[job.team] and job.cards <= group.room_within(job.team) + left[job.team]
    ]
