"""Cards are never lost or doubled: in shares (decision 21), in caps, and in the figures of a group (decision 19)."""

from __future__ import annotations

from dataclasses import astuple

from hypothesis import given
from hypothesis import strategies as st

from quotas.domain.balance import QueueUse, balance, guide
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


@given(st.dictionaries(names, uses, max_size=6), st.integers(0, 64), st.integers(0, 200))
def test_the_figures_of_a_group_add_up(queues: dict[str, QueueUse], pool: int, down: int) -> None:
    group = balance(queues, pool=pool, down=down)
    rows = group.queues
    idle = {name: max(0, use.nominal - use.held) for name, use in queues.items()}
    for name, use in queues.items():
        row = rows[name]
        assert min(astuple(row)) >= 0
        assert row.used + row.reserved + row.free == row.usable
        assert row.usable == row.nominal - row.lent - row.down + row.borrowed + row.over
        assert row.borrowed + row.over == max(0, use.held - use.nominal)
        assert row.lent + row.down <= idle[name]
        assert not (row.borrowed and row.lent)
    borrowed = sum(row.borrowed for row in rows.values())
    assert borrowed <= pool + sum(idle.values())
    assert sum(row.lent for row in rows.values()) + group.pool_lent == borrowed
    assert group.pool_lent <= pool
    assert group.pool_lent == pool or not any(row.lent for row in rows.values())  # the pool lends first
    borne = sum(row.down for row in rows.values())
    assert borne == min(down, sum(idle.values()) - sum(row.lent for row in rows.values()))
    if any(row.over for row in rows.values()):  # over begins where nothing is left to lend
        assert borrowed == pool + sum(idle.values())


@given(st.dictionaries(names, uses, max_size=6), st.integers(0, 64), st.integers(0, 200))
def test_what_a_team_may_borrow_is_free_somewhere_else(queues: dict[str, QueueUse], pool: int, down: int) -> None:
    group = balance(queues, pool=pool, down=down)
    free = {name: row.free for name, row in group.queues.items()}
    borne = sum(row.down for row in group.queues.values())
    left_in_pool = max(0, pool - group.pool_lent - (down - borne))
    for name, row in group.queues.items():
        assert row.borrowable == sum(free.values()) - free[name] + left_in_pool


@given(cards, cards, st.dictionaries(names, st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 50))
def test_the_guide_of_local_queues_adds_up_to_the_team(
    nominal: int, usable: int, local: dict[str, int], held: int
) -> None:
    rows = guide(nominal, usable, local, dict.fromkeys(local, held))
    assert sum(row[0] for row in rows.values()) == nominal
    assert sum(row[1] for row in rows.values()) == usable
    assert all(row[2] == max(0, row[1] - held) for row in rows.values())
