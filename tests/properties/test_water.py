"""The figures of a water level add up on every node there can be, packings are what they claim, and sums are kept."""

from __future__ import annotations

from dataclasses import astuple
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clusters.contract import NodeHealth
from clusters.domain.node_cards import node_cards
from clusters.domain.packing import Gang, best_packing, unusable
from clusters.domain.water import Level, NodeSplit, level_of, total

holders = st.lists(
    st.fixed_dictionaries(
        {"job_ulid": st.just("J"), "cards": st.integers(0, 9), "running": st.booleans(), "ending": st.booleans()}
    ),
    max_size=4,
)
blocks = st.lists(st.integers(0, 8), max_size=4)
gangs = st.lists(st.builds(Gang, pods=st.integers(1, 3), cards=st.integers(1, 8), count=st.integers(1, 2)), max_size=3)


@st.composite
def nodes(draw: st.DrawFn) -> NodeSplit:
    """A node as a look may have found it, contradictions included: more held or more sick than there is."""
    outside = draw(st.integers(0, 9))
    facts: dict[str, Any] = {
        "health": draw(st.sampled_from([health.value for health in NodeHealth])),
        "installed": draw(st.integers(0, 16)),
        "sick": draw(st.integers(0, 9)),
        "outside": outside,
        "holders": draw(holders),
    }
    cards = node_cards(**facts)
    return NodeSplit(cards.used, cards.reserved, cards.ending, outside, cards.free, cards.out)


def add_up(level: Level) -> bool:
    parts = (level.used, level.reserved, level.free, level.releasing, level.outside)
    return (
        min(astuple(level)[:8]) >= 0
        and level.down >= 0
        and level.capacity == level.healthy + level.down
        and level.healthy == sum(parts)
        and 0 <= level.unusable <= level.free
        and level.usable + level.unusable == level.free
        and (level.busy is None or 0 <= level.busy <= level.used)
    )


@given(st.lists(nodes(), max_size=6), st.integers(0, 99), st.none() | st.integers(0, 99))
def test_the_figures_of_a_group_add_up_whatever_its_nodes_say(
    found: list[NodeSplit], useless: int, busy: int | None
) -> None:
    assert add_up(level_of(found, unusable=useless, busy=busy))


@given(st.lists(st.lists(nodes(), max_size=3), max_size=4), st.booleans())
def test_the_sum_of_groups_adds_up_as_well(groups: list[list[NodeSplit]], measured: bool) -> None:
    levels = [level_of(group, busy=0 if measured else None) for group in groups]
    whole = total(levels)
    assert add_up(whole)
    assert whole.capacity == sum(level.capacity for level in levels)
    assert (whole.busy is not None) == (measured and bool(levels))


def slowly(free: list[int], waiting: list[Gang]) -> int:
    """The best packing by trying every node for every pod of every job."""
    jobs = [gang for gang in waiting for _ in range(gang.count)]
    return _slowly(tuple(sorted(free)), tuple((gang.pods, gang.cards) for gang in jobs))


def _slowly(free: tuple[int, ...], jobs: tuple[tuple[int, int], ...]) -> int:
    if not jobs:
        return 0
    (pods, cards), rest = jobs[0], jobs[1:]
    found = _slowly(free, rest)
    for places in {tuple(sorted(ways)) for ways in product(range(len(free)), repeat=pods)}:
        left = [block - cards * places.count(number) for number, block in enumerate(free)]
        if min(left, default=-1) >= 0:
            found = max(found, pods * cards + _slowly(tuple(sorted(left)), rest))
    return found


@given(blocks, gangs)
def test_an_exact_packing_is_the_best_of_all_there_are(free: list[int], waiting: list[Gang]) -> None:
    packing = best_packing(free, waiting)
    assert packing.exact
    assert packing.cards == slowly(free, waiting)


@given(
    st.lists(st.integers(0, 16), max_size=200),
    st.lists(st.builds(Gang, st.integers(1, 8), st.integers(1, 16), st.integers(1, 300)), max_size=12),
)
def test_unusable_cards_are_free_ones_and_never_more_than_are_asked_for(free: list[int], waiting: list[Gang]) -> None:
    found = unusable(free, waiting)
    assert 0 <= found.cards <= min(sum(free), sum(gang.size * gang.count for gang in waiting))


@given(blocks, gangs, st.integers(1, 8))
def test_one_more_free_node_never_starts_less(free: list[int], waiting: list[Gang], more: int) -> None:
    assert best_packing([*free, more], waiting).cards >= best_packing(free, waiting).cards
