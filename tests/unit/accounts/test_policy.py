"""THE policy: every cell of its table for six kinds of people, and what reads may see."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from django.db.models import Q

from accounts.actors import Actor
from accounts.models import Role, User
from accounts.policy import (
    TABLE,
    Action,
    PolicyRole,
    Scope,
    Target,
    can,
    require,
    roles_in,
    target_of,
    teams_where,
    visible,
)
from common.errors import NotAllowed

VISION, LANGUAGE = 1, 2


def person(pk: int, *, is_admin: bool = False, **roles: str) -> Actor:
    """A person by id; roles by team name."""
    teams = {"vision": VISION, "language": LANGUAGE}
    user = User(pk=pk, username=f"user-{pk}", is_platform_admin=is_admin)
    return Actor(user, {teams[name]: role for name, role in roles.items()})


ENGINEER = person(1, vision=Role.ENGINEER)
COLLEAGUE = person(2, vision=Role.ENGINEER)
LEAD = person(3, vision=Role.LEAD)
OTHER_ENGINEER = person(4, language=Role.ENGINEER)
OTHER_LEAD = person(5, language=Role.LEAD)
ADMIN = person(6, is_admin=True)
NOBODY = person(7)
OWN_JOB = Target(team_id=VISION, owner_id=1)  # a thing of the team Vision that belongs to the engineer

EVERYONE = {
    "its engineer": ENGINEER,
    "a colleague": COLLEAGUE,
    "its lead": LEAD,
    "an engineer of another team": OTHER_ENGINEER,
    "a lead of another team": OTHER_LEAD,
    "an admin": ADMIN,
    "somebody without a team": NOBODY,
}
OWNER, TEAM_MATES, LEADS, ADMINS = "its engineer", "a colleague", "its lead", "an admin"

WHO_MAY: dict[Action, set[str]] = {
    Action.JOB_VIEW: {OWNER, TEAM_MATES, LEADS, ADMINS},
    Action.JOB_SUBMIT: {OWNER, TEAM_MATES, LEADS},
    Action.JOB_CANCEL: {OWNER, LEADS, ADMINS},
    Action.JOB_RESTART: {OWNER, LEADS, ADMINS},
    Action.JOB_HOLD: {OWNER, LEADS, ADMINS},
    Action.JOB_RESUME: {OWNER, LEADS, ADMINS},
    Action.JOB_PREEMPT: {LEADS, ADMINS},
    Action.JOB_REQUEUE: {OWNER, LEADS, ADMINS},
    Action.JOB_PRIORITY: {OWNER, LEADS, ADMINS},
    Action.JOB_SCALE: {OWNER, LEADS, ADMINS},
    Action.LOG_VIEW: {OWNER, TEAM_MATES, LEADS, ADMINS},
    Action.ENV_VIEW: {OWNER},
    Action.PRIORITY_HIGH: {LEADS, ADMINS},
    Action.PRIORITY_URGENT: {LEADS, ADMINS},
    Action.QUOTA_VIEW: {OWNER, TEAM_MATES, LEADS, ADMINS},
    Action.TEAM_CONSOLE: {LEADS},
    Action.NODE_VIEW: {ADMINS},
    Action.PEOPLE_MANAGE: {ADMINS},
    Action.SHARES_MANAGE: {ADMINS},
    Action.CLUSTER_MANAGE: {ADMINS},
    Action.OPERATOR_REPAIR: {ADMINS},
    Action.SUPPLIES_VIEW: {OWNER, TEAM_MATES, LEADS, ADMINS},
    Action.SUPPLIES_MANAGE: {ADMINS},
    Action.QUEUES_MANAGE: {LEADS, ADMINS},
    Action.SECRETS_MANAGE: {LEADS, ADMINS},
    Action.AUDIT_VIEW: {OWNER, LEADS, ADMINS},
    Action.TOKEN_MANAGE: {OWNER},
    Action.PROFILE_EDIT: {OWNER},
}


@pytest.mark.parametrize("action", list(Action))
def test_who_may_do_what_to_a_thing_of_an_engineer(action: Action) -> None:
    assert {name for name, actor in EVERYONE.items() if can(actor, action, OWN_JOB)} == WHO_MAY[action]
    for actor in EVERYONE.values():
        if can(actor, action, OWN_JOB):
            require(actor, action, OWN_JOB)
        else:
            with pytest.raises(NotAllowed):
                require(actor, action, OWN_JOB)


def test_the_table_answers_for_every_action_and_role() -> None:
    assert set(TABLE) == set(Action)
    assert all(set(row) == set(PolicyRole) for row in TABLE.values())


def test_a_lead_may_whatever_an_engineer_may() -> None:
    order = [Scope.NONE, Scope.OWN, Scope.TEAM, Scope.ALL]
    for action, row in TABLE.items():
        assert order.index(row[PolicyRole.LEAD]) >= order.index(row[PolicyRole.ENGINEER]), action


def test_no_role_of_a_team_reaches_beyond_the_team() -> None:
    for row in TABLE.values():
        assert row[PolicyRole.ENGINEER] is not Scope.ALL and row[PolicyRole.LEAD] is not Scope.ALL
        assert row[PolicyRole.ADMIN] is not Scope.TEAM  # an admin is in no team by being one


@pytest.mark.parametrize(
    ("actor", "allowed"),
    [(ENGINEER, True), (LEAD, True), (ADMIN, False), (NOBODY, False)],
    ids=["an engineer", "a lead", "an admin", "somebody without a team"],
)
def test_who_may_submit_at_all(actor: Actor, allowed: bool) -> None:
    """Decision 58: an admin submits only as a member."""
    assert can(actor, Action.JOB_SUBMIT) is allowed


def test_an_admin_who_is_a_member_submits_like_a_member() -> None:
    member = person(8, is_admin=True, vision=Role.ENGINEER)
    assert can(member, Action.JOB_SUBMIT, Target(team_id=VISION))
    assert not can(member, Action.JOB_SUBMIT, Target(team_id=LANGUAGE))


def test_everybody_manages_their_own_tokens_and_profile_and_nobody_elses() -> None:
    for actor in EVERYONE.values():
        for action in (Action.TOKEN_MANAGE, Action.PROFILE_EDIT):
            assert can(actor, action)
            assert can(actor, action, Target(owner_id=actor.user.pk))
            assert not can(actor, action, Target(owner_id=999))


def test_a_lead_of_one_team_is_no_lead_of_another() -> None:
    both = person(9, vision=Role.LEAD, language=Role.ENGINEER)
    assert roles_in(both, VISION) == {PolicyRole.ENGINEER, PolicyRole.LEAD}
    assert roles_in(both, LANGUAGE) == {PolicyRole.ENGINEER}
    assert can(both, Action.JOB_CANCEL, Target(VISION, 1))
    assert not can(both, Action.JOB_CANCEL, Target(LANGUAGE, 4))


def test_a_thing_that_belongs_to_nobody_is_nobodys_own() -> None:
    assert not can(ENGINEER, Action.JOB_CANCEL, Target(team_id=VISION))
    assert not can(ENGINEER, Action.JOB_VIEW, Target())


# --------------------------------------------------------------------------- whose thing it is


def test_team_and_owner_of_a_thing_are_found_by_the_paths_its_class_names() -> None:
    job = SimpleNamespace(policy_team="team", policy_owner="owner", team_id=VISION, owner_id=1)
    attempt = SimpleNamespace(policy_team="job__team", policy_owner="job__owner", job=job)
    assert target_of(job) == target_of(attempt) == OWN_JOB  # type: ignore[arg-type]
    assert target_of(None) == Target()
    assert target_of(OWN_JOB) is OWN_JOB
    assert target_of(SimpleNamespace()) == Target()  # type: ignore[arg-type]


# --------------------------------------------------------------------------- reads


@dataclass(frozen=True)
class Rows:
    """As much of a query set as `visible` uses, over (team, owner) pairs."""

    rows: frozenset[tuple[int, int]]
    model: ClassVar[Any] = SimpleNamespace(policy_team="team", policy_owner="owner")

    def filter(self, condition: Q) -> Rows:
        return Rows(frozenset(row for row in self.rows if holds(condition, row)))

    def none(self) -> Rows:
        return Rows(frozenset())


def holds(condition: Q | tuple[str, Any], row: tuple[int, int]) -> bool:
    if isinstance(condition, tuple):
        name, value = condition
        return {"team__in": lambda: row[0] in value, "owner": lambda: row[1] == value}[name]()
    results = [holds(child, row) for child in condition.children]
    return any(results) if condition.connector == Q.OR else all(results)


THINGS = Rows(frozenset({(VISION, 1), (VISION, 2), (LANGUAGE, 4), (LANGUAGE, 1)}))


@pytest.mark.parametrize("action", list(Action))
def test_what_a_person_sees_is_what_the_table_lets_them(action: Action) -> None:
    """`visible` and `can` never disagree, but for things of one's own in a team one has left."""
    for name, actor in EVERYONE.items():
        seen = visible(actor, THINGS, action).rows  # type: ignore[arg-type,attr-defined]
        allowed = {row for row in THINGS.rows if can(actor, action, Target(*row))}
        left_behind = {row for row in THINGS.rows if row[1] == actor.user.pk and row[0] not in actor.roles}
        assert seen - left_behind == allowed - left_behind, name


@pytest.mark.parametrize(
    ("actor", "seen"),
    [
        (ENGINEER, {(VISION, 1), (VISION, 2)}),
        (LEAD, {(VISION, 1), (VISION, 2)}),
        (OTHER_ENGINEER, {(LANGUAGE, 4), (LANGUAGE, 1)}),
        (ADMIN, set(THINGS.rows)),
        (NOBODY, set()),
    ],
    ids=["an engineer", "a lead", "an engineer of another team", "an admin", "somebody without a team"],
)
def test_jobs_of_another_team_do_not_exist(actor: Actor, seen: set[tuple[int, int]]) -> None:
    assert visible(actor, THINGS).rows == seen  # type: ignore[arg-type,attr-defined]


def test_the_teams_of_an_action_are_all_or_some_or_none() -> None:
    assert teams_where(ADMIN, Action.QUOTA_VIEW) is None
    assert teams_where(ENGINEER, Action.QUOTA_VIEW) == {VISION}
    assert teams_where(ENGINEER, Action.TEAM_CONSOLE) == frozenset()
    assert teams_where(LEAD, Action.TEAM_CONSOLE) == {VISION}
    assert teams_where(NOBODY, Action.JOB_VIEW) == frozenset()
