"""Queues of others over the API: looked at, adopted, and the cluster managed or only watched."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.models import Cluster
from clusters.sync import cluster_sync
from tests import foreign
from tests.api.client import Api
from tests.api.test_clusters import body
from tests.api_server import ApiServer
from tests.cast import Cast, build_cast


@pytest.fixture
def cast(db: None) -> Cast:
    return build_cast()


@pytest.fixture
def api(cast: Cast, server: ApiServer) -> Api:
    api = Api("admin")
    foreign.serve(server)
    made = api.call("POST", "clusters", body(server))
    assert (made.status_code, made.json()["mode"]) == (201, "watching")
    cluster = Cluster.objects.get(slug="lab")
    foreign.confirm_groups(cluster)
    assert cluster_sync(cluster)
    return api


def post(api: Api, address: str, **data: Any) -> Any:
    return api.call("POST", f"clusters/lab/{address}", data)


def test_found_queues_are_read_previewed_and_adopted(api: Api, server: ApiServer) -> None:
    assert api.get("clusters/lab/found-queues")["queues"] == []
    told = post(api, "found-queues/look").json()
    queues = {queue["name"]: queue for queue in told["queues"]}
    assert set(queues) == {"vision-cq", "shared", "research"}
    assert queues["vision-cq"]["proposed_team"] == "vision"
    assert queues["vision-cq"]["cards"][0] == {
        "node_group": "h100", "resource": "nvidia.com/gpu", "cards": 16, "held": 8, "is_spread": False,
    }  # fmt: skip
    wanted = {"queues": {"vision-cq": "vision"}, "expected_version": told["version"]}
    preview = post(api, "found-queues/adopt", **wanted, dry_run=True).json()
    assert [part["starts_with"] for part in preview["taken"]] == [0, 0]
    assert preview["left_alone"] == ["research", "shared"]
    adopted = post(api, "found-queues/adopt", **wanted)
    assert adopted.status_code == 200, adopted.content
    share = adopted.json()["plan"]["queues"]["vision"]["groups"]["h100"]
    assert (share["basis_points"], share["nominal"]) == (5_000, 0)
    late = post(api, "found-queues/adopt", **wanted)
    assert (late.status_code, late.json()["errors"][0]["code"]) == (409, "changed_meanwhile")
    assert foreign.writes(server) == []


def test_a_cluster_is_managed_once_it_is_confirmed_and_watched_again(api: Api) -> None:
    post(api, "found-queues/look")
    checks = api.get("clusters/lab/found-queues")["open_checks"]
    assert {check["check"] for check in checks} == {"queues"}
    refused = api.call("PUT", "clusters/lab/mode", {"mode": "managing"})
    assert (refused.status_code, refused.json()["errors"][0]["attr"]) == (400, "confirmed")
    assert api.call("PUT", "clusters/lab/mode", {"mode": "managing", "confirmed": True}).json()["mode"] == "managing"
    assert api.get("clusters/lab")["mode"] == "managing"
    assert api.call("PUT", "clusters/lab/mode", {"mode": "watching"}).json()["mode"] == "watching"


@pytest.mark.parametrize(
    ("method", "address", "data", "attr"),
    [
        ("PUT", "mode", {"mode": "owned"}, "mode"),
        ("PUT", "mode", {}, "mode"),
        ("POST", "found-queues/adopt", {"expected_version": 0}, "queues"),
        ("POST", "found-queues/adopt", {"queues": {"a": 1}, "expected_version": 0}, "queues"),
        ("POST", "found-queues/adopt", {"queues": {"vision-cq": "vision"}}, "expected_version"),
    ],
)
def test_what_is_no_answer_is_named(api: Api, method: str, address: str, data: dict[str, Any], attr: str) -> None:
    answer = api.call(method, f"clusters/lab/{address}", data)
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, attr)


def test_the_sandbox_has_no_queues_of_others(api: Api) -> None:
    assert api.call("GET", "clusters/sandbox/found-queues").status_code == 409
    assert api.call("PUT", "clusters/sandbox/mode", {"mode": "watching"}).status_code == 409
