"""Which of the free cards could be used by what waits: a best packing of waiting gangs into free blocks. Pure.

A block is the free cards of one node. A gang starts whole or not at all, each of its pods inside one block. The best
packing starts the most cards. Finding it is hard in general, so it is exact where that is cheap and bounded elsewhere:

* greedy packing, largest pods first into the smallest block that holds them, says how much can be started at least;
* a relaxation in which pods need no siblings says how much can be started at most;
* where the two meet, that is the answer; else a search with a bounded number of steps looks for it;
* a search that runs out of steps leaves the upper bound, so that "free but unusable" is then a number of which it is
  certain that at least so many cards are of no use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

SEARCH_STEPS = 10_000
"""Sets of free blocks that the exact search may look at: some hundredths of a second."""
SEARCH_SIZE = 64
"""The search is not begun with more blocks or more jobs that could start alone than this."""


@dataclass(frozen=True, slots=True)
class Gang:
    """``count`` waiting jobs of ``pods`` pods with ``cards`` each, all above 0."""

    pods: int
    cards: int
    count: int = 1

    @property
    def size(self) -> int:
        """Cards of one of these jobs."""
        return self.pods * self.cards


@dataclass(frozen=True, slots=True)
class Packing:
    """``cards`` that could start; the most if ``exact``, else a bound that no packing exceeds."""

    cards: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Unusable:
    """Free cards that what waits asks for and cannot get, because the blocks are too small. ``exact``: not more."""

    cards: int
    exact: bool


def unusable(free_blocks: Iterable[int], gangs: Iterable[Gang]) -> Unusable:
    """Free cards minus what a best packing could start; cards that nobody asks for are not unusable but idle.

    5 and 3 free and a job of 8 waiting on one node: 8. The same and nothing waiting: 0.
    """
    blocks, waiting = _blocks(free_blocks), _gangs(gangs)
    packing = best_packing(blocks, waiting)
    wanted = min(sum(blocks), sum(gang.size * gang.count for gang in waiting))
    return Unusable(wanted - packing.cards, packing.exact)


def best_packing(free_blocks: Iterable[int], gangs: Iterable[Gang]) -> Packing:
    """The most cards of ``gangs`` that could start together in ``free_blocks``."""
    blocks = _blocks(free_blocks)
    fitting = [gang for gang in _gangs(gangs) if _room(blocks, gang) >= gang.pods]
    upper = _upper_bound(blocks, fitting)
    lower = _greedy(blocks, fitting)
    if lower == upper:
        return Packing(upper, exact=True)
    found = _searched(blocks, fitting)
    return Packing(upper, exact=False) if found is None else Packing(found, exact=True)


def _searched(blocks: tuple[int, ...], gangs: Sequence[Gang]) -> int | None:
    """The answer, or None where it would take too long."""
    few = [replace(gang, count=min(gang.count, _room(blocks, gang) // gang.pods)) for gang in gangs]
    if len(blocks) > SEARCH_SIZE or sum(gang.count for gang in few) > SEARCH_SIZE:
        return None
    try:
        return _Search(few, SEARCH_STEPS).best(0, few[0].count, blocks)
    except _OutOfSteps:
        return None


def _blocks(free_blocks: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(block for block in free_blocks if block > 0))


def _gangs(gangs: Iterable[Gang]) -> list[Gang]:
    """One row per shape, largest pods first, then largest jobs."""
    counts: Counter[tuple[int, int]] = Counter()
    for gang in gangs:
        if gang.pods > 0 and gang.cards > 0 and gang.count > 0:
            counts[gang.cards, gang.pods] += gang.count
    return [Gang(pods, cards, counts[cards, pods]) for cards, pods in sorted(counts, reverse=True)]


def _room(blocks: Sequence[int], gang: Gang) -> int:
    """Pods of this size that the blocks hold when nothing else starts."""
    return sum(block // gang.cards for block in blocks)


def _upper_bound(blocks: Sequence[int], gangs: Sequence[Gang]) -> int:
    """Every block filled as well as pods of these sizes fill it, and never more than is asked for."""
    waiting = sum(gang.size * gang.count for gang in gangs)
    if not blocks or not gangs:
        return 0
    filled = [0] * (blocks[-1] + 1)  # the most cards that pods can take of a block of this many
    sizes = {gang.cards for gang in gangs}
    for room in range(1, len(filled)):
        filled[room] = max((size + filled[room - size] for size in sizes if size <= room), default=0)
    return min(waiting, sum(filled[block] for block in blocks))


def _greedy(blocks: Sequence[int], gangs: Sequence[Gang]) -> int:
    free = Counter(blocks)
    started = 0
    for gang in gangs:
        for _ in range(gang.count):
            after = _placed(free, gang)
            if after is None:
                break
            free = after
            started += gang.size
    return started


def _placed(free: Counter[int], gang: Gang) -> Counter[int] | None:
    """The blocks that are left when the pods went into the smallest blocks that hold them; None if they do not fit."""
    left = free.copy()
    for _ in range(gang.pods):
        block = min((size for size, count in left.items() if count and size >= gang.cards), default=None)
        if block is None:
            return None
        left[block] -= 1
        left[block - gang.cards] += 1
    return left


class _OutOfSteps(Exception):
    """The search would take too long."""


class _Search:
    """Every way to start waiting jobs, shape by shape; equal sets of blocks are looked at once."""

    def __init__(self, gangs: Sequence[Gang], steps: int) -> None:
        self._gangs = gangs
        self._steps = steps
        self._smallest_pod = min(gang.cards for gang in gangs)
        self._known: dict[tuple[int, int, tuple[int, ...]], int] = {}

    def best(self, index: int, count: int, blocks: tuple[int, ...]) -> int:
        """The most cards that ``count`` jobs of the shape at ``index`` and all later ones could start in ``blocks``."""
        blocks = tuple(block for block in blocks if block >= self._smallest_pod)
        key = (index, count, blocks)
        if key not in self._known:
            self._known[key] = self._look(index, count, blocks)
        return self._known[key]

    def _look(self, index: int, count: int, blocks: tuple[int, ...]) -> int:
        if not blocks:
            return 0
        gang = self._gangs[index]
        last = index + 1 == len(self._gangs)
        found = 0 if last else self.best(index + 1, self._gangs[index + 1].count, blocks)
        if count:
            for rest in self._ways(blocks, gang):
                found = max(found, gang.size + self.best(index, count - 1, rest))
        return found

    def _ways(self, blocks: tuple[int, ...], gang: Gang) -> set[tuple[int, ...]]:
        """What may be left of the blocks when one job has been placed."""
        ways = {blocks}
        for _ in range(gang.pods):
            further: set[tuple[int, ...]] = set()
            for way in ways:
                for block in {block for block in way if block >= gang.cards}:
                    self._count_step()
                    rest = list(way)
                    rest.remove(block)
                    further.add(tuple(sorted([*rest, block - gang.cards])))
            ways = further
        return ways

    def _count_step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise _OutOfSteps
