"""Used, reserved, free, borrowed, lent: the numbers of one node group by decision 19. Pure, exact integers.

    usable = nominal - lent - down + borrowed + over
    free   = usable - used - reserved  >= 0

used = cards of running pods; reserved = quota held while the pod does not run. Every split is by largest
remainder, so the figures of the teams add up to those of the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quotas.domain.shares import capped_split, largest_remainder


@dataclass(frozen=True, slots=True)
class QueueUse:
    """What one team queue holds and asks of one node group, in the group's unit."""

    nominal: int
    used: int = 0
    reserved: int = 0
    pending: int = 0
    pending_jobs: int = 0

    @property
    def held(self) -> int:
        return self.used + self.reserved


@dataclass(frozen=True, slots=True)
class QueueBalance:
    """One row of the quota table."""

    nominal: int
    usable: int
    used: int
    reserved: int
    free: int
    borrowed: int
    lent: int
    over: int
    down: int
    borrowable: int
    pending: int
    pending_jobs: int


@dataclass(frozen=True, slots=True)
class GroupBalance:
    """All queues of one group and what stands at cluster level only."""

    queues: dict[str, QueueBalance]
    pool: int
    pool_lent: int
    capacity: int
    down: int
    releasing: int
    outside: int


def balance(
    queues: Mapping[str, QueueUse], *, pool: int, down: int, capacity: int = 0, releasing: int = 0, outside: int = 0
) -> GroupBalance:
    """Balance one group: ``pool`` = common cards of nobody, ``down`` = sick, cordoned or lost cards."""
    idle = {name: max(0, use.nominal - use.held) for name, use in queues.items()}
    excess = {name: max(0, use.held - use.nominal) for name, use in queues.items()}
    lendable = pool + sum(idle.values())
    borrowed_total = min(sum(excess.values()), lendable)
    borrowed = _split(borrowed_total, excess)
    from_pool = min(borrowed_total, pool)
    lent = _split(borrowed_total - from_pool, idle)
    left = {name: idle[name] - lent[name] for name in queues}
    nominals = {name: use.nominal for name, use in queues.items()}
    downs = capped_split(down, nominals, left)
    rows: dict[str, QueueBalance] = {}
    free_elsewhere = {name: left[name] - downs[name] for name in queues}
    down_at_cluster = down - sum(downs.values())
    pool_free = max(0, pool - from_pool - down_at_cluster)
    for name, use in queues.items():
        over = excess[name] - borrowed[name]
        usable = use.nominal - lent[name] - downs[name] + borrowed[name] + over
        rows[name] = QueueBalance(
            nominal=use.nominal,
            usable=usable,
            used=use.used,
            reserved=use.reserved,
            free=usable - use.held,
            borrowed=borrowed[name],
            lent=lent[name],
            over=over,
            down=downs[name],
            borrowable=pool_free + sum(cards for other, cards in free_elsewhere.items() if other != name),
            pending=use.pending,
            pending_jobs=use.pending_jobs,
        )
    return GroupBalance(rows, pool, from_pool, capacity, down, releasing, outside)


def _split(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Largest remainder never gives more than the weight here, because total <= sum of weights."""
    return largest_remainder(total, weights) if total else dict.fromkeys(weights, 0)


def guide(
    nominal: int, usable: int, weights: Mapping[str, int], held: Mapping[str, int]
) -> dict[str, tuple[int, int, int]]:
    """(nominal, usable, free) of a team's local queues, apportioned by weight: a guide only (decision 20)."""
    nominals, usables = largest_remainder(nominal, weights), largest_remainder(usable, weights)
    return {name: (nominals[name], usables[name], max(0, usables[name] - held.get(name, 0))) for name in weights}
