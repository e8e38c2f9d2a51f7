"""Reads about people, teams, tokens and the audit trail. Each has a fixed number of queries."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models import Prefetch
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.models import ApiToken, AuditEvent, Membership, Team, User
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


def person_named(*, viewer: Actor, username: str) -> User:
    """A person by their user name, for whoever manages people. Raises NotAllowed, NotFound."""
    require(viewer, Action.PEOPLE_MANAGE)
    found = User.objects.filter(username=username).first() if "\x00" not in username else None
    if found is None:
        raise NotFound("not_found", _("There is no person of this user name."))
    return found


def team_named(*, viewer: Actor, slug: str) -> Team:
    """A team that is not archived, for whoever manages people. Raises NotAllowed, NotFound."""
    require(viewer, Action.PEOPLE_MANAGE)
    found = Team.objects.filter(slug=slug, archived_at=None).first()
    if found is None:
        raise NotFound("not_found", _("There is no such team."))
    return found


def is_managed_by_provider(user: User) -> bool:
    """Do this person's teams and roles come from the sign-in provider, and only from there?"""
    return settings.OIDC is not None and settings.OIDC.gives_teams and is_linked_to_provider(user)


def must_have_second_factor(user: User) -> bool:
    return bool(settings.ADMIN_NEEDS_SECOND_FACTOR and user.is_platform_admin)


def has_second_factor(user: User) -> bool:
    return Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists()


def sessions_of(user: User) -> list[UserSession]:
    """The person's sessions that still live, the one seen last first; two queries."""
    known = list(UserSession.objects.filter(user=user).order_by("-last_seen_at", "-pk"))
    keys = [session.session_key for session in known]
    alive = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    digest = user.get_session_auth_hash()
    valid = {row.session_key for row in alive if row.get_decoded().get(HASH_SESSION_KEY) == digest}
    return [session for session in known if session.session_key in valid]


def is_linked_to_provider(user: User) -> bool:
    config = settings.OIDC
    return config is not None and SocialAccount.objects.filter(user=user, provider=config.key).exists()


def tokens_of(actor: Actor) -> list[ApiToken]:
    """The actor's tokens that still work, newest first."""
    return list(ApiToken.objects.filter(user=actor.user, expiry__gt=timezone.now()).order_by("-created"))


def audit_page(*, viewer: Actor, cursor: str | None = None) -> Page[AuditEvent]:
    """Acts the viewer may read about, newest first. Raises BadCursor."""
    rows = visible(viewer, AuditEvent.objects.select_related("team"), Action.AUDIT_VIEW)
    return keyset_page(rows, cursor, field="at")
