"""Idempotency keys: a request that a person sends twice makes its jobs once (decision 57). Kept for a day."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from common.errors import DomainError, FieldProblem, InvalidInput
from common.rows import insert_many
from jobs.models import IdempotencyKey, Job

KEY_MAX = 200
KEY_LIFE = timedelta(hours=24)


def check_key(key: str) -> None:
    """Raise InvalidInput for a key that could not be kept."""
    if not key.strip() or len(key) > KEY_MAX or not key.isprintable():
        raise InvalidInput(
            [FieldProblem("Idempotency-Key", "malformed", _("The key has 1 to 200 printable characters."))]
        )


def fingerprint(data: Any) -> str:
    """Of a request's body: the same for the same body, however it was written down."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()


def name_in_bulk(key: str, index: int) -> str:
    """The name under which the job at one place of a bulk request is kept; as long as any key may be."""
    return f"bulk:{hashlib.sha256(key.encode()).hexdigest()[:40]}:{index}"


def jobs_by_key(actor: Actor, names: Iterable[str], body_hash: str) -> dict[str, Job]:
    """Jobs that the same request made before, by name; one query. Raises DomainError(422) for another request."""
    rows = IdempotencyKey.objects.select_related("job").filter(user=actor.user, key__in=list(names))
    found = {row.key: row for row in rows}
    old = [row for row in found.values() if timezone.now() - row.created_at > KEY_LIFE]
    if old:
        IdempotencyKey.objects.filter(pk__in=[row.pk for row in old]).delete()
    kept = {row.key: row for row in found.values() if row not in old}
    if any(row.body_hash != body_hash for row in kept.values()):
        raise DomainError(
            "key_reused",
            _("This idempotency key was used with another job. Use a new key for a new job."),
            status=422,
            attr="Idempotency-Key",
        )
    return {key: row.job for key, row in kept.items()}


def keep_keys(actor: Actor, jobs: Mapping[str, Job], body_hash: str) -> None:
    """Remember which jobs the request made, by name; in its transaction, and one statement.

    Raises IntegrityError when the same request was faster.
    """
    now = timezone.now()
    insert_many(
        [
            IdempotencyKey(user=actor.user, key=name, body_hash=body_hash, job=job, created_at=now)
            for name, job in jobs.items()
        ]
    )
