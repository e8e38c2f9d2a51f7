"""Teams, people, roles and tokens: who may change them, one audit row for each change, nothing half done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from accounts import services
from accounts.models import ApiToken, AuditEvent, Membership, Role, Team, User
from common.errors import DomainError, InvalidInput, NotAllowed, NotFound
from tests.cast import Cast
from tests.services.support import problems_of, refused, row_counts


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


def _changes(cast: Cast, actor: str) -> dict[str, Callable[[], Any]]:
    by = cast.actor(actor)
    person, team = cast.users["eng-vision-2"], cast.teams["robotics"]
    return {
        "team.create": lambda: services.team_create(actor=by, name="Speech"),
        "team.archive": lambda: services.team_archive(actor=by, team=team),
        "person.create": lambda: services.person_create(actor=by, username="new", password="a long enough secret"),
        "membership.set": lambda: services.membership_set(actor=by, user=person, team=team, role=Role.LEAD),
        "membership.remove": lambda: services.membership_remove(actor=by, user=person, team=cast.teams["vision"]),
    }


CHANGES = ("team.create", "team.archive", "person.create", "membership.set", "membership.remove")


@pytest.mark.parametrize("action", CHANGES)
def test_each_change_is_one_audit_row_of_the_admin(cast: Cast, action: str) -> None:
    before = AuditEvent.objects.count()
    _changes(cast, "admin")[action]()
    assert AuditEvent.objects.count() == before + 1
    event = AuditEvent.objects.order_by("-pk")[0]
    assert (event.action, event.actor_name) == (action, "admin")
    assert "secret" not in str(event.detail)


@pytest.mark.parametrize("username", ["lead-vision", "eng-vision-1", "lead-language"])
@pytest.mark.parametrize("action", CHANGES)
def test_nobody_but_an_admin_changes_people_and_teams(cast: Cast, username: str, action: str) -> None:
    assert refused(_changes(cast, username)[action], NotAllowed).status == 403


def test_archiving_twice_is_archiving_once(cast: Cast) -> None:
    admin = cast.actor("admin")
    services.team_archive(actor=admin, team=cast.teams["robotics"])
    before = row_counts()
    services.team_archive(actor=admin, team=cast.teams["robotics"])
    assert row_counts() == before
    assert cast.actor("eng-robotics-1").team_ids == frozenset()


def test_removing_somebody_who_is_no_member_changes_nothing(cast: Cast) -> None:
    before = row_counts()
    services.membership_remove(actor=cast.actor("admin"), user=cast.users["admin"], team=cast.teams["vision"])
    assert row_counts() == before


def test_a_role_can_be_changed_and_is_one_membership(cast: Cast) -> None:
    person, team = cast.users["eng-vision-2"], cast.teams["vision"]
    services.membership_set(actor=cast.actor("admin"), user=person, team=team, role=Role.LEAD)
    assert Membership.objects.get(user=person, team=team).role == Role.LEAD
    assert cast.actor("eng-vision-2").led_team_ids == {team.pk}


@pytest.mark.parametrize("name", ["Vision", "vision", " VISION "])
def test_a_team_of_the_same_name_is_refused(cast: Cast, name: str) -> None:
    assert problems_of(lambda: services.team_create(actor=cast.actor("admin"), name=name))["name"].code == "taken"


@pytest.mark.parametrize("name", ["语音", "Vision!", "a" * 90, "   Speech  "])
def test_a_team_of_any_script_gets_a_slug_and_a_space_of_its_own(cast: Cast, name: str) -> None:
    admin = cast.actor("admin")
    first = services.team_create(actor=admin, name=name)
    second = services.team_create(actor=admin, name=name.strip() + " 2")
    teams = Team.objects.all()
    assert len({team.slug for team in teams}) == len({team.space for team in teams}) == teams.count()
    for team in (first, second):
        assert team.name == team.name.strip()
        assert len(team.slug) <= 40 and team.slug.isascii()
        assert len(team.space) <= 63 and team.space.startswith("slu-")


def test_a_person_is_made_whole_or_not_at_all(cast: Cast) -> None:
    admin = cast.actor("admin")

    def add(**changes: Any) -> User:
        values = {"username": "new", "password": "a long enough secret", "team_slug": "vision", "role": "engineer"}
        return services.person_add(actor=admin, **{**values, **changes})

    assert problems_of(lambda: add(team_slug="nobody"))["team"].code == "unknown_team"
    assert problems_of(lambda: add(role="king"))["role"].code == "unknown_choice"
    assert problems_of(lambda: add(password="short"))["password"].code == "weak"
    assert problems_of(lambda: add(username="admin"))["username"].code == "taken"
    person = add()
    assert person.check_password("a long enough secret") and person.memberships.get().team == cast.teams["vision"]
    assert not person.is_staff and not person.is_platform_admin


def test_a_password_is_never_stored_or_written_down(cast: Cast) -> None:
    secret = "a long enough secret"
    services.person_create(actor=cast.actor("admin"), username="new", password=secret)
    assert secret not in str(list(User.objects.values())) + str(list(AuditEvent.objects.values()))


# --------------------------------------------------------------------------- tokens


def test_tokens_are_ones_own(cast: Cast) -> None:
    token, _text = services.token_create(actor=cast.actor("eng-vision-1"), name="nightly")
    for username in ("eng-vision-2", "lead-vision", "admin"):
        actor = cast.actor(username)
        refused(lambda actor=actor: services.token_revoke(actor=actor, public_id=token.public_id), NotFound)
    services.token_revoke(actor=cast.actor("eng-vision-1"), public_id=token.public_id)
    assert not ApiToken.objects.filter(pk=token.pk).exists()
    acts = AuditEvent.objects.filter(target_id=token.public_id).order_by("pk")
    assert list(acts.values_list("action", flat=True)) == ["token.create", "token.revoke"]


def test_fifty_valid_tokens_are_enough(cast: Cast) -> None:
    actor = cast.actor("eng-vision-1")
    for number in range(services.TOKENS_MAX):
        services.token_create(actor=actor, name=f"script {number}")
    error = refused(lambda: services.token_create(actor=actor, name="one more"))
    assert (error.status, error.code) == (409, "too_many_tokens")
    services.token_create(actor=cast.actor("eng-vision-2"), name="another person's")


# --------------------------------------------------------------------------- oneself, and the trail itself


def test_a_profile_is_ones_own_and_only_takes_what_is_offered(cast: Cast) -> None:
    actor = cast.actor("eng-vision-1")
    services.profile_edit(actor=actor, language="zh-hans", time_zone="Asia/Shanghai")
    user = User.objects.get(pk=actor.user.pk)
    assert (user.language, user.time_zone) == ("zh-hans", "Asia/Shanghai")
    for changes in ({"language": "fr"}, {"time_zone": "Mars/Base"}):
        refused(lambda changes=changes: services.profile_edit(actor=actor, **changes), InvalidInput)
    before = row_counts()
    services.profile_edit(actor=actor)
    assert row_counts() == before


def test_a_change_that_is_undone_leaves_no_audit_row(cast: Cast) -> None:
    before = row_counts()
    with pytest.raises(DomainError), transaction.atomic():
        services.team_create(actor=cast.actor("admin"), name="Speech")
        raise DomainError("x", "x")
    assert row_counts() == before
