"""The headers of every answer: of every address, for everybody, and of what no view ever sees."""

from __future__ import annotations

import re

import pytest
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path, reverse

from tests.cast import build_cast
from tests.policy.addresses import ACTORS, MATRIX
from tests.policy.test_every_address import Scene


def directives(response: HttpResponse) -> dict[str, str]:
    """The content security policy of an answer."""
    parts = (part.strip().partition(" ") for part in response.headers["Content-Security-Policy"].split(";"))
    return {name: value.strip() for name, _, value in parts if name}


def complaints(response: HttpResponse) -> list[str]:
    """What an answer's headers lack."""
    headers, policy = response.headers, directives(response)
    expected = {
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    found = [f"{name}: {headers.get(name)}" for name, value in expected.items() if headers.get(name) != value]
    if "camera=()" not in headers.get("Permissions-Policy", ""):
        found.append("no Permissions-Policy")
    for name in ("default-src", "base-uri", "frame-ancestors"):
        if policy.get(name) != "'none'":
            found.append(f"{name} {policy.get(name)}")
    if policy["form-action"] not in {"'self'", "'none'"}:
        found.append(f"form-action {policy['form-action']}")
    if re.search(r"unsafe|strict-dynamic|https?:|\*", " ".join(policy.values())):
        found.append(f"too much is allowed: {policy}")
    return found


def scripts_without_nonce(response: HttpResponse) -> list[str]:
    """Script tags of a page that its own policy would refuse."""
    named = re.search(r"'nonce-([^']+)'", directives(response).get("script-src", ""))
    tags = re.findall(r"<script\b[^>]*>", response.content.decode())
    return [tag for tag in tags if named is None or f'nonce="{named[1]}"' not in tag]


def _static(client: Client, **headers: str) -> HttpResponse:
    """A static file, closed again as a server would."""
    response = client.get("/static/sluice/console.css", headers=headers)
    response.close()
    return response


@pytest.fixture
def scene(db: None) -> Scene:
    return Scene(build_cast())


@pytest.mark.parametrize("actor", ["stranger", "owner", "admin"])
def test_every_answer_of_every_address_has_them_all(scene: Scene, actor: str) -> None:
    """Read, written as the matrix says, asked for with a method it has not, and asked for what does not exist."""
    client, found = scene.client(actor), []
    for name, rows in MATRIX.items():
        address = scene.address(name)
        kind = {"content_type": "application/json"} if address.startswith("/api/") else {}
        for method in {"GET", "PATCH", *rows}:
            with transaction.atomic():
                data = rows[method].body if method in rows and method != "GET" else {}
                found += _wrong(f"{method} {name}", getattr(client, method.lower())(address, data, **kind))
                transaction.set_rollback(True)
        found += _wrong(f"missing {name}", client.get(scene.address(name, missing=True)))
    assert found == []


def _wrong(question: str, response: HttpResponse) -> list[str]:
    wrong = complaints(response)
    if "no-store" not in response.headers.get("Cache-Control", ""):
        wrong.append("may be kept by a cache")
    if response.headers.get("Content-Type", "").startswith("text/html") and not response.streaming:
        wrong += scripts_without_nonce(response)
    return [f"{question} {response.status_code}: {complaint}" for complaint in wrong]


def test_what_no_view_sees_has_them_too(scene: Scene) -> None:
    client = Client()
    answers = [
        _static(client),
        client.get("/static/nothing.css"),
        client.get("/nowhere/"),
        client.get("/jobs"),  # led on to /jobs/
        client.get("/jobs/", headers={"host": "evil.example"}),
        client.get("/api/v1/jobs", headers={"host": "evil.example"}),
        client.post("/account/language/", {"language": "xx"}),
    ]
    assert [response.status_code for response in answers] == [200, 404, 404, 301, 400, 400, 400]
    assert [complaints(response) for response in answers] == [[]] * len(answers)


def test_the_operators_pages_run_the_scripts_of_this_site(scene: Scene) -> None:
    client = scene.client("admin")
    pages = [reverse("admin:index"), reverse("admin:jobs_job_changelist"), reverse("admin:jsi18n")]
    for page in [*pages, reverse("admin:jobs_job_change", args=[scene.job.pk])]:
        response = client.get(page)
        assert response.status_code == 200
        assert complaints(response) == []
        assert directives(response)["script-src"] == "'self'"


@pytest.mark.parametrize("actor", list(ACTORS))
def test_each_page_has_a_nonce_of_its_own_and_its_fragment_none(scene: Scene, actor: str) -> None:
    client = scene.client(actor)
    nonces = {directives(client.get("/jobs/", follow=True))["script-src"] for _ in range(3)}
    assert len(nonces) == 3
    if actor != "stranger":
        fragment = client.get("/jobs/", headers={"HX-Request": "true"})
        assert directives(fragment)["script-src"] == ""


def _break(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("with a secret")


urlpatterns = [path("broken/", _break), path("api/broken/", _break)]
handler500 = "console.pages.server_error"


@pytest.mark.urls(__name__)
@pytest.mark.parametrize("address", ["/broken/", "/api/broken/"])
def test_an_answer_that_broke_has_them_and_tells_nothing(db: None, address: str) -> None:
    response = Client(raise_request_exception=False).get(address)
    assert response.status_code == 500
    assert complaints(response) == []
    assert "secret" not in response.content.decode()
    assert address.startswith("/api") or scripts_without_nonce(response) == []


@override_settings(
    SECURE_SSL_REDIRECT=True,
    SECURE_HSTS_SECONDS=31_536_000,
    SECURE_HSTS_INCLUDE_SUBDOMAINS=True,
    SECURE_HSTS_PRELOAD=True,
    SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"),
)
def test_behind_tls_everything_is_strict_and_the_way_there_too(scene: Scene) -> None:
    client = Client()
    plain = client.get("/jobs/")
    assert (plain.status_code, plain["Location"]) == (301, "https://testserver/jobs/")
    assert client.get("/jobs/", headers={"host": "evil.example"}).status_code == 400
    assert complaints(plain) == []
    tls = {"x-forwarded-proto": "https"}
    for response in (_static(client, **tls), *(client.get(page, headers=tls) for page in ("/sign-in/", "/nowhere/"))):
        assert response.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains; preload"
        assert complaints(response) == []


def test_a_static_file_may_be_kept_and_nothing_else(db: None) -> None:
    assert "no-store" not in _static(Client()).headers["Cache-Control"]


def test_no_htmx_of_a_page_may_evaluate_load_scripts_or_ask_elsewhere(scene: Scene) -> None:
    page = scene.client("owner").get("/jobs/").content.decode()
    for setting in (
        '"allowEval": false',
        '"allowScriptTags": false',
        '"includeIndicatorStyles": false',
        '"selfRequestsOnly": true',
        '"historyCacheSize": 0',
    ):
        assert setting in page
