"""Who leaves for whom, beyond the table of scenarios."""

from __future__ import annotations

import json

from clusters.contract import EvictionCause, WaitCode
from clusters.simulation.codec import world_from_dict, world_to_dict
from clusters.simulation.commands import QueueDef, SetQuotas
from clusters.simulation.engine import Engine
from clusters.simulation.world import Reclaim, Stage
from tests.unit.clusters.simulation.lab import HIGH, LOW, NORMAL, Lab


def test_a_reloaded_world_evicts_the_same_newest_admission() -> None:
    lab = Lab({"a": 16, "b": 16})
    for name in ("a1", "a2", "a3"):
        lab.submit(name, "a")
        lab.settle()
    lab.hold("a1")
    lab.settle()
    lab.resume("a1")
    lab.settle()
    assert lab.admitted() == {"a1", "a2", "a3"}, "a1 is the oldest by creation and the newest by admission"
    lab.engine = Engine(world_from_dict(json.loads(json.dumps(world_to_dict(lab.world), sort_keys=True))))
    lab.submit("b1", "b", pods=2)
    lab.settle()
    assert lab.admitted() == {"a2", "a3", "b1"}


def test_who_is_leaving_anyway_is_counted_before_anybody_else_is_evicted() -> None:
    lab = Lab({"a": 16, "b": 16})
    for name, priority in (("a1", LOW), ("a2", NORMAL), ("a3", HIGH), ("a4", HIGH)):
        lab.submit(name, "a", priority=priority)
        lab.settle()
    lab.hold("a4")
    lab.submit("b1", "b")
    lab.settle()
    assert lab.admitted() == {"a1", "a2", "a3", "b1"}


def test_reclaiming_stops_when_the_borrower_is_back_at_its_nominal() -> None:
    lab = Lab({"a": 16, "b": 8, "c": 8})
    for name, queue in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("c1", "c")):
        lab.submit(name, queue)
        lab.settle()
    lab.submit("b1", "b", pods=2, cards=8)
    lab.settle()
    wait = lab.wait("b1")
    assert lab.admitted() == {"a1", "a2", "a3", "c1"}
    assert wait is not None
    assert (wait.code, wait.more) == (WaitCode.ABOVE_NOMINAL, 16)


def test_reclaim_of_lower_priority_only_leaves_equals_alone() -> None:
    lab = Lab({"a": 16, "b": 16}, reclaim=Reclaim.LOWER_PRIORITY)
    for name, priority in (("a1", LOW), ("a2", NORMAL), ("a3", NORMAL), ("a4", NORMAL)):
        lab.submit(name, "a", priority=priority)
        lab.settle()
    lab.submit("b1", "b")
    lab.submit("b2", "b")
    lab.settle()
    assert lab.admitted() == {"a2", "a3", "a4", "b1"}
    assert lab.wait("b2") is not None


def test_work_above_the_threshold_is_not_evicted_for_a_borrower() -> None:
    lab = Lab()
    queues = (
        QueueDef("a", (("h100", 8),), local_queues=("main",), borrow_preempts=True, borrow_threshold=LOW),
        QueueDef("c", (("h100", 24),), local_queues=("main",)),
    )
    lab.do(SetQuotas(0, queues))
    for name, priority in (("c1", NORMAL), ("c2", NORMAL), ("c3", NORMAL), ("c4", NORMAL)):
        lab.submit(name, "c", priority=priority)
        lab.settle()
    lab.submit("a1", "a", priority=HIGH)
    lab.settle()
    assert lab.admitted() == {"c1", "c2", "c3", "a1"}, "inside its nominal a takes its cards back from anybody"
    lab.submit("a2", "a", priority=HIGH)
    lab.settle()
    assert lab.admitted() == {"c1", "c2", "c3", "a1"}, "c is at its nominal, and normal is above the threshold"


def test_with_topology_aware_admission_a_high_job_evicts_for_a_place_not_only_for_quota() -> None:
    lab = Lab({"a": 32})
    for number in range(4):
        lab.submit(f"low{number}", cards=5, priority=LOW)
        lab.settle()
    lab.submit("high", cards=8, priority=HIGH)
    lab.settle()
    assert lab.admitted() == {"low0", "low1", "low2", "high"}
    facts = lab.facts("low3")
    assert facts.eviction_cause is EvictionCause.HIGHER_PRIORITY
    assert facts.evicted_by == "J-high"
    assert facts.wait is not None
    assert facts.wait.code is WaitCode.PLACES


def test_nobody_is_evicted_for_a_gang_that_would_fit_on_no_node_even_then() -> None:
    lab = Lab({"a": 32}, nodes=(4, 4, 4, 4))
    lab.submit("low", cards=4, priority=LOW)
    lab.settle()
    lab.submit("wide", cards=8, priority=HIGH)
    lab.settle()
    assert lab.admitted() == {"low"}
    wait = lab.wait("wide")
    assert wait is not None
    assert wait.code is WaitCode.PLACES


def test_a_victim_holds_its_quota_until_it_is_free_and_keeps_its_creation() -> None:
    lab = Lab({"a": 8}, nodes=(8,))
    lab.submit("low", priority=LOW)
    lab.settle()
    created = lab["low"].created_ms
    lab.submit("high", priority=HIGH)
    lab.pass_ms(100)
    assert lab["low"].stage is Stage.EVICTING
    assert lab["high"].stage is Stage.QUEUED
    lab.pass_ms(1_000)
    assert lab["low"].stage is Stage.QUEUED
    assert lab["high"].stage is Stage.ADMITTED
    assert lab["low"].created_ms == created
