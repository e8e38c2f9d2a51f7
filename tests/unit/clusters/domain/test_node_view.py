"""How the cards of a node are told to people (cases C-67 and C-68)."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.contract import CardHolder, NodeFacts, NodeHealth
from clusters.models import Node
from clusters.selectors import NodeView, node_view

FIGURES = ("used", "reserved", "ending", "outside", "free", "out")


def node(health: NodeHealth = NodeHealth.READY, *, held: int = 0, **more: Any) -> Node:
    """A node of eight cards, of which running pods hold some."""
    holders = more.pop("holders", [holder(held)] if held else [])
    return Node(**{"name": "n", "health": health.value, "installed": 8, "holders": holders, **more})


def holder(cards: int, *, running: bool = True, ending: bool = False) -> dict[str, Any]:
    return {"job_ulid": "0" * 26, "attempt": 1, "cards": cards, "running": running, "ending": ending}


def figures(view: NodeView) -> dict[str, int]:
    """The figures that are not zero."""
    return {name: getattr(view, name) for name in FIGURES if getattr(view, name)}


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(node(), {"free": 8}, id="an empty node"),
        pytest.param(node(held=3), {"used": 3, "free": 5}, id="a node in use"),
        pytest.param(node(NodeHealth.CORDONED, held=5), {"used": 5, "out": 3}, id="a cordoned node that drains"),
        pytest.param(node(NodeHealth.DOWN), {"out": 8}, id="a node that is down"),
        pytest.param(node(NodeHealth.DOWN, held=8), {"used": 8}, id="a lost node whose pods are still counted"),
        pytest.param(
            node(NodeHealth.DEGRADED, sick=3, held=4), {"used": 4, "free": 1, "out": 3}, id="three of eight are sick"
        ),
        pytest.param(node(NodeHealth.DEGRADED, sick=3, held=8), {"used": 8}, id="sick cards that are in use are used"),
        pytest.param(
            node(NodeHealth.DEGRADED, sick=3, held=6), {"used": 6, "out": 2}, id="fewer are left than are sick"
        ),
        pytest.param(node(holders=[holder(2, running=False)]), {"reserved": 2, "free": 6}, id="promised cards"),
        pytest.param(
            node(holders=[holder(2), holder(4, ending=True)]),
            {"used": 2, "ending": 4, "free": 2},
            id="pods that end are never free",
        ),
        pytest.param(
            node(holders=[holder(8, ending=True), holder(4, running=False)]),
            {"ending": 8},
            id="promised to the next job before the last one has left",
        ),
        pytest.param(
            node(holders=[holder(4, ending=True), holder(6, running=False)]),
            {"ending": 4, "reserved": 4},
            id="promised in part before the last one has left",
        ),
        pytest.param(node(outside=8), {"outside": 8}, id="full of pods of no queue"),
        pytest.param(node(held=8, outside=2), {"used": 8, "outside": 2}, id="more is held than there is"),
        pytest.param(node(installed=0), {}, id="a node without cards"),
    ],
)
def test_a_card_is_one_thing_at_a_time(one: Node, expected: dict[str, int]) -> None:
    view = node_view(one, "h100")
    assert figures(view) == expected
    assert sum(expected.values()) == max(one.installed, view.used + view.outside)


def test_free_cards_are_only_those_that_a_job_can_get() -> None:
    """C-67: ready with three used, cordoned with five, down and empty, lost with all eight."""
    views = [
        node_view(one, "h100")
        for one in (
            node(held=3),
            node(NodeHealth.CORDONED, held=5),
            node(NodeHealth.DOWN),
            node(NodeHealth.DOWN, held=8),
            node(NodeHealth.CORDONED),
        )
    ]
    assert sum(view.installed for view in views) == 40
    assert [view.free for view in views] == [5, 0, 0, 0, 0]
    assert sum(view.used for view in views) == 16
    assert [view.out for view in views] == [0, 3, 8, 0, 8]


@pytest.mark.parametrize(
    ("facts", "offered", "free"),
    [
        (NodeFacts("n", "h100", NodeHealth.READY, 8, holders=(CardHolder("j", 1, 3, True),)), 8, 5),
        (NodeFacts("n", "h100", NodeHealth.DEGRADED, 8, sick=3, holders=(CardHolder("j", 1, 4, True),)), 5, 1),
        (NodeFacts("n", "h100", NodeHealth.CORDONED, 8), 0, 0),
        (NodeFacts("n", "h100", NodeHealth.DOWN, 8), 0, 0),
        (NodeFacts("n", "h100", NodeHealth.READY, 8, outside=8), 8, 0),
        (NodeFacts("n", "h100", NodeHealth.DEGRADED, 8, sick=3, holders=(CardHolder("j", 1, 8, True),)), 5, 0),
    ],
)
def test_the_facts_of_a_node_offer_the_same_cards(facts: NodeFacts, offered: int, free: int) -> None:
    assert (facts.offered, facts.free) == (offered, free)
