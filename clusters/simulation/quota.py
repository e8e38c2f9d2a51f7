"""Cards held per team queue and node group, against nominal quota, in one flat cohort.

Every queue lends all it does not use and may borrow all that others and the common pool do not use. What is
available to one queue is therefore available to all: the whole cohort's cards minus all that is held. After a
quota was lowered below what is held, that number is negative.
"""

from __future__ import annotations

from collections import defaultdict

from clusters.simulation.world import Queue

Key = tuple[str, str]  # (team queue, node group)


class Ledger:
    """Held and nominal cards. Holdings of a queue that was removed stay until they are given back."""

    __slots__ = ("_capacity", "_held", "_nominal", "_used")

    def __init__(self) -> None:
        self._nominal: dict[Key, int] = {}
        self._capacity: dict[str, int] = {}
        self._used: defaultdict[Key, int] = defaultdict(int)
        self._held: defaultdict[str, int] = defaultdict(int)

    def set_quotas(self, queues: dict[str, Queue], pool: dict[str, int]) -> None:
        """Take over nominal quotas and the common pool; what is held does not change."""
        self._nominal = {(q.name, group): cards for q in queues.values() for group, cards in q.quotas.items()}
        self._capacity = dict(pool)
        for (_, group), cards in self._nominal.items():
            self._capacity[group] = self._capacity.get(group, 0) + cards

    def hold(self, queue: str, group: str, cards: int) -> None:
        """Add to what a queue holds; negative cards give back."""
        self._used[queue, group] += cards
        self._held[group] += cards

    def offers(self, queue: str, group: str) -> bool:
        return (queue, group) in self._nominal

    def nominal(self, queue: str, group: str) -> int:
        return self._nominal.get((queue, group), 0)

    def used(self, queue: str, group: str) -> int:
        return self._used.get((queue, group), 0)

    def capacity(self, group: str) -> int:
        """Cards of the whole cohort: all nominal quotas and the common pool."""
        return self._capacity.get(group, 0)

    def available(self, group: str) -> int:
        return self._capacity.get(group, 0) - self._held.get(group, 0)

    def borrows(self, queue: str, group: str) -> bool:
        """Holds more than its nominal quota."""
        return self.used(queue, group) > self.nominal(queue, group)

    def would_borrow(self, queue: str, group: str, cards: int) -> bool:
        return self.used(queue, group) + cards > self.nominal(queue, group)
