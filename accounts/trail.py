"""Audit rows of acts in allauth's pages, which tell of them by signals: a password changed, a second factor changed.

allauth sends these after the change, so the row is written in a transaction of its own.
"""

from __future__ import annotations

from typing import Any

from allauth.account.signals import password_changed
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset
from django.db import transaction
from django.dispatch import Signal

from accounts import audit
from accounts.actors import actor_of
from accounts.models import User

_ACTIONS = {
    (authenticator_added, Authenticator.Type.TOTP): "second_factor.add",
    (authenticator_removed, Authenticator.Type.TOTP): "second_factor.drop",
    (authenticator_reset, Authenticator.Type.RECOVERY_CODES): "second_factor.codes",
}


def listen() -> None:
    password_changed.connect(_password_changed, dispatch_uid="accounts.trail")
    for signal in (authenticator_added, authenticator_removed, authenticator_reset):
        signal.connect(_second_factor_changed, dispatch_uid="accounts.trail")


def _password_changed(sender: Any, user: User, **_kwargs: Any) -> None:
    _record(user, "password.change")


def _second_factor_changed(sender: Any, signal: Signal, user: User, authenticator: Any, **_kwargs: Any) -> None:
    action = _ACTIONS.get((signal, authenticator.type))
    if action is not None:  # recovery codes come and go with the factor they belong to
        _record(user, action)


@transaction.atomic
def _record(user: User, action: str) -> None:
    audit.record(actor_of(user), action, target_type="person", target_id=user.public_id)
