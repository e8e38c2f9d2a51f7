"""Where one is signed in: listed, ended one by one or all but this one, and over with the password."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from allauth.usersessions.models import UserSession
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from accounts.access_services import sessions_end
from accounts.browsers import browser_name
from accounts.models import AuditEvent, User
from common.errors import NotAllowed
from tests.api.client import Api
from tests.cast import PASSWORD, Cast
from tests.services.support import refused

NAME = "eng-vision-1"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
NEW = "a whole new battery staple"


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


@pytest.fixture(autouse=True)
def _nobody_counted_yet() -> Iterator[None]:
    cache.clear()
    yield


def signed_in(username: str = NAME, *, address: str = "192.0.2.1", program: str = FIREFOX) -> Client:
    client = Client(REMOTE_ADDR=address, headers={"accept-language": "en", "user-agent": program})
    assert client.post("/sign-in/", {"login": username, "password": PASSWORD}).status_code == 302
    return client


def is_in(client: Client) -> bool:
    return client.get("/api/v1/me").status_code == 200


def listed(client: Client) -> list[str]:
    page = client.get("/account/sign-in/")
    assert page.status_code == 200
    return [row.session.ip for row in page.context["sessions"]]


def test_all_sessions_are_listed_this_one_first(cast: Cast) -> None:
    first, second = signed_in(address="192.0.2.1"), signed_in(address="192.0.2.2", program="curl/8.0")
    signed_in("eng-vision-2", address="192.0.2.3")
    assert listed(first) == ["192.0.2.1", "192.0.2.2"] and listed(second) == ["192.0.2.2", "192.0.2.1"]
    page = first.get("/account/sign-in/").content.decode()
    assert "Firefox on Linux" in page and "Unknown program" in page
    assert not [row.session_key for row in UserSession.objects.all() if row.session_key in page]


def test_a_session_that_began_before_sessions_were_listed_is_listed_when_looked_at(cast: Cast) -> None:
    client = Client(REMOTE_ADDR="192.0.2.5")
    client.force_login(cast.users[NAME], backend="allauth.account.auth_backends.AuthenticationBackend")
    assert listed(client) == ["192.0.2.5"]


def test_one_session_can_be_ended(cast: Cast) -> None:
    mine, other = signed_in(), signed_in(address="192.0.2.2")
    row = UserSession.objects.get(ip="192.0.2.2")
    stranger = signed_in("eng-vision-2")
    assert stranger.post(f"/account/sign-in/sessions/{row.pk}/end/").status_code == 404 and is_in(other)
    assert mine.post(f"/account/sign-in/sessions/{row.pk}/end/").status_code == 302
    assert is_in(mine) and not is_in(other) and listed(mine) == ["192.0.2.1"]
    assert mine.post(f"/account/sign-in/sessions/{row.pk}/end/").status_code == 404
    assert AuditEvent.objects.filter(action="sessions.end").count() == 1


def test_all_others_end_also_those_that_nobody_listed(cast: Cast) -> None:
    mine, other, unlisted = signed_in(), signed_in(address="192.0.2.2"), Client()
    unlisted.force_login(cast.users[NAME], backend="allauth.account.auth_backends.AuthenticationBackend")
    colleague, api = signed_in("eng-vision-2"), Api(NAME)
    assert mine.post("/account/sign-in/sessions/end/").status_code == 302
    assert is_in(mine) and listed(mine) == ["192.0.2.1"]
    assert not is_in(other) and not is_in(unlisted)
    assert is_in(colleague) and api.get("me")["username"] == NAME
    assert is_in(signed_in())


def test_a_new_password_ends_all_other_sessions_and_is_on_record(cast: Cast) -> None:
    mine, other, api = signed_in(), signed_in(address="192.0.2.2"), Api(NAME)
    fields = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    for wrong in ({"oldpassword": "not it"}, {"password2": "another"}, {"password1": "short", "password2": "short"}):
        assert mine.post("/account/password/", {**fields, **wrong}).status_code == 200
    assert is_in(other) and User.objects.get(username=NAME).check_password(PASSWORD)
    assert mine.post("/account/password/", fields).status_code == 302
    assert is_in(mine) and not is_in(other) and listed(mine) == ["192.0.2.1"]
    assert api.get("me")["username"] == NAME
    event = AuditEvent.objects.get(action="password.change")
    assert event.actor_name == NAME and NEW not in str(event.detail)


def test_when_a_session_was_seen_is_known_to_within_minutes(cast: Cast) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        client = signed_in()
        began = UserSession.objects.get().last_seen_at
        clock.shift(timedelta(minutes=4))
        client.get("/account/tokens/")
        assert UserSession.objects.get().last_seen_at == began
        clock.shift(timedelta(minutes=2))
        client.get("/jobs/", headers={"HX-Request": "true"})  # the page looks anew, not its reader
        assert UserSession.objects.get().last_seen_at == began
        client.get("/account/tokens/")
        assert UserSession.objects.get().last_seen_at == timezone.now()


def test_an_admin_ends_anybodys_and_nobody_else_does(cast: Cast) -> None:
    client, user = signed_in(), cast.users[NAME]
    for other in ("lead-vision", "eng-vision-2"):
        refused(lambda other=other: sessions_end(actor=cast.actor(other), user=user), NotAllowed)
    assert is_in(client)
    assert sessions_end(actor=cast.actor("admin"), user=user) == 1
    assert not is_in(client)
    sessions_end(actor=cast.actor(NAME), user=user)


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (FIREFOX, ("Firefox", "Linux")),
        (
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0",
            ("Edge", "Windows"),
        ),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 14_0) Version/17.0 Safari/605.1", ("Safari", "macOS")),
        ("Mozilla/5.0 (Linux; Android 15) Chrome/140.0 Mobile Safari/537.36", ("Chrome", "Android")),
        ("curl/8.0", ("", "")),
        ("", ("", "")),
    ],
)
def test_a_browser_is_called_by_its_name(program: str, name: tuple[str, str]) -> None:
    assert browser_name(program) == name
