"""Writes about who gets in at all: disabling people, ending sessions, giving up tokens and second factors.

All of it holds at the next request: sessions are looked up in the database at each one.
"""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.actors import Actor
from accounts.models import ApiToken, User
from accounts.policy import Action, require
from common.errors import DomainError, NotFound


def lock_admins() -> list[int]:
    """Ids of the platform admins who may sign in, locked: of two who lose that at once, one waits for the other."""
    rows = User.objects.select_for_update().filter(is_platform_admin=True, is_active=True).order_by("pk")
    return list(rows.values_list("pk", flat=True))


@transaction.atomic
def person_disable(*, actor: Actor | None, user: User) -> None:
    """Shut a person out: no sign-in, every session over, every token gone. Memberships and jobs stay.

    Doing it twice is doing it once. Raises NotAllowed, DomainError for the last active platform admin.
    """
    if actor is not None:
        require(actor, Action.PEOPLE_MANAGE)
    if lock_admins() == [user.pk]:
        raise DomainError("last_admin", _("This is the last platform admin. Make somebody else one first."))
    if User.objects.filter(pk=user.pk, is_active=True).update(is_active=False) == 1:
        sessions = end_all_sessions(user)
        tokens, _rows = ApiToken.objects.filter(user=user).delete()
        _record(actor, "person.disable", user, username=user.username, sessions=sessions, tokens=tokens)


@transaction.atomic
def person_enable(*, actor: Actor | None, user: User) -> None:
    """Let a disabled person sign in again; old sessions and tokens stay dead. Raises NotAllowed."""
    if actor is not None:
        require(actor, Action.PEOPLE_MANAGE)
    if User.objects.filter(pk=user.pk, is_active=False).update(is_active=True) == 1:
        _record(actor, "person.enable", user, username=user.username)


def admin_set(actor: Actor | None, user: User, is_admin: bool, *, origin: str = audit.COMMAND_LINE) -> None:
    """Give or take the platform admin's flag; in the caller's transaction, which has locked the admins."""
    changed = User.objects.filter(pk=user.pk).exclude(is_platform_admin=is_admin, is_staff=is_admin)
    if changed.update(is_platform_admin=is_admin, is_staff=is_admin):
        action = "admin.grant" if is_admin else "admin.revoke"
        audit.record(actor, action, target_type="person", target_id=user.public_id, origin=origin)


# --------------------------------------------------------------------------- sessions


@transaction.atomic
def sessions_end(*, actor: Actor | None, user: User) -> int:
    """End every session of a person; how many were known. Raises NotAllowed unless one's own or an admin's act."""
    if actor is not None and actor.user.pk != user.pk:
        require(actor, Action.PEOPLE_MANAGE)
    ended = end_all_sessions(user)
    _record(actor, "sessions.end", user, sessions=ended)
    return ended


@transaction.atomic
def sessions_end_others(*, actor: Actor, current_key: str) -> str:
    """End all of one's sessions but this one. What it returns is the hash this one must carry from now on."""
    ended = end_all_sessions(actor.user, but=current_key)
    _record(actor, "sessions.end", actor.user, sessions=ended)
    return User.objects.get(pk=actor.user.pk).get_session_auth_hash()


@transaction.atomic
def session_end(*, actor: Actor, pk: int) -> None:
    """End one of one's own sessions. Raises NotFound."""
    found = UserSession.objects.filter(user=actor.user, pk=pk).first()
    if found is None:
        raise NotFound("not_found", _("There is no such session; it may have ended already."))
    Session.objects.filter(session_key=found.session_key).delete()
    found.delete()
    _record(actor, "sessions.end", actor.user, sessions=1)


def end_all_sessions(user: User, *, but: str = "") -> int:
    """Make every session of the person void, also those nobody lists; how many were listed. In a transaction."""
    User.objects.filter(pk=user.pk).update(session_generation=F("session_generation") + 1)
    known = UserSession.objects.filter(user=user).exclude(session_key=but)
    Session.objects.filter(session_key__in=known.values("session_key")).delete()
    ended, _rows = known.delete()
    return ended


# --------------------------------------------------------------------------- second factor, tokens of others


@transaction.atomic
def second_factor_remove(*, actor: Actor | None, user: User) -> None:
    """Take away a second factor that its owner has lost, with its recovery codes, and end all sessions.

    Raises NotAllowed, NotFound when there is none.
    """
    if actor is not None:
        require(actor, Action.PEOPLE_MANAGE)
    removed, _rows = Authenticator.objects.filter(user=user).delete()
    if not removed:
        raise NotFound("no_second_factor", _("This person has no second factor."))
    end_all_sessions(user)
    _record(actor, "second_factor.remove", user, username=user.username)


@transaction.atomic
def token_withdraw(*, actor: Actor | None, token: ApiToken) -> None:
    """Revoke somebody else's token, which for instance was found in a log. Raises NotAllowed."""
    if actor is not None:
        require(actor, Action.PEOPLE_MANAGE)
    removed, _rows = ApiToken.objects.filter(pk=token.pk).delete()
    if removed:
        audit.record(
            actor,
            "token.withdraw",
            target_type="token",
            target_id=token.public_id,
            name=token.name,
            owner=token.user.username,
        )


def _record(actor: Actor | None, action: str, user: User, **detail: Any) -> None:
    audit.record(actor, action, target_type="person", target_id=user.public_id, **detail)
