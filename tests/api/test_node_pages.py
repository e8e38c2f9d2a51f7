"""Groups with their nodes, and idle nodes, a page at a time: everybody once, in order, at the price of one page."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters.models import NodeGroup
from tests.api.client import Api, errors_of
from tests.crowded_quotas import build_crowded

NODES = 450


@pytest.fixture
def api(db: None) -> Api:
    """Three groups with nodes and one without, which stands between them."""
    build_crowded(1, groups=3, nodes=NODES)
    cluster = NodeGroup.objects.get(slug="group-00").cluster
    NodeGroup.objects.create(
        cluster=cluster, slug="empty", title="Empty", vendor="v", card_model="m", sharing="exclusive", unit="card",
        cards_per_node=8, position=1,
    )  # fmt: skip
    return Api("admin")


def pages(api: Api, path: str, way: str = "next") -> list[dict[str, Any]]:
    found = [api.get(path)]
    while found[-1][way] is not None:
        found.append(api.get(found[-1][way]))
    return found


def names(page: dict[str, Any]) -> list[str]:
    return [node["name"] for group in page["results"] for node in group["nodes"]]


def test_every_node_is_on_one_page_and_sums_are_of_the_whole_group(api: Api) -> None:
    found = pages(api, "groups")
    groups = [group for page in found for group in page["results"]]
    assert [[group["node_group"] for group in page["results"]] for page in found] == [
        ["group-00", "empty", "group-01"],
        ["group-01", "group-02"],
        ["group-02"],
    ]
    listed = [name for page in found for name in names(page)]
    assert len(listed) == len(set(listed)) == NODES
    assert [len(names(page)) for page in found] == [199, 200, 51]
    assert {group["node_group"]: group["node_count"] for group in groups} == {
        "empty": 0, "group-00": 150, "group-01": 150, "group-02": 150,
    }  # fmt: skip
    assert names(api.get(found[2]["previous"])) == names(found[1])


def test_every_idle_node_is_on_one_page(api: Api) -> None:
    connection.cursor().execute("UPDATE clusters_node SET used = 0, free = 8, holders = '[]' WHERE id % 2 = 0")
    found = pages(api, "idle/nodes")
    listed = [row["node"] for page in found for row in page["results"]]
    assert len(listed) == len(set(listed)) == api.get("idle")["nodes"] == NODES // 2
    assert [len(page["results"]) for page in found] == [100, 100, 25]
    assert api.get(found[1]["previous"])["results"] == found[0]["results"]


@pytest.mark.parametrize("path", ["groups", "idle/nodes"])
@pytest.mark.parametrize("cursor", ["-1", "x", "９", "99999999", "1e3"])
def test_a_cursor_that_is_none_of_ours_is_refused(api: Api, path: str, cursor: str) -> None:
    assert errors_of(api.call("GET", f"{path}?cursor={cursor}"), 400) == [("cursor", "bad_cursor")]


@pytest.mark.parametrize("path", ["groups", "idle/nodes"])
def test_beyond_the_last_row_there_is_nothing(api: Api, path: str) -> None:
    page = api.get(f"{path}?cursor=5000")
    assert (page["results"], page["next"]) == ([], None)


@pytest.mark.parametrize("path", ["groups", "idle/nodes"])
def test_a_page_costs_the_same_wherever_it_is(api: Api, path: str) -> None:
    api.get(path)
    spent = []
    for cursor in ("0", "200", "400"):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            api.get(f"{path}?cursor={cursor}")
        spent.append(len(queries))
    assert len(set(spent)) == 1 and spent[0] <= 12
