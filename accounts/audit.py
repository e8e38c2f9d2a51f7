"""The audit trail: one row for each act of a person or token, in the transaction of the change (decision 58)."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from accounts.actors import Actor
from accounts.models import AuditEvent


def record(
    actor: Actor | None, action: str, *, target_type: str, target_id: str, team_id: int | None = None, **detail: Any
) -> None:
    """Write one row. Must run inside the transaction of the change; ``actor`` None = the command line."""
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("audit.record needs the transaction of the change it records")
    AuditEvent.objects.create(
        actor=actor.user if actor else None,
        actor_name=actor.user.username if actor else "command line",
        token_name=actor.token_name if actor else "",
        action=action,
        target_type=target_type,
        target_id=target_id,
        team_id=team_id,
        detail=detail,
    )
