"""Writes about people, teams, roles and tokens. Each is one transaction with its audit row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.actors import Actor
from accounts.models import ApiToken, Membership, Role, Team, User
from accounts.policy import Action, require
from accounts.selectors import is_managed_by_provider
from common.errors import DomainError, FieldProblem, InvalidInput, NotFound
from common.ids import is_ulid, new_ulid
from common.names import clean_display_name, slug, space_name

TOKEN_DAYS = 90
TOKEN_DAYS_MAX = 365
TOKENS_MAX = 50
USERNAME_MAX = 150
PREFIXES_MAX = 50

_IMAGE_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}(:[0-9]{1,5})?(/[a-z0-9][a-z0-9._-]{0,127}){0,10}/?")


TEAM_NAME_MAX = 100  # characters


@transaction.atomic
def team_create(*, actor: Actor | None, name: str) -> Team:
    """Add a team. Raises NotAllowed, InvalidInput (blank, too long or taken name)."""
    if actor is not None:
        require(actor, Action.PEOPLE_MANAGE)
    name = clean_display_name(name)
    if not name:
        raise InvalidInput([FieldProblem("name", "blank", _("Give the team a name."))])
    if len(name) > TEAM_NAME_MAX:
        raise InvalidInput([FieldProblem("name", "too_long", _("Use at most 100 characters for the name of a team."))])
    base = slug(name, 40, "team")
    if Team.objects.filter(name__iexact=name).exists():
        raise InvalidInput([FieldProblem("name", "taken", _("There is a team of this name already."))])
    public_id = new_ulid()
    chosen = base if not Team.objects.filter(slug=base).exists() else f"{base[:33]}-{public_id[-6:].lower()}"
    team = Team.objects.create(public_id=public_id, slug=chosen, name=name, space=space_name(chosen, public_id))
    audit.record(actor, "team.create", target_type="team", target_id=team.public_id, team_id=team.pk, name=name)
    return team


@transaction.atomic
def team_archive(*, actor: Actor, team: Team) -> None:
    """Archive a team: it keeps its history, takes no new jobs, and its members lose it at the next request."""
    require(actor, Action.PEOPLE_MANAGE)
    if Team.objects.filter(pk=team.pk, archived_at=None).update(archived_at=timezone.now()) == 1:
        audit.record(actor, "team.archive", target_type="team", target_id=team.public_id, team_id=team.pk)


@transaction.atomic
def team_rules_set(*, actor: Actor, team: Team, image_prefixes: Sequence[str], runs_as_root: bool) -> None:
    """Say whose images the team's jobs may use (none = any), and whether their programs may be root.

    Holds for jobs that are submitted from now on, the second also for attempts that start later. Raises NotAllowed,
    InvalidInput.
    """
    require(actor, Action.SUPPLIES_MANAGE)
    prefixes = list(dict.fromkeys(prefix.strip() for prefix in image_prefixes if prefix.strip()))
    if len(prefixes) > PREFIXES_MAX or not all(_IMAGE_PREFIX.fullmatch(prefix) for prefix in prefixes):
        message = _("Write registries or repositories without tags, such as registry.example/team, at most 50.")
        raise InvalidInput([FieldProblem("images", "malformed", message)])
    Team.objects.filter(pk=team.pk).update(image_prefixes=prefixes, runs_as_root=runs_as_root)
    audit.record(
        actor,
        "team.rules",
        target_type="team",
        target_id=team.public_id,
        team_id=team.pk,
        images=prefixes,
        runs_as_root=runs_as_root,
    )


@transaction.atomic
def person_create(
    *,
    actor: Actor | None,
    username: str,
    password: str,
    full_name: str = "",
    language: str = "",
    is_platform_admin: bool = False,
    password_hash: str | None = None,
) -> User:
    """Add a person. Raises NotAllowed, InvalidInput (username blank, malformed or taken; weak password).

    ``password_hash``: the password's hash, from a caller who has made it already; that takes a quarter of a second.
    """
    if actor is not None:
        require(actor, Action.PEOPLE_MANAGE)
    username = username.strip()
    problems = username_problems(username)
    user = User(
        username=username[:USERNAME_MAX],
        first_name=full_name.strip()[:150],
        language=language,
        is_platform_admin=is_platform_admin,
        is_staff=is_platform_admin,
    )
    try:
        validate_password(password, user)
    except ValidationError:
        problems.append(
            FieldProblem(
                "password",
                "weak",
                _("Choose a password of at least 10 characters that is neither common nor like the user name."),
            )
        )
    if problems:
        raise InvalidInput(problems)
    if password_hash is None:
        user.set_password(password)
    else:
        user.password = password_hash
    user.save()
    audit.record(actor, "person.create", target_type="person", target_id=user.public_id, username=username)
    return user


def username_problems(username: str) -> list[FieldProblem]:
    """What keeps a new person from having this user name: blank, too long, taken in any case of letters, malformed."""
    if not username:
        return [FieldProblem("username", "blank", _("Give a user name."))]
    if len(username) > USERNAME_MAX:
        return [FieldProblem("username", "too_long", _("A user name has at most 150 characters."))]
    if User.objects.filter(username__iexact=username).exists():
        return [FieldProblem("username", "taken", _("There is a person of this user name already."))]
    try:
        User.username_validator(username)
    except ValidationError:
        return [FieldProblem("username", "invalid", _("Use letters, digits and the signs @ . + - _ in a user name."))]
    return []


@transaction.atomic
def person_add(
    *, actor: Actor, username: str, password: str, full_name: str = "", team_slug: str | None = None, role: str = ""
) -> User:
    """Add a person and put them into a team, both or neither. Raises NotAllowed, InvalidInput."""
    require(actor, Action.PEOPLE_MANAGE)
    team = Team.objects.filter(slug=team_slug, archived_at=None).first() if team_slug else None
    if team_slug and team is None:
        raise InvalidInput([FieldProblem("team", "unknown_team", _("There is no team of this name."))])
    if team is not None and role not in Role.values:
        raise _unknown_role()
    user = person_create(actor=actor, username=username, password=password, full_name=full_name)
    if team is not None:
        membership_set(actor=actor, user=user, team=team, role=role)
    return user


def _unknown_role() -> InvalidInput:
    return InvalidInput([FieldProblem("role", "unknown_choice", _("Choose engineer or team lead."))])


@transaction.atomic
def membership_set(*, actor: Actor | None, user: User, team: Team, role: str) -> Membership:
    """Give a person a role in a team, or change it.

    Raises NotAllowed, InvalidInput for a role that is none, DomainError for somebody whose teams the sign-in provider
    gives: it would take them back.
    """
    if actor is not None:
        require(actor, Action.PEOPLE_MANAGE)
        if is_managed_by_provider(user):
            message = _("The sign-in provider gives this person their teams. Change the groups there.")
            raise DomainError("managed_by_provider", message)
    if role not in Role.values:
        raise _unknown_role()
    membership, made = Membership.objects.update_or_create(user=user, team=team, defaults={"role": Role(role)})
    audit.record(
        actor,
        "membership.set",
        target_type="person",
        target_id=user.public_id,
        team_id=team.pk,
        role=str(role),
        new=made,
    )
    return membership


@transaction.atomic
def membership_remove(*, actor: Actor, user: User, team: Team) -> None:
    """Take a person out of a team; it holds from their next request on. Raises NotAllowed."""
    require(actor, Action.PEOPLE_MANAGE)
    removed, _rows = Membership.objects.filter(user=user, team=team).delete()
    if removed:
        audit.record(actor, "membership.remove", target_type="person", target_id=user.public_id, team_id=team.pk)


@transaction.atomic
def token_create(*, actor: Actor, name: str, days: int = TOKEN_DAYS) -> tuple[ApiToken, str]:
    """A fresh token of one's own and its text, which is shown once and never stored. Raises InvalidInput."""
    problems: list[FieldProblem] = []
    name = name.strip()
    if not name:
        problems.append(FieldProblem("name", "blank", _("Give the token a name, such as the script that will use it.")))
    if not 1 <= days <= TOKEN_DAYS_MAX:
        problems.append(FieldProblem("days", "out_of_range", _("Choose between 1 and 365 days.")))
    if problems:
        raise InvalidInput(problems)
    if ApiToken.objects.filter(user=actor.user, expiry__gt=timezone.now()).count() >= TOKENS_MAX:
        raise DomainError("too_many_tokens", _("You have 50 valid tokens. Revoke one that is no longer used first."))
    token, text = ApiToken.objects.create(user=actor.user, expiry=timedelta(days=days), name=name[:100])
    audit.record(actor, "token.create", target_type="token", target_id=token.public_id, name=name[:100])
    return token, text


@transaction.atomic
def token_revoke(*, actor: Actor, public_id: str) -> None:
    """Revoke one of one's own tokens at once. Raises NotFound."""
    removed = 0
    if is_ulid(public_id):
        removed, _rows = ApiToken.objects.filter(user=actor.user, public_id=public_id).delete()
    if not removed:
        raise NotFound("not_found", _("There is no such token."))
    audit.record(actor, "token.revoke", target_type="token", target_id=public_id)


@transaction.atomic
def profile_edit(*, actor: Actor, language: str | None = None, time_zone: str | None = None) -> None:
    """Change one's own language ('' = as the browser asks) or time zone ('' = the site's). Raises InvalidInput."""
    changes: dict[str, str] = {}
    if language is not None:
        if language and language not in dict(settings.LANGUAGES):
            raise InvalidInput([FieldProblem("language", "unknown", _("This language is not offered."))])
        changes["language"] = language
    if time_zone is not None:
        if time_zone and time_zone not in available_timezones():
            raise InvalidInput([FieldProblem("time_zone", "unknown", _("There is no time zone of this name."))])
        changes["time_zone"] = time_zone
    if changes:
        User.objects.filter(pk=actor.user.pk).update(**changes)
        audit.record(
            actor, "profile.edit", target_type="person", target_id=actor.user.public_id, changed=sorted(changes)
        )
