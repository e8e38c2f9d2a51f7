"""No request takes the database or the memory for as long as it likes."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys

import pytest
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from accounts.services import token_create
from tests.cast import Cast, build_cast
from tests.stage import BODY

SHOW = """
import console.wsgi
from django.db import connection
with connection.cursor() as cursor:
    for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
        cursor.execute(f"SHOW {name}")
        print(cursor.fetchone()[0])
"""


def test_a_web_process_waits_for_the_database_within_bounds() -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "console.settings.test", "PYTHONPATH": ".:platform"}
    environment.pop("PGOPTIONS", None)
    shown = subprocess.run(
        [sys.executable, "-c", SHOW], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert shown.stdout.split() == ["15s", "10s", "30s"], shown.stderr


def _slow(request: HttpRequest) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '20ms'")
        cursor.execute("SELECT pg_sleep(5)")
    return HttpResponse()


urlpatterns = [path("slow/", _slow), path("api/slow/", _slow)]
handler500 = "console.pages.server_error"


@pytest.mark.urls(__name__)
@pytest.mark.parametrize("address", ["/slow/", "/api/slow/"])
def test_what_takes_too_long_is_ended_and_may_be_tried_again(db: None, address: str) -> None:
    response = Client(raise_request_exception=False).get(address)
    assert response.status_code == 503
    assert response.headers["Retry-After"]


@pytest.fixture
def cast(db: None) -> Cast:
    return build_cast()


def _send(cast: Cast, body: bytes, **headers: str) -> HttpResponse:
    token = token_create(actor=cast.actor("eng-vision-1"), name="script")[1]
    return Client(headers={"authorization": f"Token {token}", **headers}).post(
        "/api/v1/jobs", body, content_type="application/json"
    )


def test_a_packed_body_is_not_unpacked(cast: Cast) -> None:
    bomb = gzip.compress(b" " * 50_000_000 + json.dumps(BODY).encode())
    assert _send(cast, bomb, **{"content-encoding": "gzip"}).status_code == 400


def test_a_body_is_read_up_to_two_megabytes(cast: Cast) -> None:
    assert _send(cast, json.dumps({**BODY, "command": "x" * 3_000_000}).encode()).status_code == 413


@pytest.mark.parametrize(
    ("field", "value", "more"),
    [
        ("cards", 10**9, {}),
        ("cards", "0x10", {}),
        ("cards", 1e30, {}),
        ("cards", -1, {}),
        ("replicas", 10**9, {"kind": "inference"}),
        ("replicas", "1e9", {"kind": "inference"}),
        ("retry_limit", 10**9, {}),
        ("max_run_seconds", -1, {}),
        ("max_run_seconds", 10**18, {}),
        ("cpu", "1e30", {"cards": 0}),
        ("cpu", "0x10", {"cards": 0}),
        ("cpu", "-1", {"cards": 0}),
        ("cpu", "NaN", {"cards": 0}),
        ("memory", "99999999999999999999Ei", {"cards": 0}),
        ("memory", "1e400", {"cards": 0}),
        ("env", {f"N{number}": "x" * 1_000 for number in range(1_500)}, {}),
        ("datasets", ["x"] * 10_000, {}),
        ("command", "x" * 1_000_000, {}),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_number_beyond_sense_is_refused_at_its_field(cast: Cast, field: str, value: object, more: dict) -> None:
    answer = _send(cast, json.dumps({**BODY, **more, field: value}).encode())
    assert answer.status_code == 400
    assert field in {error["attr"].split(".")[0] for error in answer.json()["errors"]}
