"""Submit: one transaction stores a job with everything that belongs to it, or nothing at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.actors import Actor
from accounts.policy import Action, Target, require
from common.faults import reach
from common.hints import send_for
from jobs.models import Attempt, Job
from jobs.services.intent import check_intent
from jobs.services.keys import check_key, fingerprint, jobs_by_key, keep_keys
from jobs.services.store import jobs_store


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job, and its first attempt when this call made it; None when an earlier one with the same key did."""

    job: Job
    attempt: Attempt | None

    @property
    def created(self) -> bool:
        return self.attempt is not None


def job_submit(
    *,
    actor: Actor,
    data: Mapping[str, Any],
    idempotency_key: str | None = None,
    is_demo: bool = False,
    submitted_at: datetime | None = None,
) -> Submitted:
    """Store a job that shall run.

    Raises InvalidInput (400, problems at their fields), DomainError("key_reused", 422) when the key was used
    with another body. The same key with the same body gives the same job for a day.
    """
    body_hash = fingerprint(data)
    if idempotency_key is not None:
        check_key(idempotency_key)
        if earlier := jobs_by_key(actor, [idempotency_key], body_hash):
            return Submitted(earlier[idempotency_key], None)
    intent = check_intent(actor, data)
    require(actor, Action.JOB_SUBMIT, Target(team_id=intent.team.pk))
    try:
        with transaction.atomic():
            (attempt,) = jobs_store(actor, [intent], submitted_at or timezone.now(), is_demo=is_demo)
            if idempotency_key is not None:
                keep_keys(actor, {idempotency_key: attempt.job}, body_hash)
            send_for("jobs.reconcile", attempt.job_id)
            reach("submit.commit.before")
    except IntegrityError:
        # Another request with this key committed while we worked; our transaction left nothing behind.
        earlier = jobs_by_key(actor, [idempotency_key], body_hash) if idempotency_key is not None else {}
        if not earlier:
            raise
        return Submitted(next(iter(earlier.values())), None)
    reach("submit.commit.after")
    return Submitted(attempt.job, attempt)
