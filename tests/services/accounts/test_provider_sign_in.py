"""Signing in with an OpenID Connect provider: the whole code flow against a real one on loopback, and all its lies."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from werkzeug.wrappers import Response

from accounts.access_services import person_disable
from accounts.models import AuditEvent, Membership, Team, User
from accounts.oidc.provider import session_to
from accounts.services import membership_set
from tests.cast import Cast
from tests.services.accounts.provider import FakeProvider, running_provider
from tests.services.accounts.test_second_factor import SET_UP, code_now
from tests.services.support import refused

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib")  # of the provider, in its thread

UNTRUSTED = "Example ID sent an answer that cannot be trusted, so nobody was signed in."
SILENT = "Example ID does not answer properly now. Try again in a minute."
STALE = "This sign-in took too long, or it began in another window. Start again."
NO_TEAM = "Example ID knows you, but gives you no team here. Ask a platform admin which group you need."


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


@pytest.fixture(scope="module")
def _running() -> Iterator[FakeProvider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture
def provider(_running: FakeProvider, settings: Any) -> Iterator[FakeProvider]:
    cache.clear()
    settings.OIDC = _running.config()
    yield _running
    _running.change_token = _running.signing_key = None
    _running.answers.clear()
    _running.asked.clear()


def _begin(client: Client, **query: str) -> str:
    answer = client.get("/sign-in/provider/", query)
    assert answer.status_code == 302, answer.content
    return answer["Location"]


def _return(client: Client, address: str) -> HttpResponse:
    parts = urlsplit(address)
    return client.get(f"{parts.path}?{parts.query}")


def sign_in(provider: FakeProvider, sub: str, *, client: Client | None = None, **query: str) -> Client:
    """The whole way, as a browser goes it. Whether it led in is for the caller to see."""
    client = client or Client(headers={"accept-language": "en"})
    _return(client, provider.agree(_begin(client, **query), sub))
    return client


def is_in(client: Client) -> bool:
    return client.get("/api/v1/me").status_code == 200


def told(client: Client) -> str:
    """What the sign-in page says above its form."""
    return client.get("/sign-in/").content.decode().replace("&#x27;", "'")


def roles_of(username: str) -> dict[str, str]:
    rows = Membership.objects.filter(user__username=username)
    return dict(rows.values_list("team__slug", "role"))


# --------------------------------------------------------------------------- the way in


def test_a_new_person_comes_in_with_the_team_and_role_of_the_claim(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", name="Mei Lin", groups=["ml-vision-leads", "chess club"])
    client = sign_in(provider, "mei")
    me = client.get("/api/v1/me").json()
    assert (me["username"], me["name"], me["is_platform_admin"]) == ("mei", "Mei Lin", False)
    assert me["memberships"] == [{"team": "vision", "role": "lead"}]
    assert not User.objects.get(username="mei").has_usable_password()
    made = list(
        AuditEvent.objects.filter(actor_name="sign-in provider").order_by("pk").values_list("action", flat=True)
    )
    assert made == ["person.create", "membership.set"]


def test_the_browser_is_sent_with_state_nonce_and_a_challenge_and_nothing_it_chose(
    cast: Cast, provider: FakeProvider
) -> None:
    address = _begin(Client(), scope="admin", auth_params="prompt=none", process="connect")
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert set(query) == {
        "client_id", "redirect_uri", "scope", "response_type", "state", "nonce", "code_challenge",
        "code_challenge_method",
    }  # fmt: skip
    assert query["redirect_uri"] == "http://testserver/sign-in/provider/callback/"
    assert set(query["scope"].split()) == {"openid", "profile", "email"} and query["code_challenge_method"] == "S256"


def test_the_way_back_leads_to_where_one_wanted_to_go_and_never_elsewhere(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups="ml-vision")
    for wanted, reached in (("/account/tokens/", "/account/tokens/"), ("https://evil.example/", "/")):
        client = Client()
        answer = _return(client, provider.agree(_begin(client, next=wanted), "mei"))
        assert answer["Location"] == reached and is_in(client)


def test_the_sign_in_page_offers_the_provider_by_its_name(cast: Cast, provider: FakeProvider) -> None:
    page = told(Client(headers={"accept-language": "en"}))
    assert "Sign in with Example ID" in page and 'href="/sign-in/provider/"' in page
    assert "not told to anybody" not in page


def test_without_a_provider_there_is_no_button_and_no_address(cast: Cast, settings: Any) -> None:
    settings.OIDC = None
    client = Client()
    assert "/sign-in/provider/" not in told(client)
    for address in ("/sign-in/provider/", "/sign-in/provider/callback/?code=a&state=b"):
        assert client.get(address).status_code == 404


def test_a_person_without_a_password_has_no_password_to_change(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups="ml-vision")
    client = sign_in(provider, "mei")
    assert client.get("/account/password/").status_code == 404
    assert "Your teams and roles come from there" in client.get("/account/sign-in/").content.decode()


def test_a_session_from_the_provider_ends_after_some_hours(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups="ml-vision")
    client = sign_in(provider, "mei")
    assert abs(client.session.get_expiry_age() - 12 * 3600) < 60


# --------------------------------------------------------------------------- the claim, at every sign-in


def test_every_sign_in_gives_and_takes_what_the_claim_says_now(cast: Cast, provider: FakeProvider) -> None:
    steps: list[tuple[Any, dict[str, str]]] = [
        (["ml-vision"], {"vision": "engineer"}),
        (["ml-vision", "ml-vision-leads"], {"vision": "lead"}),
        (["ml-language", "ml-vision"], {"vision": "engineer", "language": "engineer"}),
        ("ml-language", {"language": "engineer"}),
    ]
    for groups, roles in steps:
        provider.person("mei", groups=groups)
        client = sign_in(provider, "mei")
        assert is_in(client) and roles_of("mei") == roles
    assert User.objects.filter(username="mei").count() == 1
    before = AuditEvent.objects.count()
    sign_in(provider, "mei")
    assert AuditEvent.objects.count() == before  # nothing changed, so nothing is told


def test_who_is_given_nothing_any_more_loses_it_and_is_told(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups=["ml-vision"])
    sign_in(provider, "mei")
    for claims in ({"groups": []}, {"groups": None}, {"groups": {"a": []}}, {}):
        provider.person("mei", **claims)
        client = sign_in(provider, "mei")
        assert not is_in(client) and NO_TEAM in told(client)
        assert roles_of("mei") == {}


def test_a_stranger_without_a_group_gets_no_account(cast: Cast, provider: FakeProvider) -> None:
    before = User.objects.count()
    for groups in ([], ["chess club"], ["ml-gone"]):
        provider.person("eve", groups=groups)
        client = sign_in(provider, "eve")
        assert not is_in(client) and NO_TEAM in told(client)
    assert User.objects.count() == before


@pytest.mark.parametrize(("new_people", "comes_in"), [("granted", False), ("all", True), ("none", False)])
def test_who_may_come_in_is_for_the_configuration_to_say(
    cast: Cast, provider: FakeProvider, settings: Any, new_people: str, comes_in: bool
) -> None:
    settings.OIDC = provider.config(new_people=new_people)
    provider.person("eve", groups=[])
    assert is_in(sign_in(provider, "eve")) is comes_in
    provider.person("mei", groups="ml-vision")
    assert is_in(sign_in(provider, "mei")) is (new_people != "none")


def test_a_team_that_does_not_exist_is_on_record_and_harms_nobody(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups=["ml-vision", "ml-gone"])
    assert is_in(sign_in(provider, "mei"))
    event = AuditEvent.objects.get(action="claim.unknown_teams")
    assert event.detail["teams"] == ["nobody-has-this-team"] and roles_of("mei") == {"vision": "engineer"}
    Team.objects.filter(slug="vision").update(archived_at=timezone.now())
    client = sign_in(provider, "mei")
    assert not is_in(client) and roles_of("mei") == {}


def test_admins_come_and_go_with_the_claim_but_for_the_last(cast: Cast, provider: FakeProvider) -> None:
    provider.person("ada", groups=["ml-admins"])
    client = sign_in(provider, "ada")
    assert client.get("/api/v1/me").json()["is_platform_admin"] and client.get("/operator/").status_code == 200
    provider.person("ada", groups=["ml-vision"])
    client = sign_in(provider, "ada")
    assert not client.get("/api/v1/me").json()["is_platform_admin"] and client.get("/operator/").status_code == 302
    provider.person("ada", groups=["ml-admins"])
    sign_in(provider, "ada")
    User.objects.filter(username="admin").update(is_active=False)
    provider.person("ada", groups=[])
    client = sign_in(provider, "ada")
    assert client.get("/api/v1/me").json()["is_platform_admin"]
    acts = AuditEvent.objects.filter(action__startswith="admin.").order_by("pk").values_list("action", flat=True)
    assert list(acts) == ["admin.grant", "admin.revoke", "admin.grant", "admin.keep"]


def test_without_an_admin_value_the_flag_is_given_by_hand(cast: Cast, provider: FakeProvider, settings: Any) -> None:
    settings.OIDC = provider.config(admin_value="")
    provider.person("ada", groups=["ml-vision"])
    sign_in(provider, "ada")
    User.objects.filter(username="ada").update(is_platform_admin=True, is_staff=True)
    provider.person("ada", groups=[])
    assert sign_in(provider, "ada").get("/api/v1/me").json()["is_platform_admin"]


def test_teams_the_claim_gives_are_not_given_by_hand_as_well(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups=["ml-vision"])
    sign_in(provider, "mei")
    user, team = User.objects.get(username="mei"), cast.teams["robotics"]
    error = refused(lambda: membership_set(actor=cast.actor("admin"), user=user, team=team, role="engineer"))
    assert error.code == "managed_by_provider"
    local = cast.users["eng-vision-1"]
    membership_set(actor=cast.actor("admin"), user=local, team=team, role="engineer")
    assert roles_of("eng-vision-1") == {"vision": "engineer", "robotics": "engineer"}


def test_without_a_claim_teams_are_given_by_hand_and_stay(cast: Cast, provider: FakeProvider, settings: Any) -> None:
    settings.OIDC = provider.config(claim="", teams=None, admin_value="", new_people="all")
    provider.person("mei", groups=["ml-vision"])
    assert is_in(sign_in(provider, "mei")) and roles_of("mei") == {}
    user = User.objects.get(username="mei")
    membership_set(actor=cast.actor("admin"), user=user, team=cast.teams["robotics"], role="engineer")
    sign_in(provider, "mei")
    assert roles_of("mei") == {"robotics": "engineer"}


# --------------------------------------------------------------------------- taking over an account


@pytest.mark.parametrize("name", ["eng-vision-1", "ENG-Vision-1", "admin"])
def test_nobody_becomes_a_person_of_the_same_name_or_address(cast: Cast, provider: FakeProvider, name: str) -> None:
    User.objects.filter(username="eng-vision-1").update(email="one@vision.example")
    before = User.objects.count()
    provider.person("eve", preferred_username=name, email="one@vision.example", email_verified=True, groups="ml-vision")
    client = sign_in(provider, "eve")
    assert not is_in(client) and "A platform admin can connect the two." in told(client)
    assert User.objects.count() == before


def test_an_account_belongs_to_the_subject_not_to_the_name(cast: Cast, provider: FakeProvider) -> None:
    provider.person("s-1", preferred_username="mei", groups="ml-vision")
    sign_in(provider, "s-1")
    provider.person("s-1", preferred_username="mei-lin", groups="ml-vision")
    provider.person("s-2", preferred_username="mei", groups="ml-vision")
    assert sign_in(provider, "s-1").get("/api/v1/me").json()["username"] == "mei"
    assert not is_in(sign_in(provider, "s-2"))


def test_a_link_to_another_issuer_opens_nothing(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups="ml-vision")
    sign_in(provider, "mei")
    mei = User.objects.get(username="mei")
    account = mei.socialaccount_set.get()
    assert account.provider == provider.config().key != provider.config(issuer="https://other.example").key
    account.provider = provider.config(issuer="https://other.example").key
    account.save()
    assert not is_in(sign_in(provider, "mei"))


def test_signing_in_never_links_to_whoever_is_signed_in(cast: Cast, provider: FakeProvider) -> None:
    client = Client()
    client.force_login(cast.users["admin"])
    provider.person("eve", groups="ml-vision")
    sign_in(provider, "eve", client=client, process="connect")
    assert client.get("/api/v1/me").json()["username"] == "eve"
    assert not cast.users["admin"].socialaccount_set.exists()


def test_a_disabled_person_is_told_so_and_gets_nothing(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups="ml-vision")
    client = sign_in(provider, "mei")
    person_disable(actor=cast.actor("admin"), user=User.objects.get(username="mei"))
    assert not is_in(client)
    provider.person("mei", groups=["ml-vision-leads", "ml-admins"])
    again = sign_in(provider, "mei")
    assert not is_in(again) and "This account is disabled." in told(again)
    assert roles_of("mei") == {"vision": "engineer"} and not User.objects.get(username="mei").is_platform_admin


def test_an_admin_links_a_person_from_the_command_line(cast: Cast, provider: FakeProvider) -> None:
    out = StringIO()
    call_command("person_link", "eng-vision-2", "two", stdout=out)
    assert "eng-vision-2 is linked." in out.getvalue()
    provider.person("two", preferred_username="whatever", groups="ml-language")
    client = sign_in(provider, "two")
    assert client.get("/api/v1/me").json()["username"] == "eng-vision-2"
    assert roles_of("eng-vision-2") == {"language": "engineer"}
    assert not User.objects.get(username="eng-vision-2").has_usable_password()
    call_command("person_link", "admin", "root", "--keep-password", stdout=out)
    assert User.objects.get(username="admin").has_usable_password()
    for arguments in (["eng-vision-2", "three"], ["eng-vision-1", "two"], ["eng-vision-1"], ["nobody", "x"]):
        with pytest.raises(CommandError):
            call_command("person_link", *arguments)
    call_command("person_link", "eng-vision-2", "--remove", stdout=out)
    with pytest.raises(CommandError, match="not linked"):
        call_command("person_link", "eng-vision-2", "--remove")
    acts = AuditEvent.objects.filter(action__in=("person.link", "person.unlink")).order_by("pk")
    assert list(acts.values_list("action", "actor_name").distinct()) == [
        ("person.link", "command line"),
        ("person.link", "command line"),
        ("person.unlink", "command line"),
    ]


# --------------------------------------------------------------------------- with a second factor


def test_a_person_of_the_provider_shows_who_they_are_there(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups="ml-vision")
    with time_machine.travel(timezone.now()) as clock:
        client = sign_in(provider, "mei")
        assert client.get(SET_UP).status_code == 200
        clock.shift(timedelta(minutes=6))
        wanted = client.get(SET_UP)["Location"]
        assert wanted.startswith("/sign-in/provider/?next=")
        answer = _return(client, provider.agree(client.get(wanted)["Location"], "mei"))
        assert answer["Location"] == SET_UP and client.get(SET_UP).status_code == 200


def test_the_second_factor_is_asked_for_after_the_provider_as_well(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups="ml-vision")
    with time_machine.travel(timezone.now()) as clock:
        client = sign_in(provider, "mei")
        client.get(SET_UP)
        secret = client.session["mfa.totp.secret"]
        client.post(SET_UP, {"code": code_now(secret)})
        clock.shift(timedelta(minutes=2))
        again = sign_in(provider, "mei")
        assert not is_in(again) and "eyJ" not in str(list(again.session.items()))
        assert again.post("/sign-in/code/", {"code": code_now(secret)}).status_code == 302
        assert is_in(again) and abs(again.session.get_expiry_age() - 12 * 3600) < 60


# --------------------------------------------------------------------------- lies and silence


LIES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "another nonce": lambda claims: {**claims, "nonce": "of another question"},
    "no nonce": lambda claims: {name: value for name, value in claims.items() if name != "nonce"},
    "another issuer": lambda claims: {**claims, "iss": "https://other.example"},
    "another audience": lambda claims: {**claims, "aud": ["somebody else"]},
    "issued to another application": lambda claims: {**claims, "azp": "somebody else"},
    "expired": lambda claims: {**claims, "exp": int(time.time()) - 3600},
    "without an end": lambda claims: {name: value for name, value in claims.items() if name != "exp"},
    "from the future": lambda claims: {**claims, "iat": int(time.time()) + 3600},
    "another subject than the user info": lambda claims: {**claims, "sub": "somebody else"},
    "an endless subject": lambda claims: {**claims, "sub": "x" * 500},
}


@pytest.mark.parametrize("lie", list(LIES))
def test_a_token_that_is_not_what_it_must_be_lets_nobody_in(cast: Cast, provider: FakeProvider, lie: str) -> None:
    provider.person("mei", groups="ml-vision")
    provider.change_token = LIES[lie]
    client = sign_in(provider, "mei")
    assert not is_in(client) and UNTRUSTED in told(client)
    assert not User.objects.filter(username="mei").exists()


def test_a_token_signed_by_a_strangers_key_lets_nobody_in(cast: Cast, provider: FakeProvider) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    provider.signing_key = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    provider.person("mei", groups="ml-vision")
    client = sign_in(provider, "mei")
    assert not is_in(client) and UNTRUSTED in told(client)


def _answer(body: object, status: int = 200) -> Callable[[], Response]:
    text = body if isinstance(body, str) else json.dumps(body)
    return lambda: Response(text, status, content_type="application/json")


BROKEN = {
    "the token: an error": ("/oauth2/token", _answer({"error": "server_error"}, 500), UNTRUSTED),
    "the token: no JSON": ("/oauth2/token", _answer("<html>"), SILENT),
    "the token: a list": ("/oauth2/token", _answer([1]), UNTRUSTED),
    "the token: no ID token": ("/oauth2/token", _answer({"access_token": "a"}), UNTRUSTED),
    "the token: no JWT": ("/oauth2/token", _answer({"access_token": "a", "id_token": "a.b"}), UNTRUSTED),
    "the token: a number": ("/oauth2/token", _answer({"access_token": "a", "id_token": 7}), UNTRUSTED),
    "the keys: an error": ("/jwks", _answer("{}", 503), SILENT),
    "the keys: none": ("/jwks", _answer({"keys": []}), UNTRUSTED),
    "the keys: a list": ("/jwks", _answer([]), UNTRUSTED),
    "the user info: an error": ("/userinfo", _answer("{}", 401), SILENT),
    "the user info: a list": ("/userinfo", _answer([]), UNTRUSTED),
    "the user info: no JSON": ("/userinfo", _answer("<html>"), SILENT),
}


@pytest.mark.parametrize("how", list(BROKEN))
def test_a_broken_answer_is_one_clear_sentence(cast: Cast, provider: FakeProvider, how: str) -> None:
    path, answer, sentence = BROKEN[how]
    provider.person("mei", groups="ml-vision")
    client = Client(headers={"accept-language": "en"})
    back = provider.agree(_begin(client), "mei")
    provider.answers[path] = answer
    assert _return(client, back).status_code == 302
    assert not is_in(client) and sentence in told(client)


DISCOVERY = "/.well-known/openid-configuration"
DESCRIPTIONS: dict[str, tuple[object, int, str]] = {
    "an error": ({}, 503, SILENT),
    "no JSON": ("<html>", 200, SILENT),
    "a list": ([], 200, UNTRUSTED),
    "empty": ({}, 200, UNTRUSTED),
    "another issuer": ({"issuer": "https://other.example"}, 200, UNTRUSTED),
}


@pytest.mark.parametrize("how", list(DESCRIPTIONS))
def test_a_provider_that_cannot_say_who_it_is_is_not_gone_to(cast: Cast, provider: FakeProvider, how: str) -> None:
    body, status, sentence = DESCRIPTIONS[how]
    provider.answers[DISCOVERY] = _answer(body, status)
    client = Client(headers={"accept-language": "en"})
    assert client.get("/sign-in/provider/")["Location"] == "/sign-in/"
    assert sentence in told(client)


def test_a_provider_whose_other_addresses_are_not_encrypted_is_not_gone_to(cast: Cast, provider: FakeProvider) -> None:
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
    good = {"issuer": provider.address, **{name: f"{provider.address}/{name}" for name in names}}
    for name in names:
        provider.answers[DISCOVERY] = _answer({**good, name: "http://id.example/x"})
        client = Client(headers={"accept-language": "en"})
        assert client.get("/sign-in/provider/")["Location"] == "/sign-in/" and UNTRUSTED in told(client)


def test_a_provider_that_is_away_is_said_to_be_away(cast: Cast, provider: FakeProvider, settings: Any) -> None:
    client = Client(headers={"accept-language": "en"})
    provider.person("mei", groups="ml-vision")
    back = provider.agree(_begin(client), "mei")
    settings.OIDC = provider.config(issuer="http://127.0.0.1:9")
    early = Client(headers={"accept-language": "en"})
    assert early.get("/sign-in/provider/")["Location"] == "/sign-in/" and SILENT in told(early)
    settings.OIDC = provider.config()
    provider.answers["/oauth2/token"] = lambda: (_ for _ in ()).throw(ConnectionResetError())
    assert _return(client, back).status_code == 302
    assert not is_in(client) and (SILENT in (page := told(client)) or UNTRUSTED in page)


@pytest.mark.parametrize(
    "query", ["", "code=a", "state=a", "code=a&state=b", "code=&state=", "code=%00&state=%00", "error=server_error"]
)
def test_an_answer_to_no_question_is_refused(cast: Cast, provider: FakeProvider, query: str) -> None:
    client = Client(headers={"accept-language": "en"})
    assert client.get(f"/sign-in/provider/callback/?{query}")["Location"] == "/sign-in/"
    assert STALE in told(client) and not is_in(client)


def test_an_answer_is_good_in_the_browser_that_asked_and_once(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups="ml-vision")
    asked, other = Client(headers={"accept-language": "en"}), Client(headers={"accept-language": "en"})
    back = provider.agree(_begin(asked), "mei")
    _begin(other)
    _return(other, back)
    assert not is_in(other) and STALE in told(other)
    _return(asked, back)
    assert is_in(asked)
    asked.post("/sign-out/")
    _return(asked, back)
    assert not is_in(asked)


def test_a_code_of_somebody_elses_sign_in_is_of_no_use(cast: Cast, provider: FakeProvider) -> None:
    """The state is one's own, the code a stranger's: the provider asks for the secret behind the challenge."""
    provider.person("mei", groups="ml-vision")
    theirs, mine = Client(), Client(headers={"accept-language": "en"})
    stolen = parse_qs(urlsplit(provider.agree(_begin(theirs), "mei")).query)["code"][0]
    state = parse_qs(urlsplit(_begin(mine)).query)["state"][0]
    mine.get("/sign-in/provider/callback/", {"code": stolen, "state": state})
    assert not is_in(mine) and UNTRUSTED in told(mine)


def test_a_sign_in_that_took_too_long_starts_again(cast: Cast, provider: FakeProvider) -> None:
    provider.person("mei", groups="ml-vision")
    client = Client(headers={"accept-language": "en"})
    back = provider.agree(_begin(client), "mei")
    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        _return(client, back)
        assert not is_in(client) and STALE in told(client)


def test_who_says_no_at_the_provider_is_back_at_the_page(cast: Cast, provider: FakeProvider) -> None:
    client = Client(headers={"accept-language": "en"})
    state = parse_qs(urlsplit(_begin(client)).query)["state"][0]
    client.get("/sign-in/provider/callback/", {"error": "access_denied", "state": state})
    assert "The sign-in was cancelled at Example ID." in told(client)


def test_a_flood_of_attempts_is_answered_429(cast: Cast, provider: FakeProvider) -> None:
    provider.answers[DISCOVERY] = _answer({}, 503)
    with time_machine.travel(timezone.now(), tick=False):
        statuses = [Client(REMOTE_ADDR="192.0.2.8").get("/sign-in/provider/").status_code for _ in range(62)]
    assert statuses[0] == 302 and statuses[-1] == 429


def test_no_proxy_of_the_environment_and_no_endless_wait(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with session_to(provider.config()) as session:
        assert session.get(provider.address + DISCOVERY).status_code == 200
        assert session.request.keywords["timeout"] == (3, 8)  # type: ignore[attr-defined]
    with session_to(provider.config(proxy="http://proxy.example:3128")) as session:
        assert session.proxies["https"] == "http://proxy.example:3128"


def test_neither_the_secret_nor_a_token_is_written_down(
    cast: Cast, provider: FakeProvider, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.person("mei", groups="ml-vision")
    provider.change_token = LIES["expired"]
    client = sign_in(provider, "mei")
    provider.change_token = None
    sign_in(provider, "mei", client=client)
    assert "not told to anybody" not in repr(provider.config())
    spoken = caplog.text + str(capsys.readouterr())
    assert "not told to anybody" not in spoken and "eyJ" not in spoken
    stored = str(client.session.items()) + str(User.objects.get(username="mei").socialaccount_set.values())
    assert "eyJ" not in stored and "ml-vision" not in stored
