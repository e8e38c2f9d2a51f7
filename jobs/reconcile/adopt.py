"""A cluster that is ahead of the database: attempts of known jobs that no row tells of.

That happens when a database is restored from a backup beside a cluster that went on. Such an attempt follows from a
wish or a retry that the database has forgotten, and it runs: it is taken over as it is, before anything is asked of
the cluster. Otherwise the older attempt would be made anew beside it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from clusters.domain.reasons import ReasonCode
from clusters.services import ObservedRow
from jobs.domain.words import TERMINAL_STATES, AttemptEnd, Desired, JobState
from jobs.models import Attempt, Job, JobEvent, Run
from jobs.services.store import attempt_create
from quotas.services import demand_put

logger = logging.getLogger(__name__)

Rows = Mapping[str, Mapping[int, ObservedRow]]


def adopt_newer_attempts(jobs: Sequence[Job], rows: Rows) -> bool:
    """Take over attempts newer than the jobs' own; whether there was any. The jobs have to be read anew then."""
    adopted = False
    for job in jobs:
        number, row = _newest(rows.get(job.public_id, {}))
        if row is None or number <= job.attempt_no:
            continue
        try:
            adopted |= _adopt(job.pk, number, row)
        except Exception:  # one whose rows cannot be read stops no other
            logger.exception("attempt %s of job %s cannot be taken over", number, job.public_id)
    return adopted


def _newest(rows: Mapping[int, ObservedRow]) -> tuple[int, ObservedRow | None]:
    """The highest number of an attempt whose object is there."""
    number = max((number for number, row in rows.items() if not row.gone), default=0)
    return number, rows.get(number)


def _adopt(job_pk: int, number: int, row: ObservedRow) -> bool:
    now = timezone.now()
    at = min(row.facts.created_at, now)
    with transaction.atomic():
        job = Job.objects.select_for_update(no_key=True).get(pk=job_pk)
        if number <= job.attempt_no:
            return False  # restarted since it was read: the database knows of it after all
        logger.warning("attempt %s of job %s runs and was not known: taken over", number, job.public_id)
        before = Attempt.objects.get(job=job, number=job.attempt_no)
        _close(before, at)
        for between in range(job.attempt_no + 1, number):  # their objects have come and gone
            passed = attempt_create(job, between, at, retries_from=before.retries_from)
            _close(passed, at)
            Attempt.objects.filter(pk=passed.pk).update(released_at=at, log_complete=True)
        newest = attempt_create(job, number, at, retries_from=before.retries_from)
        Attempt.objects.filter(pk=newest.pk).update(submitted_at=at, seen_at=now, uid=row.uid)
        _continue(job, number, at, held=not row.facts.active)
        JobEvent.objects.create(job=job, at=at, recorded_at=now, code="attempt_adopted", attempt_no=number)
    return True


def _close(attempt: Attempt, at: datetime) -> None:
    """How it ended is not known, but that it is over."""
    if not attempt.end:
        Attempt.objects.filter(pk=attempt.pk).update(
            end=AttemptEnd.LOST.value, end_reason=ReasonCode.OUTCOME_NOT_RECORDED.value, ended_at=at
        )
    Run.objects.filter(attempt=attempt, ended_at=None).update(ended_at=at, end_cause="lost", times_are_bounds=True)


def _continue(job: Job, number: int, at: datetime, *, held: bool) -> None:
    """The job goes on with its newest attempt, whatever the database remembers that people wanted before it.

    What it shows follows from the facts in the step after this one.
    """
    if job.state in TERMINAL_STATES:
        job.state, job.state_since = JobState.QUEUED.value, at
        job.reason_code, job.reason_facts, job.reason_since = ReasonCode.SUBMITTED.value, {}, at
    job.attempt_no = number
    job.desired = Desired.RUN.value
    job.held = held
    job.rests_for = job.rests_until = None
    job.started_at = job.ended_at = None
    job.save()
    demand_put(
        job_ulid=job.public_id,
        local_queue_id=job.local_queue_id,
        group_id=job.group_id,
        owner_id=job.owner_id,
        cards=job.cards,
        attempt_no=number,
        held=held,
        priority=job.gate_priority,
        since=at,
        let_in=0 if held else job.cards,
    )
