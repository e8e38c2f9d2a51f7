"""How gangs are laid out on nodes."""

from __future__ import annotations

import pytest

from clusters.simulation.commands import Cordon, NodeDef, SetNodes, Sicken
from clusters.simulation.placement import binpack, least_free_capacity
from tests.unit.clusters.simulation.lab import GIB, Lab


@pytest.mark.parametrize(
    ("rooms", "pods", "cards", "chosen"),
    [
        pytest.param({"n1": 8, "n2": 3}, 1, 2, ["n2"], id="the node that can take the fewest such pods"),
        pytest.param({"n2": 3, "n1": 2}, 1, 2, ["n1"], id="equal numbers of pods: by name, not by free cards"),
        pytest.param({"n1": 3, "n2": 2}, 1, 2, ["n1"], id="the fuller of two nodes for one pod each is not preferred"),
        pytest.param({"n1": 8, "n2": 4, "n3": 0}, 3, 4, ["n1", "n1", "n2"], id="a gang fills the small node first"),
        pytest.param({"n1": 8, "n2": 7}, 2, 8, None, id="one pod too many: nothing"),
        pytest.param({"n1": 4, "n2": 4}, 1, 8, None, id="5 + 3 free are not 8 on one node"),
        pytest.param({}, 1, 1, None, id="no node"),
        pytest.param({"n1": -2, "n2": 1}, 1, 1, ["n2"], id="a node that lost more cards than it had free"),
    ],
)
def test_the_topology_aware_gate_takes_least_free_capacity_first(
    rooms: dict[str, int], pods: int, cards: int, chosen: list[str] | None
) -> None:
    assert least_free_capacity(rooms.items(), pods, cards) == chosen


@pytest.mark.parametrize(
    ("rooms", "pods", "cards", "chosen"),
    [
        pytest.param({"n1": 3, "n2": 2}, 1, 2, ["n2"], id="the fullest node that still fits"),
        pytest.param({"n1": 8, "n2": 5}, 2, 4, ["n1", "n2"], id="two pods: the fuller node first, the rest elsewhere"),
        pytest.param({"n2": 8, "n1": 8}, 1, 8, ["n1"], id="equal nodes: by name"),
        pytest.param({"n1": 7, "n2": 7}, 2, 8, None, id="all or nothing"),
    ],
)
def test_the_executor_packs_the_fullest_node_first(
    rooms: dict[str, int], pods: int, cards: int, chosen: list[str] | None
) -> None:
    assert binpack(rooms.items(), pods, cards) == chosen


def test_sick_cards_and_cordoned_nodes_never_count() -> None:
    lab = Lab({"a": 32})
    lab.do(Cordon(0, "n1"))
    lab.do(Sicken(0, "n2", 3))
    lab.submit("five", cards=5)
    lab.settle()
    assert lab.nodes_of("five") == ["n2"]
    lab.submit("four", pods=4, cards=4)
    lab.submit("six", cards=6)
    lab.settle()
    assert lab.nodes_of("four") == ["n3", "n3", "n4", "n4"]
    assert "six" not in lab.admitted()


def test_a_job_without_cards_shares_what_does_not_belong_to_cards() -> None:
    lab = Lab(nodes=(8, 0))
    nodes = (
        NodeDef("n1", "h100", 8, cpu_millis=100_000, memory_bytes=1000 * GIB),
        NodeDef("n2", None, 0, cpu_millis=16_000, memory_bytes=64 * GIB),
    )
    lab.do(SetNodes(0, nodes))
    for number in range(5):
        lab.submit(f"cpu{number}", group=None, cpu_millis=8_000, memory_bytes=16 * GIB)
        lab.settle()
    placed = [lab.nodes_of(f"cpu{number}") for number in range(3)]
    assert placed == [["n1"], ["n2"], ["n2"]]
    assert [lab[f"cpu{number}"].unplaceable for number in (3, 4)] == [True, True]
    lab.submit("cards", cards=8)
    lab.settle()
    assert lab.nodes_of("cards") == ["n1"], "pods without cards are never in the way of cards"
