"""The pages of node groups, without scripts: what waits for a word, its form with a preview, and putting aside."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clusters.models import Cluster, NodeGroup
from tests.cast import Cast
from tests.pages.visitor import Visitor, field_error, html, words
from tests.proposals import RESOURCE, proposed_group

Visitors = Callable[[str | None], Visitor]
PAGE = "/admin/clusters/lab/groups/"


@pytest.fixture
def lab(cast: Cast) -> Cluster:
    cluster = Cluster.objects.create(slug="lab", name="Lab", kind="kueue_volcano")
    proposed_group(cluster, "fresh", nodes=3)
    return cluster


def fields(**more: object) -> dict[str, object]:
    return {"version": 0, "title": "Fresh", "interconnect": "", "labels": "pool=fresh", **more}


def test_a_proposal_says_that_it_gets_nothing_before_it_is_confirmed(visitor: Visitors, lab: Cluster) -> None:
    text = words(visitor("admin").get(PAGE))
    for expected in ("no jobs, no shares", "Fresh TPU", "12 cards", "pool=fresh", "No group yet"):
        assert expected in text, expected
    assert "1 proposed" in words(visitor("admin").get("/admin/clusters/"))
    assert "Fresh" not in words(visitor("admin").get("/admin/quotas/"))


def test_the_page_of_nodes_says_whose_nodes_are_not_there_yet(visitor: Visitors, lab: Cluster) -> None:
    admin = visitor("admin")
    said = words(admin.get("/admin/nodes/"))
    assert f"1 node group of {lab.slug} is only proposed. Its nodes appear here when you confirm it." in said
    admin.post(PAGE)
    assert "only proposed" not in words(admin.get("/admin/nodes/"))


def test_a_preview_names_who_joins_and_leaves_and_keeps_what_was_typed(visitor: Visitors, lab: Cluster) -> None:
    admin = visitor("admin")
    response = admin.post(f"{PAGE}fresh/", **fields(act="preview", title="Halls", labels="pool=fresh\nrack=r1"))
    text = words(response)
    assert response.status_code == 200
    assert "1 node leaves: fresh-2" in text and "12 cards now, 8 cards afterwards." in text
    assert 'value="Halls"' in html(response) and "rack=r1</textarea>" in html(response)
    assert not NodeGroup.objects.filter(cluster=lab).exists()


def test_a_group_is_confirmed_edited_and_put_aside(visitor: Visitors, lab: Cluster) -> None:
    admin = visitor("admin")
    assert admin.post(f"{PAGE}fresh/", **fields(act="save", title="Halls")).status_code == 302
    group = NodeGroup.objects.get(cluster=lab)
    assert (group.title, group.nodes.count()) == ("Halls", 3)
    assert "confirmed by" in words(admin.get(PAGE))
    stale = admin.post(f"{PAGE}fresh/", **fields(act="save", title="Again", version=7, position=2))
    assert stale.status_code == 422 and "Somebody else changed this group meanwhile" in words(stale)
    assert admin.post(f"{PAGE}fresh/", **fields(act="save", title="Again", position=2)).status_code == 302
    assert admin.post(f"{PAGE}fresh/", act="aside", version=1).status_code == 302
    assert "Put aside 1" in words(admin.get(PAGE))
    assert admin.post(f"{PAGE}fresh/", act="back", version=0).status_code == 302
    assert "Proposed 1" in words(admin.get(PAGE))


def test_everything_is_confirmed_in_one_go(visitor: Visitors, lab: Cluster) -> None:
    proposed_group(lab, "second")
    assert visitor("admin").post(PAGE).status_code == 302
    assert NodeGroup.objects.filter(cluster=lab).count() == 2


@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"title": " "}, "title", "Give the group a name."),
        ({"labels": ""}, "labels", "at least one label"),
        ({"labels": "pool=fresh\npool=stale"}, "labels", "stands here twice"),
        ({"labels": "no label!=x"}, "labels", "No label can be called"),
        ({"labels": "pool=nowhere"}, "labels", f"No node with {RESOURCE}"),
    ],
)
def test_a_slip_stands_at_its_field(
    visitor: Visitors, lab: Cluster, typed: dict[str, str], field: str, said: str
) -> None:
    response = visitor("admin").post(f"{PAGE}fresh/", **fields(act="save", **typed))
    assert response.status_code == 422
    assert said in field_error(response, field)


def test_a_node_that_two_groups_claim_is_named(visitor: Visitors, lab: Cluster) -> None:
    visitor("admin").post(PAGE)
    NodeGroup.objects.create(
        cluster=lab, slug="rack", title="Rack one", sharing="exclusive", unit="card", cards_per_node=4,
        resource=RESOURCE, selector={"rack": "r1"},
    )  # fmt: skip
    text = words(visitor("admin").get(PAGE))
    assert "Claimed by two groups 2" in text and "fresh-1 Fresh · Rack one" in text


def test_the_sandbox_has_no_labels_to_choose(visitor: Visitors, cast: Cast) -> None:
    page = visitor("admin").get("/admin/clusters/sandbox/groups/h100/")
    assert "id_labels" not in html(page) and "Put the group aside" not in words(page)
    sent = {"act": "save", "version": 0, "title": "H100, hall 2", "interconnect": "NVLink", "position": 3}
    assert visitor("admin").post("/admin/clusters/sandbox/groups/h100/", **sent).status_code == 302
    assert NodeGroup.objects.get(cluster=cast.cluster, slug="h100").title == "H100, hall 2"


def test_the_list_costs_the_same_for_many_groups(visitor: Visitors, lab: Cluster) -> None:
    few = visitor("admin").count_queries(PAGE)
    for number in range(12):
        proposed_group(lab, f"more-{number}", nodes=2)
    assert visitor("admin").count_queries(PAGE) == few <= 12
