"""The API about node groups: a list, a dry run, confirming, editing, and the second of two admins."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from clusters.models import Cluster, NodeGroup
from tests.cast import build_cast
from tests.proposals import proposed_group

BASE = "/api/v1/clusters/lab/groups"


@pytest.fixture
def admin(db: None) -> APIClient:
    cast = build_cast()
    cluster = Cluster.objects.create(slug="lab", name="Lab", kind="kueue_volcano")
    proposed_group(cluster, "fresh", nodes=3)
    client = APIClient()
    client.force_authenticate(cast.users["admin"])
    return client


def test_a_group_is_read_confirmed_and_edited(admin: APIClient) -> None:
    (proposal,) = admin.get(BASE).json()["groups"]
    assert (proposal["state"], proposal["nodes"], proposal["capacity"], proposal["version"]) == ("proposed", 3, 12, 0)
    trial = admin.post(f"{BASE}/fresh/confirm", {"title": "Halls", "dry_run": True}, format="json").json()
    assert (trial["dry_run"], trial["state"]) == (True, "proposed")
    done = admin.post(f"{BASE}/fresh/confirm", {"title": "Halls"}, format="json").json()
    assert (done["state"], done["title"], done["confirmed_by"], done["nodes"]) == ("confirmed", "Halls", "admin", 3)
    narrower = {"selector": {"pool": "fresh", "rack": "r1"}, "expected_version": 0}
    seen = admin.patch(f"{BASE}/fresh", {**narrower, "dry_run": True}, format="json").json()
    assert seen["membership"]["leaves"] == ["fresh-2"] and seen["nodes"] == 3
    assert admin.patch(f"{BASE}/fresh", narrower, format="json").json()["nodes"] == 2
    second = admin.patch(f"{BASE}/fresh", narrower, format="json")
    assert (second.status_code, second.json()["errors"][0]["code"]) == (409, "changed_meanwhile")
    detail = admin.get(f"{BASE}/fresh").json()
    assert detail["node_names"] == ["fresh-1", "fresh-3"] and detail["version"] == 1


@pytest.mark.parametrize(
    ("sent", "code", "attr"),
    [
        ({"selector": {"pool": "nowhere"}}, "no_nodes", "selector"),
        ({"selector": {"pool": 7}}, "invalid", "selector"),
        ({"title": "\u0007"}, "invisible", "title"),
        ({"position": "first"}, "invalid", "position"),
        ({"expected_version": "1"}, "invalid", "expected_version"),
        ({"dry_run": "yes"}, "not_a_boolean", "dry_run"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(admin: APIClient, sent: dict[str, object], code: str, attr: str) -> None:
    answer = admin.post(f"{BASE}/fresh/confirm", sent, format="json")
    assert answer.status_code == 400
    assert [(each["code"], each["attr"]) for each in answer.json()["errors"]] == [(code, attr)]


def test_what_is_proposed_cannot_be_edited_and_what_is_put_aside_comes_back(admin: APIClient) -> None:
    answer = admin.patch(f"{BASE}/fresh", {"title": "x"}, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (409, "not_confirmed")
    assert admin.post(f"{BASE}/fresh/aside", {}, format="json").json()["state"] == "aside"
    assert admin.post(f"{BASE}/fresh/propose", {}, format="json").json()["state"] == "proposed"
    assert not NodeGroup.objects.filter(cluster__slug="lab").exists()
