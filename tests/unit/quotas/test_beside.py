"""Cards that queues of others still have are given to nobody twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.domain.adoption import taken_over
from quotas.domain.plan import Division, GroupPart, Plan, QueuePart, divide
from quotas.domain.shares import WHOLE, Apportioned, apportion, beside
from quotas.plans.content import content_of, division_from

NAMES = "abc"


def plan(shares: dict[str, int]) -> Plan:
    return Plan({name: QueuePart(groups={"h100": GroupPart(points)}) for name, points in shares.items()})


@pytest.mark.parametrize(
    ("aside", "nominal", "pool"),
    [
        ({}, (16, 8, 0), 8),
        ({"a": 16}, (0, 8, 0), 8),
        ({"a": 12}, (4, 8, 0), 8),
        ({"": 6}, (16, 8, 0), 2),
        ({"": 14}, (12, 6, 0), 0),
        ({"a": 20}, (0, 8, 0), 4),
        ({"a": 16, "b": 8, "": 8}, (0, 0, 0), 0),
        ({"": 40}, (0, 0, 0), 0),
    ],
    ids=[
        "nothing",
        "all of one",
        "part of one",
        "of nobody",
        "more than the pool",
        "more than its share",
        "all",
        "too much",
    ],
)
def test_a_queue_gets_its_cards_less_those_that_others_still_have_for_it(
    aside: dict[str, int], nominal: tuple[int, ...], pool: int
) -> None:
    shared = beside(32, apportion(32, {"a": 5_000, "b": 2_500, "c": 0}), aside)
    assert (tuple(shared.nominal.values()), shared.pool) == (nominal, pool)


@given(
    st.integers(0, 400),
    st.lists(st.integers(0, WHOLE // 3), min_size=3, max_size=3),
    st.dictionaries(st.sampled_from(("", *NAMES)), st.integers(0, 200), max_size=4),
)
def test_quotas_pool_and_what_is_set_aside_are_all_cards_and_no_more(
    cards: int, points: list[int], aside: dict[str, int]
) -> None:
    whole = apportion(cards, dict(zip(NAMES, points, strict=True)))
    rest = beside(cards, whole, aside)
    assert sum(rest.nominal.values()) + rest.pool == max(0, cards - sum(aside.values()))
    assert 0 <= rest.pool <= whole.pool
    for name in NAMES:
        assert 0 <= rest.nominal[name] <= max(0, whole.nominal[name] - aside.get(name, 0))


def test_what_is_set_aside_is_kept_with_the_version() -> None:
    division = Division(plan({"a": 5_000}), {"h100": 32}, {"h100": {"a": 10, "": 2}})
    assert divide(division).part("a", "h100").nominal == 6
    assert division_from(content_of(division)) == division
    assert "aside" not in content_of(Division(plan({"a": 5_000}), {"h100": 32}))


@pytest.mark.parametrize(
    ("cards", "wanted", "now", "points", "comes_to"),
    [
        (32, {"a": 16}, {}, {"a": 5_000}, {"a": 16}),
        (32, {"a": 12, "b": 20}, {}, {"a": 3_750, "b": 6_250}, {"a": 12, "b": 20}),
        (8, {"a": 3}, {"b": 2_500}, {"a": 3_750, "b": 2_500}, {"a": 3, "b": 2}),
        (3_000, {"a": 1_001}, {}, {"a": 3_340}, {"a": 1_002}),
        (32, {"a": 32}, {"b": 5_000}, {"a": 5_000, "b": 5_000}, {"a": 16, "b": 16}),
        (16, {"a": 16, "b": 16}, {}, {"a": 5_000, "b": 5_000}, {"a": 8, "b": 8}),
        (0, {"a": 4}, {}, {"a": 0}, {"a": 0}),
    ],
    ids=["half", "two", "beside a share", "finer than 0.1 %", "no room", "more than there is", "no nodes"],
)
def test_found_cards_become_the_share_that_comes_to_them_or_the_nearest(
    cards: int, wanted: dict[str, int], now: dict[str, int], points: dict[str, int], comes_to: dict[str, int]
) -> None:
    before = Division(plan(dict.fromkeys(NAMES, 0) | now), {"h100": cards})
    after = taken_over(before, {"h100": wanted})
    found = {name: share for name, share in after.points("h100").items() if name in points}
    assert found == points
    nominal = apportion(cards, after.points("h100")).nominal
    assert {name: nominal[name] for name in comes_to} == comes_to


@given(
    st.integers(0, 300),
    st.dictionaries(st.sampled_from(NAMES), st.integers(0, 400), max_size=3),
    st.lists(st.integers(0, 333), min_size=3, max_size=3),
)
def test_taking_over_never_passes_100_percent_and_leaves_the_others_their_cards(
    cards: int, wanted: dict[str, int], steps: list[int]
) -> None:
    now = {name: 10 * count for name, count in zip(NAMES, steps, strict=True)}
    after = taken_over(Division(plan(now), {"h100": cards}), {"h100": wanted}).points("h100")
    assert sum(after.values()) <= WHOLE
    assert min(after.values()) >= 0
    whole: Apportioned = apportion(cards, after)
    for name in set(NAMES) - wanted.keys():
        assert abs(whole.nominal[name] - apportion(cards, now).nominal[name]) <= 1
