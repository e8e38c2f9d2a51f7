"""Clusters over the API: written with credentials, read without."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.backends.kueue_volcano.credentials import Account, connection_of
from clusters.models import Cluster
from tests.api.client import Api, errors_of
from tests.api_server import TOKENS, ApiServer, kubeconfig_of
from tests.cast import Cast, build_cast


@pytest.fixture
def cast(db: None) -> Cast:
    return build_cast()


@pytest.fixture
def api(cast: Cast) -> Api:
    return Api("admin")


def body(server: ApiServer, *accounts: Account, **more: Any) -> dict[str, Any]:
    texts = {each.value: kubeconfig_of(server, each).decode() for each in accounts or tuple(Account)}
    return {"name": "Lab", **texts, **more}


def test_a_cluster_is_connected_read_and_forgotten(
    api: Api, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = api.call("POST", "clusters", body(server, is_default=True))
    assert made.status_code == 201, made.content
    cluster = made.json()
    assert cluster.pop("notes") == []
    assert cluster == api.get("clusters/lab")
    assert cluster in api.get("clusters")
    assert {key: cluster[key] for key in ("slug", "name", "kind", "is_default", "server", "takes_jobs", "version")} == {
        "slug": "lab",
        "name": "Lab",
        "kind": "kubernetes",
        "is_default": True,
        "server": server.url,
        "takes_jobs": True,
        "version": "v1.34.2",
    }
    assert [(row["account"], row["user"].split(":")[-1]) for row in cluster["accounts"]] == [
        ("runtime", "sluice-runtime"),
        ("quota", "sluice-quota"),
        ("node", "sluice-node"),
    ]
    monkeypatch.setattr("quotas.cluster_services._take_queues_away", lambda _cluster: True)
    assert api.call("DELETE", "clusters/lab").status_code == 204
    assert api.call("GET", "clusters/lab").status_code == 404


def test_credentials_are_put_and_nothing_is_kept_of_the_old_ones(api: Api, server: ApiServer) -> None:
    first = api.call("POST", "clusters", body(server)).json()
    answer = api.call("PUT", "clusters/lab/credentials", body(server, Account.QUOTA, one_for_all=True))
    assert errors_of(answer, 400) == [("runtime", "required")]
    texts = {"runtime": kubeconfig_of(server, Account.QUOTA).decode(), "one_for_all": True}
    changed = api.call("PUT", "clusters/lab/credentials", texts).json()
    assert changed["fingerprint"] != first["fingerprint"]
    assert connection_of(Cluster.objects.get(slug="lab"), Account.NODE).token == TOKENS[Account.QUOTA]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"runtime": 5}, ("runtime", "not_text")),
        ({"runtime": {"clusters": []}}, ("runtime", "not_text")),
        ({"runtime": "\ud800"}, ("runtime", "not_text")),
        ({"runtime": "a: \u0000"}, ("runtime", "not_yaml")),
        ({"context": ["main"]}, ("context", "not_text")),
        ({"context": "other"}, ("runtime", "context_unknown")),
        ({"one_for_all": "yes"}, ("one_for_all", "not_a_switch")),
        ({"is_default": 1}, ("is_default", "not_a_switch")),
        ({"name": None}, ("name", "blank")),
        ({"name": "\u0000"}, ("name", "blank")),
        ({"name": 7}, ("name", "not_text")),
    ],
)
def test_a_body_is_refused_at_its_field(
    api: Api, server: ApiServer, change: dict[str, Any], problem: tuple[str, str]
) -> None:
    answer = api.call("POST", "clusters", {**body(server, Account.RUNTIME), **change})
    assert errors_of(answer, 400) == [problem]
    assert not Cluster.objects.filter(slug="lab").exists()


def test_the_sandbox_is_read_and_not_written(api: Api, server: ApiServer) -> None:
    sandbox = api.get("clusters/sandbox")
    assert (sandbox["kind"], sandbox["accounts"], sandbox["takes_jobs"]) == ("sandbox", [], True)
    for answer in (
        api.call("PUT", "clusters/sandbox/credentials", body(server)),
        api.call("DELETE", "clusters/sandbox"),
    ):
        assert errors_of(answer, 409) == [(None, "not_connected")]
