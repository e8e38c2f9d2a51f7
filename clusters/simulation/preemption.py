"""Who has to leave so that one workload can be admitted.

A queue may evict lower priorities of its own (equal ones never), and takes its own nominal quota back from
queues that hold more than theirs. It does not end above its own nominal by evicting others, unless it may
evict while borrowing. The set is made minimal: candidates are removed one by one until the workload fits, then
put back in reverse order as long as it still fits.
"""

from __future__ import annotations

from dataclasses import dataclass

from clusters.contract import EvictionCause
from clusters.simulation.state import State
from clusters.simulation.world import Queue, Reclaim, Stage, Workload


@dataclass(frozen=True, slots=True)
class Target:
    workload: Workload
    cause: EvictionCause
    borrowing: bool  # may be evicted for a workload that borrows


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
    ledger = state.ledger
    fits_nominal = not ledger.would_borrow(queue.name, group, workload.spec.cards)
    candidates = _candidates(state, workload, queue, group, fits_nominal)
    if not candidates:
        return []
    others = any(target.workload.spec.queue != queue.name for target in candidates)
    full = ledger.used(queue.name, group) >= ledger.nominal(queue.name, group)
    attempts: tuple[bool, ...]
    if not others or (full and not queue.borrow_preempts):
        attempts = (True,)
    elif not queue.borrow_preempts and not fits_nominal:
        attempts = (False, True)
    else:
        attempts = (True, False)
    for borrowing in attempts:
        targets = _minimal(state, workload, queue, group, candidates, borrowing)
        if targets:
            return targets
    return []


def _candidates(state: State, workload: Workload, queue: Queue, group: str, fits_nominal: bool) -> list[Target]:
    priority = workload.spec.priority
    own = [
        Target(victim, EvictionCause.HIGHER_PRIORITY, True)
        for victim in state.holders.get((queue.name, group), {}).values()
        if victim.spec.priority < priority
    ]
    others: list[Target] = []
    if queue.reclaim is not Reclaim.NEVER:
        for (name, held_group), holders in state.holders.items():
            if held_group != group or name == queue.name or not state.ledger.borrows(name, group):
                continue
            for victim in holders.values():
                if queue.reclaim is Reclaim.ANY or victim.spec.priority < priority:
                    others.append(_classify(victim, queue, priority, fits_nominal))
    return sorted(own + others, key=lambda target: _candidate_order(target, queue.name))


def _classify(victim: Workload, queue: Queue, priority: int, fits_nominal: bool) -> Target:
    if fits_nominal:
        return Target(victim, EvictionCause.QUOTA_RECLAIMED, True)
    below = victim.spec.priority < priority
    if queue.borrow_threshold is not None:
        below = below and victim.spec.priority <= queue.borrow_threshold
    if queue.borrow_preempts and below:
        return Target(victim, EvictionCause.WHILE_BORROWING, True)
    return Target(victim, EvictionCause.QUOTA_RECLAIMED, False)


def _candidate_order(target: Target, queue: str) -> tuple[bool, bool, int, int, int]:
    victim = target.workload
    return (
        victim.stage is not Stage.EVICTING,  # who leaves anyway comes first
        victim.spec.queue == queue,
        victim.spec.priority,
        -victim.run.admitted_ms,
        -victim.sequence,
    )


def _minimal(
    state: State, workload: Workload, queue: Queue, group: str, candidates: list[Target], borrowing: bool
) -> list[Target]:
    trial = Trial(state)
    removed: list[Target] = []
    fits = False
    for target in candidates:
        victim = target.workload
        if victim.spec.queue != queue.name:
            if borrowing and not target.borrowing:
                continue
            if not state.ledger.borrows(victim.spec.queue, group):
                continue  # earlier removals brought this queue back to its nominal
        trial.remove(victim)
        removed.append(target)
        if _fits(state, workload, queue, group, borrowing):
            fits = True
            break
    if fits:
        for target in reversed(removed[:-1]):
            trial.restore(target.workload)
            if _fits(state, workload, queue, group, borrowing):
                removed.remove(target)
            else:
                trial.remove(target.workload)
    for target in removed:
        trial.restore(target.workload)
    return removed if fits else []


def _fits(state: State, workload: Workload, queue: Queue, group: str, borrowing: bool) -> bool:
    spec = workload.spec
    if not borrowing and state.ledger.would_borrow(queue.name, group, spec.cards):
        return False
    if spec.cards > state.ledger.available(group):
        return False
    return not state.world.topology_aware or state.floor.choose(group, spec.pods, spec.cards_per_pod) is not None
