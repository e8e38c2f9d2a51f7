"""What comes from elsewhere: forged requests, reading that writes, ways out to other sites, addresses that try more."""

from __future__ import annotations

import logging
import re
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.http import HttpResponse
from django.test import Client

from accounts.services import token_create
from tests.cast import PASSWORD, build_cast
from tests.policy.addresses import MATRIX
from tests.policy.test_every_address import Scene
from tests.services.support import row_counts

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
PAGES_THAT_WRITE = sorted(name for name, rows in MATRIX.items() if "POST" in rows and not name.startswith("api:"))
API_THAT_WRITES = [
    (name, method) for name, rows in MATRIX.items() if name.startswith("api:") for method in rows if method != "GET"
]


@pytest.fixture
def scene(db: None) -> Scene:
    return Scene(build_cast())


def careful(scene: Scene, username: str) -> Client:
    """A browser whose forged requests are checked as a server checks them."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(scene.cast.users[username], backend=BACKEND)
    return client


def contents() -> dict[str, str]:
    """A sum over every row of every table that is about more than the visit itself."""
    tables = set(connection.introspection.django_table_names(only_existing=True))
    found = {}
    with connection.cursor() as cursor:
        for table in sorted(tables - {"django_session", "usersessions_usersession"}):
            cursor.execute(f"SELECT md5(coalesce(string_agg(r::text, '|' ORDER BY r::text), '')) FROM \"{table}\" r")
            found[table] = cursor.fetchone()[0]
    return found


# --------------------------------------------------------------------------- requests that others make a browser send


@pytest.mark.parametrize("username", ["admin", "lead-vision"])
def test_no_page_takes_a_form_that_it_did_not_give_out(scene: Scene, username: str) -> None:
    client = careful(scene, username)
    client.get("/account/tokens/")
    right = client.cookies[settings.CSRF_COOKIE_NAME].value
    before = row_counts()
    for name in PAGES_THAT_WRITE:
        address, body = scene.address(name), MATRIX[name]["POST"].body
        forged: list[tuple[dict[str, Any], dict[str, str]]] = [
            (body, {}),
            (body, {"HX-Request": "true"}),
            ({**body, "csrfmiddlewaretoken": "x" * 64}, {}),
            ({**body, "csrfmiddlewaretoken": right}, {"origin": "https://evil.example"}),
            ({**body, "csrfmiddlewaretoken": right}, {"origin": "null"}),
        ]
        for fields, headers in forged:
            answer = client.post(address, fields, headers=headers)
            assert answer.status_code == 403, (name, headers)
    assert row_counts() == before


@pytest.mark.parametrize(
    ("name", "method"), API_THAT_WRITES, ids=[f"{method} {name}" for name, method in API_THAT_WRITES]
)
def test_the_api_takes_no_session_without_its_token_against_forgery(scene: Scene, name: str, method: str) -> None:
    client = careful(scene, "admin")
    kind = {"content_type": "application/zip" if name == "api:archives" else "application/json"}
    for headers in ({}, {"origin": "https://evil.example"}, {"HX-Request": "true"}):
        answer = getattr(client, method.lower())(scene.address(name), {}, **kind, headers=headers)
        assert answer.status_code == 403, headers


@pytest.mark.parametrize("actor", ["stranger", "owner", "lead", "admin"])
def test_reading_changes_nothing(scene: Scene, actor: str) -> None:
    client = scene.client(actor)
    before = contents()
    for name in MATRIX:
        for headers in ({}, {"HX-Request": "true"}):
            answer = client.get(scene.address(name), headers=headers)
            b"".join(answer.streaming_content) if answer.streaming else answer.content
        client.head(scene.address(name))
    assert contents() == before


# --------------------------------------------------------------------------- ways out

ELSEWHERE = [
    "https://evil.example/",
    "//evil.example/",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https:evil.example",
    "http:///evil.example",
    "javascript:alert(1)",
    " https://evil.example",
    "\t//evil.example",
    "https://testserver@evil.example/",
    "https://testserver.evil.example/",
]


@pytest.mark.parametrize("target", ELSEWHERE)
def test_nobody_is_led_to_another_site(scene: Scene, target: str) -> None:
    stranger, owner = Client(), scene.client("owner")
    sign_in = {"login": "eng-vision-1", "password": PASSWORD, "next": target}
    answers = [
        stranger.post("/account/language/", {"language": "en", "next": target}),
        owner.post("/account/language/", {"language": "en", "next": target}),
        owner.get(f"/sign-in/?next={quote(target)}"),
        owner.post("/jobs/bulk/", {"operation": "cancel", "ids": "x", "next": target, "back": target, "sure": "1"}),
        owner.post(f"/sign-out/?next={quote(target)}", {"next": target}),
        stranger.post(f"/sign-in/?next={quote(target)}", sign_in),
    ]
    assert sum(answer.status_code == 302 for answer in answers) >= 4
    for answer in answers:
        assert re.match(r"/(?![/\\])", answer.headers.get("Location", "/")), answer.headers["Location"]


@pytest.mark.parametrize(
    "target", ["NaN", "home", "jobs:list", "", "x/y", "?", "a\x00b", "/a\r\nX-Evil: 1", "x" * 9_000]
)
def test_where_nobody_can_be_led_is_passed_over(scene: Scene, target: str) -> None:
    """Neither taken for the name of a page nor for a header, and what was asked for is done."""
    stranger, owner = Client(), scene.client("owner")
    answers = [
        stranger.post("/account/language/", {"language": "en", "next": target}),
        owner.post(
            "/jobs/bulk/", {"operation": "hold", "ids": scene.job.public_id, "next": target, "confirmed": "yes"}
        ),
        stranger.post("/sign-in/", {"login": "eng-vision-1", "password": PASSWORD, "next": target}),
    ]
    assert [answer.status_code for answer in answers] == [302] * 3
    assert all("X-Evil" not in answer.headers and "\n" not in answer["Location"] for answer in answers)
    assert {answer["Location"] for answer in answers[:2]} <= {"/", "/jobs/", "/a%0D%0AX-Evil:%201"}
    scene.job.refresh_from_db()
    assert scene.job.held


# --------------------------------------------------------------------------- addresses that try more

STRANGE = ["..", "%2e%2e%2f", "a%2fb", "%00", "%0d%0aX-Evil:1", "\u202e", "x" * 300, "'--", "*", "{}", "1e30", "%ff"]


@pytest.mark.parametrize("part", STRANGE)
def test_no_part_of_an_address_reaches_further_than_a_name(scene: Scene, part: str) -> None:
    client = scene.client("admin")
    client.raise_request_exception = False
    for name, rows in MATRIX.items():
        known = scene.address(name)
        for value in {value for key, value in scene.arguments.get(name, {}).items() if isinstance(value, str)} | {
            scene.job.public_id
        }:
            if f"/{value}" not in known:
                continue
            address = known.replace(f"/{value}", "/" + (part if "%" in part else quote(part)))
            for method in rows:
                with transaction.atomic():
                    body = rows[method].body if method != "GET" else {}
                    kind = {"content_type": "application/json"} if known.startswith("/api/") else {}
                    answer = getattr(client, method.lower())(address, body, **({} if method == "GET" else kind))
                    transaction.set_rollback(True)
                assert answer.status_code < 500, (method, address)
                assert "X-Evil" not in answer.headers


def test_a_line_of_the_log_is_one_line(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = Client(headers={"user-agent": "x" * 1_000_000})
    client.get("/nowhere/%0aERROR%20forged%0d%0aline\u2028")
    client.post("/sign-in/", {"login": "x\nERROR forged", "password": "y"})
    client.get("/jobs/", headers={"host": "evil\r\nERROR forged"})
    lines = [record.getMessage() for record in caplog.records]
    assert lines
    assert [line for line in lines if re.search("[\r\n\u2028]", line)] == []
    assert max(map(len, lines)) < 10_000


# --------------------------------------------------------------------------- signing in


def _sign_in(client: Client, login: str, password: str) -> HttpResponse:
    return client.post("/sign-in/", {"login": login, "password": password})


def test_a_wrong_password_and_an_unknown_name_are_told_alike(scene: Scene) -> None:
    def told(login: str) -> tuple[int, str]:
        answer = _sign_in(Client(), login, "wrong")
        text = re.sub(r'(nonce|value|name="next")="[^"]*"', "", answer.content.decode().replace(login, ""))
        return answer.status_code, text

    assert told("eng-vision-1") == told("nobody-at-all")


def test_a_session_gets_a_new_key_at_sign_in(scene: Scene) -> None:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = "a" * 32
    assert _sign_in(client, "eng-vision-1", PASSWORD).status_code == 302
    first = client.cookies[settings.SESSION_COOKIE_NAME].value
    assert first != "a" * 32
    client.post("/sign-out/")
    assert Client(headers={"cookie": f"{settings.SESSION_COOKIE_NAME}={first}"}).get("/jobs/").status_code == 302


def test_a_browser_of_any_name_may_sign_in(scene: Scene) -> None:
    client = Client(headers={"user-agent": "x" * 1_000_000 + "\x00"})
    assert _sign_in(client, "eng-vision-1", PASSWORD).status_code == 302
    assert client.get("/jobs/").status_code == 200


@pytest.mark.parametrize("name", ["token", "Authorization", "auth_token", "access_token", "api_key"])
def test_a_token_in_an_address_is_no_token(scene: Scene, name: str) -> None:
    _token, text = token_create(actor=scene.cast.actor("eng-vision-1"), name="script")
    for value in (text, f"Token {text}"):
        assert Client().get("/api/v1/me", {name: value}).status_code == 401
