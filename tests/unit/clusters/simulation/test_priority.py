"""A priority that changes while the workload waits or runs: order, victims, and what is kept."""

from __future__ import annotations

import json

from clusters.contract import EvictionCause, WaitCode
from clusters.simulation.codec import world_from_dict, world_to_dict
from clusters.simulation.engine import Engine
from clusters.simulation.world import Stage
from tests.unit.clusters.simulation.lab import HIGH, LOW, NORMAL, Lab, ms_since_start


def one_node() -> Lab:
    return Lab({"a": 8}, nodes=(8,))


def test_the_higher_one_of_those_that_wait_is_next() -> None:
    lab = one_node()
    lab.submit("holder", priority=HIGH)
    lab.settle()
    lab.submit("first")
    lab.submit("second")
    lab.settle()
    lab.rank("second", HIGH)
    lab.delete("holder")
    lab.settle()
    assert lab.admitted() == {"second"}


def test_one_that_is_raised_and_lowered_again_stands_where_it_stood() -> None:
    lab = one_node()
    lab.submit("holder", priority=HIGH)
    lab.settle()
    lab.submit("first")
    lab.pass_ms(5_000)
    lab.submit("second")
    lab.settle()
    queued_at = lab.facts("first").queued_at
    lab.rank("first", LOW)
    lab.pass_ms(5_000)
    lab.rank("first", NORMAL)
    assert lab.facts("first").queued_at == queued_at
    lab.delete("holder")
    lab.settle()
    assert lab.admitted() == {"first"}


def test_one_that_is_raised_interrupts_lower_work_of_its_queue() -> None:
    lab = one_node()
    lab.submit("runs")
    lab.settle()
    lab.submit("waits")
    lab.settle()
    assert lab.admitted() == {"runs"}
    lab.rank("waits", HIGH)
    lab.settle()
    assert lab.admitted() == {"waits"}
    facts = lab.facts("runs")
    assert (facts.eviction_cause, facts.evicted_by) == (EvictionCause.HIGHER_PRIORITY, "J-waits")


def test_one_that_runs_and_is_lowered_is_interrupted_by_who_waits() -> None:
    lab = one_node()
    lab.submit("runs", priority=HIGH)
    lab.settle()
    lab.submit("waits")
    lab.settle()
    assert lab.admitted() == {"runs"}
    lab.rank("runs", LOW)
    lab.settle()
    assert lab.admitted() == {"waits"}


def test_one_that_runs_and_is_raised_is_interrupted_no_more_and_goes_on() -> None:
    lab = one_node()
    lab.submit("runs", priority=LOW)
    lab.settle()
    admitted_at = ms_since_start(lab.facts("runs").admitted_at)
    lab.rank("runs", HIGH)
    lab.submit("waits")
    lab.settle()
    assert lab.admitted() == {"runs"}
    assert ms_since_start(lab.facts("runs").admitted_at) == admitted_at
    assert lab.facts("runs").evictions == 0


def test_who_waited_for_victims_with_its_old_priority_stays_the_head_no_longer() -> None:
    lab = Lab({"a": 8}, nodes=(8,))
    lab.submit("runs", priority=LOW)
    lab.settle()
    lab.submit("high", priority=HIGH)
    lab.pass_ms(200)
    assert lab.world.queues["a"].sticky == "high"
    lab.submit("other")
    lab.rank("high", LOW)
    assert lab.world.queues["a"].sticky is None
    lab.settle()
    assert lab.admitted() == {"other"}


def test_the_newest_of_equals_leaves_first_also_after_their_priorities_became_equal_and_after_a_reload() -> None:
    for reload in (False, True):
        lab = Lab({"a": 24, "b": 8})
        for name in ("a1", "a2", "a3", "a4"):
            lab.submit(name, priority=LOW if name == "a1" else NORMAL)
            lab.settle()
        lab.rank("a1", NORMAL)
        if reload:
            lab.engine = Engine(world_from_dict(json.loads(json.dumps(world_to_dict(lab.world)))))
        lab.submit("b1", "b")
        lab.settle()
        assert lab.admitted() == {"a1", "a2", "a3", "b1"}


def test_facts_tell_the_present_priority_and_the_word_of_the_gate_is_about_it() -> None:
    lab = one_node()
    lab.submit("holder")
    lab.settle()
    lab.submit("waits", priority=LOW)
    lab.settle()
    assert lab.facts("waits").priority == LOW
    lab.rank("waits", NORMAL)
    lab.settle()
    assert lab.facts("waits").priority == NORMAL
    wait = lab.wait("waits")
    assert wait is not None and wait.code is WaitCode.QUOTA
    assert {shape.priority for shape in lab.world.queues["a"].shapes} == {NORMAL}


def test_a_held_one_gets_its_priority_and_stays_out_of_the_queue() -> None:
    lab = one_node()
    lab.submit("held", priority=LOW)
    lab.hold("held")
    lab.settle()
    lab.rank("held", HIGH)
    lab.settle()
    assert lab["held"].stage is Stage.QUEUED and lab.facts("held").priority == HIGH
    lab.submit("other")
    lab.settle()
    lab.resume("held")
    lab.settle()
    assert lab.admitted() == {"held"}


def test_one_that_is_leaving_comes_back_at_its_new_priority() -> None:
    lab = one_node()
    lab.submit("runs")
    lab.settle()
    lab.submit("high", priority=HIGH)
    lab.pass_ms(100)
    assert lab["runs"].stage is Stage.EVICTING
    lab.rank("runs", LOW)
    lab.settle()
    lab.submit("normal")
    lab.settle()
    lab.delete("high")
    lab.settle()
    assert lab.admitted() == {"normal"}


def test_nothing_happens_to_what_is_not_there_has_ended_or_has_this_priority_already() -> None:
    lab = Lab({"a": 16}, nodes=(8, 8))
    lab.submit("ends", command="sleep 1; exit 0")
    lab.submit("same")
    lab.settle()
    assert lab["ends"].stage is Stage.FINISHED
    lab.engine.drain_changes()
    before = world_to_dict(lab.world)
    for name, priority in (("ends", HIGH), ("nobody", HIGH), ("same", NORMAL)):
        lab.rank(name, priority)
    assert world_to_dict(lab.world) == before
    assert not lab.engine.drain_changes().workloads
