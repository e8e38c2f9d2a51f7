"""Engine objects as contract facts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields

from clusters.backends.sandbox.facts import (
    from_ms,
    inventory,
    node_facts,
    observed_object,
    to_ms,
    workload_facts,
)
from clusters.contract import CardHolder, NodeHealth, PodPhase, SharingMode
from clusters.simulation.commands import Cordon, NodeDef, NodePower, SetNodes, Sicken, Steer
from clusters.simulation.world import Group
from tests.unit.clusters.simulation.lab import HIGH, LOW, START_MS, Lab


def test_times_are_exact_both_ways() -> None:
    for at_ms in (0, 1, START_MS + 123, 4_102_444_800_001):
        assert to_ms(from_ms(at_ms)) == at_ms


def test_the_revision_changes_exactly_when_the_facts_do() -> None:
    lab = Lab({"a": 16}, nodes=(8, 8))
    lab.submit("job", pods=2, command="sleep 30")
    lab.submit("waits", cards=8)
    seen = {}
    for _ in range(800):
        for name in ("job", "waits"):
            observed = observed_object(lab[name], workload_facts(lab.world, lab[name]))
            assert seen.setdefault(observed.revision, observed.facts) == observed.facts
        lab.pass_ms(97)
    assert len(seen) == len({repr(facts) for facts in seen.values()})
    assert len(seen) > 8
    before = observed_object(lab["job"], workload_facts(lab.world, lab["job"]))
    lab.pass_ms(10_000_000)
    assert observed_object(lab["job"], workload_facts(lab.world, lab["job"])) == before


def test_a_running_gang_tells_each_pod() -> None:
    lab = Lab()
    lab.submit("gang", pods=2, cards=8)
    lab.settle()
    facts = workload_facts(lab.world, lab["gang"])
    assert [(pod.rank, pod.name, pod.phase, pod.node, pod.cards) for pod in facts.pods] == [
        (0, "gang-0", PodPhase.RUNNING, "n1", 8),
        (1, "gang-1", PodPhase.RUNNING, "n2", 8),
    ]
    assert (facts.cards, facts.wanted_pods, facts.wait) == (16, 2, None)


def test_cards_on_a_node_are_running_reserved_or_ending() -> None:
    lab = Lab({"a": 8}, nodes=(8,))
    lab.submit("low", priority=LOW, grace_ms=60_000)
    lab.pass_ms(350)
    [node] = node_facts(lab.world)
    assert node.holders == (CardHolder("J-low", 1, 8, running=False),)
    lab.settle()
    [node] = node_facts(lab.world)
    assert node.holders == (CardHolder("J-low", 1, 8, running=True),)
    assert (node.offered, node.held, node.free) == (8, 8, 0)
    lab.submit("high", priority=HIGH)
    lab.pass_ms(700)
    [node] = node_facts(lab.world)
    assert set(node.holders) == {
        CardHolder("J-low", 1, 8, running=True, ending=True),
        CardHolder("J-high", 1, 8, running=False),
    }
    assert node.free == 0


def test_only_a_node_that_takes_work_has_free_cards() -> None:
    """Case C-67."""
    lab = Lab({"a": 32})
    for name, cards in (("on1", 3), ("on2", 5), ("on4", 8)):
        for node in ("n1", "n2", "n3", "n4"):
            lab.do(Cordon(0, node, cordoned=node != name.replace("on", "n")))
        lab.submit(name, cards=cards)
        lab.settle()
        assert lab.nodes_of(name) == [name.replace("on", "n")]
    lab.do(Cordon(0, "n1", cordoned=False))
    lab.do(Cordon(0, "n3", cordoned=False))
    lab.do(Cordon(0, "n4", cordoned=False))
    lab.do(NodePower(0, "n3", up=False))
    lab.do(NodePower(0, "n4", up=False))
    nodes = {node.name: node for node in inventory(lab.world).nodes}
    assert [node.health for node in nodes.values()] == [
        NodeHealth.READY,
        NodeHealth.CORDONED,
        NodeHealth.DOWN,
        NodeHealth.DOWN,
    ]
    assert sum(node.installed for node in nodes.values()) == 32
    assert sum(node.free for node in nodes.values()) == 5
    assert sum(node.held for node in nodes.values()) == 16
    assert nodes["n4"].since == from_ms(lab.engine.now_ms)


def test_sick_cards_are_installed_and_not_offered() -> None:
    """Case C-68."""
    lab = Lab({"a": 8}, nodes=(8,))
    lab.submit("job", cards=4)
    lab.settle()
    lab.do(Sicken(0, "n1", 3))
    [node] = node_facts(lab.world)
    assert node.health is NodeHealth.DEGRADED
    assert (node.installed, node.sick, node.offered, node.held, node.free) == (8, 3, 5, 4, 1)


def test_cards_of_pods_outside_the_queues_are_not_given_out() -> None:
    lab = Lab({"a": 8}, nodes=(8,))
    lab.do(SetNodes(0, (NodeDef("n1", "h100", 8, outside=6),)))
    lab.submit("three", cards=3)
    lab.submit("two", cards=2)
    lab.settle()
    assert lab.admitted() == {"two"}
    [node] = node_facts(lab.world)
    assert (node.outside, node.held, node.free) == (6, 8, 0)


def test_the_inventory_tells_groups_by_their_most_common_node() -> None:
    lab = Lab(nodes=())
    group = Group("slices", "A100 slices", "nvidia", "A100", "none", "mig", "slice")
    nodes = (
        NodeDef("s1", "slices", 14, cpu_millis=64_000),
        NodeDef("s2", "slices", 14, cpu_millis=64_000),
        NodeDef("s3", "slices", 7, cpu_millis=32_000),
        NodeDef("plain", None, 0),
    )
    lab.do(SetNodes(0, nodes, (group, Group("empty"))))
    found = inventory(lab.world)
    [facts] = found.groups
    assert (facts.name, facts.title, facts.vendor, facts.card_model) == ("slices", "A100 slices", "nvidia", "A100")
    assert (facts.sharing, facts.unit, facts.cards_per_node, facts.cpu_millis_per_node) == (
        SharingMode.MIG,
        "slice",
        14,
        64_000,
    )
    assert [node.name for node in found.nodes] == ["plain", "s1", "s2", "s3"]
    assert found.topology_aware


def test_no_fact_is_forgotten() -> None:
    """Facts the sandbox never has are named here; every other one takes more than one value in this story."""
    lab = Lab({"a": 8}, nodes=(8,))
    lab.submit("low", priority=LOW, pods=2, cards=4, framework="mpi", command="sleep 30", grace_ms=60_000)
    lab.pass_ms(20_000)
    lab.submit("high", priority=HIGH, command="sleep 5; exit 1")
    values: defaultdict[str, set[object]] = defaultdict(set)
    for step in range(1_200):
        if step == 1_000:
            lab.submit("small", cards=1)
            lab.pass_ms(50)
            lab.do(Cordon(0, "n1"))
        if step == 1_100:
            lab.hold("small")
        if step == 1_150:
            lab.do(Steer(0, "small", ("n1",)))
        for workload in lab.world.workloads.values():
            facts = workload_facts(lab.world, workload)
            for item in fields(facts):
                values[item.name].add(getattr(facts, item.name))
        lab.pass_ms(100)
    never_of_the_sandbox, of_services = {"foreign_owner", "misfit", "unknown"}, {"admitted_pods", "stalled_since"}
    assert {name for name, seen in values.items() if len(seen) < 2} == never_of_the_sandbox | of_services
