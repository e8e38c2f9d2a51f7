"""Rows of claimed jobs → the pure views that `jobs.domain.transitions` decides on. A fixed number of queries."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from clusters.contract import Capability, WorkloadFacts
from clusters.domain.reasons import Reason, ReasonCode
from clusters.domain.states import EMPTY_GROUP, GroupSnapshot
from clusters.services import ObservedRow, capabilities_of, group_snapshots, observed_rows, settling_of
from jobs.domain.moves import AttemptView, JobView, Rest, Sight
from jobs.domain.runs import RunView
from jobs.domain.words import Desired, JobState, Kind, Priority, priority_value
from jobs.models import Attempt, Job, Run
from jobs.reconcile.adopt import adopt_newer_attempts

logger = logging.getLogger(__name__)

CLOCKS_DIFFER_BY = timedelta(seconds=30)
"""At most, between the hosts of workers. What was recorded further ahead was so before the clock was put back."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """One claimed job with everything a step needs."""

    job: Job
    attempt: Attempt
    older: tuple[Attempt, ...]
    runs: tuple[RunView, ...]
    view: JobView
    sight: Sight
    rows: dict[int, ObservedRow]
    group: GroupSnapshot

    @property
    def facts(self) -> WorkloadFacts | None:
        """Facts of the newest attempt's object, if it is there."""
        return None if self.sight.gone else self.sight.facts

    @property
    def seen_version(self) -> int:
        return max((row.version for row in self.rows.values()), default=0)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A claimed job whose rows make no sense to this version."""

    job: Job


def load(job_ids: Sequence[int]) -> list[Loaded | Unreadable]:
    """Everything about these jobs as of now. One whose rows cannot be read stops no other."""
    if not job_ids:
        return []
    jobs = _jobs(job_ids)
    rows = observed_rows([job.public_id for job in jobs])
    if adopt_newer_attempts(jobs, rows):
        jobs = _jobs(job_ids)
    attempts: dict[int, list[Attempt]] = defaultdict(list)
    newest_number = {job.pk: job.attempt_no for job in jobs}
    for attempt in Attempt.objects.filter(job__in=job_ids).order_by("number"):
        if attempt.number <= newest_number[attempt.job_id]:  # one of a restart in between does not go with this row
            attempts[attempt.job_id].append(attempt)
    newest = {job.pk: attempts[job.pk][-1] for job in jobs}
    runs: dict[int, list[RunView]] = defaultdict(list)
    for run in Run.objects.filter(attempt__in=[a.pk for a in newest.values()], replica=0).order_by("ordinal"):
        runs[run.attempt_id].append(run_view(run))
    snapshots = group_snapshots()
    beneficiaries = _beneficiaries(jobs)
    result: list[Loaded | Unreadable] = []
    for job in jobs:
        try:
            result.append(
                _loaded(
                    job,
                    attempts[job.pk],
                    tuple(runs[newest[job.pk].pk]),
                    rows.get(job.public_id, {}),
                    snapshots.get(job.group_id or 0, EMPTY_GROUP),
                    _rest(job, beneficiaries),
                )
            )
        except Exception:
            logger.exception("rows of %s cannot be read", job.public_id)
            result.append(Unreadable(job))
    return result


def _jobs(job_ids: Sequence[int]) -> list[Job]:
    related = ("team", "cluster", "group", "local_queue__queue", "sync")
    return list(Job.objects.filter(pk__in=job_ids).select_related(*related))


def _beneficiaries(jobs: Sequence[Job]) -> dict[int, Job]:
    """The jobs that some of these give way to; no query when none does."""
    ids = {job.rests_for_id for job in jobs if job.rests_for_id is not None}
    fields = ("public_id", "state", "held", "rests_until", "desired")
    return Job.objects.only(*fields).in_bulk(ids) if ids else {}


def _rest(job: Job, beneficiaries: Mapping[int, Job]) -> Rest | None:
    if job.rests_until is None:
        return None
    beneficiary = beneficiaries.get(job.rests_for_id or 0)
    if beneficiary is None:
        return Rest(job.rests_until)
    return Rest(job.rests_until, beneficiary.public_id, beneficiary.waits)


def run_view(run: Run) -> RunView:
    return RunView(
        ordinal=run.ordinal,
        queued_at=run.queued_at,
        admitted_at=run.admitted_at,
        scheduled_at=run.scheduled_at,
        started_at=run.started_at,
        ended_at=run.ended_at,
        released_at=run.released_at,
        end_cause=run.end_cause,
        nodes=tuple(run.nodes),
        cards=run.cards,
        times_are_bounds=run.times_are_bounds,
        was_evicted=run.was_evicted,
    )


def _loaded(
    job: Job,
    attempts: list[Attempt],
    runs: tuple[RunView, ...],
    rows: dict[int, ObservedRow],
    group: GroupSnapshot,
    rest: Rest | None,
) -> Loaded:
    *older, attempt = attempts
    row = rows.get(attempt.number)
    sight = Sight(facts=row.facts if row else None, gone=row.gone if row else False, complete_at=job.cluster.synced_at)
    capabilities = capabilities_of(job.cluster)
    view = JobView(
        desired=Desired(job.desired),
        held=job.held,
        kind=Kind(job.kind),
        state=JobState(job.state),
        reason=Reason(ReasonCode(job.reason_code), job.reason_facts),
        is_stopping=job.is_stopping,
        attempt=_attempt_view(job, attempt, older, runs),
        retry_limit=job.retry_limit,
        max_run=timedelta(seconds=job.max_run_seconds) if job.max_run_seconds else None,
        can_hold=Capability.HOLD in capabilities,
        rest=rest,
        priority=priority_value(Priority(job.priority), Kind(job.kind)),
        replicas=job.pods if job.is_service else None,
        can_scale=Capability.SCALE in capabilities,
        can_prioritise=Capability.PRIORITY in capabilities,
    )
    return Loaded(job, attempt, tuple(older), runs, view, sight, rows, group)


def _attempt_view(job: Job, attempt: Attempt, older: Sequence[Attempt], runs: Sequence[RunView]) -> AttemptView:
    now = timezone.now()
    ran = sum(
        (run.ended_at - run.started_at).total_seconds()
        for run in runs
        if run.started_at is not None and run.ended_at is not None
    )
    since_restart = [a for a in older if a.number >= attempt.retries_from]
    return AttemptView(
        number=attempt.number,
        not_before=_not_before(job, attempt, now),
        submitted_at=_recorded(attempt.submitted_at, now),
        seen=attempt.seen_at is not None,
        stop_asked_at=_recorded(attempt.stop_asked_at, now),
        stop_cause=attempt.stop_cause,
        ended=bool(attempt.end),
        logs_complete=attempt.log_complete,
        logs_tried_at=attempt.log_checked_at,
        infra_failures=sum(1 for a in since_restart if a.is_infrastructure),
        app_failures=sum(1 for a in since_restart if a.end == "failed" and not a.is_infrastructure),
        releases=sum(1 for a in since_restart if a.stop_cause == ReasonCode.NOT_PLACED.value),
        ran_seconds=int(ran),
    )


def _recorded(at: datetime | None, now: datetime) -> datetime | None:
    """When we asked something of the cluster. If that lies ahead, no look can tell what came of it: it is asked again,
    which changes nothing where it was done.
    """
    return at if at is None or at <= now + CLOCKS_DIFFER_BY else None


def _not_before(job: Job, attempt: Attempt, now: datetime) -> datetime | None:
    """A retry or a requeue queues behind those that waited, and so not before they were looked at.

    A person's restart is a wish like any other.
    """
    if attempt.number <= attempt.retries_from:
        return None
    since = _recorded(attempt.created_at, now)
    return since + settling_of(job.cluster) if since is not None else None
