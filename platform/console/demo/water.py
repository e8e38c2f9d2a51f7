"""The water level of a demo's past: samples that a rehearsal takes on its way, as the console does. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from clusters.contract import NodeFacts
from clusters.domain.node_cards import node_cards
from clusters.domain.packing import Gang, unusable
from clusters.domain.water import Level, NodeSplit, level_of
from console.demo.played import PlayedJob
from jobs.domain.words import JobState

MINUTE_MS, DAY_MS = 60_000, 86_400_000
FINE_MS, COARSE_MS = 10 * MINUTE_MS, 30 * MINUTE_MS
"""Between two samples of the last day, which is as close as its chart has points, and of the days before."""

Levels = Mapping[str, Level]
"""By node group."""


class Gauge:
    """Takes samples up to a moment. What a look has found stands until the next one."""

    def __init__(self, begin_ms: int, end_ms: int) -> None:
        self.samples: list[tuple[int, Levels]] = []
        self._end_ms = end_ms
        self._next_ms = -(-begin_ms // COARSE_MS) * COARSE_MS

    def stands_until(self, until_ms: int, levels: Callable[[], Levels]) -> None:
        """Nothing changes before ``until_ms``; ``levels`` tells what is there."""
        while self._next_ms < min(until_ms, self._end_ms):
            self.samples.append((self._next_ms, levels()))
            self._next_ms += FINE_MS if self._next_ms >= self._end_ms - DAY_MS else COARSE_MS


def group_levels(nodes: Mapping[str, Iterable[NodeFacts]], jobs: Iterable[PlayedJob]) -> dict[str, Level]:
    """The level of each group, with what of it is of no use to the jobs that wait."""
    waiting: dict[str, Counter[tuple[int, int]]] = {}
    for job in jobs:
        if job.state is JobState.QUEUED and not job.is_held and job.request.group is not None:
            waiting.setdefault(job.request.group, Counter())[job.shape.pods, job.shape.cards_per_pod] += 1
    return {
        name: _level(list(facts), [Gang(*shape, count) for shape, count in waiting.get(name, Counter()).items()])
        for name, facts in nodes.items()
        if name
    }


def _level(nodes: list[NodeFacts], gangs: list[Gang]) -> Level:
    splits = [_split(node) for node in nodes]
    return level_of(splits, unusable=unusable((split.free for split in splits), gangs).cards)


def _split(node: NodeFacts) -> NodeSplit:
    holders = [{"cards": h.cards, "running": h.running, "ending": h.ending} for h in node.holders]
    cards = node_cards(
        health=node.health.value, installed=node.installed, sick=node.sick, outside=node.outside, holders=holders
    )
    return NodeSplit(cards.used, cards.reserved, cards.ending, node.outside, cards.free, cards.out)
