"""The audit trail: one row for each act of a person or token, in the transaction of the change (decision 58)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from accounts.actors import Actor
from accounts.models import AuditEvent
from common.rows import insert_many

COMMAND_LINE = "command line"
SIGN_IN_PROVIDER = "sign-in provider"


def record(
    actor: Actor | None,
    action: str,
    *,
    target_type: str,
    target_id: str,
    team_id: int | None = None,
    origin: str = COMMAND_LINE,
    **detail: Any,
) -> None:
    """Write one row. Must run inside the transaction of the change; without an ``actor`` the ``origin`` acted."""
    record_many(actor, action, target_type=target_type, acts=[Act(target_id, team_id, detail)], origin=origin)


@dataclass(frozen=True, slots=True)
class Act:
    """One of several acts of the same kind, on one thing."""

    target_id: str
    team_id: int | None
    detail: Mapping[str, Any]


def record_many(
    actor: Actor | None, action: str, *, target_type: str, acts: Iterable[Act], origin: str = COMMAND_LINE
) -> None:
    """Write one row for each act, in one statement. Must run inside the transaction of the changes."""
    insert_many(rows_of(actor, action, target_type=target_type, acts=acts, origin=origin))


def rows_of(
    actor: Actor | None, action: str, *, target_type: str, acts: Iterable[Act], origin: str = COMMAND_LINE
) -> list[AuditEvent]:
    """The rows of :func:`record_many`, for whoever stores them together with the changes themselves."""
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("the audit trail needs the transaction of the change it records")
    because = {"because": actor.because} if actor and actor.because else {}
    return [
        AuditEvent(
            actor=actor.user if actor else None,
            actor_name=actor.user.username if actor else origin,
            token_name=actor.token_name if actor else "",
            action=action,
            target_type=target_type,
            target_id=act.target_id,
            team_id=act.team_id,
            detail={**act.detail, **because},
        )
        for act in acts
    ]
