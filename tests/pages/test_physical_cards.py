"""The cards behind shares, on pages and over the API: a number where every node says it, "unknown" where one does not.

C-71: they are physical cards of the cluster, and shares are in no sum of cards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clusters.models import Node, NodeGroup
from tests.api.client import Api
from tests.cast import Cast
from tests.pages.visitor import Visitor, words
from tests.slices import add_slices

Visitors = Callable[[str | None], Visitor]
PAGES = ("/admin/nodes/", "/admin/water/", "/admin/clusters/sandbox/groups/", "/admin/clusters/sandbox/groups/slices/")


@pytest.fixture
def shared(cast: Cast) -> NodeGroup:
    """28 slices on two nodes, of which each has two cards cut into seven."""
    return add_slices(cast)


def told(api: Api) -> dict[str, Any]:
    """Wherever the API speaks of the group or of its nodes."""
    (found,) = (each for each in api.get("groups")["results"] if each["node_group"] == "slices")
    water = api.get("clusters/sandbox/water-level")
    (level,) = (each for each in water["node_groups"] if each["node_group"] == "slices")
    (group,) = (each for each in api.get("clusters/sandbox/groups")["groups"] if each["slug"] == "slices")
    return {
        "nodes": [node["physical"] for node in found["nodes"]],
        "groups": [found["physical"], level["physical"], group["physical"]],
        "cluster": (water["cards"]["capacity"], water["physical"]),
    }


def test_cards_behind_shares_are_shown_wherever_the_shares_are(shared: NodeGroup, visitor: Visitors) -> None:
    admin = visitor("admin")
    for page in PAGES:
        assert "on 4 cards" in words(admin.get(page)), page
    assert "14 slices on 2 cards" in words(admin.get("/admin/nodes/", node="slices-01"))
    assert "With those behind shares there are 84 physical cards." in words(admin.get("/admin/water/"))
    assert told(Api("admin")) == {"nodes": [2, 2], "groups": [4] * 3, "cluster": (80, 84)}


def test_where_one_node_does_not_say_it_nobody_guesses(shared: NodeGroup, visitor: Visitors) -> None:
    Node.objects.filter(name="slices-02").update(physical=None)
    admin = visitor("admin")
    for page in PAGES:
        assert "on an unknown number of cards" in words(admin.get(page)), page
    assert "on 2 cards" in words(admin.get("/admin/nodes/", node="slices-01"))
    assert "How many cards lie behind all shares is not known." in words(admin.get("/admin/water/"))
    assert told(Api("admin")) == {"nodes": [2, None], "groups": [None] * 3, "cluster": (80, None)}


def test_a_cluster_without_shares_speaks_of_none(cast: Cast, visitor: Visitors) -> None:
    admin = visitor("admin")
    for page in PAGES[:3]:
        assert "behind" not in words(admin.get(page)) and "on an unknown" not in words(admin.get(page)), page
    assert Api("admin").get("clusters/sandbox/water-level")["physical"] == 80
