"""Used, reserved, free, borrowed and lent of one node group (decision 19; cases C-25, C-26, C-31)."""

from __future__ import annotations

from quotas.domain.balance import GroupBalance, QueueBalance, QueueUse, balance, guide


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


def test_cards_that_are_down_are_borne_by_nominal() -> None:
    """C-31, read in proportion: 300 cards, 100 of them down."""
    teams = {"alpha": QueueUse(150, used=40), "beta": QueueUse(150, used=30)}
    group = balance(teams, pool=0, down=100, capacity=300)
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
    group = balance({}, pool=8, down=2, capacity=8, releasing=1, outside=3)
    assert group == GroupBalance({}, pool=8, pool_lent=0, capacity=8, down=2, releasing=1, outside=3)


def test_the_figures_of_local_queues_are_a_guide_by_weight() -> None:
    """Decision 20: they add up to the team's, free never falls below zero."""
    found = guide(13, 10, {"day": 2, "night": 1}, {"day": 9})
    assert found == {"day": (9, 7, 0), "night": (4, 3, 3)}
    assert guide(13, 10, {}, {}) == {}
