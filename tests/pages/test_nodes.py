"""The admin's page of nodes: what is not well is said in words, and what can be done about it is offered."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.utils import timezone

from clusters import nodes_listing
from clusters.backends.sandbox import driver
from clusters.models import Node, PreflightRow
from clusters.nodes_models import NodeCordon, NodeSuspicion
from clusters.simulation.commands import Cordon, Sicken
from tests.api.client import Api
from tests.cast import Cast
from tests.pages.visitor import Visitor, field_error, html, words
from tests.stage import Stage

Visitors = Callable[[str | None], Visitor]
NODE = "h100-01"
ACT = f"/admin/nodes/sandbox/{NODE}"


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def suspect(cast: Cast) -> NodeSuspicion:
    found = [
        {"job_ulid": f"{n:026}", "attempt": 1, "code": "app_exit", "at": timezone.now().isoformat()} for n in (1, 2)
    ]
    return NodeSuspicion.objects.create(cluster=cast.cluster, node=NODE, since=timezone.now(), evidence=found)


def test_what_is_not_well_is_named_with_its_time(stage: Stage, visitor: Visitors) -> None:
    for command in (Sicken(driver.now_ms(), NODE, 3), Cordon(driver.now_ms(), NODE)):
        driver.send(stage.cast.cluster, command)
    stage.run(4)
    said = words(visitor("admin").get("/admin/nodes/", node=NODE))
    assert "It is cordoned: it takes no new work. Since" in said
    assert "Cards that are installed and not on offer: 3." in said
    assert "Cordoned outside the console" in said and "Give a reason" in said


def test_a_tainted_node_is_not_called_cordoned(stage: Stage, visitor: Visitors) -> None:
    told = [{"trouble": "tainted", "since": None, "detail": "pool=train:NoSchedule"}]
    Node.objects.filter(name=NODE).update(health="cordoned", conditions=told)
    answer = visitor("admin").get("/admin/nodes/", node=NODE)
    assert "A taint keeps new work out: pool=train:NoSchedule." in words(answer)
    assert "Uncordon" not in words(answer)


def test_a_node_is_cordoned_with_a_reason_and_opened_again(stage: Stage, visitor: Visitors) -> None:
    admin = visitor("admin")
    assert "What runs there goes on." in words(admin.get(f"{ACT}/cordon/"))
    refused = admin.post(f"{ACT}/cordon/", reason=" ")
    assert refused.status_code == 422 and "Say why" in field_error(refused, "reason")
    assert not NodeCordon.objects.exists()
    done = admin.post(f"{ACT}/cordon/", reason="a fan is loud")
    assert (done.status_code, done["Location"]) == (302, f"/admin/nodes/?cluster=sandbox&node={NODE}")
    stage.run(4)
    said = words(admin.get("/admin/nodes/", node=NODE))
    assert "a fan is loud Cordoned by admin" in said and "Uncordon" in said
    assert admin.post(f"{ACT}/cordon/", reason="again").status_code == 409
    admin.post(f"{ACT}/uncordon/", reason="")
    stage.run(4)
    assert "a fan is loud" not in words(admin.get("/admin/nodes/", node=NODE))


def test_where_the_console_may_not_close_nodes_it_says_why_and_shows_no_button(stage: Stage, visitor: Visitors) -> None:
    type(stage.cast.cluster).objects.update(kind="kueue_volcano")
    row = {"feature": "maintenance", "verdict": "missing", "since": timezone.now()}
    PreflightRow.objects.create(cluster=stage.cast.cluster, **row)
    answer = visitor("admin").get("/admin/nodes/", node=NODE)
    assert "The account for nodes is missing or lacks a right" in words(answer)
    assert "/cordon/" not in html(answer)


def test_a_suspected_node_shows_its_evidence_until_it_is_trusted(stage: Stage, visitor: Visitors) -> None:
    suspect(stage.cast)
    admin = visitor("admin")
    assert NODE in words(admin.get("/admin/nodes/", show="attention"))
    said = words(admin.get("/admin/nodes/", node=NODE))
    assert "Under suspicion since" in said and f"{1:026}" in said
    assert admin.post(f"{ACT}/trust/", reason="card 3 was changed").status_code == 302
    assert "Under suspicion" not in words(admin.get("/admin/nodes/", node=NODE))


@pytest.mark.parametrize("path", ["/admin/nodes/sandbox/none/cordon/", "/admin/nodes/none/h100-01/cordon/"])
def test_there_is_nothing_to_close_where_there_is_no_node(stage: Stage, visitor: Visitors, path: str) -> None:
    assert visitor("admin").get(path).status_code == 404


def test_free_cards_in_pieces_are_said(stage: Stage, visitor: Visitors) -> None:
    for number in range(4):
        stage.submit("eng-vision-2" if number % 2 else "eng-vision-1", cards=5, card_model="h100", command="sleep 900")
    stage.run(40)
    said = words(visitor("admin").get("/admin/nodes/"))
    assert "12 cards are free, and yet no job of 8 on one node could start: the largest piece has 3." in said


def test_idle_nodes_are_a_filter_of_their_own(stage: Stage, visitor: Visitors) -> None:
    driver.send(stage.cast.cluster, Cordon(driver.now_ms(), NODE))
    stage.submit(cards=1, card_model="h100", command="sleep 900")
    stage.run(40)
    shown = html(visitor("admin").get("/admin/nodes/", show="idle"))
    assert shown.count('id="node-h100-') == 2 and f'id="node-{NODE}"' not in shown


def test_many_nodes_come_in_sheets_and_the_sums_are_of_all(
    stage: Stage, visitor: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes_listing, "NODES_ON_A_SHEET", 6)
    driver.send(stage.cast.cluster, Cordon(driver.now_ms(), NODE))
    stage.run(4)
    admin = visitor("admin")
    names = set(Node.objects.exclude(group=None).values_list("name", flat=True))
    assert len(names) == 10
    sheets = [html(admin.get("/admin/nodes/", page=str(number))) for number in (1, 2)]
    on = [{name for name in names if f'id="node-{name}"' in sheet} for sheet in sheets]
    assert [len(found) for found in on] == [6, 4] and on[0] | on[1] == names
    assert "Page 1 of 2" in sheets[0] and 'rel="next"' in sheets[0] and 'rel="prev"' in sheets[1]
    both = [sheet for sheet in sheets if "8 out of service" in sheet]
    assert both, "the cordoned node is in the sums of its group wherever the group is shown"
    for typed in ("9", "0", "-1", "x", "9" * 30):
        assert "Page" in html(admin.get("/admin/nodes/", page=typed))
    assert "Page" not in html(admin.get("/admin/nodes/", show="attention"))
    aside = words(admin.get("/admin/nodes/", page="2", node=NODE))
    assert "It is cordoned: it takes no new work." in aside, "a node of another sheet opens beside this one"


def test_a_script_does_the_same(stage: Stage) -> None:
    api = Api("admin")
    asked = api.call("POST", f"nodes/sandbox/{NODE}/cordon", {"reason": "a fan", "dry_run": True}).json()
    assert asked == {
        "cluster": "sandbox", "node": NODE, "is_closed": True, "reason": "a fan", "goes_on": 0, "dry_run": True,
    }  # fmt: skip
    assert not NodeCordon.objects.exists()
    assert api.call("POST", f"nodes/sandbox/{NODE}/cordon", {"reason": "a fan"}).status_code == 200
    suspect(stage.cast)
    stage.run(4)
    (group,) = [each for each in api.get("groups")["results"] if each["node_group"] == "h100"]
    node = next(each for each in group["nodes"] if each["name"] == NODE)
    assert (node["free"], node["cordon"]["reason"], node["cordon"]["by"]) == (0, "a fan", "admin")
    assert [told["trouble"] for told in node["troubles"]] == ["cordoned"]
    assert len(node["suspicion"]["evidence"]) == 2
    assert api.call("POST", f"nodes/sandbox/{NODE}/trust", {"reason": "looked"}).status_code == 204
    assert api.call("POST", f"nodes/sandbox/{NODE}/uncordon", {}).json()["is_closed"] is False
    for body in ({"reason": 7}, {"reason": "x", "dry_run": "yes"}, {}):
        assert api.call("POST", f"nodes/sandbox/{NODE}/cordon", body).status_code == 400
    assert api.call("POST", "nodes/sandbox/no%00node/cordon", {"reason": "x"}).status_code == 404
