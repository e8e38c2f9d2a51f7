"""THE policy: one table role × action → scope, and the two questions everything else asks of it.

`visible(actor, rows)` is where every read for a person starts: what it leaves out does not exist for them
(404). `require(actor, action, target)` refuses what they see but may not do (403). Models name their paths to
team and owner (`policy_team`, `policy_owner`), so nothing here imports upwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.models import Role
from common.errors import NotAllowed

M = TypeVar("M", bound=Model)


class PolicyRole(StrEnum):
    """Roles of the table. A lead is also an engineer of the same team; admin is a flag of its own."""

    ENGINEER = "engineer"
    LEAD = "lead"
    ADMIN = "admin"


class Action(StrEnum):
    JOB_VIEW = "job.view"
    JOB_SUBMIT = "job.submit"
    JOB_CANCEL = "job.cancel"
    JOB_RESTART = "job.restart"
    JOB_HOLD = "job.hold"
    JOB_RESUME = "job.resume"
    JOB_PREEMPT = "job.preempt"
    JOB_REQUEUE = "job.requeue"
    JOB_PRIORITY = "job.priority"
    JOB_SCALE = "job.scale"
    LOG_VIEW = "log.view"
    ENV_VIEW = "env.view"
    PRIORITY_HIGH = "priority.high"
    PRIORITY_URGENT = "priority.urgent"
    QUOTA_VIEW = "quota.view"
    TEAM_CONSOLE = "team.console"
    NODE_VIEW = "node.view"
    PEOPLE_MANAGE = "people.manage"
    SHARES_MANAGE = "shares.manage"
    QUEUES_MANAGE = "queues.manage"
    CLUSTER_MANAGE = "cluster.manage"
    SUPPLIES_VIEW = "supplies.view"
    SUPPLIES_MANAGE = "supplies.manage"
    SECRETS_MANAGE = "secrets.manage"
    OPERATOR_REPAIR = "operator.repair"
    AUDIT_VIEW = "audit.view"
    TOKEN_MANAGE = "token.manage"
    PROFILE_EDIT = "profile.edit"


class Scope(StrEnum):
    """On whose things: nobody's, one's own, one's team's, everybody's."""

    NONE = "none"
    OWN = "own"
    TEAM = "team"
    ALL = "all"


_E, _L, _A = PolicyRole.ENGINEER, PolicyRole.LEAD, PolicyRole.ADMIN
_N, _O, _T, _X = Scope.NONE, Scope.OWN, Scope.TEAM, Scope.ALL

TABLE: dict[Action, dict[PolicyRole, Scope]] = {
    #                        engineer  lead    admin
    Action.JOB_VIEW: {_E: _T, _L: _T, _A: _X},
    Action.JOB_SUBMIT: {_E: _T, _L: _T, _A: _N},  # an admin submits only as a member (decision 58)
    Action.JOB_CANCEL: {_E: _O, _L: _T, _A: _X},
    Action.JOB_RESTART: {_E: _O, _L: _T, _A: _X},
    Action.JOB_HOLD: {_E: _O, _L: _T, _A: _X},
    Action.JOB_RESUME: {_E: _O, _L: _T, _A: _X},
    Action.JOB_PREEMPT: {_E: _N, _L: _T, _A: _X},
    Action.JOB_REQUEUE: {_E: _O, _L: _T, _A: _X},
    Action.JOB_PRIORITY: {_E: _O, _L: _T, _A: _X},
    Action.JOB_SCALE: {_E: _O, _L: _T, _A: _X},
    Action.LOG_VIEW: {_E: _T, _L: _T, _A: _X},
    Action.ENV_VIEW: {_E: _O, _L: _O, _A: _N},
    Action.PRIORITY_HIGH: {_E: _N, _L: _T, _A: _X},
    Action.PRIORITY_URGENT: {_E: _N, _L: _T, _A: _X},
    Action.QUOTA_VIEW: {_E: _T, _L: _T, _A: _X},
    Action.TEAM_CONSOLE: {_E: _N, _L: _T, _A: _N},
    Action.NODE_VIEW: {_E: _N, _L: _N, _A: _X},
    Action.PEOPLE_MANAGE: {_E: _N, _L: _N, _A: _X},
    Action.SHARES_MANAGE: {_E: _N, _L: _N, _A: _X},
    Action.QUEUES_MANAGE: {_E: _N, _L: _T, _A: _X},  # a team's own local queues
    Action.CLUSTER_MANAGE: {_E: _N, _L: _N, _A: _X},
    Action.SUPPLIES_VIEW: {_E: _T, _L: _T, _A: _X},  # names of data sets and secrets, never a value
    Action.SUPPLIES_MANAGE: {_E: _N, _L: _N, _A: _X},
    Action.SECRETS_MANAGE: {_E: _N, _L: _T, _A: _X},
    Action.OPERATOR_REPAIR: {_E: _N, _L: _N, _A: _X},
    Action.AUDIT_VIEW: {_E: _O, _L: _T, _A: _X},
    Action.TOKEN_MANAGE: {_E: _O, _L: _O, _A: _O},
    Action.PROFILE_EDIT: {_E: _O, _L: _O, _A: _O},
}


@dataclass(frozen=True, slots=True)
class Target:
    """Whose thing it is, as far as the policy asks."""

    team_id: int | None = None
    owner_id: int | None = None


def target_of(thing: Target | Model | None) -> Target:
    """Team and owner of a model instance by the paths its class names."""
    if thing is None:
        return Target()
    if isinstance(thing, Target):
        return thing
    return Target(
        team_id=_follow(thing, getattr(thing, "policy_team", None)),
        owner_id=_follow(thing, getattr(thing, "policy_owner", None)),
    )


def _follow(thing: Any, path: str | None) -> int | None:
    if path is None:
        return None
    *heads, last = path.split("__")
    for head in heads:
        thing = getattr(thing, head)
    found: int | None = getattr(thing, f"{last}_id")
    return found


def roles_in(actor: Actor, team_id: int | None) -> frozenset[PolicyRole]:
    """The actor's roles towards a team's things."""
    roles: set[PolicyRole] = set()
    if actor.is_admin:
        roles.add(PolicyRole.ADMIN)
    role = actor.roles.get(team_id) if team_id is not None else None
    if role is not None:
        roles.add(PolicyRole.ENGINEER)
    if role == Role.LEAD:
        roles.add(PolicyRole.LEAD)
    return frozenset(roles)


def can(actor: Actor, action: Action, thing: Target | Model | None = None) -> bool:
    """May the actor do this to this thing? Without a thing: anywhere at all?"""
    row = TABLE[action]
    if thing is None:
        held = roles_anywhere(actor)
        return any(row[role] is not Scope.NONE for role in held) or _everybody(row)
    target = target_of(thing)
    for role in roles_in(actor, target.team_id):
        scope = row[role]
        if scope is Scope.ALL or (scope is Scope.TEAM and role is not PolicyRole.ADMIN):
            return True
        if scope is Scope.OWN and target.owner_id == actor.user.pk:
            return True
    return _everybody(row) and target.owner_id == actor.user.pk


def _everybody(row: dict[PolicyRole, Scope]) -> bool:
    """Every role may do it to their own: so may a person without any team."""
    return all(scope is Scope.OWN for scope in row.values())


def roles_anywhere(actor: Actor) -> frozenset[PolicyRole]:
    roles: set[PolicyRole] = set()
    if actor.is_admin:
        roles.add(PolicyRole.ADMIN)
    if actor.roles:
        roles.add(PolicyRole.ENGINEER)
    if actor.led_team_ids:
        roles.add(PolicyRole.LEAD)
    return frozenset(roles)


def require(actor: Actor, action: Action, thing: Target | Model | None = None) -> None:
    """Raise NotAllowed (403) unless :func:`can`."""
    if not can(actor, action, thing):
        raise NotAllowed("not_allowed", _("Your role does not allow this. Ask a lead of the team or a platform admin."))


def teams_where(actor: Actor, action: Action) -> frozenset[int] | None:
    """Ids of the teams on whose things the actor may do this; None = all teams."""
    row = TABLE[action]
    if actor.is_admin and row[PolicyRole.ADMIN] is Scope.ALL:
        return None
    teams: set[int] = set()
    if row[PolicyRole.ENGINEER] is Scope.TEAM:
        teams |= actor.team_ids
    if row[PolicyRole.LEAD] is Scope.TEAM:
        teams |= actor.led_team_ids
    return frozenset(teams)


def visible(actor: Actor, rows: QuerySet[M], action: Action = Action.JOB_VIEW) -> QuerySet[M]:
    """``rows`` cut down to what the actor may see. The only start of a read for a person."""
    teams = teams_where(actor, action)
    if teams is None:
        return rows
    model: Any = rows.model
    condition = Q()
    if teams:
        condition |= Q(**{f"{model.policy_team}__in": teams})
    if TABLE[action][PolicyRole.ENGINEER] is Scope.OWN:
        condition |= Q(**{model.policy_owner: actor.user.pk})
    return rows.filter(condition) if condition else rows.none()
