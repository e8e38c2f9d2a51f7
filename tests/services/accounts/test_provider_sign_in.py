"""Signing in with an OpenID Connect provider: the whole code flow against a real one on loopback."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts.access_services import person_disable
from accounts.models import AuditEvent, Team, User
from accounts.services import membership_set
from tests.cast import Cast
from tests.services.accounts.going_in import (
    NO_TEAM,
    begin,
    go_back,
    is_in,
    roles_of,
    sign_in,
    told,
)
from tests.services.accounts.provider import FakeProvider
from tests.services.accounts.test_second_factor import SET_UP, code_now
from tests.services.support import refused

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib")  # of the provider, in its thread


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


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
    address = begin(Client(), scope="admin", auth_params="prompt=none", process="connect")
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
        answer = go_back(client, provider.agree(begin(client, next=wanted), "mei"))
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
        answer = go_back(client, provider.agree(client.get(wanted)["Location"], "mei"))
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
