"""Cards that were set from outside, as shares in percent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.contract import DriftField, QuotaChange
from quotas.domain.adoption import adopted, points_for
from quotas.domain.plan import CardPart, Division, GroupPart, Plan, QueuePart, divide
from quotas.domain.shares import apportion

SHARES = {"a": 4_000, "b": 3_000, "c": 3_000}
DIVISION = Division(
    Plan({name: QueuePart(groups={"h100": GroupPart(points)}) for name, points in SHARES.items()}), {"h100": 32}
)
N, B, L, R = DriftField


def change(queue: str, found: int | None, field: DriftField = N, group: str = "h100") -> QuotaChange:
    return QuotaChange(queue, group, field, planned=0, found=found)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ([change("a", 9)], (CardPart(9), CardPart(10), CardPart(9))),
        ([change("a", 14), change("b", 9)], (CardPart(14), CardPart(9), CardPart(9))),
        ([change("a", 0)], (CardPart(0), CardPart(10), CardPart(9))),
        ([change("b", 5, B)], (CardPart(13), CardPart(10, borrow_limit=5), CardPart(9))),
        ([change("b", 7, L), change("b", 7)], (CardPart(13), CardPart(7, lend_limit=7), CardPart(9))),
        ([change("a", 9), change("", 23), change("b", None, R, group="")], (CardPart(9), CardPart(10), CardPart(9))),
    ],
    ids=["less for one", "one gives to another", "nothing", "a limit", "both", "beside the pool and rules"],
)
def test_the_adopted_plan_comes_to_what_was_found(changes: list[QuotaChange], parts: tuple[CardPart, ...]) -> None:
    plan = adopted(DIVISION, changes)
    assert plan is not None
    shared_out = divide(Division(plan, DIVISION.cards))
    assert tuple(shared_out.part(name, "h100") for name in "abc") == parts


@pytest.mark.parametrize(
    "changes",
    [
        [change("a", 20)],
        [change("", 12)],
        [change("b", None, R, group="")],
        [change("x", 3)],
        [change("a", 3, group="v100")],
        [change("a", 100, B)],
        [],
    ],
    ids=["more than there is", "the pool alone", "rules alone", "no such team", "no such group", "limit", "nothing"],
)
def test_what_is_no_plan_is_not_adopted(changes: list[QuotaChange]) -> None:
    assert adopted(DIVISION, changes) is None


def test_shares_that_are_right_stay_as_they_are() -> None:
    plan = adopted(DIVISION, [change("a", 9)])
    assert plan is not None
    assert {name: points for name, points in plan.points("h100").items() if name != "a"} == {"b": 3_000, "c": 3_000}


@given(st.lists(st.integers(0, 60), min_size=1, max_size=6), st.integers(0, 100))
def test_cards_of_a_group_of_up_to_hundreds_are_always_shares(counts: list[int], pool: int) -> None:
    wanted = {f"t{number}": count for number, count in enumerate(counts)}
    cards = sum(counts) + pool
    points = points_for(cards, wanted, dict.fromkeys(wanted, 0))
    assert points is not None
    assert apportion(cards, points).nominal == wanted
    assert all(share % 10 == 0 for share in points.values())
