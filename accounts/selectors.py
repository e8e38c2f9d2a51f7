"""Reads about people, teams, tokens and the audit trail. Each has a fixed number of queries."""

from __future__ import annotations

from django.db.models import Prefetch
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.models import ApiToken, AuditEvent, Membership, Team
from accounts.policy import Action, Target, require, visible
from common.errors import NotFound
from common.pages import Page, keyset_page


def has_teams() -> bool:
    return Team.objects.filter(archived_at=None).exists()


def teams_of(actor: Actor) -> list[Team]:
    """The teams the actor is in, by name."""
    return list(Team.objects.filter(pk__in=actor.team_ids).order_by("name"))


def team_choices() -> list[tuple[str, str]]:
    """(slug, name) of every team that is not archived, for a filter of admins; one query."""
    return list(Team.objects.filter(archived_at=None).order_by("name").values_list("slug", "name"))


def team_led(*, viewer: Actor, slug: str) -> Team:
    """A team for its lead's console.

    Raises NotFound for a team the viewer is not in (also one that does not exist), NotAllowed for one they do not lead.
    """
    team = Team.objects.filter(pk__in=viewer.team_ids, slug=slug).first()
    if team is None:
        raise NotFound("not_found", _("There is no such team, or you are not in it."))
    require(viewer, Action.TEAM_CONSOLE, Target(team_id=team.pk))
    return team


def team_people(team: Team) -> list[tuple[str, str]]:
    """(user name, shown name) of a team's members, for a filter."""
    members = Membership.objects.filter(team=team).select_related("user").order_by("user__username")
    return [(member.user.username, member.user.display_name) for member in members]


def teams_with_members(*, viewer: Actor) -> list[Team]:
    """All teams that are not archived, each with `people`: its memberships. Raises NotAllowed."""
    require(viewer, Action.PEOPLE_MANAGE)
    members = Membership.objects.select_related("user").order_by("-role", "user__username")
    rows = Team.objects.filter(archived_at=None).order_by("name")
    return list(rows.prefetch_related(Prefetch("memberships", members, to_attr="people")))


def membership_get(*, viewer: Actor, pk: int) -> Membership:
    """One membership, for whoever manages people. Raises NotAllowed, NotFound."""
    require(viewer, Action.PEOPLE_MANAGE)
    found = Membership.objects.select_related("user", "team").filter(pk=pk).first()
    if found is None:
        raise NotFound("not_found", _("There is no such membership."))
    return found


def membership_named(*, viewer: Actor, team: str, username: str) -> Membership:
    """The membership of a person in a team, by their names. Raises NotAllowed, NotFound."""
    require(viewer, Action.PEOPLE_MANAGE)
    rows = Membership.objects.select_related("user", "team").filter(team__slug=team, user__username=username)
    found = rows.first() if "\x00" not in username else None  # an address may hold what no column takes
    if found is None:
        raise NotFound("not_found", _("There is no such membership."))
    return found


def tokens_of(actor: Actor) -> list[ApiToken]:
    """The actor's tokens that still work, newest first."""
    return list(ApiToken.objects.filter(user=actor.user, expiry__gt=timezone.now()).order_by("-created"))


def audit_page(*, viewer: Actor, cursor: str | None = None) -> Page[AuditEvent]:
    """Acts the viewer may read about, newest first. Raises BadCursor."""
    rows = visible(viewer, AuditEvent.objects.select_related("team"), Action.AUDIT_VIEW)
    return keyset_page(rows, cursor, field="at")
