"""Going back from managing a cluster to looking at it: what of ours is there is shown, and may be taken away."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import AuditEvent
from clusters.backends.kueue_volcano import names
from clusters.models import Cluster, ClusterMode
from tests import foreign
from tests.api.client import Api, errors_of
from tests.api_server import ApiServer
from tests.cast import Cast
from tests.pages.test_clusters import connect
from tests.pages.visitor import Visitor, html, words

Visitors = Callable[[str | None], Visitor]
PAGE = "/admin/clusters/lab/stop-managing/"
IDLE = {"pendingWorkloads": 0, "reservingWorkloads": 0, "admittedWorkloads": 0}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def lab(visitor: Visitors, cast: Cast, server: ApiServer) -> Cluster:
    """Managed, with an empty queue of ours and one with work, beside those of others."""
    foreign.serve(server)
    assert connect(visitor, server, mode="managing").status_code == 302
    cluster = Cluster.objects.get(slug="lab")
    labels = {names.INSTALLATION: names.installation_of(cluster.public_id)}

    def thing(name: str, status: dict[str, int], space: str = "", **spec: Any) -> dict[str, Any]:
        meta = {"name": name, "uid": f"uid-{name}", "labels": labels} | ({"namespace": space} if space else {})
        return {"metadata": meta, "spec": spec, "status": status}

    space = "slu-vision"
    mine = {
        names.LOCAL_QUEUES: [
            thing("night", IDLE, space, clusterQueue="slu-vision"),
            thing("default", {**IDLE, "pendingWorkloads": 1}, space, clusterQueue="slu-busy"),
        ],
        names.CLUSTER_QUEUES: [thing("slu-vision", IDLE), thing("slu-busy", {**IDLE, "pendingWorkloads": 1})],
        names.NAMESPACES: [thing(space, {})],
    }
    for kind, things in mine.items():
        others = json.loads(server.answers[kind.path()][2])["items"] if kind.path() in server.answers else []
        server.answers[kind.path()] = 200, JSON, json.dumps({"items": [*others, *things]}).encode()
        for each in things:
            path = kind.path(each["metadata"].get("namespace"), each["metadata"]["name"])
            server.answers[path] = 200, JSON, json.dumps(each).encode()
    return cluster


def deleted(server: ApiServer) -> list[str]:
    return [path.rpartition("/")[2] for method, path, _host in server.asked if method == "DELETE"]


def test_what_stays_and_what_may_go_is_shown_before(visitor: Visitors, lab: Cluster, server: ApiServer) -> None:
    page = visitor("admin").get(PAGE)
    text = words(page)
    for expected in (
        "night slu-vision queue of a team's people empty: it can be taken away",
        "slu-busy queue of a team stays: something waits or runs in it",
        "slu-vision team space stays: the console never takes it away kubectl delete namespaces/slu-vision",
        "kubectl delete localqueues.kueue.x-k8s.io/default --namespace slu-vision",
        "Take away what is empty",
    ):
        assert expected in text, expected
    assert "vision-cq" not in html(page), "nothing of others is listed"
    assert deleted(server) == []


def test_only_what_is_ours_and_empty_is_taken_away_with_one_audit_entry(
    visitor: Visitors, lab: Cluster, server: ApiServer
) -> None:
    admin = visitor("admin")
    assert admin.post(PAGE, take_away="on").status_code == 302
    assert deleted(server) == ["night", "slu-vision"]
    lab.refresh_from_db()
    assert lab.mode == ClusterMode.WATCHING
    assert "2 objects were taken away." in words(admin.get("/admin/clusters/lab/adopt/"))
    (event,) = AuditEvent.objects.filter(action="cluster.watch")
    assert event.detail == {
        "taken_away": ["localqueues.kueue.x-k8s.io/night", "clusterqueues.kueue.x-k8s.io/slu-vision"]
    }
    assert AuditEvent.objects.order_by("-pk").first() == event


def test_without_being_asked_to_nothing_is_taken_away(visitor: Visitors, lab: Cluster, server: ApiServer) -> None:
    assert visitor("admin").post(PAGE).status_code == 302
    assert deleted(server) == []
    assert AuditEvent.objects.get(action="cluster.watch").detail == {}


def test_a_cluster_that_does_not_answer_can_be_left_as_it_is(
    visitor: Visitors, lab: Cluster, server: ApiServer
) -> None:
    for path in list(server.answers):
        server.answers[path] = 503, JSON, b"{}"
    admin = visitor("admin")
    text = words(admin.get(PAGE))
    assert "What is there could not be read now" in text and "Take away" not in text
    refused = admin.post(PAGE, take_away="on")
    lab.refresh_from_db()
    assert (refused.status_code, lab.mode) == (503, ClusterMode.MANAGING)
    assert admin.post(PAGE).status_code == 302


def test_a_script_does_the_same(lab: Cluster, server: ApiServer) -> None:
    api = Api("admin")
    told = api.call("PUT", "clusters/lab/mode", {"mode": "watching", "dry_run": True}).json()
    assert (told["mode"], told["dry_run"], told["taken_away"]) == ("managing", True, [])
    fates = {(each["kind"], each["name"]): each["fate"] for each in told["left_behind"]}
    assert fates == {
        ("local_queue", "night"): "goes", ("local_queue", "default"): "in_use", ("team_queue", "slu-vision"): "goes",
        ("team_queue", "slu-busy"): "in_use", ("space", "slu-vision"): "stays",
    }  # fmt: skip
    for wrong in ({"take_away": "yes"}, {"dry_run": 1}):
        (attr,) = wrong
        assert errors_of(api.call("PUT", "clusters/lab/mode", {"mode": "watching", **wrong}), 400) == [
            (attr, "not_a_boolean")
        ]
    assert errors_of(api.call("PUT", "clusters/lab/mode", {"mode": "managing", "dry_run": True}), 400) == [
        ("dry_run", "only_to_stop")
    ]
    done = api.call("PUT", "clusters/lab/mode", {"mode": "watching", "take_away": True}).json()
    assert (done["mode"], done["taken_away"], done["not_taken"]) == ("watching", ["night", "slu-vision"], [])
    assert deleted(server) == ["night", "slu-vision"]
