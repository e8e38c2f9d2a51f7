"""Signing in: throttled per name and per address, no word about who exists, a fresh session, ended with the account."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from console.settings import base
from tests.cast import PASSWORD, Cast

WRONG = "not the password at all"


@pytest.fixture(autouse=True)
def _nobody_counted_yet() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def _sign_in(client: Client, username: str, password: str) -> int:
    return client.post("/sign-in/", {"login": username, "password": password}).status_code


def _is_in(client: Client) -> bool:
    return client.get("/api/v1/me").status_code == 200


def test_the_right_password_signs_in_and_out_again(cast: Cast) -> None:
    client = Client()
    assert _sign_in(client, "eng-vision-1", PASSWORD) == 302 and _is_in(client)
    assert client.get("/sign-out/").status_code == 200 and _is_in(client)
    assert client.post("/sign-out/").status_code == 302 and not _is_in(client)


def test_guessing_one_persons_password_from_many_addresses_is_stopped(cast: Cast) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for number in range(50):
            assert _sign_in(Client(REMOTE_ADDR=f"192.0.2.{number}"), "eng-vision-1", WRONG) == 200
        client = Client(REMOTE_ADDR="192.0.2.200")
        assert _sign_in(client, "eng-vision-1", PASSWORD) == 200 and not _is_in(client)
        assert _sign_in(client, "eng-vision-2", PASSWORD) == 302
        clock.shift(timedelta(hours=1, minutes=1))
        client = Client(REMOTE_ADDR="192.0.2.200")
        assert _sign_in(client, "eng-vision-1", PASSWORD) == 302 and _is_in(client)


def test_without_the_cache_people_sign_in_and_guessing_is_stopped_all_the_same(cast: Cast, settings: Any) -> None:
    """The real backend; nothing listens at its address."""
    settings.CACHES = base.CACHES
    with time_machine.travel(timezone.now(), tick=False):
        assert _sign_in(Client(REMOTE_ADDR="192.0.2.9"), "eng-vision-1", PASSWORD) == 302
        for number in range(50):
            assert _sign_in(Client(REMOTE_ADDR=f"192.0.2.{number}"), "eng-vision-1", WRONG) == 200
        client = Client(REMOTE_ADDR="192.0.2.200")
        assert _sign_in(client, "eng-vision-1", PASSWORD) == 200 and not _is_in(client)


def test_an_address_that_tries_many_names_is_stopped(cast: Cast) -> None:
    with time_machine.travel(timezone.now(), tick=False):
        for number in range(20):
            _sign_in(Client(REMOTE_ADDR="192.0.2.8"), f"person-{number}", WRONG)
        client = Client(REMOTE_ADDR="192.0.2.8")
        assert _sign_in(client, "eng-vision-1", PASSWORD) == 200 and not _is_in(client)
        assert _sign_in(Client(REMOTE_ADDR="192.0.2.9"), "eng-vision-1", PASSWORD) == 302


def test_a_flood_of_attempts_is_answered_429(cast: Cast) -> None:
    with time_machine.travel(timezone.now(), tick=False):
        statuses = [_sign_in(Client(REMOTE_ADDR="192.0.2.8"), f"person-{number}", WRONG) for number in range(70)]
    assert statuses[0] == 200 and statuses[-1] == 429


def test_a_wrong_name_and_a_wrong_password_read_alike(cast: Cast) -> None:
    def told(username: str) -> str:
        answer = Client().post("/sign-in/", {"login": username, "password": WRONG})
        page = re.sub(r' nonce="[^"]*"', "", answer.content.decode())
        lines = page.replace(username, "…").splitlines()
        return "\n".join(line for line in lines if "csrf" not in line)

    assert told("eng-vision-1") == told("nobody-here1")


def test_a_session_gets_a_fresh_key_at_sign_in(cast: Cast) -> None:
    client = Client()
    client.get("/sign-in/")
    before = client.session.session_key
    _sign_in(client, "eng-vision-1", PASSWORD)
    assert client.session.session_key not in {before, None}


def test_a_disabled_person_cannot_sign_in_and_is_out_at_once(cast: Cast) -> None:
    client = Client()
    _sign_in(client, "eng-vision-1", PASSWORD)
    user = cast.users["eng-vision-1"]
    user.is_active = False
    user.save()
    assert not _is_in(client)
    fresh = Client()
    answer = fresh.post("/sign-in/", {"login": "eng-vision-1", "password": PASSWORD}, follow=True)
    assert "This account is disabled. Ask a platform admin." in answer.content.decode()
    assert not _is_in(fresh)


@pytest.mark.parametrize("address", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "/jobs/"])
def test_sign_in_leads_back_into_the_console_only(cast: Cast, address: str) -> None:
    client = Client()
    answer = client.post("/sign-in/", {"login": "eng-vision-1", "password": PASSWORD, "next": address})
    assert answer.status_code == 302
    assert answer["Location"] == ("/jobs/" if address == "/jobs/" else "/")
