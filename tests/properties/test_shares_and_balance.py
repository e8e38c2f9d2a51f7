"""Cards are never lost or doubled: in shares (decision 21), in caps, and in the figures of a group (decision 19)."""

from __future__ import annotations

from dataclasses import astuple

from hypothesis import given
from hypothesis import strategies as st

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
    pending=st.integers(0, 64),
    pending_jobs=st.integers(0, 9),
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
    for row in group.queues.values():
        assert row.borrowable == group.total.free - row.free


@given(uses, st.dictionaries(names, st.tuples(st.integers(1, 9), st.integers(0, 50)), min_size=1, max_size=5), cards)
def test_the_guide_of_local_queues_adds_up_to_the_team(
    team: QueueUse, shape: dict[str, tuple[int, int]], down: int
) -> None:
    held = sum(cards for _weight, cards in shape.values())
    figures = balance({"team": team._replace(used=held, reserved=0)}, CardCounts(team.nominal, out=down))
    local = {name: LocalUse(weight, cards) for name, (weight, cards) in shape.items()}
    rows, row = guide(figures.queues["team"], local), figures.queues["team"]
    assert sum(part.nominal for part in rows.values()) == row.nominal
    assert sum(part.usable for part in rows.values()) == row.usable
    assert sum(part.free for part in rows.values()) == row.free
    assert sum(part.down for part in rows.values()) <= row.down
    for name, part in rows.items():
        assert min(astuple(part)) >= 0
        assert part.usable == part.nominal - part.lent - part.down + part.borrowed == local[name].held + part.free
        assert local[name].held <= part.nominal or part.borrowed
