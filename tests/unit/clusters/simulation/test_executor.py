"""Nodes for admitted gangs, with and without a gate that chooses them."""

from __future__ import annotations

from clusters.contract import EvictionCause
from clusters.simulation.commands import Cordon, NodePower
from clusters.simulation.world import Stage
from tests.unit.clusters.simulation.lab import HIGH, LOW, Lab


def test_without_a_choosing_gate_gangs_get_nodes_by_priority_then_admission() -> None:
    lab = Lab({"a": 64}, nodes=(8, 8), topology_aware=False)
    for node in ("n1", "n2"):
        lab.do(Cordon(0, node))
    for name, priority in (("old", LOW), ("new", LOW), ("high", HIGH)):
        lab.submit(name, priority=priority)
        lab.settle()
    assert all(lab[name].unplaceable for name in ("old", "new", "high"))
    for node in ("n1", "n2"):
        lab.do(Cordon(0, node, cordoned=False))
    lab.settle()
    assert lab.facts("high").ready_at is not None
    assert lab.facts("old").ready_at is not None
    assert lab["new"].unplaceable


def test_a_gang_is_placed_whole_or_not_at_all() -> None:
    lab = Lab({"a": 64}, nodes=(8, 8), topology_aware=False)
    lab.submit("one", cards=1)
    lab.settle()
    lab.submit("gang", pods=2, cards=8)
    lab.settle()
    assert lab.admitted() == {"one", "gang"}
    assert lab.facts("gang").scheduled_at is None
    assert [pod.node for pod in lab.facts("gang").pods] == [None, None]


def test_cards_of_ending_pods_are_waited_for_and_that_is_told_apart_from_no_room() -> None:
    lab = Lab({"a": 8}, nodes=(8,), topology_aware=False)
    lab.submit("low", priority=LOW, grace_ms=60_000)
    lab.settle()
    lab.submit("high", priority=HIGH)
    lab.pass_ms(900)
    assert lab["high"].stage is Stage.ADMITTED
    assert (lab["high"].waiting_release, lab["high"].unplaceable) == (True, False)
    lab.settle()
    assert (lab["high"].waiting_release, lab["high"].unplaceable) == (False, False)
    assert lab.facts("high").ready_at is not None


def test_with_a_choosing_gate_the_gang_waits_for_exactly_its_nodes() -> None:
    lab = Lab({"a": 16}, nodes=(8, 8))
    lab.submit("low", priority=LOW, grace_ms=60_000)
    lab.settle()
    lab.submit("gang", pods=2, cards=8, priority=HIGH)
    lab.pass_ms(900)
    assert lab.nodes_of("gang") == ["n1", "n2"]
    assert lab.facts("gang").waiting_release
    assert lab.facts("gang").scheduled_at is None
    released = None
    while lab.facts("gang").scheduled_at is None:
        lab.pass_ms(1)
        released = lab["low"].run.released_ms or released
    assert released is not None
    assert lab["gang"].run.scheduled_ms == released + 200


def test_a_chosen_node_that_goes_down_sends_the_gang_back_to_its_queue() -> None:
    lab = Lab({"a": 16}, nodes=(8, 8))
    lab.submit("job")
    lab.pass_ms(50)
    assert lab.nodes_of("job") == ["n1"]
    lab.do(NodePower(0, "n1", up=False))
    lab.settle()
    assert lab.facts("job").eviction_cause is EvictionCause.NODE_FAILURE
    assert lab.nodes_of("job") == ["n2"]
    assert lab.facts("job").ready_at is not None


def test_a_chosen_node_that_is_cordoned_is_waited_for() -> None:
    lab = Lab({"a": 16}, nodes=(8, 8))
    lab.submit("job")
    lab.pass_ms(50)
    lab.do(Cordon(0, "n1"))
    lab.settle()
    assert lab["job"].unplaceable
    lab.do(Cordon(0, "n1", cordoned=False))
    lab.settle()
    assert lab.facts("job").ready_at is not None
