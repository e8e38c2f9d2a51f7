"""Write one step back: a single transaction guarded by the claim's token; zero rows = the claim was lost, drop it.

Touches observed columns only; a step that changes nothing writes nothing but the claim's own row.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from clusters.domain.reasons import Reason, ReasonCode
from clusters.nodes_suspicion import failure_note
from common.faults import reach
from common.ids import new_ulid
from common.names import object_name
from jobs.domain.moves import AttemptEnding, Move
from jobs.domain.runs import RunView, advance_runs, close_unseen
from jobs.domain.words import TERMINAL_STATES, AttemptEnd, Desired, JobState
from jobs.models import Attempt, Job, JobEvent, JobSync, Run
from jobs.reconcile.claims import DUE_WITHIN, Claim
from jobs.reconcile.load import Loaded
from jobs.services.store import attempt_create
from quotas.services import demand_drop, demand_hold, demand_put

CALM = timedelta(seconds=30)
"""Decision 42: while a job waits, the headline of its reason changes only after this long."""
CALM_CODES = frozenset(
    {
        ReasonCode.WAITING_FOR_QUOTA,
        ReasonCode.WAITING_ABOVE_SHARE,
        ReasonCode.SPLIT_OVER_NODES,
        ReasonCode.NO_PLACE,
        ReasonCode.WAITING_FOR_PREEMPTION,
        ReasonCode.WAITING,
    }
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the calls of this step brought: times to record, or an error and when to try again."""

    submitted_at: datetime | None = None
    uid: str = ""
    stop_asked_at: datetime | None = None
    fresh_name: bool = False
    error: str = ""
    failures: int = 0
    retry_in: timedelta | None = None


class ClaimLost(Exception):
    """Somebody else has the job now."""


_WISHES = ("generation", "attempt_no", "desired", "held", "rests_until", "kind", "priority")


def write_back(claim: Claim, loaded: Loaded, move: Move, outcome: Outcome, now: datetime) -> bool:
    """Record a step. False if the claim was lost or the job restarted, and then nothing is recorded.

    The job's row is locked first, as a person's operation does: in another order the two would deadlock.
    """
    reach("writeback.before")
    try:
        with transaction.atomic():
            locked = Job.objects.select_for_update(no_key=True).only(*_WISHES).get(pk=loaded.job.pk)
            has_newer_wish = locked.generation > loaded.job.generation
            _release_claim(claim, loaded, move, outcome, now, has_newer_wish=has_newer_wish)
            if locked.attempt_no != loaded.attempt.number:
                return False  # restarted since it was loaded: nothing of this step is about the new attempt
            _write_attempt(loaded, move, outcome, now)
            _write_older(loaded, now)
            runs = runs_after(loaded, move, now)
            _write_runs(loaded, runs)
            _write_job(loaded, locked, move, runs, now)
            reach("writeback.commit.before")
    except ClaimLost:
        return False
    reach("writeback.commit.after")
    return True


def _release_claim(
    claim: Claim, loaded: Loaded, move: Move, outcome: Outcome, now: datetime, *, has_newer_wish: bool
) -> None:
    """Give the job back. A wish that came in since the claim is due at once: it must not be overwritten."""
    wait = outcome.retry_in if outcome.error else move.due_in
    if has_newer_wish:
        wait = timedelta(0)
    changed = JobSync.objects.filter(job=loaded.job, token=claim.token).update(
        token="",
        lease_until=None,
        due_at=now + min(wait, DUE_WITHIN) if wait is not None else None,
        seen_version=loaded.seen_version,
        observed_generation=loaded.job.generation,
        failures=outcome.failures,
        last_error=outcome.error[:200],
    )
    if changed != 1:
        raise ClaimLost(loaded.job.public_id)


# --------------------------------------------------------------------------- attempt


def _write_attempt(loaded: Loaded, move: Move, outcome: Outcome, now: datetime) -> None:
    attempt = loaded.attempt
    changes: dict[str, Any] = {}
    row = loaded.rows.get(attempt.number)
    if row is not None:
        if attempt.seen_at is None:
            changes["seen_at"] = now
        if attempt.uid != row.uid:
            changes["uid"] = row.uid
        if attempt.submitted_at is None:
            changes["submitted_at"] = row.facts.created_at  # made by a step that died before it could say so
    if outcome.submitted_at is not None:
        changes |= {"submitted_at": outcome.submitted_at, "uid": outcome.uid or attempt.uid}
    if outcome.stop_asked_at is not None:
        changes["stop_asked_at"] = outcome.stop_asked_at
    if move.stop_cause is not None and not attempt.stop_cause:
        changes["stop_cause"] = move.stop_cause
    if outcome.fresh_name:
        salt = new_ulid()[-10:].lower()
        changes |= {"object_name": object_name(loaded.job.slug, salt, attempt.number), "conflicts": 1}
        Job.objects.filter(pk=loaded.job.pk).update(salt=salt)
        loaded.job.salt = salt
    if move.released and attempt.released_at is None:
        changes["released_at"] = now
        if row is None:
            changes["log_complete"] = True  # nothing was ever there to read
    if move.ending is not None and not attempt.end:
        ending = move.ending
        changes |= {
            "end": ending.end.value,
            "end_reason": ending.reason.code.value,
            "end_facts": dict(ending.reason.facts),
            "ended_at": ending.at,
            "is_infrastructure": ending.infrastructure,
            "exit_code": ending.exit_code,
        }
        _note_node(loaded, ending)
    if changes:
        Attempt.objects.filter(pk=attempt.pk).update(**changes)


def _note_node(loaded: Loaded, ending: AttemptEnding) -> None:
    """That the attempt failed on a node: where that happens to several people the node is suspected."""
    failure = loaded.sight.facts.failure if loaded.sight.facts is not None else None
    if ending.end is not AttemptEnd.FAILED or failure is None or not failure.node:
        return
    failure_note(
        cluster_id=loaded.job.cluster_id,
        node=failure.node,
        job_ulid=loaded.job.public_id,
        attempt=loaded.attempt.number,
        owner_id=loaded.job.owner_id,
        code=ending.reason.code.value,
        at=ending.at,
    )


def _write_older(loaded: Loaded, now: datetime) -> None:
    """That the object of an earlier attempt is gone, and its pods with it."""
    for attempt in loaded.older:
        row = loaded.rows.get(attempt.number)
        if attempt.released_at is not None or (row is not None and not row.gone):
            continue
        Attempt.objects.filter(pk=attempt.pk).update(released_at=now)
        released_at = (row.facts.released_at if row is not None else None) or now
        Run.objects.filter(attempt=attempt, ended_at__isnull=False, released_at=None).update(released_at=released_at)


# --------------------------------------------------------------------------- runs


def runs_after(loaded: Loaded, move: Move, now: datetime) -> tuple[RunView, ...]:
    """The newest attempt's runs after this step."""
    facts = loaded.sight.facts if move.ending is not None else loaded.facts  # the last word of what vanished counts
    runs = advance_runs(loaded.runs, facts, now) if facts is not None else loaded.runs
    if move.ending is not None and move.ending.end in {AttemptEnd.STOPPED, AttemptEnd.LOST}:
        freed_at = facts.evicted_at if facts is not None and facts.being_deleted else None
        runs = close_unseen(runs, move.ending.at, _end_cause(loaded, move), freed_at, pods_gone=move.released)
    return runs


def _end_cause(loaded: Loaded, move: Move) -> str:
    if loaded.attempt.stop_cause:
        return loaded.attempt.stop_cause
    if move.ending is not None and move.ending.end is AttemptEnd.LOST:
        return "lost"
    return "requeued" if move.next_attempt else "cancelled"


def _write_runs(loaded: Loaded, after: tuple[RunView, ...]) -> None:
    if after == loaded.runs:
        return
    before = {run.ordinal: run for run in loaded.runs}
    for run in after:
        if before.get(run.ordinal) != run:
            Run.objects.update_or_create(
                attempt=loaded.attempt,
                replica=0,
                ordinal=run.ordinal,
                defaults={
                    "queued_at": run.queued_at,
                    "admitted_at": run.admitted_at,
                    "scheduled_at": run.scheduled_at,
                    "started_at": run.started_at,
                    "ended_at": run.ended_at,
                    "released_at": run.released_at,
                    "end_cause": run.end_cause,
                    "nodes": list(run.nodes),
                    "cards": run.cards,
                    "times_are_bounds": run.times_are_bounds,
                    "was_evicted": run.was_evicted,
                },
            )


# --------------------------------------------------------------------------- job


def _write_job(loaded: Loaded, locked: Job, move: Move, runs: tuple[RunView, ...], now: datetime) -> None:
    """What people see; of what they asked for only what this step has fulfilled, and only if it stands unchanged."""
    job = loaded.job
    reason = _calm_reason(loaded, move, now)
    state_changed = job.state != move.state.value
    code_changed = job.reason_code != reason.code.value
    at = _happened_at(loaded, move, now)
    changes: dict[str, Any] = {}
    flags = {"is_held": move.held, "is_stopping": move.stopping, "is_degraded": move.degraded}
    changes |= {name: value for name, value in flags.items() if getattr(job, name) != value}
    if state_changed:
        changes |= {"state": move.state.value, "state_since": at}
    if code_changed or dict(job.reason_facts) != dict(reason.facts):
        changes |= {"reason_code": reason.code.value, "reason_facts": dict(reason.facts)}
        if code_changed or state_changed:
            changes["reason_since"] = at
    if move.state is JobState.RUNNING and job.started_at is None:
        changes["started_at"] = at
    if move.state in TERMINAL_STATES and job.ended_at is None:
        changes["ended_at"] = move.ending.at if move.ending else now
    if move.next_attempt:
        changes["attempt_no"] = loaded.attempt.number + 1
        if locked.desired == Desired.REQUEUE:
            changes |= {"desired": Desired.RUN.value, "started_at": None}
    rest_is_over = move.rest_over and locked.rests_until == job.rests_until
    if rest_is_over:
        changes |= {"rests_for": None, "rests_until": None}
    gives_up = move.hold and locked.generation == job.generation  # a person's newer wish goes before ours
    if gives_up:
        changes["held"] = True
    is_out = locked.held or gives_up or (locked.rests_until is not None and not rest_is_over)
    if changes:
        Job.objects.filter(pk=job.pk).update(**changes)
    if state_changed or code_changed:
        _write_event(loaded, reason, runs, at, now)
    if move.next_attempt:
        _next_attempt(loaded, locked, now, is_out=is_out)
    elif move.state in TERMINAL_STATES and move.ending is not None:
        demand_drop(job.public_id)
    elif rest_is_over:
        demand_hold([job.public_id], held=is_out)


def _calm_reason(loaded: Loaded, move: Move, now: datetime) -> Reason:
    job, shown = loaded.job, loaded.view.reason
    if job.state != move.state.value or move.reason.code is shown.code:
        return move.reason
    if shown.code in CALM_CODES and move.reason.code in CALM_CODES and timedelta(0) <= now - job.reason_since < CALM:
        return shown
    return move.reason


def _happened_at(loaded: Loaded, move: Move, now: datetime) -> datetime:
    """The cluster's own time of what is shown, where it gave one; never in the future.

    Nor before what was shown last: a cluster that counts whole seconds would have a job admitted before its submit.
    """
    facts = loaded.facts
    at: datetime | None = None
    if move.ending is not None:
        at = move.ending.at
    elif facts is not None:
        if move.state is JobState.RUNNING and loaded.job.state != JobState.RUNNING.value:
            at = facts.ready_at
        elif move.state is JobState.CREATING:
            at = facts.admitted_at
        elif move.state is JobState.QUEUED and facts.evictions:
            at = facts.evicted_at
    return now if at is None else min(max(at, loaded.job.reason_since), now)


def _write_event(loaded: Loaded, reason: Reason, runs: tuple[RunView, ...], at: datetime, now: datetime) -> None:
    JobEvent.objects.create(
        job=loaded.job,
        at=at,
        recorded_at=now,
        code=reason.code.value,
        facts=dict(reason.facts),
        attempt_no=loaded.attempt.number,
        run_ordinal=runs[-1].ordinal if runs else None,
    )


def _next_attempt(loaded: Loaded, locked: Job, now: datetime, *, is_out: bool) -> None:
    """A retry of ours or a requeue: a new attempt at the tail of its priority (decisions 3 and 5)."""
    job = loaded.job
    number = loaded.attempt.number + 1
    attempt_create(job, number, now, retries_from=loaded.attempt.retries_from)
    demand_put(
        job_ulid=job.public_id,
        local_queue_id=job.local_queue_id,
        group_id=job.group_id,
        owner_id=job.owner_id,
        cards=job.cards,
        attempt_no=number,
        held=is_out,
        priority=locked.gate_priority,
        since=now,
    )
