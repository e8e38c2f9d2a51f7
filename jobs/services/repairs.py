"""What operators do to the bookkeeping of one job that a worker has left behind. The job's wish stays as it is."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from common.hints import send_for
from jobs.models import Job, JobSync


@transaction.atomic
def lease_release(*, actor: Actor, job: Job) -> None:
    """Take a job from whichever worker holds it and let the next one have it; what the old one still writes is void.

    Raises NotAllowed.
    """
    require(actor, Action.OPERATOR_REPAIR)
    JobSync.objects.filter(job=job).update(token="", lease_until=None, due_at=timezone.now())
    _record(actor, "job.release_lease", job)


@transaction.atomic
def reconcile_now(*, actor: Actor, job: Job) -> None:
    """Make the job due now, whatever rest it was given after a failure. Raises NotAllowed."""
    require(actor, Action.OPERATOR_REPAIR)
    JobSync.objects.filter(job=job).update(due_at=timezone.now(), failures=0)
    _record(actor, "job.reconcile_now", job)


def _record(actor: Actor, action: str, job: Job) -> None:
    audit.record(actor, action, target_type="job", target_id=job.public_id, team_id=job.team_id)
    send_for("jobs.reconcile", job.pk)
