"""Who is let in: tokens that are there, valid, unrevoked, of somebody who may still sign in; nobody else."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts.models import ApiToken, AuditEvent, Membership
from accounts.services import team_archive
from tests.api.client import Api, errors_of, refused
from tests.cast import PASSWORD, Cast
from tests.stage import BODY

PATHS = ["me", "jobs", "quotas", "groups", "tokens", "teams", "jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV"]


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


@pytest.mark.parametrize("path", PATHS)
def test_nobody_is_let_in_without_a_token(cast: Cast, path: str) -> None:
    answer = Api(None).call("GET", path)
    assert errors_of(answer, 401) == [(None, "not_authenticated")]
    assert answer["WWW-Authenticate"] == "Token"


@pytest.mark.parametrize(
    "header",
    [
        "Token",
        "Token ",
        "Token a b",
        "Token " + "0" * 64,
        "Token " + "x" * 10_000,
        "Token schlüssel",
        "Token \xff\xfe",
        "Token \x80abc",
        "Bearer abc",
        "Basic YWRtaW46eA==",
        "token",
        "  ",
        ",",
    ],
    ids=ascii,
)
def test_a_header_that_is_no_token_is_a_401_in_the_one_shape(cast: Cast, header: str) -> None:
    answer = Client().get("/api/v1/me", headers={"Authorization": header})
    ((attr, code),) = errors_of(answer, 401)
    assert attr is None and code in {"authentication_failed", "not_authenticated"}


def test_a_token_works_until_its_end_and_not_after(cast: Cast) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        api = Api("eng-vision-1")
        clock.shift(timedelta(days=90) - timedelta(seconds=1))
        assert api.get("me")["username"] == "eng-vision-1"
        clock.shift(timedelta(seconds=2))
        assert refused(api, 401, "POST", "jobs", BODY) == [(None, "authentication_failed")]
        assert ApiToken.objects.filter(user=cast.users["eng-vision-1"]).count() == 1


def test_a_revoked_token_is_dead_at_once(cast: Cast) -> None:
    api, other = Api("eng-vision-1"), Api("eng-vision-1")
    (mine, *_rest) = sorted(api.get("tokens"), key=lambda token: token["created_at"])
    assert api.call("DELETE", f"tokens/{mine['id']}").status_code == 204
    assert refused(api, 401, "GET", "me") == [(None, "authentication_failed")]
    assert other.get("me")["username"] == "eng-vision-1"


def test_a_disabled_person_is_refused_at_the_next_request(cast: Cast) -> None:
    api = Api("eng-vision-1")
    cast.users["eng-vision-1"].is_active = False
    cast.users["eng-vision-1"].save()
    assert refused(api, 401, "POST", "jobs", BODY) == [(None, "authentication_failed")]
    cast.users["eng-vision-1"].is_active = True


def test_leaving_a_team_holds_from_the_next_request_on(cast: Cast) -> None:
    api = Api("eng-vision-1")
    job = api.submit(BODY)
    Membership.objects.filter(user=cast.users["eng-vision-1"]).delete()
    assert refused(api, 404, "GET", f"jobs/{job['id']}") == [(None, "not_found")]
    assert api.get("jobs")["results"] == []
    assert refused(api, 400, "POST", "jobs", BODY) == [("team", "no_team")]


def test_an_archived_team_takes_its_rights_along(cast: Cast) -> None:
    api = Api("eng-vision-1")
    job = api.submit(BODY)
    team_archive(actor=cast.actor("admin"), team=cast.teams["vision"])
    assert refused(api, 404, "GET", f"jobs/{job['id']}") == [(None, "not_found")]
    assert refused(api, 400, "POST", "jobs", {**BODY, "team": "vision"}) == [("team", "unknown_team")]
    assert Api("admin").get(f"jobs/{job['id']}")["team"] == "vision"


def test_only_the_hash_of_a_token_is_kept_and_its_text_is_shown_once(cast: Cast) -> None:
    api = Api("eng-vision-1")
    made = api.call("POST", "tokens", {"name": "nightly", "days": 7}).json()
    row = ApiToken.objects.get(public_id=made["id"])
    assert made["token"] not in str(ApiToken.objects.filter(pk=row.pk).values().get())
    assert row.digest == hashlib.sha512(made["token"].encode()).hexdigest()
    assert all("token" not in shown for shown in api.get("tokens"))
    assert Client().get("/api/v1/me", headers={"Authorization": f"Token {made['token']}"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, ("name", "blank")),
        ({"name": " "}, ("name", "blank")),
        ({"name": "x", "days": 0}, ("days", "out_of_range")),
        ({"name": "x", "days": 366}, ("days", "out_of_range")),
        ({"name": "x", "days": "7"}, ("days", "not_a_number")),
        ({"name": "x", "days": True}, ("days", "not_a_number")),
        ({"name": 7}, ("name", "not_text")),
    ],
)
def test_a_token_needs_a_name_and_an_end(cast: Cast, body: dict[str, Any], problem: tuple[str, str]) -> None:
    assert refused(Api("eng-vision-1"), 400, "POST", "tokens", body) == [problem]


def test_nobody_revokes_or_sees_tokens_of_others(cast: Cast) -> None:
    mine = Api("eng-vision-1").get("tokens")[0]["id"]
    for username in ("eng-vision-2", "lead-vision", "admin"):
        api = Api(username)
        assert refused(api, 404, "DELETE", f"tokens/{mine}") == [(None, "not_found")]
        assert mine not in str(api.get("tokens"))


def test_a_session_may_read_and_needs_the_csrf_token_to_write(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.login(username="eng-vision-1", password=PASSWORD)
    assert client.get("/api/v1/me").json()["username"] == "eng-vision-1"
    answer = client.post("/api/v1/jobs", BODY, content_type="application/json")
    assert errors_of(answer, 403) == [(None, "permission_denied")]


def test_the_token_of_an_act_is_on_record(cast: Cast) -> None:
    Api("eng-vision-1").submit(BODY)
    event = AuditEvent.objects.filter(action="job.submit").get()
    assert (event.actor_name, event.token_name) == ("eng-vision-1", "script")
