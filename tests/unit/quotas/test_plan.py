"""A plan: what is refused, what it comes to in cards, and how two plans differ."""

from __future__ import annotations

import pytest

from quotas.domain.plan import (
    CardPart,
    Division,
    GroupPart,
    Plan,
    QueuePart,
    diff,
    divide,
    problems,
    with_points,
)

GROUPS = ("a100", "h100")


def plan(h100: dict[str, int], **rules: object) -> Plan:
    """Shares of one node group by team."""
    return Plan({name: QueuePart(groups={"h100": GroupPart(points)}, **rules) for name, points in h100.items()})  # type: ignore[arg-type]


def found(asked: Plan, before: Plan | None = None) -> list[tuple[str, str, str]]:
    """(code, queue, group) of everything that is wrong."""
    given = problems(asked, before or Plan({}), queues=("a", "b", "c"), groups=GROUPS)
    return [(problem.code, problem.queue, problem.group) for problem in given]


@pytest.mark.parametrize(
    ("shares", "wrong"),
    [
        ({"a": 4_000, "b": 3_000, "c": 3_000}, []),
        ({"a": 4_000, "b": 0, "c": 0}, []),  # 0 % is a share like any other
        ({"a": 8_000, "b": 6_000}, [("above_whole", "", "h100")]),  # 140 %
        ({"a": 10_000, "b": 10}, [("above_whole", "", "h100")]),
        ({"a": 5}, [("too_fine", "a", "h100")]),  # 0.05 %
        ({"a": 3_333}, [("too_fine", "a", "h100")]),
        ({"a": -10, "b": 10_000}, [("negative", "a", "h100")]),
        ({"a": 10_010}, [("share_above_whole", "a", "h100"), ("above_whole", "", "h100")]),
        ({"x": 1_000, "a": 10_000}, [("unknown_team", "x", "")]),
    ],
)
def test_what_cannot_be_a_share_is_named_with_its_place(
    shares: dict[str, int], wrong: list[tuple[str, str, str]]
) -> None:
    assert found(plan(shares)) == wrong


def test_a_share_that_was_finer_before_may_stay_as_it_is() -> None:
    before = plan({"a": 3_333, "b": 3_333})
    assert found(plan({"a": 3_333, "b": 1_000}), before) == []
    assert found(plan({"a": 3_334}), before) == [("too_fine", "a", "h100")]


@pytest.mark.parametrize("label", ["borrow_basis_points", "lend_basis_points"])
@pytest.mark.parametrize(("value", "code"), [(-10, "negative"), (10_010, "share_above_whole"), (15, "too_fine")])
def test_limits_are_percent_like_shares(label: str, value: int, code: str) -> None:
    asked = Plan({"a": QueuePart(groups={"h100": GroupPart(1_000, **{label: value})})})
    assert [(each.code, each.field) for each in problems(asked, Plan({}), queues=["a"], groups=GROUPS)] == [
        (code, label)
    ]


def test_a_group_that_is_not_there_and_a_rank_that_is_none_are_refused() -> None:
    assert found(Plan({"a": QueuePart(groups={"v100": GroupPart(10)})})) == [("unknown_group", "a", "v100")]
    assert found(plan({"a": 0}, rank=4)) == [("unknown_rank", "a", "")]
    assert found(plan({"a": 0}, rank=-1)) == [("unknown_rank", "a", "")]
    assert found(plan({"a": 0}, rank=1, reclaims=False)) == [("rank_needs_reclaim", "a", "")]


@pytest.mark.parametrize(
    ("cards", "nominal"), [(16, (6, 5, 5)), (7, (3, 2, 2)), (65, (26, 20, 19)), (1, (1, 0, 0)), (0, (0, 0, 0))]
)
def test_forty_thirty_thirty_becomes_whole_cards(cards: int, nominal: tuple[int, int, int]) -> None:
    shared_out = divide(Division(plan({"a": 4_000, "b": 3_000, "c": 3_000}), {"h100": cards}))
    assert tuple(shared_out.part(name, "h100").nominal for name in "abc") == nominal
    assert shared_out.pool == {"h100": 0}


def test_limits_are_cards_rounded_down_and_no_limit_stays_none() -> None:
    part = GroupPart(2_500, borrow_basis_points=1_250, lend_basis_points=0)
    shared_out = divide(Division(Plan({"a": QueuePart(groups={"h100": part})}), {"h100": 12, "a100": 4}))
    assert shared_out.part("a", "h100") == CardPart(3, borrow_limit=1, lend_limit=0)
    assert shared_out.part("a", "a100") == CardPart(0)


def test_a_group_without_nodes_is_divided_into_nothing() -> None:
    assert divide(Division(plan({"a": 10_000}), {"h100": 0})).part("a", "h100").nominal == 0


def test_two_divisions_differ_by_shares_rules_and_cards() -> None:
    before = Division(plan({"a": 4_000, "b": 3_000}), {"h100": 10})
    after = Division(Plan({**plan({"a": 5_000, "b": 3_000}).queues, "c": QueuePart(rank=1)}), {"h100": 20})
    difference = diff(before, after)
    assert [(part.queue, part.before.basis_points, part.after.basis_points) for part in difference.parts] == [
        ("a", 4_000, 5_000),
        ("b", 3_000, 3_000),
    ]
    assert [(part.cards_before.nominal, part.cards_after.nominal) for part in difference.parts] == [(4, 10), (3, 6)]
    assert [(rule.queue, rule.before.rank, rule.after.rank) for rule in difference.rules] == [("c", 0, 1)]
    assert [(group.group, group.before, group.after) for group in difference.groups] == [("h100", 10, 20)]
    assert not diff(before, before)


def test_new_percents_leave_limits_and_rules_alone() -> None:
    before = Plan({"a": QueuePart(rank=2, groups={"h100": GroupPart(10, 20, 30)}), "b": QueuePart(strict=True)})
    after = with_points(before, {"h100": {"a": 500}, "a100": {"b": 100}})
    assert after.queue("a") == QueuePart(rank=2, groups={"h100": GroupPart(500, 20, 30)})
    assert after.queue("b") == QueuePart(strict=True, groups={"a100": GroupPart(100)})
