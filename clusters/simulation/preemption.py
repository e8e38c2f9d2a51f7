"""Who has to leave so that one workload can be admitted.

A queue may evict lower priorities of its own (equal ones never), and takes its own nominal quota back from
queues that hold more than theirs. It does not end above its own nominal by evicting others, unless it may
evict while borrowing. The set is made minimal: candidates are removed one by one until the workload fits, then
put back in reverse order as long as it still fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import NamedTuple

from clusters.contract import EvictionCause
from clusters.simulation.holders import Holders
from clusters.simulation.state import State
from clusters.simulation.world import Queue, Reclaim, Workload


class Target(NamedTuple):
    workload: Workload
    cause: EvictionCause


class Trial:
    """Removes admitted workloads from the counts and puts them back; the world itself is not touched."""

    def __init__(self, state: State) -> None:
        self._state = state

    def remove(self, workload: Workload) -> None:
        self._count(workload, -1)

    def restore(self, workload: Workload) -> None:
        self._count(workload, 1)

    def _count(self, workload: Workload, sign: int) -> None:
        spec = workload.spec
        if spec.node_group is None:
            return
        self._state.ledger.hold(spec.queue, spec.node_group, sign * spec.cards)
        if self._state.world.topology_aware:
            self._state.floor.promise(workload.run.nodes, sign * spec.cards_per_pod)


def find_targets(state: State, workload: Workload, queue: Queue) -> list[Target]:
    """The workloads to evict for this one, or none if that would not help."""
    group = workload.spec.node_group
    if group is None:
        return []
    search = _Search(state, workload, queue, group)
    for borrowing in search.attempts():
        targets = search.minimal(borrowing)
        if targets:
            return targets
    return []


class _Search:
    """One search for victims. Nothing of it outlives the call."""

    def __init__(self, state: State, workload: Workload, queue: Queue, group: str) -> None:
        self._state = state
        self._spec = workload.spec
        self._queue = queue
        self._group = group
        self._fits_nominal = not state.ledger.would_borrow(queue.name, group, workload.spec.cards)
        self._reclaim_below = workload.spec.priority if queue.reclaim is Reclaim.LOWER_PRIORITY else None
        self._own = state.holders.get((queue.name, group))
        self._others = self._borrowers()

    def _borrowers(self) -> list[Holders]:
        """Holdings of other queues above their nominal that have somebody to reclaim from."""
        if self._queue.reclaim is Reclaim.NEVER:
            return []
        return [
            holders
            for (name, group), holders in self._state.holders.items()
            if group == self._group
            and name != self._queue.name
            and self._state.ledger.borrows(name, group)
            and holders.has_any(self._reclaim_below)
        ]

    def attempts(self) -> tuple[bool, ...]:
        """Whether to try with borrowing, without, or both, and in which order."""
        ledger = self._state.ledger
        full = ledger.used(self._queue.name, self._group) >= ledger.nominal(self._queue.name, self._group)
        if not self._others or (full and not self._queue.borrow_preempts):
            return (True,)
        if not self._queue.borrow_preempts and not self._fits_nominal:
            return (False, True)
        return (True, False)

    def minimal(self, borrowing: bool) -> list[Target]:
        """Remove candidates until the workload fits, then put back whoever need not leave."""
        trial = Trial(self._state)
        removed: list[Target] = []
        fits = False
        for victim in self._candidates():
            target = self._target(victim, borrowing)
            if target is None:
                continue
            trial.remove(victim)
            removed.append(target)
            if self._fits(borrowing):
                fits = True
                break
        if fits:
            for target in reversed(removed[:-1]):
                trial.restore(target.workload)
                if self._fits(borrowing):
                    removed.remove(target)
                else:
                    trial.remove(target.workload)
        for target in removed:
            trial.restore(target.workload)
        return removed if fits else []

    def _candidates(self) -> Iterator[Workload]:
        """Who leaves anyway first, other queues before the own one, low priority first, newest first."""
        priority = self._spec.priority
        for *_, victim in sorted(entry for holders in self._others for entry in holders.leaving(self._reclaim_below)):
            yield victim
        if self._own is not None:
            for *_, victim in self._own.leaving(priority):
                yield victim
        for *_, victim in merge(*(holders.staying(self._reclaim_below) for holders in self._others)):
            yield victim
        if self._own is not None:
            for *_, victim in self._own.staying(priority):
                yield victim

    def _target(self, victim: Workload, borrowing: bool) -> Target | None:
        """The victim with its cause, or None if this attempt may not take it."""
        if victim.spec.queue == self._queue.name:
            return Target(victim, EvictionCause.HIGHER_PRIORITY)
        if not self._state.ledger.borrows(victim.spec.queue, self._group):
            return None  # earlier removals brought its queue back to its nominal
        if self._fits_nominal:
            return Target(victim, EvictionCause.QUOTA_RECLAIMED)
        if self._queue.borrow_preempts and self._below_threshold(victim):
            return Target(victim, EvictionCause.WHILE_BORROWING)
        return None if borrowing else Target(victim, EvictionCause.QUOTA_RECLAIMED)

    def _below_threshold(self, victim: Workload) -> bool:
        threshold = self._queue.borrow_threshold
        priority = victim.spec.priority
        return priority < self._spec.priority and (threshold is None or priority <= threshold)

    def _fits(self, borrowing: bool) -> bool:
        state, spec = self._state, self._spec
        if not borrowing and state.ledger.would_borrow(self._queue.name, self._group, spec.cards):
            return False
        if spec.cards > state.ledger.available(self._queue.name, self._group):
            return False
        return not state.world.topology_aware or state.floor.choose(spec) is not None
