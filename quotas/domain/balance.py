"""Used, reserved, free, borrowed, lent: the numbers of one node group by decision 19. Pure, exact integers.

    usable = nominal - lent - down + borrowed + over
    free   = usable - used - reserved  >= 0

used = cards of running pods; reserved = quota held while the pod does not run. Every split is by largest
remainder, so the figures of the teams and of the common pool add up to those of the group:

    capacity + missing + over = used + reserved + free + down + aside
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from quotas.domain.shares import capped_split, largest_remainder


class QueueUse(NamedTuple):
    """What one team queue holds and asks of one node group, in the group's unit. There are thousands of them.

    It borrows and lends at most its limits, None = without one.
    """

    nominal: int
    used: int = 0
    reserved: int = 0
    pending: int = 0
    pending_jobs: int = 0
    pending_stopped: int = 0
    pending_jobs_stopped: int = 0
    borrow_limit: int | None = None
    lend_limit: int | None = None

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
    pending_stopped: int  # a part of pending: it waits where a lead lets nothing start
    pending_jobs_stopped: int


@dataclass(frozen=True, slots=True)
class CardCounts:
    """The cards of one node group as they are, before anybody's use of them.

    ``divided`` = how many the shares divide, None = all. Cards that are out for long are divided no more, and some
    that left may still be divided for a while. ``out`` = installed cards that are sick, or free on a closed node.
    ``aside`` are kept for queues of others that were found on the cluster, and divided by nobody.
    """

    capacity: int = 0
    divided: int | None = None
    out: int = 0
    releasing: int = 0
    outside: int = 0
    aside: int = 0


@dataclass(frozen=True, slots=True)
class GroupBalance:
    """All queues of one group, the common pool and their sum.

    ``pool_row`` is the common pool: it holds nothing and lends only; cards that are divided no more stand there as
    down. ``missing`` cards are divided and not installed. ``down_held`` cards are out of service while jobs hold all
    quota that could bear them, so they are nobody's ``down``. ``releasing`` and ``outside`` are in no sum.
    """

    queues: dict[str, QueueBalance]
    pool_row: QueueBalance
    total: QueueBalance
    capacity: int
    missing: int
    down_held: int
    releasing: int
    outside: int
    aside: int = 0  # installed, kept for queues of others

    @property
    def pool(self) -> int:
        return self.pool_row.nominal

    @property
    def pool_lent(self) -> int:
        return self.pool_row.lent

    @property
    def down(self) -> int:
        """Every card that is out of service, whoever bears it."""
        return self.total.down + self.down_held


def balance(
    queues: Mapping[str, QueueUse], cards: CardCounts, *, wanted: Collection[str] | None = None
) -> GroupBalance:
    """Balance one group. More quota than cards to divide is possible for a while: nobody gets a card twice.

    All queues count; rows are made of the ``wanted`` ones, None = of all. ``borrowable`` comes on top of what is free:
    both together are what the gate would give a queue, as long as no card is down.
    """
    given = sum(use.nominal for use in queues.values())
    pool, retired, missing, aside = _divided(given, cards)
    down = max(0, cards.out - retired) + missing
    idle, excess = _idle_and_excess(queues)
    all_idle, all_excess = sum(idle.values()), sum(excess.values())
    borrowed = min(all_excess, pool + all_idle)
    from_pool = min(borrowed, pool)
    borne = min(down, all_idle - (borrowed - from_pool))
    pool_down = min(down - borne, pool - from_pool)
    pool_row = _row(QueueUse(pool + retired), lent=from_pool, down=pool_down + retired)
    together = _together(queues.values(), given + pool + retired)
    names = queues if wanted is None else wanted
    split = _Split(borrowed, borrowed - from_pool, down, pool_row.free)
    return GroupBalance(
        queues=_rows(names, queues, idle, excess, split) if names else {},
        pool_row=pool_row,
        total=_row(together, borrowed=borrowed, lent=borrowed, over=all_excess - borrowed, down=borne + pool_row.down),
        capacity=cards.capacity,
        missing=missing,
        down_held=down - borne - pool_down,
        releasing=cards.releasing,
        outside=cards.outside,
        aside=aside,
    )


class _Split(NamedTuple):
    """What the queues of a group have to divide among themselves, in cards."""

    borrowed: int
    lent: int  # by queues, not by the pool
    down: int  # at most: they bear no more than they have left
    pool_free: int


def _rows(
    names: Collection[str],
    queues: Mapping[str, QueueUse],
    idle: Mapping[str, int],
    excess: Mapping[str, int],
    split: _Split,
) -> dict[str, QueueBalance]:
    """The rows of the named queues; the parts of all others are needed for them."""
    borrowed = _split(split.borrowed, excess)
    lent = _lent(split.lent, idle, queues)
    left = {name: rest - lent[name] for name, rest in idle.items()} if lent else idle
    downs = capped_split(split.down, {name: queues[name].nominal for name in left}, left) if split.down else {}
    kept = _kept_back(left, downs, lent, queues)
    on_offer = split.pool_free + sum(left.values()) - sum(downs.values()) - sum(kept.values())

    def row(name: str) -> QueueBalance:
        use, free = queues[name], left.get(name, 0) - downs.get(name, 0)
        return _row(
            use,
            borrowed=borrowed.get(name, 0),
            lent=lent.get(name, 0),
            over=excess.get(name, 0) - borrowed.get(name, 0),
            down=downs.get(name, 0),
            borrowable=_within(on_offer - free + kept.get(name, 0), use.borrow_limit, use.held + free - use.nominal),
        )

    return {name: row(name) for name in names}


def _divided(given: int, cards: CardCounts) -> tuple[int, int, int, int]:
    """(cards of nobody, installed cards that are divided no more, divided cards that are not installed, kept aside)."""
    pool = max(0, (cards.capacity if cards.divided is None else cards.divided) - cards.aside - given)
    rest = cards.capacity - given - pool
    aside = max(0, min(cards.aside, rest))
    return pool, max(0, rest - aside), max(0, -rest), aside


def _idle_and_excess(queues: Mapping[str, QueueUse]) -> tuple[dict[str, int], dict[str, int]]:
    """Own cards that nobody holds, and cards held beyond one's own; each queue is in one of them at most."""
    idle, excess = {}, {}
    for name, use in queues.items():
        rest = use.nominal - use.used - use.reserved
        if rest > 0:
            idle[name] = rest
        elif rest < 0:
            excess[name] = -rest
    return idle, excess


def _within(cards: int, limit: int | None, taken: int) -> int:
    """So many of ``cards`` as a limit leaves of which some are taken."""
    return cards if limit is None else min(cards, max(0, limit - taken))


def _kept_back(
    left: Mapping[str, int], downs: Mapping[str, int], lent: Mapping[str, int], queues: Mapping[str, QueueUse]
) -> dict[str, int]:
    """Free cards that limits of lending keep from others; only of queues with such a limit, for there are few."""
    found = {}
    for name in [name for name in left if queues[name].lend_limit is not None]:
        free = left[name] - downs.get(name, 0)
        found[name] = free - _within(free, queues[name].lend_limit, lent.get(name, 0))
    return found


def _lent(total: int, idle: Mapping[str, int], queues: Mapping[str, QueueUse]) -> dict[str, int]:
    """Who lends how much: by idle cards within their limits, and beyond them what those do not cover.

    That happens after a limit was lowered: the cards are held, so that their owners have them no more.
    """
    if not total:
        return {}
    offered = dict(idle)
    for name in [name for name in idle if queues[name].lend_limit is not None]:
        offered[name] = _within(idle[name], queues[name].lend_limit, 0)
    lent = _split(min(total, sum(offered.values())), offered)
    beyond = total - sum(lent.values())
    if not beyond:
        return lent
    more = _split(beyond, {name: rest - lent.get(name, 0) for name, rest in idle.items()})
    return {name: lent.get(name, 0) + more[name] for name in idle}


def _together(queues: Collection[QueueUse], nominal: int) -> QueueUse:
    """All of them as one that has so many cards; most queues of a group hold and ask for nothing there."""
    busy = [use for use in queues if use.used or use.reserved or use.pending or use.pending_jobs]
    return QueueUse(
        nominal=nominal,
        used=sum(use.used for use in busy),
        reserved=sum(use.reserved for use in busy),
        pending=sum(use.pending for use in busy),
        pending_jobs=sum(use.pending_jobs for use in busy),
        pending_stopped=sum(use.pending_stopped for use in busy),
        pending_jobs_stopped=sum(use.pending_jobs_stopped for use in busy),
    )


def _row(
    use: QueueUse, *, borrowed: int = 0, lent: int = 0, over: int = 0, down: int = 0, borrowable: int = 0
) -> QueueBalance:
    usable = use.nominal - lent - down + borrowed + over
    return QueueBalance(
        nominal=use.nominal,
        usable=usable,
        used=use.used,
        reserved=use.reserved,
        free=usable - use.held,
        borrowed=borrowed,
        lent=lent,
        over=over,
        down=down,
        borrowable=borrowable,
        pending=use.pending,
        pending_jobs=use.pending_jobs,
        pending_stopped=use.pending_stopped,
        pending_jobs_stopped=use.pending_jobs_stopped,
    )


def _split(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Largest remainder never gives more than the weight here, because total <= sum of weights."""
    return largest_remainder(total, weights) if total else {}


@dataclass(frozen=True, slots=True)
class LocalUse:
    """What one local queue of a team holds, and its weight among them."""

    weight: int
    held: int = 0


@dataclass(frozen=True, slots=True)
class LocalGuide:
    """A local queue's part of its team's quota. A local queue has no quota of its own: nothing enforces this."""

    nominal: int
    usable: int
    free: int
    borrowed: int
    lent: int
    over: int
    down: int


def guide(team: QueueBalance, queues: Mapping[str, LocalUse]) -> dict[str, LocalGuide]:
    """A team's nominal and free cards by the weights of its local queues (decision 20).

    usable is what a queue holds and its part of what is free. Where that is not its nominal, it has borrowed from its
    sisters or other teams, or lent to them, or bears what of its team is over or down. All figures add up to the
    team's; borrowed and lent do so after what sisters lend each other is taken off both.
    """
    weights = {name: use.weight for name, use in queues.items()}
    nominals, frees = (largest_remainder(total, weights) for total in (team.nominal, team.free))
    usables = {name: use.held + frees[name] for name, use in queues.items()}
    short = {name: max(0, nominals[name] - usable) for name, usable in usables.items()}
    beyond = {name: max(0, usable - nominals[name]) for name, usable in usables.items()}
    downs = capped_split(team.down, weights, short)
    overs = capped_split(team.over, beyond, beyond)
    return {
        name: LocalGuide(
            nominal=nominals[name],
            usable=usables[name],
            free=frees[name],
            borrowed=beyond[name] - overs[name],
            lent=short[name] - downs[name],
            over=overs[name],
            down=downs[name],
        )
        for name in queues
    }
