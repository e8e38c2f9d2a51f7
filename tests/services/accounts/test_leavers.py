"""Who leaves loses access at the very next request: pages, fragments, the API by session and by token, the admin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.access_services import person_disable, person_enable
from accounts.models import ApiToken, AuditEvent, Membership, User
from accounts.services import membership_remove, team_archive
from common.errors import DomainError, NotAllowed
from jobs.services.submit import job_submit
from tests.api.client import Api
from tests.cast import PASSWORD, Cast
from tests.services.support import refused, row_counts
from tests.stage import BODY

NAME = "eng-vision-1"
FRAGMENT = {"HX-Request": "true"}


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


@pytest.fixture(autouse=True)
def _nobody_counted_yet() -> Iterator[None]:
    cache.clear()
    yield


@dataclass
class Person:
    """Somebody at a browser, with a script beside it."""

    browser: Client
    script: Api
    job: str

    def statuses(self) -> dict[str, int]:
        """What each way to the job answers."""
        page = f"/jobs/{self.job}/"
        return {
            "page": self.browser.get(page).status_code,
            "fragment": self.browser.get(page, headers=FRAGMENT).status_code,
            "logs": self.browser.get(f"{page}logs/", headers=FRAGMENT).status_code,
            "session": self.browser.get(f"/api/v1/jobs/{self.job}").status_code,
            "token": self.script.call("GET", f"jobs/{self.job}").status_code,
        }


def person(cast: Cast, username: str = NAME) -> Person:
    job = job_submit(actor=cast.actor(NAME), data=BODY).job
    browser = Client(headers={"accept-language": "en"})
    assert browser.post("/sign-in/", {"login": username, "password": PASSWORD}).status_code == 302
    found = Person(browser, Api(username), job.public_id)
    assert set(found.statuses().values()) == {200}
    return found


OUT = {"page": 302, "fragment": 401, "logs": 401, "session": 401, "token": 401}
NOT_FOUND = dict.fromkeys(OUT, 404)


def test_a_disabled_person_is_out_everywhere(cast: Cast) -> None:
    who = person(cast)
    person_disable(actor=cast.actor("admin"), user=cast.users[NAME])
    assert who.statuses() == OUT


@pytest.mark.parametrize(
    "leave",
    [
        lambda cast: membership_remove(actor=cast.actor("admin"), user=cast.users[NAME], team=cast.teams["vision"]),
        lambda cast: team_archive(actor=cast.actor("admin"), team=cast.teams["vision"]),
    ],
    ids=["taken out of the team", "the team is archived"],
)
def test_without_the_team_its_things_do_not_exist(cast: Cast, leave: Callable[[Cast], None]) -> None:
    who = person(cast)
    leave(cast)
    assert who.statuses() == NOT_FOUND
    assert who.browser.get("/").status_code == 200  # the page for people in no team


def test_a_lead_who_is_lead_no_more_loses_the_console(cast: Cast) -> None:
    who = person(cast, "lead-vision")
    assert who.browser.get("/team/vision/").status_code == 200
    Membership.objects.filter(user=cast.users["lead-vision"]).update(role="engineer")
    assert who.browser.get("/team/vision/").status_code == 403
    assert who.browser.get("/team/vision/", headers=FRAGMENT).status_code == 403


def test_a_revoked_token_is_dead_and_the_browser_goes_on(cast: Cast) -> None:
    who = person(cast)
    ApiToken.objects.all().delete()
    assert who.statuses() == {**dict.fromkeys(OUT, 200), "token": 401}


def test_a_disabled_admin_is_out_of_the_operators_pages(cast: Cast) -> None:
    User.objects.filter(username="lead-vision").update(is_platform_admin=True, is_staff=True)
    who = person(cast, "lead-vision")
    addresses = ("/operator/", "/operator/jobs/job/", "/admin/nodes/")
    assert {who.browser.get(address).status_code for address in addresses} == {200}
    person_disable(actor=cast.actor("admin"), user=cast.users["lead-vision"])
    assert {who.browser.get(address).status_code for address in addresses} == {302}


# --------------------------------------------------------------------------- the services


def test_disabling_ends_sessions_and_tokens_for_good(cast: Cast) -> None:
    who, admin, user = person(cast), cast.actor("admin"), cast.users[NAME]
    person_disable(actor=admin, user=user)
    event = AuditEvent.objects.get(action="person.disable")
    assert event.detail == {"username": NAME, "sessions": 1, "tokens": 1}
    before = row_counts()
    person_disable(actor=admin, user=user)
    assert row_counts() == before
    person_enable(actor=admin, user=user)
    person_enable(actor=admin, user=user)
    assert AuditEvent.objects.filter(action="person.enable").count() == 1
    assert who.statuses() == OUT  # what was ended stays ended
    fresh = Client()
    assert fresh.post("/sign-in/", {"login": NAME, "password": PASSWORD}).status_code == 302
    assert fresh.get("/api/v1/me").status_code == 200


def test_the_last_platform_admin_stays(cast: Cast) -> None:
    admin = cast.users["admin"]
    error = refused(lambda: person_disable(actor=cast.actor("admin"), user=admin), DomainError)
    assert error.code == "last_admin"
    User.objects.filter(username="lead-vision").update(is_platform_admin=True)
    person_disable(actor=cast.actor("lead-vision"), user=admin)
    other = cast.users["lead-vision"]
    assert refused(lambda: person_disable(actor=None, user=other), DomainError).code == "last_admin"


@pytest.mark.parametrize("username", ["lead-vision", "eng-vision-2", NAME])
def test_nobody_else_disables_or_enables(cast: Cast, username: str) -> None:
    for service in (person_disable, person_enable):
        refused(lambda service=service: service(actor=cast.actor(username), user=cast.users[NAME]), NotAllowed)


def test_the_api_disables_and_enables_and_puts_back_into_a_team(cast: Cast) -> None:
    api = Api("admin")
    assert api.call("POST", f"people/{NAME}/disable").status_code == 204
    assert not User.objects.get(username=NAME).is_active
    assert api.call("POST", f"people/{NAME}/enable").status_code == 204
    assert User.objects.get(username=NAME).is_active
    assert api.call("POST", "people/admin/disable").json()["errors"][0]["code"] == "last_admin"
    assert api.call("DELETE", f"teams/vision/members/{NAME}").status_code == 204
    answer = api.call("PUT", f"teams/vision/members/{NAME}", {"role": "lead"})
    assert answer.json() == {"team": "vision", "username": NAME, "role": "lead"}
    assert api.call("PUT", f"teams/vision/members/{NAME}", {}).json()["role"] == "engineer"
    for path, body, status in (
        ("teams/vision/members/nobody", {}, 404),
        ("teams/nobody/members/admin", {}, 404),
        ("teams/vision/members/admin", {"role": "king"}, 400),
        ("teams/vision/members/admin", {"role": ""}, 400),
        ("teams/vision/members/admin", {"role": None}, 400),
        ("people/nobody/disable", None, 404),
        ("people/%00/disable", None, 404),
    ):
        assert api.call("PUT" if body is not None else "POST", path, body).status_code == status, path


def test_the_command_line_disables_and_enables(cast: Cast) -> None:
    out = StringIO()
    call_command("person_disable", NAME, stdout=out)
    assert not User.objects.get(username=NAME).is_active
    call_command("person_disable", NAME, "--enable", stdout=out)
    assert User.objects.get(username=NAME).is_active and NAME in out.getvalue()
    with pytest.raises(CommandError, match="last platform admin"):
        call_command("person_disable", "admin")
    with pytest.raises(CommandError, match="There is no person"):
        call_command("person_disable", "nobody")
    assert set(AuditEvent.objects.filter(target_type="person").values_list("actor_name", flat=True)) == {"command line"}
