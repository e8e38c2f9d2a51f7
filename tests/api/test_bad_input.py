"""What a program may send by mistake or on purpose: a clear refusal at its field, nothing stored, never a 500."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rest_framework.response import Response
from rest_framework.test import APIClient

from accounts.models import User
from tests.cast import Cast, build_cast
from tests.services.support import row_counts
from tests.stage import BODY


@pytest.fixture
def cast(db: None) -> Cast:
    return build_cast()


def refused(username: str, method: str, path: str, body: str | None = None) -> tuple[int, list[tuple[str | None, str]]]:
    """The answer to a request that must change nothing: its status, and (field, code) of every problem."""
    client = APIClient(raise_request_exception=False)
    client.force_authenticate(User.objects.get(username=username))
    before = row_counts()
    answer: Response = client.generic(method, f"/api/v1/{path}", body or "", "application/json")
    assert row_counts() == before
    return answer.status_code, [(problem["attr"], problem["code"]) for problem in answer.json()["errors"]]


@pytest.mark.parametrize(
    ("method", "path", "field", "rest"),
    [
        ("PATCH", "me", "time_zone", {}),
        ("PATCH", "me", "language", {}),
        ("POST", "tokens", "name", {}),
        ("POST", "teams", "name", {}),
        ("POST", "people", "username", {}),
        ("POST", "people", "name", {"username": "new"}),
        ("POST", "people", "password", {"username": "new"}),
        ("POST", "people", "team", {"username": "new"}),
    ],
)
@pytest.mark.parametrize(
    ("text", "code"), [("a long enough text\x00", "nul"), ("a long enough text\ud800", "half_character")], ids=ascii
)
def test_a_text_that_no_column_takes_is_a_problem_of_its_field(
    cast: Cast, method: str, path: str, field: str, rest: dict[str, Any], text: str, code: str
) -> None:
    assert refused("admin", method, path, json.dumps({**rest, field: text})) == (400, [(field, code)])


def test_a_share_for_a_team_of_an_impossible_name_is_refused(cast: Cast) -> None:
    body = json.dumps({"shares": {"\ud800": 1}})
    answer = refused("admin", "PUT", "clusters/sandbox/groups/h100/shares", body)
    assert answer == (400, [("shares", "unknown_team")])


@pytest.mark.parametrize("zone", ["x", "../../etc/passwd", "America", "Europe/berlin", "a" * 300])
def test_a_time_zone_that_does_not_exist_is_refused(cast: Cast, zone: str) -> None:
    body = json.dumps({"time_zone": zone})
    assert refused("eng-vision-1", "PATCH", "me", body) == (400, [("time_zone", "unknown")])
    assert User.objects.get(username="eng-vision-1").time_zone == ""


def test_a_user_name_is_refused_rather_than_cut(cast: Cast) -> None:
    body = json.dumps({"username": "x" * 151})
    assert refused("admin", "POST", "people", body) == (400, [("username", "too_long")])


def test_the_name_of_a_team_is_refused_rather_than_cut(cast: Cast) -> None:
    assert refused("admin", "POST", "teams", json.dumps({"name": "x" * 101})) == (400, [("name", "too_long")])


def test_a_storage_is_taken_away_only_by_somebody_who_says_so(cast: Cast) -> None:
    answer = refused("admin", "PUT", "teams/vision/storage", json.dumps({"console_folder": ""}))
    assert answer == (400, [("volume", "required")])


@pytest.mark.parametrize("field", ["priority_reason", "beneficiary", "until"])
def test_what_stands_beside_an_operation_must_be_text_too(cast: Cast, field: str) -> None:
    body = json.dumps({"operation": "cancel", "ids": ["x"], field: {}})
    assert refused("eng-vision-1", "POST", "jobs/bulk-operate", body) == (400, [(field, "not_text")])


def test_a_team_needs_a_name_that_can_be_seen(cast: Cast) -> None:
    assert refused("admin", "POST", "teams", json.dumps({"name": "\u200b"})) == (400, [("name", "blank")])


@pytest.mark.parametrize("path", ["tokens/%00", "tokens/x", "teams/vision/members/%00"])
def test_an_address_that_names_nothing_is_not_found(cast: Cast, path: str) -> None:
    assert refused("admin", "DELETE", path)[0] == 404


@pytest.mark.parametrize("name", ["state", "group", "team", "owner", "priority", "kind", "search"])
def test_a_filter_of_invisible_characters_is_answered(cast: Cast, name: str) -> None:
    client = APIClient()
    client.force_authenticate(cast.users["eng-vision-1"])
    assert client.get(f"/api/v1/jobs?{name}=%00").json()["results"] == []


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        json.dumps(BODY | {"env": json.loads("[" * 40 + "]" * 40)}),
    ],
    ids=["lists", "objects", "a deep field"],
)
def test_a_body_that_is_nested_without_sense_is_refused(cast: Cast, body: str) -> None:
    assert refused("eng-vision-1", "POST", "jobs", body) == (400, [(None, "parse_error")])
