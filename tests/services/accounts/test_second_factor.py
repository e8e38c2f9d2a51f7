"""The second factor: set up after showing who one is, asked for at sign-in, sealed at rest, demanded of admins."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts.access_services import second_factor_remove
from accounts.models import AuditEvent, User
from common.errors import NotAllowed, NotFound
from common.secrets import unseal
from tests.api.client import Api
from tests.cast import PASSWORD, Cast
from tests.services.support import refused

NAME = "eng-vision-1"
SET_UP = "/account/second-factor/set-up/"


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


@pytest.fixture(autouse=True)
def _nobody_counted_yet() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def code_now(secret: str) -> str:
    return format_hotp_value(hotp_value(secret, int(timezone.now().timestamp()) // 30))


def signed_in(username: str = NAME) -> Client:
    client = Client(headers={"accept-language": "en"})
    assert client.post("/sign-in/", {"login": username, "password": PASSWORD}).status_code == 302
    return client


def confirmed(client: Client) -> Client:
    """It is really them: the password once more."""
    assert client.post("/account/confirm/", {"password": PASSWORD}).status_code == 302
    return client


def set_up(client: Client) -> tuple[str, list[str]]:
    """Turn the second factor on as a person does; the app's secret and the recovery codes."""
    page = confirmed(client).get(SET_UP)
    assert page.status_code == 200 and b"data:image/svg+xml;base64," in page.content
    secret = client.session["mfa.totp.secret"]
    assert secret in page.content.decode()
    answer = client.post(SET_UP, {"code": code_now(secret)}, follow=True)
    codes = answer.context["unused_codes"]
    assert len(codes) == 10 and all(code in answer.content.decode() for code in codes)
    return secret, codes


def is_in(client: Client) -> bool:
    return client.get("/api/v1/me").status_code == 200


def test_changing_it_asks_first_who_is_there(cast: Cast) -> None:
    client = signed_in()
    for address in (SET_UP, "/account/second-factor/codes/new/"):
        assert client.get(address)["Location"].startswith("/account/confirm/")
        assert client.post(address, {"code": "123456"})["Location"].startswith("/account/confirm/")
    assert client.post("/account/confirm/", {"password": "not it"}).status_code == 200
    assert client.get(SET_UP)["Location"].startswith("/account/confirm/")
    assert confirmed(client).get(SET_UP).status_code == 200
    with time_machine.travel(timezone.now() + timedelta(minutes=6)):
        assert client.get(SET_UP)["Location"].startswith("/account/confirm/")


def test_a_wrong_code_turns_nothing_on(cast: Cast) -> None:
    client = confirmed(signed_in())
    client.get(SET_UP)
    for wrong in ("000000", "", "x" * 500, "\x00"):
        assert client.post(SET_UP, {"code": wrong}).status_code == 200
    assert not Authenticator.objects.exists()


def test_with_it_on_the_password_alone_opens_nothing(cast: Cast) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        secret, codes = set_up(signed_in())
        client = Client(headers={"accept-language": "en"})
        answer = client.post("/sign-in/", {"login": NAME, "password": PASSWORD, "next": "/account/tokens/"})
        assert answer["Location"].startswith("/sign-in/code/") and not is_in(client)
        for address in ("/", "/account/sign-in/", SET_UP):
            assert client.get(address).status_code == 302 and not is_in(client)
        assert client.post("/sign-in/code/", {"code": "000000"}).status_code == 200 and not is_in(client)
        clock.shift(timedelta(seconds=60))
        answer = client.post("/sign-in/code/", {"code": code_now(secret)})
        assert answer["Location"] == "/account/tokens/" and is_in(client)
        again = Client()
        again.post("/sign-in/", {"login": NAME, "password": PASSWORD})
        again.post("/sign-in/code/", {"code": code_now(secret)})
        assert not is_in(again)  # a code opens the door once
        again.post("/sign-in/code/", {"code": codes[3]})
        assert is_in(again)
        third = Client()
        third.post("/sign-in/", {"login": NAME, "password": PASSWORD})
        third.post("/sign-in/code/", {"code": codes[3]})
        assert not is_in(third)  # so does a recovery code


def test_guessing_codes_is_stopped(cast: Cast) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        secret, _codes = set_up(signed_in())
        clock.shift(timedelta(seconds=60))
        for number in range(50):
            client = Client(REMOTE_ADDR=f"192.0.2.{number}")
            client.post("/sign-in/", {"login": NAME, "password": PASSWORD})
            client.post("/sign-in/code/", {"code": f"{number:06}"})
        client = Client(REMOTE_ADDR="192.0.2.200")
        client.post("/sign-in/", {"login": NAME, "password": PASSWORD})
        client.post("/sign-in/code/", {"code": code_now(secret)})
        assert not is_in(client)


def test_codes_are_shown_once(cast: Cast) -> None:
    client = signed_in()
    _secret, codes = set_up(client)
    page = client.get("/account/second-factor/codes/")
    assert page.status_code == 200 and not [code for code in codes if code in page.content.decode()]
    answer = client.post("/account/second-factor/codes/new/", follow=True)
    fresh = answer.context["unused_codes"]
    assert len(fresh) == 10 and not set(fresh) & set(codes)


def test_secrets_are_sealed_at_rest(cast: Cast) -> None:
    secret, codes = set_up(signed_in())
    stored = {row.type: row.data for row in Authenticator.objects.all()}
    assert unseal(stored["totp"]["secret"]) == secret
    assert secret not in str(stored) and not [code for code in codes if code in str(stored)]
    assert secret not in str(list(AuditEvent.objects.values()))


def test_every_change_is_on_record(cast: Cast, django_capture_on_commit_callbacks: Any) -> None:
    client = signed_in()
    with django_capture_on_commit_callbacks(execute=True):
        set_up(client)
    with django_capture_on_commit_callbacks(execute=True):
        client.post("/account/second-factor/codes/new/")
    assert client.post("/account/second-factor/remove/").status_code == 302
    assert not Authenticator.objects.exists()
    acts = AuditEvent.objects.filter(action__startswith="second_factor").order_by("pk")
    assert list(acts.values_list("action", "actor_name")) == [
        ("second_factor.add", NAME),
        ("second_factor.codes", NAME),
        ("second_factor.drop", NAME),
    ]


def test_a_token_asks_for_no_code(cast: Cast) -> None:
    api = Api(NAME)
    set_up(signed_in())
    assert api.get("me")["username"] == NAME


# --------------------------------------------------------------------------- platform admins must have one


@pytest.fixture
def demanded(settings: Any) -> None:
    settings.ADMIN_NEEDS_SECOND_FACTOR = True


def test_an_admin_without_one_gets_no_further_than_setting_it_up(cast: Cast, demanded: None) -> None:
    client, api = signed_in("admin"), Api("admin")
    for address in ("/", "/admin/nodes/", "/operator/", "/account/tokens/", "/account/sign-in/"):
        assert client.get(address)["Location"] == SET_UP
    assert client.get("/admin/jobs/", headers={"HX-Request": "true"})["HX-Redirect"] == SET_UP
    refusal = client.get("/api/v1/me")
    assert refusal.status_code == 403 and refusal.json()["errors"][0]["code"] == "second_factor_needed"
    assert client.get("/api/v1/me", headers={"Authorization": "Token nonsense"}).status_code == 401
    assert api.get("me")["is_platform_admin"]
    assert client.get("/readyz").status_code in {200, 503}
    set_up(client)
    assert client.get("/admin/nodes/").status_code == 200 and is_in(client)


def test_an_admin_who_must_have_one_cannot_remove_it(cast: Cast, demanded: None) -> None:
    client = signed_in("admin")
    set_up(client)
    page = client.get("/account/second-factor/remove/")
    assert page.status_code == 200 and b"sl-note-bad" in page.content
    client.post("/account/second-factor/remove/")
    assert Authenticator.objects.filter(type="totp").exists()


def test_nobody_else_is_asked(cast: Cast, demanded: None) -> None:
    assert signed_in("lead-vision").get("/account/tokens/").status_code == 200


# --------------------------------------------------------------------------- lost


def test_a_lost_one_is_removed_from_the_command_line(cast: Cast) -> None:
    client = signed_in()
    set_up(client)
    out = StringIO()
    call_command("second_factor_remove", NAME, stdout=out)
    assert NAME in out.getvalue() and not Authenticator.objects.exists() and not is_in(client)
    event = AuditEvent.objects.get(action="second_factor.remove")
    assert (event.actor_name, event.target_id) == ("command line", cast.users[NAME].public_id)
    assert is_in(signed_in())
    with pytest.raises(CommandError, match="no second factor"):
        call_command("second_factor_remove", NAME)
    with pytest.raises(CommandError, match="There is no person"):
        call_command("second_factor_remove", "nobody")


@pytest.mark.parametrize("username", ["lead-vision", "eng-vision-2", NAME])
def test_only_an_admin_removes_anothers(cast: Cast, username: str) -> None:
    set_up(signed_in())
    user = User.objects.get(username=NAME)

    def remove(by: str) -> Any:
        return second_factor_remove(actor=cast.actor(by), user=user)

    refused(lambda: remove(username), NotAllowed)
    remove("admin")
    refused(lambda: remove("admin"), NotFound)


# --------------------------------------------------------------------------- keys


OLD, NEWER = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXphYmNkZWY="


def test_second_factors_follow_a_change_of_keys(cast: Cast, settings: Any) -> None:
    settings.FERNET_KEYS = [OLD]
    secret, codes = set_up(signed_in())
    settings.FERNET_KEYS = [NEWER, OLD]
    out = StringIO()
    call_command("credentials_rotate", stdout=out)
    assert "mfa.Authenticator.data: 2 sealed anew" in out.getvalue()
    call_command("credentials_rotate", stdout=(again := StringIO()))
    assert "mfa.Authenticator.data: 0 sealed anew, 2 already" in again.getvalue()
    settings.FERNET_KEYS = [NEWER]
    assert unseal(Authenticator.objects.get(type="totp").data["secret"]) == secret
    client = Client()
    client.post("/sign-in/", {"login": NAME, "password": PASSWORD})
    client.post("/sign-in/code/", {"code": codes[0]})
    assert is_in(client)


def test_a_second_factor_whose_key_is_gone_opens_for_no_code_and_says_so(cast: Cast, settings: Any) -> None:
    settings.FERNET_KEYS = [OLD]
    _secret, codes = set_up(signed_in())
    settings.FERNET_KEYS = [NEWER]
    client = Client(headers={"accept-language": "en"})
    client.post("/sign-in/", {"login": NAME, "password": PASSWORD})
    for code in (codes[0], code_now("")):
        answer = client.post("/sign-in/code/", {"code": code})
        assert answer.status_code == 409 and "cannot be read any more" in answer.content.decode()
    assert not is_in(client)
