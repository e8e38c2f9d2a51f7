"""Submit: one transaction stores the intent, its first attempt, its demand and the audit row, or nothing at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, Target, require
from clusters.domain.reasons import ReasonCode
from common.errors import DomainError, FieldProblem, InvalidInput
from common.faults import reach
from common.hints import send
from common.ids import new_ulid
from common.names import object_name, slug
from jobs.domain.words import JobState
from jobs.models import Attempt, IdempotencyKey, Job, JobEvent, JobSync
from jobs.services.intent import Intent, check_intent
from jobs.specs import spec_hash
from quotas.services import demand_put

KEY_MAX = 200
KEY_LIFE = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job, and whether this call made it or an earlier one with the same key did."""

    job: Job
    created: bool


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
    body_hash = hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()
    if idempotency_key is not None:
        _check_key(idempotency_key)
        if (earlier := _earlier(actor, idempotency_key, body_hash)) is not None:
            return Submitted(earlier, created=False)
    intent = check_intent(actor, data)
    require(actor, Action.JOB_SUBMIT, Target(team_id=intent.team.pk))
    try:
        with transaction.atomic():
            job = _store(actor, intent, is_demo=is_demo, now=submitted_at or timezone.now())
            if idempotency_key is not None:
                IdempotencyKey.objects.create(
                    user=actor.user, key=idempotency_key, body_hash=body_hash, job=job, created_at=timezone.now()
                )
            send("jobs.reconcile", job.pk)
            reach("submit.commit.before")
    except IntegrityError:
        # Another request with this key committed while we worked; our transaction left nothing behind.
        earlier = _earlier(actor, idempotency_key, body_hash) if idempotency_key is not None else None
        if earlier is None:
            raise
        return Submitted(earlier, created=False)
    reach("submit.commit.after")
    return Submitted(job, created=True)


def _check_key(key: str) -> None:
    if not key.strip() or len(key) > KEY_MAX or not key.isprintable():
        raise InvalidInput(
            [FieldProblem("Idempotency-Key", "malformed", _("The key has 1 to 200 printable characters."))]
        )


def _earlier(actor: Actor, key: str, body_hash: str) -> Job | None:
    found = IdempotencyKey.objects.select_related("job").filter(user=actor.user, key=key).first()
    if found is None:
        return None
    if timezone.now() - found.created_at > KEY_LIFE:
        found.delete()
        return None
    if found.body_hash != body_hash:
        raise DomainError(
            "key_reused",
            _("This idempotency key was used with another job. Use a new key for a new job."),
            status=422,
            attr="Idempotency-Key",
        )
    return found.job


def _store(actor: Actor, intent: Intent, *, is_demo: bool, now: datetime) -> Job:
    public_id = new_ulid()
    job = Job(
        public_id=public_id,
        team=intent.team,
        owner=actor.user,
        cluster=intent.place.cluster,
        local_queue=intent.local_queue,
        group=intent.group.group if intent.group else None,
        is_demo=is_demo,
        display_name=intent.display_name,
        slug=slug(intent.display_name),
        salt=public_id[-10:].lower(),
        framework=intent.framework.value,
        image=intent.image,
        command=intent.command,
        env=intent.env,
        kind=intent.kind.value,
        priority=intent.priority.value,
        cards=intent.shape.cards,
        pods=intent.shape.pods,
        cards_per_pod=intent.shape.cards_per_pod,
        cpu_millis=intent.cpu_millis,
        memory_bytes=intent.memory_bytes,
        max_run_seconds=intent.max_run_seconds,
        retry_limit=intent.retry_limit,
        code=intent.given.code,
        datasets=intent.given.datasets,
        submitted_at=now,
        state=JobState.QUEUED.value,
        state_since=now,
        reason_code=ReasonCode.SUBMITTED.value,
        reason_since=now,
    )
    job.save(force_insert=True)
    attempt_create(job, 1, now, retries_from=1)
    JobSync.objects.create(job=job, job_ulid=public_id, due_at=now)
    demand_put(
        job_ulid=public_id,
        local_queue_id=intent.local_queue.pk,
        group_id=intent.group.group.pk if intent.group else None,
        owner_id=actor.user.pk,
        cards=intent.shape.cards,
        attempt_no=1,
        held=False,
    )
    JobEvent.objects.create(
        job=job,
        at=now,
        recorded_at=now,
        code="submitted",
        facts={"cards": job.cards, "group": intent.group.group.title if intent.group else ""},
        attempt_no=1,
        actor=actor.user,
    )
    audit.record(
        actor,
        Action.JOB_SUBMIT.value,
        target_type="job",
        target_id=public_id,
        team_id=intent.team.pk,
        cards=job.cards,
        priority=job.priority,
        **({"reason": intent.priority_reason} if intent.priority_reason else {}),
    )
    return job


def attempt_create(job: Job, number: int, now: datetime, *, retries_from: int) -> Attempt:
    """The row of attempt ``number``; its object is made by the reconcile loop.

    ``retries_from`` is the first attempt since a person's last restart: only those count as retries.
    """
    return Attempt.objects.create(
        job=job,
        number=number,
        object_name=object_name(job.slug, job.salt, number),
        spec_hash=spec_hash(job, number),
        retries_from=retries_from,
        created_at=now,
    )
