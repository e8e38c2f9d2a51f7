"""Used, reserved, free, borrowed and lent of one node group (decision 19; cases C-25, C-26, C-31)."""

from __future__ import annotations

from quotas.domain.balance import (
    CardCounts,
    GroupBalance,
    LocalGuide,
    LocalUse,
    QueueBalance,
    QueueUse,
    guide,
)
from quotas.domain.balance import balance as balanced


def balance(queues: dict[str, QueueUse], *, pool: int, down: int) -> GroupBalance:
    """A group whose cards are all divided between these queues and the pool."""
    capacity = sum(use.nominal for use in queues.values()) + pool
    return balanced(queues, CardCounts(capacity, out=down))


def figures(group: GroupBalance, queue: str) -> dict[str, int]:
    """The figures of a row that are not zero."""
    row = group.queues[queue]
    names = QueueBalance.__slots__
    return {name: getattr(row, name) for name in names if getattr(row, name)}


def test_a_team_inside_its_quota() -> None:
    group = balance({"vision": QueueUse(16, used=8, reserved=4, pending=24, pending_jobs=3)}, pool=0, down=0)
    assert figures(group, "vision") == {
        "nominal": 16,
        "usable": 16,
        "used": 8,
        "reserved": 4,
        "free": 4,
        "pending": 24,
        "pending_jobs": 3,
    }


def test_lent_cards_are_neither_used_nor_free() -> None:
    """C-26: beta uses nothing of its two, and yet its job waits."""
    group = balance({"alpha": QueueUse(2, used=4), "beta": QueueUse(2, pending=2, pending_jobs=1)}, pool=0, down=0)
    assert figures(group, "alpha") == {"nominal": 2, "usable": 4, "used": 4, "borrowed": 2}
    assert figures(group, "beta") == {"nominal": 2, "lent": 2, "pending": 2, "pending_jobs": 1}


def test_a_quota_lowered_under_its_use_is_over_not_borrowed() -> None:
    """C-25: three used of one, nobody to borrow from."""
    group = balance({"alone": QueueUse(1, used=3)}, pool=0, down=0)
    assert figures(group, "alone") == {"nominal": 1, "usable": 3, "used": 3, "over": 2}


def test_a_quota_lowered_under_its_use_is_over_for_the_local_queues_as_well() -> None:
    """C-25, the second level: three of one are over by two, and nobody lent anything."""
    team = balance({"alone": QueueUse(1, used=3)}, pool=0, down=0).queues["alone"]
    assert guide(team, {"day": LocalUse(1, held=2), "night": LocalUse(1, held=1)}) == {
        "day": LocalGuide(nominal=1, usable=2, free=0, borrowed=0, lent=0, over=1, down=0),
        "night": LocalGuide(nominal=0, usable=1, free=0, borrowed=0, lent=0, over=1, down=0),
    }


def test_excess_is_borrowed_as_far_as_somebody_lends_and_over_beyond() -> None:
    group = balance({"a": QueueUse(2, used=6), "b": QueueUse(4, used=3)}, pool=1, down=0)
    assert figures(group, "a") == {"nominal": 2, "usable": 6, "used": 6, "borrowed": 2, "over": 2}
    assert figures(group, "b") == {"nominal": 4, "usable": 3, "used": 3, "lent": 1}
    assert group.pool_lent == 1


def test_the_common_pool_lends_before_any_team() -> None:
    group = balance({"a": QueueUse(2, used=4), "b": QueueUse(4)}, pool=3, down=0)
    assert (group.pool_lent, group.queues["b"].lent) == (2, 0)


def test_lenders_lend_by_their_idle_cards() -> None:
    group = balance({"a": QueueUse(2, used=8), "b": QueueUse(8), "c": QueueUse(8, used=4)}, pool=0, down=0)
    assert (group.queues["b"].lent, group.queues["c"].lent) == (4, 2)


def test_who_may_not_lend_is_not_said_to_have_lent() -> None:
    teams = {"a": QueueUse(2, used=4), "own": QueueUse(8, lend_limit=0), "kind": QueueUse(8)}
    group = balance(teams, pool=0, down=0)
    assert [group.queues[name].lent for name in teams] == [0, 0, 2]
    assert [group.queues[name].borrowable for name in teams] == [6, 6, 0]
    assert group.queues["own"].free == 8


def test_a_limit_that_was_lowered_under_what_is_lent_brings_no_card_back() -> None:
    """Until they are given back, the cards are held: their owner has them as little as before."""
    group = balance({"a": QueueUse(2, used=8), "b": QueueUse(8, lend_limit=1)}, pool=0, down=0)
    assert figures(group, "b") == {"nominal": 8, "usable": 2, "free": 2, "lent": 6}
    assert figures(group, "a") == {"nominal": 2, "usable": 8, "used": 8, "borrowed": 6}


def test_nobody_may_borrow_above_their_limit() -> None:
    teams = {"a": QueueUse(2, used=3, borrow_limit=4), "b": QueueUse(8, borrow_limit=0), "c": QueueUse(8)}
    group = balance(teams, pool=0, down=0)
    assert [(group.queues[name].free, group.queues[name].borrowable) for name in teams] == [(0, 3), (7, 1), (8, 7)]


def test_cards_that_are_down_are_borne_by_nominal() -> None:
    """C-31, read in proportion: 300 cards, 100 of them down."""
    teams = {"alpha": QueueUse(150, used=40), "beta": QueueUse(150, used=30)}
    group = balance(teams, pool=0, down=100)
    assert figures(group, "alpha") == {
        "nominal": 150,
        "usable": 100,
        "used": 40,
        "free": 60,
        "down": 50,
        "borrowable": 70,
    }
    assert figures(group, "beta") == {
        "nominal": 150,
        "usable": 100,
        "used": 30,
        "free": 70,
        "down": 50,
        "borrowable": 60,
    }
    rows = group.queues.values()
    assert group.capacity == 300 == sum(row.usable for row in rows) + group.down
    assert sum(row.usable for row in rows) == sum(row.used + row.free for row in rows)


def test_cards_that_are_down_never_take_what_is_in_use() -> None:
    group = balance({"busy": QueueUse(8, used=8), "idle": QueueUse(8, used=2)}, pool=0, down=4)
    assert (group.queues["busy"].down, group.queues["idle"].down) == (0, 4)
    assert group.queues["idle"].free == 2


def test_what_no_team_can_bear_stands_at_the_cluster_and_shrinks_the_pool() -> None:
    group = balance({"busy": QueueUse(8, used=8)}, pool=8, down=3)
    assert (group.queues["busy"].down, group.down) == (0, 3)
    assert group.queues["busy"].borrowable == 5


def test_what_may_be_borrowed_is_the_free_pool_and_what_the_others_have_free() -> None:
    group = balance({"a": QueueUse(4, used=4), "b": QueueUse(8, used=2), "c": QueueUse(4, used=3)}, pool=2, down=0)
    assert [group.queues[name].borrowable for name in "abc"] == [9, 3, 8]


def test_cards_that_teams_bear_do_not_shrink_the_pool_as_well() -> None:
    group = balance({"idle": QueueUse(8)}, pool=4, down=3)
    assert (group.queues["idle"].down, group.queues["idle"].borrowable) == (3, 4)


def test_a_group_without_teams_is_all_pool() -> None:
    group = balanced({}, CardCounts(8, out=2, releasing=1, outside=3))
    assert (group.capacity, group.pool, group.pool_row.free, group.down) == (8, 8, 6, 2)
    assert (group.releasing, group.outside, group.total) == (1, 3, group.pool_row)


def test_cards_that_left_and_are_divided_still_are_down_for_a_while() -> None:
    group = balanced({"a": QueueUse(16, used=4), "b": QueueUse(16)}, CardCounts(24, divided=32))
    assert (group.missing, group.queues["a"].down, group.queues["b"].down) == (8, 4, 4)
    assert group.total.free == 20 == 24 - 4


def test_cards_that_are_out_for_long_and_divided_no_more_are_nobodys_loss() -> None:
    """The shares were recomputed from the 24 cards that are left of 32: their owners lose nothing a second time."""
    group = balanced({"a": QueueUse(12, used=4), "b": QueueUse(12)}, CardCounts(32, divided=24, out=8))
    assert (group.queues["a"].free, group.queues["b"].free) == (8, 12)
    assert (group.pool, group.pool_row.down, group.pool_row.free, group.down) == (8, 8, 0, 8)


def test_cards_that_are_down_while_all_quota_is_held_are_told_apart() -> None:
    group = balance({"busy": QueueUse(8, used=4, reserved=4)}, pool=0, down=4)
    assert (group.down_held, group.total.down, group.down) == (4, 0, 4)


def test_the_figures_of_local_queues_are_a_guide_by_weight() -> None:
    """Decision 20: they add up to the team's."""
    team = balance({"vision": QueueUse(13, used=9)}, pool=0, down=1).queues["vision"]
    assert guide(team, {"day": LocalUse(2, held=9), "night": LocalUse(1)}) == {
        "day": LocalGuide(nominal=9, usable=11, free=2, borrowed=2, lent=0, over=0, down=0),
        "night": LocalGuide(nominal=4, usable=1, free=1, borrowed=0, lent=2, over=0, down=1),
    }
    assert guide(team, {}) == {}


def test_parts_of_a_card_add_up_exactly() -> None:
    """C-29: three times 0.3 of a card and ten times 0.1, in thousandths; another 0.1 fits beside 0.9, 0.2 does not."""
    three = balance({"a": QueueUse(1_000, used=3 * 300)}, pool=0, down=0).queues["a"]
    assert (three.used, three.free) == (900, 100)
    tenth, fifth = ({"a": QueueUse(1_000, used=900, reserved=more)} for more in (100, 200))
    assert [balance(each, pool=0, down=0).queues["a"].over for each in (tenth, fifth)] == [0, 100]
    ten = balance({"a": QueueUse(1_000, used=10 * 100)}, pool=0, down=0).queues["a"]
    assert (ten.used, ten.free, ten.over) == (1_000, 0, 0)
