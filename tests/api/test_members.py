"""Taking a person out of a team over the API."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from accounts.models import AuditEvent, Membership, User
from tests.cast import Cast, build_cast


@pytest.fixture
def cast(db: None) -> Cast:
    return build_cast()


def remove(username: str, team: str, member: str) -> int:
    client = APIClient()
    client.force_authenticate(User.objects.get(username=username))
    return client.delete(f"/api/v1/teams/{team}/members/{member}").status_code


def test_an_admin_takes_a_person_out_of_a_team_and_it_is_on_record(cast: Cast) -> None:
    assert remove("admin", "vision", "eng-vision-1") == 204
    assert not Membership.objects.filter(team=cast.teams["vision"], user=cast.users["eng-vision-1"]).exists()
    assert remove("admin", "vision", "eng-vision-1") == 404
    (event,) = AuditEvent.objects.filter(actor=cast.users["admin"])
    assert (event.action, event.target_id) == ("membership.remove", cast.users["eng-vision-1"].public_id)


@pytest.mark.parametrize("username", ["lead-vision", "eng-vision-1", "lead-language"])
def test_nobody_else_does(cast: Cast, username: str) -> None:
    assert remove(username, "vision", "eng-vision-2") == 403
    assert Membership.objects.filter(team=cast.teams["vision"], user=cast.users["eng-vision-2"]).exists()


@pytest.mark.parametrize(
    ("team", "member"), [("vision", "eng-language-1"), ("nobody", "eng-vision-1"), ("vision", "x"), ("vision", "%00")]
)
def test_who_is_no_member_cannot_be_taken_out(cast: Cast, team: str, member: str) -> None:
    before = Membership.objects.count()
    assert remove("admin", team, member) == 404
    assert Membership.objects.count() == before
