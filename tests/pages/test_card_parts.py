"""Memory and cores of virtual cards beside their number: summed per node group, in their own units (C-32)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clusters.models import Node, NodeGroup
from tests.api.client import Api
from tests.cast import Cast
from tests.pages.visitor import Visitor, words

Visitors = Callable[[str | None], Visitor]


def memory(capacity: int | None, asked: int, used: int, unsaid: int = 0) -> dict[str, Any]:
    found = {"capacity": capacity, "asked": asked, "used": used, "unsaid": unsaid}
    return {"resource": "nvidia.com/gpumem", "unit": "MiB", **found}


@pytest.fixture
def virtual(cast: Cast) -> NodeGroup:
    """Two nodes of virtual cards."""
    group = NodeGroup.objects.get(slug="ascend-910b")
    NodeGroup.objects.filter(pk=group.pk).update(sharing="vgpu", unit="slice")
    first, second = Node.objects.filter(group=group).order_by("name")
    Node.objects.filter(pk=first.pk).update(parts=[memory(20_480, 3_072, 2_048, 3)])
    Node.objects.filter(pk=second.pk).update(parts=[memory(20_480, 0, 0)])
    return group


def told() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    (found,) = (each for each in Api("admin").get("groups")["results"] if each["node_group"] == "ascend-910b")
    return found["parts"], found["nodes"][0]["parts"]


def test_a_group_sums_what_its_nodes_say_each_unit_for_itself(virtual: NodeGroup, visitor: Visitors) -> None:
    said = words(
        visitor("admin").get("/admin/nodes/", node=Node.objects.filter(group=virtual).order_by("name")[0].name)
    )
    assert "nvidia.com/gpumem 3 slices without an amount: they may take more 2048 MiB 3072 MiB 40960 MiB" in said
    assert "2048 MiB 3072 MiB 20480 MiB" in said
    assert told() == ([memory(40_960, 3_072, 2_048, 3)], [memory(20_480, 3_072, 2_048, 3)])


def test_a_capacity_that_one_node_keeps_to_itself_is_not_known(virtual: NodeGroup, visitor: Visitors) -> None:
    Node.objects.filter(group=virtual, parts__0__asked=0).update(parts=[])
    assert "2048 MiB 3072 MiB unknown" in words(visitor("admin").get("/admin/nodes/"))
    assert told()[0] == [memory(None, 3_072, 2_048, 3)]


def test_whole_cards_have_no_such_table(cast: Cast, visitor: Visitors) -> None:
    assert "Memory and cores" not in words(visitor("admin").get("/admin/nodes/"))
    assert told() == ([], [])
