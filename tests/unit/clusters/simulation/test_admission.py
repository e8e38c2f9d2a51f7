"""The gate's cycles: order, parking, borrowing, quota changes."""

from __future__ import annotations

import pytest

from clusters.contract import EvictionCause, WaitCode
from clusters.simulation.commands import HoldQueue, NodeDef, QueueDef, SetNodes, SetQuotas
from clusters.simulation.world import Hold, Reclaim, Stage, Strategy
from tests.unit.clusters.simulation.lab import HIGH, LOW, NORMAL, Lab


def test_two_heads_that_chose_the_same_node_are_both_admitted_in_one_cycle() -> None:
    lab = Lab()
    lab.submit("a1", "a")
    lab.submit("b1", "b")
    lab.settle()
    assert lab["a1"].run.admitted_ms == lab["b1"].run.admitted_ms
    assert lab.nodes_of("a1") != lab.nodes_of("b1")


def test_a_head_whose_victim_another_head_has_just_evicted_is_skipped_that_cycle() -> None:
    lab = Lab({"a": 8, "b": 8, "c": 16})
    lab.submit("c1", "c", pods=2)
    lab.settle()
    lab.submit("c2", "c", pods=2)
    lab.settle()
    lab.submit("a1", "a")
    lab.submit("b1", "b")
    lab.pass_ms(100)
    assert lab["c2"].stage is Stage.EVICTING
    waits = {name: lab.wait(name) for name in ("a1", "b1")}
    assert waits["a1"] is not None
    assert (waits["a1"].code, waits["a1"].victims) == (WaitCode.PREEMPTING, 1)
    assert waits["b1"] is None


def test_one_head_per_queue_and_cycle_in_order_of_priority_and_creation() -> None:
    lab = Lab({"a": 32})
    for name, priority in (("low", LOW), ("old", NORMAL), ("new", NORMAL), ("high", HIGH)):
        lab.submit(name, cards=1, priority=priority)
    lab.settle()
    admitted = sorted(lab.world.workloads.values(), key=lambda workload: workload.run.admitted_ms)
    assert [workload.name for workload in admitted] == ["high", "old", "new", "low"]
    moments = [workload.run.admitted_ms for workload in admitted]
    assert len(set(moments)) == 4


def test_a_parked_shape_is_tried_again_only_after_something_changed() -> None:
    lab = Lab({"a": 8}, nodes=(8,))
    lab.submit("first", command="sleep 100")
    lab.settle()
    for number in range(50):
        lab.submit(f"same{number}")
    lab.pass_ms(5_000)
    handled = lab.engine.events
    lab.pass_ms(20_000)
    assert lab.engine.events == handled, "nothing happens while nothing changes"
    assert {lab.wait(f"same{number}") for number in range(50)} == {lab.wait("same0")}
    lab.pass_ms(60_000)
    assert lab.admitted() == {"same0"}


def test_set_aside_work_is_tried_again_a_second_after_quota_came_free() -> None:
    lab = Lab({"a": 8}, nodes=(8,))
    lab.submit("first")
    lab.settle()
    lab.submit("second")
    lab.settle()
    lab.delete("first")
    freed = lab.engine.now_ms + 500
    lab.settle()
    assert lab["second"].run.admitted_ms - freed in range(1_000, 1_100)


def test_in_strict_order_the_head_is_tried_as_soon_as_quota_came_free() -> None:
    lab = Lab({"a": 8}, nodes=(8,), strategy=Strategy.STRICT)
    lab.submit("first")
    lab.settle()
    lab.submit("second")
    lab.settle()
    lab.delete("first")
    freed = lab.engine.now_ms + 500
    lab.settle()
    assert lab["second"].run.admitted_ms - freed in range(100)


def test_lowering_a_quota_below_what_is_held_evicts_nobody() -> None:
    lab = Lab({"a": 32})
    for number in range(4):
        lab.submit(f"job{number}")
    lab.settle()
    lab.set_quotas({"a": 8})
    lab.settle()
    assert lab.admitted() == {"job0", "job1", "job2", "job3"}
    lab.submit("next", cards=1)
    lab.settle()
    wait = lab.wait("next")
    assert wait is not None
    assert (wait.code, wait.more, wait.used, wait.nominal, wait.maximum) == (WaitCode.QUOTA, 25, 32, 8, 8)


def test_a_queue_over_its_lowered_quota_can_be_reclaimed_from() -> None:
    lab = Lab({"a": 32, "b": 0})
    for number in range(4):
        lab.submit(f"job{number}")
        lab.settle()
    lab.set_quotas({"a": 16, "b": 16})
    lab.submit("owner", "b")
    lab.settle()
    assert lab.admitted() == {"job0", "job1", "job2", "owner"}
    assert lab.facts("job3").eviction_cause is EvictionCause.QUOTA_RECLAIMED


def test_more_quota_starts_who_waited() -> None:
    lab = Lab({"a": 8})
    lab.submit("first")
    lab.submit("second")
    lab.settle()
    assert lab.admitted() == {"first"}
    lab.set_quotas({"a": 16})
    lab.settle()
    assert lab.admitted() == {"first", "second"}


def test_the_common_pool_can_be_borrowed_by_all() -> None:
    lab = Lab({"a": 8, "b": 8}, pool=16)
    lab.submit("a1", "a", pods=3)
    lab.settle()
    assert lab.admitted() == {"a1"}
    lab.submit("b1", "b")
    lab.submit("b2", "b")
    lab.settle()
    assert lab.admitted() == {"a1", "b1"}


@pytest.mark.parametrize(("reclaim", "starts_at_once"), [(Reclaim.ANY, True), (Reclaim.LOWER_PRIORITY, False)])
def test_a_queue_that_cannot_always_reclaim_sets_its_part_aside_for_one_cycle(
    reclaim: Reclaim, starts_at_once: bool
) -> None:
    lab = Lab({"a": 16, "b": 8, "c": 8}, reclaim=reclaim)
    lab.submit("a1", "a", cards=4)
    lab.submit("b1", "b")
    lab.submit("c1", "c")
    lab.settle()
    lab.submit("head", "a", pods=2, cards=7)
    lab.submit("small", "b", cards=4, priority=LOW)
    lab.pass_ms(15)
    assert (lab["small"].stage is Stage.ADMITTED) is starts_at_once
    lab.pass_ms(10)
    assert lab.admitted() == {"a1", "b1", "c1", "small"}


def test_without_cards_no_quota_is_needed_and_none_is_held() -> None:
    lab = Lab({"a": 0})
    lab.submit("cpu", group=None, cpu_millis=4_000)
    lab.settle()
    assert lab.admitted() == {"cpu"}
    assert lab.facts("cpu").ready_at is not None
    assert lab.facts("cpu").cards == 0


def test_a_missing_queue_or_local_queue_is_waited_for() -> None:
    lab = Lab({"a": 8})
    lab.submit("nowhere", "z")
    lab.submit("no-local", "a", local_queue="other")
    lab.settle()
    for name in ("nowhere", "no-local"):
        wait = lab.wait(name)
        assert wait is not None
        assert wait.code is WaitCode.QUEUE_MISSING
    lab.do(
        SetQuotas(
            0, (QueueDef("z", (("h100", 16),), local_queues=("main",)), QueueDef("a", (), local_queues=("other",)))
        )
    )
    lab.settle()
    assert lab.admitted() == {"nowhere"}
    wait = lab.wait("no-local")
    assert wait is not None
    assert wait.code is WaitCode.NOT_OFFERED


def test_a_removed_queue_stops_nobody_and_its_cards_still_count() -> None:
    lab = Lab({"a": 8, "b": 8}, nodes=(8, 8))
    lab.submit("a1", "a")
    lab.settle()
    lab.set_quotas({"b": 16})
    lab.submit("b1", "b")
    lab.submit("b2", "b")
    lab.settle()
    assert len(lab.admitted()) == 2, "cards of the removed queue are above its quota of none: the owner takes them back"
    assert lab.facts("a1").eviction_cause is EvictionCause.QUOTA_RECLAIMED


def test_hold_and_drain_evicts_in_a_way_that_keeps_the_place() -> None:
    lab = Lab({"a": 16}, nodes=(8, 8))
    lab.submit("first")
    lab.submit("second")
    lab.settle()
    lab.submit("third")
    lab.do(HoldQueue(0, "a", Hold.HOLD_AND_DRAIN))
    lab.settle()
    assert lab.admitted() == set()
    assert lab.facts("first").eviction_cause is EvictionCause.QUEUE_DRAINED
    lab.do(HoldQueue(0, "a", Hold.NONE))
    lab.settle()
    assert lab.admitted() == {"first", "second"}


def test_new_nodes_make_places() -> None:
    lab = Lab({"a": 16}, nodes=(4, 4))
    lab.submit("whole")
    lab.settle()
    wait = lab.wait("whole")
    assert wait is not None
    assert wait.code is WaitCode.PLACES
    lab.do(SetNodes(0, (NodeDef("n9", "h100", 8),)))
    lab.settle()
    assert lab.nodes_of("whole") == ["n9"]


def test_saying_a_command_twice_changes_nothing() -> None:
    lab = Lab()
    lab.submit("job", cards=1)
    lab.submit("job", "b", cards=2)
    lab.settle()
    assert lab["job"].spec.queue == "a"
    lab.hold("job")
    lab.hold("job")
    lab.settle()
    assert lab["job"].evictions == 1
    lab.resume("job")
    lab.resume("job")
    lab.settle()
    lab.delete("job")
    lab.delete("job", grace_ms=0)
    lab.delete("unknown")
    lab.settle()
    assert not lab.world.workloads


def test_a_sticky_head_whose_local_queue_is_taken_away_is_not_admitted() -> None:
    lab = Lab({"a": 24, "b": 8})
    for number in range(4):
        lab.submit(f"a{number}", "a")
        lab.settle()
    lab.submit("owner", "b")
    lab.pass_ms(100)
    assert lab.world.queues["b"].sticky == "owner"
    queues = (QueueDef("a", (("h100", 24),), local_queues=("main",)), QueueDef("b", (("h100", 8),)))
    lab.do(SetQuotas(0, queues))
    lab.settle()
    assert "owner" not in lab.admitted()
    assert lab.world.queues["b"].sticky is None


def two_local_queues(*held: str) -> SetQuotas:
    return SetQuotas(0, (QueueDef("a", (("h100", 16),), local_queues=("main", "night"), held_local_queues=held),))


def test_a_held_local_queue_admits_nothing_while_its_sister_does_and_its_jobs_run_on() -> None:
    lab = Lab(nodes=(8, 8))
    lab.do(two_local_queues())
    lab.submit("runs", local_queue="night")
    lab.settle()
    lab.do(two_local_queues("night"))
    lab.submit("waits", local_queue="night")
    lab.submit("other", local_queue="main")
    lab.settle()
    assert lab.admitted() == {"runs", "other"}
    wait = lab.wait("waits")
    assert wait is not None
    assert wait.code is WaitCode.QUEUE_HELD


def test_a_local_queue_that_is_opened_again_admits_in_the_old_order() -> None:
    lab = Lab(nodes=(8,))
    lab.do(two_local_queues("night"))
    lab.submit("early", local_queue="night")
    lab.settle()
    lab.submit("late", local_queue="night")
    lab.settle()
    assert lab.admitted() == set()
    lab.do(two_local_queues())
    lab.settle()
    assert lab.admitted() == {"early"}


def test_a_sticky_head_whose_local_queue_is_held_is_not_admitted() -> None:
    lab = Lab({"a": 24, "b": 8})
    for number in range(4):
        lab.submit(f"a{number}", "a")
        lab.settle()
    lab.submit("owner", "b")
    lab.pass_ms(100)
    assert lab.world.queues["b"].sticky == "owner"
    queues = (QueueDef("a", (("h100", 24),), local_queues=("main",)),)
    held = QueueDef("b", (("h100", 8),), local_queues=("main",), held_local_queues=("main",))
    lab.do(SetQuotas(0, (*queues, held)))
    lab.settle()
    assert "owner" not in lab.admitted()
    assert lab.world.queues["b"].sticky is None
