"""Cards held per team queue and node group, against nominal quota, in one flat cohort.

A queue lends what it does not use and borrows what others and the common pool do not use, both within its limits.
What a queue never lends is its own; the rest of all quotas is shared, and so are the cards held beyond what is one's
own. Source: Kueue's `resource_node.go` (available, potentialAvailable), for a cohort without parents. After a quota was
lowered below what is held, what is available is negative.
"""

from __future__ import annotations

from collections import defaultdict

from clusters.simulation.world import Limits, Queue

Key = tuple[str, str]  # (team queue, node group)

NO_LIMITS = Limits()


class Ledger:
    """Held and nominal cards. Holdings of a queue that was removed stay until they are given back."""

    __slots__ = ("_held", "_limits", "_nominal", "_own", "_shared", "_used")

    def __init__(self) -> None:
        self._nominal: dict[Key, int] = {}
        self._limits: dict[Key, Limits] = {}
        self._own: dict[Key, int] = {}  # never lent; only where that is something
        self._shared: dict[str, int] = {}  # node group -> cards of the pool and of all quotas that may be lent
        self._used: defaultdict[Key, int] = defaultdict(int)
        self._held: defaultdict[str, int] = defaultdict(int)  # node group -> held of the shared cards

    def set_quotas(self, queues: dict[str, Queue], pool: dict[str, int]) -> None:
        """Take over nominal quotas, limits and the common pool; what is held does not change."""
        self._nominal = {(q.name, group): cards for q in queues.values() for group, cards in q.quotas.items()}
        self._limits = {(q.name, group): limits for q in queues.values() for group, limits in q.limits.items()}
        self._own = {
            key: self._nominal[key] - limits.lend
            for key, limits in self._limits.items()
            if limits.lend is not None and limits.lend < self._nominal.get(key, 0)
        }
        self._shared = dict(pool)
        for key, cards in self._nominal.items():
            self._shared[key[1]] = self._shared.get(key[1], 0) + cards - self._own.get(key, 0)
        self._held = defaultdict(int)
        for key, cards in self._used.items():
            self._held[key[1]] += max(0, cards - self._own.get(key, 0))

    def hold(self, queue: str, group: str, cards: int) -> None:
        """Add to what a queue holds; negative cards give back."""
        key = (queue, group)
        before = self._used[key]
        self._used[key] = before + cards
        if own := self._own.get(key):
            cards = max(0, before + cards - own) - max(0, before - own)
        self._held[group] += cards

    def offers(self, queue: str, group: str) -> bool:
        return (queue, group) in self._nominal

    def nominal(self, queue: str, group: str) -> int:
        return self._nominal.get((queue, group), 0)

    def used(self, queue: str, group: str) -> int:
        return self._used.get((queue, group), 0)

    def capacity(self, queue: str, group: str) -> int:
        """The most that this queue could ever hold: its own, and what is shared, within its limit of borrowing."""
        key = (queue, group)
        most = self._own.get(key, 0) + self._shared.get(group, 0)
        limit = self._limits.get(key, NO_LIMITS).borrow
        return most if limit is None else min(most, self._nominal.get(key, 0) + limit)

    def available(self, queue: str, group: str) -> int:
        """How many more cards this queue could hold now."""
        shared = self._shared.get(group, 0) - self._held.get(group, 0)
        key = (queue, group)
        if key not in self._limits:
            return shared
        own, used = self._own.get(key, 0), self._used.get(key, 0)
        limit = self._limits[key].borrow
        if limit is not None:
            shared = min(shared, self._nominal.get(key, 0) - own - max(0, used - own) + limit)
        return max(0, own - used) + shared

    def borrows(self, queue: str, group: str) -> bool:
        """Holds more than its nominal quota."""
        return self.used(queue, group) > self.nominal(queue, group)

    def would_borrow(self, queue: str, group: str, cards: int) -> bool:
        return self.used(queue, group) + cards > self.nominal(queue, group)
