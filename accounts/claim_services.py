"""Writes that follow from a sign-in at the provider: an account at the first one, teams and roles at each.

The provider is the truth about whoever signs in there: what its claim does not give is taken away (decision 37). People
with a password and no link to the provider are never touched.
"""

from __future__ import annotations

import logging
import re
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.db import transaction
from django.utils.translation import gettext as _

from accounts import audit
from accounts.access_services import admin_set, lock_admins
from accounts.models import Membership, Team, User
from accounts.oidc.claims import Grants, grants_of
from accounts.oidc.config import OidcConfig
from accounts.services import USERNAME_MAX, username_problems
from common.errors import DomainError, NotFound

logger = logging.getLogger(__name__)

UNKNOWN_SHOWN = 20
_NOT_IN_A_USER_NAME = re.compile(r"[^\w.@+-]+")


@transaction.atomic
def person_from_provider(*, config: OidcConfig, claims: dict[str, Any]) -> User:
    """The account of somebody who signs in for the first time, without a password.

    Raises DomainError when the user name belongs to somebody already: who of the two it is only an admin can say.
    """
    username = username_of(claims, config)
    if problems := username_problems(username):
        if problems[0].code == "taken":
            message = _("The user name %(name)s is somebody's here already. A platform admin can connect the two.")
            raise DomainError("user_name_taken", message % {"name": username})
        raise DomainError("no_user_name", _("The sign-in provider gave no usable user name. Tell a platform admin."))
    name = claims.get("name")
    user = User(username=username, first_name=name.strip()[:150] if isinstance(name, str) else "")
    user.set_unusable_password()
    user.save()
    audit.record(
        None,
        "person.create",
        target_type="person",
        target_id=user.public_id,
        origin=audit.SIGN_IN_PROVIDER,
        username=username,
    )
    _link(user, config, str(claims["sub"]))
    return user


def username_of(claims: dict[str, Any], config: OidcConfig) -> str:
    """The user name the claims give, with signs that are allowed in one; "" when they give none."""
    for name in (config.username_claim, "email", "sub"):
        value = claims.get(name)
        if isinstance(value, str) and value.strip():
            return _NOT_IN_A_USER_NAME.sub("-", value.strip())[:USERNAME_MAX]
    return ""


@transaction.atomic
def person_link(*, config: OidcConfig, user: User, subject: str, keep_password: bool = False) -> None:
    """Let an existing person sign in at the provider as ``subject``; their password here ends unless it is kept.

    From the command line only: whoever may do this could sign in as that person. Raises DomainError when either of
    them has a link already.
    """
    user = User.objects.select_for_update().get(pk=user.pk)
    links = SocialAccount.objects.filter(provider=config.key)
    if links.filter(user=user).exists() or links.filter(uid=subject).exists():
        raise DomainError("linked", _("This person, or this subject, is linked already."))
    _link(user, config, subject)
    if not keep_password and user.has_usable_password():
        user.set_unusable_password()
        user.save(update_fields=["password"])
    audit.record(
        None,
        "person.link",
        target_type="person",
        target_id=user.public_id,
        subject=subject,
        keeps_password=keep_password,
    )


@transaction.atomic
def person_unlink(*, config: OidcConfig, user: User) -> None:
    """Take away a person's way in through the provider. Raises NotFound."""
    removed, _rows = SocialAccount.objects.filter(provider=config.key, user=user).delete()
    if not removed:
        raise NotFound("not_linked", _("This person is not linked to the sign-in provider."))
    audit.record(None, "person.unlink", target_type="person", target_id=user.public_id)


def _link(user: User, config: OidcConfig, subject: str) -> None:
    SocialAccount.objects.create(user=user, provider=config.key, uid=subject, extra_data={"iss": config.issuer})


# --------------------------------------------------------------------------- at each sign-in


@transaction.atomic
def person_admit(*, user: User | None, claims: dict[str, Any], config: OidcConfig) -> User:
    """Who signs in with these claims: ``user`` as linked, or a new person; with the teams the claim gives now.

    Raises DomainError for a new person who may not come in; then nothing is stored. Whether somebody who was here
    before comes in says :func:`is_admitted`, because what the claim took away stays taken.
    """
    grants = grants_of(claims, config)
    is_new = user is None
    if user is None:
        if config.new_people == "none" or (config.new_people == "granted" and not grants):
            raise not_admitted(config)
        user = person_from_provider(config=config, claims=claims)
    if config.gives_teams:
        grants_apply(user=user, grants=grants, config=config)
    user = User.objects.get(pk=user.pk)
    if is_new and not is_admitted(user, config):
        raise not_admitted(config)
    return user


def is_admitted(user: User, config: OidcConfig) -> bool:
    """May somebody with an account come in by the provider? Not without a team, where the claim gives the teams."""
    if config.new_people == "all" or user.is_platform_admin or not config.gives_teams:
        return True
    return Membership.objects.filter(user=user, team__archived_at=None).exists()


def not_admitted(config: OidcConfig) -> DomainError:
    message = _("%(provider)s knows you, but gives you no team here. Ask a platform admin which group you need.")
    return DomainError("not_admitted", message % {"provider": config.name}, status=403)


# --------------------------------------------------------------------------- what the claim gives


@transaction.atomic
def grants_apply(*, user: User, grants: Grants, config: OidcConfig) -> None:
    """Make the person's teams, roles and admin flag what the claim gives; one audit row for each change.

    A team that does not exist here is said in the audit trail and the log. The flag of the last platform admin stays,
    also against the claim.
    """
    user = User.objects.select_for_update().get(pk=user.pk)
    teams = {team.slug: team for team in Team.objects.filter(slug__in=grants.roles, archived_at=None)}
    _memberships(user, {teams[slug]: role for slug, role in grants.roles.items() if slug in teams})
    if unknown := sorted(set(grants.roles) - set(teams)):
        logger.warning("the sign-in provider names teams that do not exist: %s", ", ".join(unknown[:UNKNOWN_SHOWN]))
        _record(user, "claim.unknown_teams", teams=unknown[:UNKNOWN_SHOWN], count=len(unknown))
    if config.gives_admin:
        _admin(user, grants.is_admin)


def _memberships(user: User, wanted: dict[Team, str]) -> None:
    held = {row.team_id: row for row in Membership.objects.filter(user=user).select_related("team")}
    for team, role in wanted.items():
        row = held.pop(team.pk, None)
        if row is None or row.role != role:
            Membership.objects.update_or_create(user=user, team=team, defaults={"role": role})
            _record(user, "membership.set", team_id=team.pk, role=role, new=row is None)
    for row in held.values():
        row.delete()
        _record(user, "membership.remove", team_id=row.team_id)


def _admin(user: User, is_admin: bool) -> None:
    others = [pk for pk in lock_admins() if pk != user.pk]
    if user.is_platform_admin and not is_admin and not others:
        logger.warning("the sign-in provider takes the rights of the last platform admin; they stay")
        _record(user, "admin.keep", why="last platform admin")
        return
    admin_set(None, user, is_admin, origin=audit.SIGN_IN_PROVIDER)


def _record(user: User, action: str, *, team_id: int | None = None, **detail: Any) -> None:
    audit.record(
        None,
        action,
        target_type="person",
        target_id=user.public_id,
        team_id=team_id,
        origin=audit.SIGN_IN_PROVIDER,
        **detail,
    )
