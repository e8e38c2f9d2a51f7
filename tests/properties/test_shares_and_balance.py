"""Cards are never lost or doubled: in shares (decision 21), in caps, and in the figures of a group (decision 19)."""

from __future__ import annotations

from dataclasses import astuple

from hypothesis import given
from hypothesis import strategies as st

from clusters.simulation.quota import Ledger
from clusters.simulation.world import Limits, Queue
from quotas.domain.balance import CardCounts, LocalUse, QueueBalance, QueueUse, balance, guide
from quotas.domain.shares import WHOLE, apportion, capped_split, largest_remainder

names = st.text(alphabet="abcdefgh", min_size=1, max_size=2)
cards = st.integers(0, 500)
weights = st.dictionaries(names, st.integers(0, 1_000), max_size=8)


@st.composite
def basis_points(draw: st.DrawFn) -> dict[str, int]:
    """Shares of at most 100 % together."""
    left = WHOLE
    shares = {}
    for name in draw(st.lists(names, max_size=8, unique=True)):
        shares[name] = draw(st.integers(0, left))
        left -= shares[name]
    return shares


@given(cards, basis_points())
def test_shares_and_pool_are_exactly_the_cards_of_the_group(total: int, shares: dict[str, int]) -> None:
    parts = apportion(total, shares)
    assert sum(parts.nominal.values()) + parts.pool == total
    assert parts.pool >= 0
    for name, share in shares.items():  # never further from the exact share than one card
        assert abs(parts.nominal[name] * WHOLE - total * share) < WHOLE


@given(cards, weights)
def test_a_split_is_exact_and_does_not_depend_on_the_order(total: int, claims: dict[str, int]) -> None:
    parts = largest_remainder(total, claims)
    assert sum(parts.values()) == (total if sum(claims.values()) else 0)
    assert parts == largest_remainder(total, dict(reversed(list(claims.items()))))
    assert all(parts[name] == 0 for name, weight in claims.items() if weight == 0)
    for one, weight in claims.items():  # more weight never gets less
        assert all(parts[one] >= parts[other] for other in claims if weight > claims[other])


@given(cards, st.dictionaries(names, st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=8))
def test_a_capped_split_gives_all_it_can_and_nobody_more_than_their_cap(
    total: int, claims: dict[str, tuple[int, int]]
) -> None:
    caps = {name: cap for name, (_, cap) in claims.items()}
    parts = capped_split(total, {name: weight for name, (weight, _) in claims.items()}, caps)
    assert sum(parts.values()) == min(total, sum(caps.values()))
    assert all(0 <= parts[name] <= caps[name] for name in claims)


uses = st.builds(
    QueueUse,
    nominal=st.integers(0, 64),
    used=st.integers(0, 64),
    reserved=st.integers(0, 64),
    borrow_limit=st.none() | st.integers(0, 64),
    lend_limit=st.none() | st.integers(0, 64),
    pending=st.integers(0, 64),
    pending_jobs=st.integers(0, 9),
    pending_stopped=st.integers(0, 64),
    pending_jobs_stopped=st.integers(0, 9),
)


card_counts = st.builds(
    CardCounts,
    capacity=st.integers(0, 400),
    divided=st.none() | st.integers(0, 400),
    out=st.integers(0, 400),
    releasing=st.integers(0, 64),
    outside=st.integers(0, 64),
)
groups = st.dictionaries(names, uses, max_size=6)


@given(groups, card_counts)
def test_every_row_adds_up_and_nothing_is_negative(queues: dict[str, QueueUse], counts: CardCounts) -> None:
    group = balance(queues, counts)
    assert group.queues.keys() == queues.keys()
    for row in (*group.queues.values(), group.pool_row, group.total):
        assert min(astuple(row)) >= 0
        assert row.used + row.reserved + row.free == row.usable
        assert row.usable == row.nominal - row.lent - row.down + row.borrowed + row.over
        assert row.used + row.reserved <= row.nominal or row.borrowed + row.over > 0  # above 100 % only by these words
    for name, use in queues.items():
        row = group.queues[name]
        assert (row.nominal, row.used, row.reserved) == (use.nominal, use.used, use.reserved)
        assert (row.pending, row.pending_jobs) == (use.pending, use.pending_jobs)
        assert (row.pending_stopped, row.pending_jobs_stopped) == (use.pending_stopped, use.pending_jobs_stopped)
        assert row.borrowed + row.over == max(0, use.held - use.nominal)
        assert row.lent + row.down <= max(0, use.nominal - use.held)
        assert not (row.borrowed and row.lent)


@given(groups, card_counts)
def test_teams_and_common_pool_are_exactly_the_group(queues: dict[str, QueueUse], counts: CardCounts) -> None:
    group = balance(queues, counts)
    total, pool, rows = group.total, group.pool_row, group.queues.values()
    for figure in QueueBalance.__slots__:
        if figure != "borrowable":
            assert getattr(total, figure) == getattr(pool, figure) + sum(getattr(row, figure) for row in rows)
    assert total.lent == total.borrowed
    assert (pool.used, pool.reserved, pool.borrowed, pool.over) == (0, 0, 0, 0)
    assert group.missing >= 0 and group.down_held >= 0
    assert group.capacity + group.missing + total.over == total.used + total.reserved + total.free + total.down


@given(groups, card_counts)
def test_the_pool_lends_first_and_nobody_is_over_while_somebody_could_lend(
    queues: dict[str, QueueUse], counts: CardCounts
) -> None:
    group = balance(queues, counts)
    idle = sum(max(0, use.nominal - use.held) for use in queues.values())
    lendable = max(
        0, (counts.capacity if counts.divided is None else counts.divided) - sum(u.nominal for u in queues.values())
    )
    assert group.pool_lent <= lendable
    assert group.pool_lent == lendable or not any(row.lent for row in group.queues.values())
    if group.total.over:
        assert group.total.borrowed == lendable + idle


@given(groups, card_counts)
def test_cards_that_are_down_are_borne_by_idle_quota_as_far_as_there_is_some(
    queues: dict[str, QueueUse], counts: CardCounts
) -> None:
    group = balance(queues, counts)
    if group.down_held:
        assert group.total.free == 0
    assert group.down - group.missing >= min(counts.out, counts.capacity)


@given(groups, card_counts)
def test_what_a_team_may_borrow_is_free_somewhere_else(queues: dict[str, QueueUse], counts: CardCounts) -> None:
    group = balance(queues, counts)
    unlimited = balance(
        {name: use._replace(borrow_limit=None, lend_limit=None) for name, use in queues.items()}, counts
    )
    for name, row in group.queues.items():
        most = group.total.free - row.free
        assert row.borrowable <= most
        if (limit := queues[name].borrow_limit) is not None and row.borrowable:
            assert row.used + row.reserved + row.free + row.borrowable <= row.nominal + limit
        free = unlimited.queues[name]  # who lends, and so what one has free, follows from the limits as well
        assert free.borrowable == unlimited.total.free - free.free


@given(groups, cards)
def test_free_and_borrowable_together_are_what_the_gate_would_give(queues: dict[str, QueueUse], pool: int) -> None:
    """As long as no card is out and nobody is over; the gate's own arithmetic is the measure."""
    counts = CardCounts(sum(use.nominal for use in queues.values()) + pool)
    ledger = Ledger()
    ledger.set_quotas(
        {
            name: Queue(name, quotas={"g": use.nominal}, limits={"g": Limits(use.borrow_limit, use.lend_limit)})
            for name, use in queues.items()
        },
        {"g": pool},
    )
    for name, use in queues.items():
        if use.held <= max(0, ledger.available(name, "g")):  # as jobs come in
            ledger.hold(name, "g", use.held)
        else:
            queues[name] = use._replace(used=0, reserved=0)
    group = balance(queues, counts)
    for name, row in group.queues.items():
        assert row.over == 0
        assert row.free + row.borrowable == ledger.available(name, "g")


@given(groups, card_counts)
def test_nobody_lends_above_their_limit_while_others_could(queues: dict[str, QueueUse], counts: CardCounts) -> None:
    group = balance(queues, counts)
    divided = counts.capacity if counts.divided is None else counts.divided
    pool = max(0, divided - sum(use.nominal for use in queues.values()))  # without what is divided no more
    above, below = 0, pool - group.pool_row.lent
    for name, use in queues.items():
        limit = use.nominal if use.lend_limit is None else use.lend_limit
        lent = group.queues[name].lent
        above += max(0, lent - limit)
        below += max(0, min(limit, use.nominal - use.held) - lent)
    lenders = {name for name, row in group.queues.items() if row.lent}
    assert above == 0 or not any(
        min(queues[name].lend_limit or 0, queues[name].nominal - queues[name].held) > group.queues[name].lent
        for name in lenders
    )
    assert above == 0 or below == 0


shapes = st.dictionaries(names, st.tuples(st.integers(1, 9), st.integers(0, 50)), min_size=1, max_size=5)


@given(st.integers(0, 64), shapes, st.integers(0, 64), groups, card_counts)
def test_the_guide_of_local_queues_adds_up_to_the_team(
    nominal: int, shape: dict[str, tuple[int, int]], running: int, others: dict[str, QueueUse], counts: CardCounts
) -> None:
    held = sum(cards for _weight, cards in shape.values())
    team = QueueUse(nominal, used=min(held, running), reserved=held - min(held, running))
    row = balance({**others, "the team": team}, counts).queues["the team"]
    local = {name: LocalUse(weight, cards) for name, (weight, cards) in shape.items()}
    parts = guide(row, local)
    for figure in ("nominal", "usable", "free", "over", "down"):
        assert sum(getattr(part, figure) for part in parts.values()) == getattr(row, figure)
    assert sum(part.borrowed - part.lent for part in parts.values()) == row.borrowed - row.lent
    for name, part in parts.items():
        assert min(astuple(part)) >= 0
        assert part.usable == local[name].held + part.free
        assert part.usable == part.nominal - part.lent - part.down + part.borrowed + part.over
