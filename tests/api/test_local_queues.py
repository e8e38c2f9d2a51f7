"""`/queues`: a lead's own local queues by script; every change can be tried without effect."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent
from quotas.limits import limits_let_in
from quotas.models import LocalQueue
from quotas.services import quota_plan
from tests.api.client import Api, refused
from tests.cast import Cast

KEYS = {
    "queue", "slug", "name", "team", "cluster", "state", "reason", "by", "since", "weight", "weighs", "is_default",
    "jobs", "most_cards", "most_cards_each", "limits",
}  # fmt: skip
NIGHT = {"queue": "vision", "name": "Night", "weight": 3}


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


def test_a_lead_makes_changes_stops_and_closes_a_queue(cast: Cast) -> None:
    api = Api("lead-vision")
    made = api.call("POST", "queues", NIGHT)
    assert made.status_code == 201 and set(made.json()) == KEYS
    assert (made.json()["slug"], made.json()["weight"], made.json()["weighs"]) == ("night", 3, False)
    assert api.call("PATCH", "queues/vision/night", {"name": "Late", "weight": 1}).json()["name"] == "Late"
    held = api.call("POST", "queues/vision/night/hold", {"reason": "Storage is moved"}).json()
    assert (held["state"], held["reason"], held["by"]) == ("held", "Storage is moved", "lead-vision")
    assert [q.held_local_queues for q in quota_plan(cast.cluster).queues if q.queue == "vision"] == [("night",)]
    assert api.call("POST", "queues/vision/night/drain", {"reason": "Over"}).json()["state"] == "draining"
    assert api.call("POST", "queues/vision/night/reopen").json()["state"] == "open"
    assert api.call("DELETE", "queues/vision/night").json()["state"] == "closed"
    assert refused(api, 404, "POST", "queues/vision/night/reopen") == [(None, "not_found")]
    assert [queue["slug"] for queue in api.get("queues")] == ["default"]


def test_another_default_is_chosen_with_true(cast: Cast) -> None:
    api = Api("lead-vision")
    api.call("POST", "queues", NIGHT)
    assert api.call("PATCH", "queues/vision/night", {"is_default": True}).json()["is_default"] is True
    assert [(q["slug"], q["is_default"]) for q in api.get("queues")] == [("night", True), ("default", False)]


@pytest.mark.parametrize(
    ("method", "path", "body", "answer"),
    [
        ("POST", "queues", NIGHT | {"name": "Day"}, {"slug": "day", "state": "open"}),
        ("PATCH", "queues/vision/night", {"name": "Late"}, {"slug": "night", "name": "Late"}),
        ("POST", "queues/vision/night/hold", {"reason": "x"}, {"state": "held", "reason": "x"}),
        ("POST", "queues/vision/night/drain", {"reason": "x"}, {"state": "draining"}),
        ("POST", "queues/vision/night/reopen", None, {"state": "open"}),
        ("DELETE", "queues/vision/night", None, {"state": "closed"}),
    ],
)
def test_a_dry_run_answers_what_would_be_and_keeps_nothing(
    cast: Cast, method: str, path: str, body: Any, answer: dict[str, Any]
) -> None:
    api = Api("lead-vision")
    api.call("POST", "queues", NIGHT)
    before = list(LocalQueue.objects.order_by("pk").values())
    for address, data in ((f"{path}?dry_run=true", body), (path, {**(body or {}), "dry_run": True})):
        found = api.call(method, address, data)
        assert found.status_code == 200
        assert answer.items() <= found.json().items()
    assert list(LocalQueue.objects.order_by("pk").values()) == before
    assert refused(api, 400, method, f"{path}?dry_run=perhaps", body) == [("dry_run", "not_a_boolean")]


@pytest.mark.parametrize(
    ("method", "path", "body", "problem", "status"),
    [
        ("POST", "queues", {"queue": "vision"}, ("name", "not_text"), 400),
        ("POST", "queues", {"name": "x"}, (None, "not_found"), 404),
        ("POST", "queues", {"queue": 1, "name": "x"}, ("queue", "not_text"), 400),
        ("POST", "queues", {"queue": "a\x00", "name": "x"}, ("queue", "not_text"), 400),
        ("POST", "queues", {"queue": "vision", "name": "x", "cluster": "elsewhere"}, (None, "not_found"), 404),
        ("PATCH", "queues/vision/default", {"weight": 0}, ("weight", "out_of_range"), 400),
        ("PATCH", "queues/vision/default", {"is_default": "yes"}, ("is_default", "not_a_boolean"), 400),
        ("PATCH", "queues/vision/none", {"weight": 1}, (None, "not_found"), 404),
        ("POST", "queues/vision/default/hold", {}, ("reason", "required"), 400),
        ("POST", "queues/vision/default/drain?cluster=%00", {"reason": "x"}, (None, "not_found"), 404),
        ("DELETE", "queues/vision/default", None, (None, "is_default"), 409),
    ],
)
def test_what_makes_no_sense_is_refused(
    cast: Cast, method: str, path: str, body: Any, problem: tuple[str | None, str], status: int
) -> None:
    assert refused(Api("lead-vision"), status, method, path, body) == [problem]


def test_a_dry_run_of_limits_tells_who_would_wait_and_who_is_above_them(cast: Cast) -> None:
    lead, engineer = Api("lead-vision"), Api("eng-vision-1")
    lead.call("POST", "queues", NIGHT)
    body = {"framework": "pytorch", "image": "registry.example/a:1", "cards": 2, "card_model": "h100"}
    body |= {"priority": "normal", "local_queue": "night"}
    jobs = [engineer.call("POST", "jobs", body).json()["id"] for _ in range(3)]
    queue = LocalQueue.objects.get(slug="night")
    limits_let_in(dict.fromkeys(jobs[:2], queue.pk), timezone.now())
    told = lead.call("PATCH", "queues/vision/night?dry_run=true", {"most_cards": 2}).json()
    assert (told["most_cards"], told["most_cards_each"]) == (2, None)
    assert told["limits"] == {
        "taken": 4,
        "waiting": 1,
        "waiting_jobs": [jobs[2]],
        "over": 1,
        "over_jobs": [jobs[1]],
    }
    assert [found["limits"] for found in lead.get("queues")] == [None, None]
    assert lead.call("PATCH", "queues/vision/night", {"most_cards": 2}).json()["limits"] == told["limits"]
    assert lead.call("PATCH", "queues/vision/night", {"name": "Late"}).json()["most_cards"] == 2
    assert lead.call("PATCH", "queues/vision/night", {"most_cards": None}).json()["limits"] is None
    assert refused(lead, 400, "PATCH", "queues/vision/night", {"most_cards": 10**10}) == [("most_cards", "too_large")]
    changes = AuditEvent.objects.filter(action="local_queue.change").order_by("pk").values_list("detail", flat=True)
    assert list(changes) == [{"most_cards": 2}, {"name": "Late"}, {"most_cards": None}]
