"""Every field of every body with a value of every kind: an answer that says what is wrong, never a 500."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.services.fields import KNOWN_FIELDS
from tests.api.client import Api
from tests.cast import Cast
from tests.stage import BODY

ODD: list[Any] = [
    None, True, 0, -1, 1.5, 10**40, "", " ", "a\x00b", "\ud800", "\ufeff", "🚀" * 200, "x" * 70_000, [], [[None]],
    ["x"] * 1_000, {}, {"": ""}, {"a": {"b": {"c": []}}}, {"A": "\x00"}, {"A": "\ud800"}, "%(cards)s", "' OR 1=1 --",
]  # fmt: skip

BODIES: dict[tuple[str, str], tuple[dict[str, Any], frozenset[str]]] = {
    ("POST", "jobs"): (BODY, KNOWN_FIELDS | {"id", "state", "owner", "\x00", "\ud800", "x" * 5_000}),
    ("POST", "tokens"): ({"name": "x", "days": 7}, frozenset({"name", "days"})),
    ("PATCH", "me"): ({}, frozenset({"language", "time_zone", "username", "is_platform_admin"})),
    ("POST", "teams"): ({"name": "New"}, frozenset({"name", "slug"})),
    ("POST", "people"): (
        {"username": "new", "team": "vision"},
        frozenset({"username", "name", "password", "team", "role", "is_platform_admin"}),
    ),
    ("PUT", "clusters/sandbox/groups/h100/shares"): (
        {"shares": {"vision": 100}},
        frozenset({"shares", "expected_version", "dry_run"}),
    ),
}


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


def _name(value: object) -> str:
    return ascii(value)[:30]


@pytest.mark.parametrize(
    ("method", "path", "field"),
    [(method, path, field) for (method, path), (_body, fields) in BODIES.items() for field in sorted(fields)],
    ids=_name,
)
def test_no_value_of_a_field_breaks_anything(cast: Cast, method: str, path: str, field: str) -> None:
    username = "eng-vision-1" if path == "jobs" else "admin"
    api = Api(username)
    body, _fields = BODIES[method, path]
    for value in ODD:
        answer = api.call(method, path, {**body, field: value})
        assert answer.status_code in {200, 201, 400, 409, 413}, (_name(value), answer.status_code, answer.content[:200])
        if answer.status_code >= 400:
            assert all(error["detail"] and error["code"] for error in answer.json()["errors"]), _name(value)
    assert api.call("GET", "me").status_code == 200
    assert api.call("GET", "jobs").status_code == 200


def test_what_a_body_says_of_owner_team_state_or_space_changes_nothing(cast: Cast) -> None:
    """Mass assignment: fields of the row that are none of the body are refused, not taken over."""
    api = Api("eng-vision-1")
    for field in ("owner", "state", "id", "attempt", "namespace", "is_demo", "submitted_at", "salt", "held"):
        answer = api.call("POST", "jobs", {**BODY, field: "x"})
        assert answer.status_code == 400
        assert [(error["attr"], error["code"]) for error in answer.json()["errors"]] == [(field, "unknown_field")]


@pytest.mark.parametrize("query", ["state", "search", "group", "team", "owner", "priority", "kind", "cursor", "level"])
def test_no_value_of_a_query_breaks_anything(cast: Cast, query: str) -> None:
    api = Api("eng-vision-1")
    for value in (
        "%00",
        "%ff",
        "%ed%a0%80",
        "x" * 5_000,
        "%F0%9F%9A%80",
        "a&" + query + "=b",
        "1e9",
        "[]",
        "%25",
        "\\",
    ):
        for path in ("jobs", "quotas"):
            assert api.call("GET", f"{path}?{query}={value}").status_code in {200, 400}, (path, value)
