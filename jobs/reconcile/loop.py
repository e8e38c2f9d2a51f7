"""The reconcile loop: claim → load → decide → apply on the cluster → write back.

Level-triggered and safe to run twice or to die anywhere: every effect is idempotent, every decision follows
from rows, and the write-back only counts while the claim is ours.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from clusters.contract import BackendError, Holdable, Rejected, SchedulerBackend, Unauthorized
from clusters.domain.reasons import Reason, ReasonCode
from clusters.services import backend
from common.faults import reach
from common.texts import storable
from jobs.domain.transitions import LOOK_AGAIN, AttemptEnding, Effect, Move, may_clear, next_move
from jobs.domain.words import AttemptEnd, JobState
from jobs.models import Job
from jobs.reconcile.claims import Claim, claim_due, claim_jobs, give_back
from jobs.reconcile.load import Loaded, Unreadable, load
from jobs.reconcile.writeback import Outcome, write_back
from jobs.specs import workload_ref, workload_spec

logger = logging.getLogger(__name__)

LEASE_MARGIN = timedelta(seconds=5)
BACKOFF_MAX = timedelta(seconds=60)
CONFLICT_TRIES = 2


def sweep() -> int:
    """Reconcile everything that is due, one batch; returns how many jobs were worked on."""
    return _work(claim_due(timezone.now(), settings.SLUICE["SWEEP_BATCH"]))


def reconcile_jobs(job_ids: Sequence[int]) -> int:
    """Reconcile these jobs now, as a hint asks; those under another claim are left to it."""
    return _work(claim_jobs(job_ids, timezone.now()))


def _work(claim: Claim) -> int:
    done = 0
    for loaded in load(claim.job_ids):
        if timezone.now() > claim.until - LEASE_MARGIN:
            break  # what is left stays due; the next sweep takes it when the lease has run out
        if isinstance(loaded, Unreadable):
            _let_rest(claim, loaded.job)
            continue
        try:
            reconcile_job(claim, loaded, timezone.now())
        except Exception:
            logger.exception("reconcile of %s failed", loaded.job.public_id)
            _let_rest(claim, loaded.job)
        done += 1
    return done


def _let_rest(claim: Claim, job: Job) -> None:
    """One poisoned job must not stop the others: it backs off and says so."""
    give_back(claim, job.pk, error="internal_error", due_at=timezone.now() + _backoff(job.sync.failures + 1))


def reconcile_job(claim: Claim, loaded: Loaded, now: datetime) -> None:
    """Bring one claimed job one step closer to its intent."""
    move = next_move(loaded.view, loaded.sight, loaded.group, now)
    outcome = Outcome()
    try:
        move, outcome = _apply(loaded, move, now)
        if _clear_older(loaded):
            move = replace(move, due_in=LOOK_AGAIN if move.due_in is None else min(move.due_in, LOOK_AGAIN))
    except Rejected as error:
        move, outcome = _rejected(loaded, move, error, now)
    except BackendError as error:
        logger.warning("%s of %s: %s", type(error).__name__, loaded.job.public_id, error.code)
        outcome = _failed(loaded, error.code, slow=isinstance(error, Unauthorized))
        move = _not_sent(loaded, move, error)
    write_back(claim, loaded, move, outcome, now)


# --------------------------------------------------------------------------- effects


def _apply(loaded: Loaded, move: Move, now: datetime) -> tuple[Move, Outcome]:
    outcome = Outcome()
    if not move.effects:
        return move, outcome
    door = backend(loaded.job.cluster)
    ref = workload_ref(loaded.job, loaded.attempt)
    for effect in move.effects:
        reach(f"{effect.value}.call.before")
        match effect:
            case Effect.SUBMIT:
                made = door.submit(workload_spec(loaded.job, loaded.attempt))
                outcome = replace(outcome, submitted_at=now, uid=made.uid or "")
            case Effect.STOP:
                door.stop(ref, timedelta(seconds=loaded.job.stop_grace_seconds))
                outcome = replace(outcome, stop_asked_at=now)
            case Effect.HOLD | Effect.RELEASE:
                _set_held(door, loaded, effect is Effect.HOLD)
        reach(f"{effect.value}.call.after")
    return move, outcome


def _set_held(door: SchedulerBackend, loaded: Loaded, held: bool) -> None:
    assert isinstance(door, Holdable)  # next_move asks only where the capability is announced
    door.set_held(workload_ref(loaded.job, loaded.attempt), held)


def _clear_older(loaded: Loaded) -> bool:
    """Objects of earlier attempts go once their logs are read, at once while they live. True: some are left."""
    left = False
    for attempt in loaded.older:
        row = loaded.rows.get(attempt.number)
        if row is None or row.gone:
            continue
        left = True
        if may_clear(row.facts, logs_complete=attempt.log_complete, seen_at=loaded.sight.complete_at):
            reach("stop_older.call.before")
            backend(loaded.job.cluster).stop(workload_ref(loaded.job, attempt), timedelta(0))
            reach("stop_older.call.after")
    return left


# --------------------------------------------------------------------------- refused and failed calls


def _rejected(loaded: Loaded, move: Move, error: Rejected, now: datetime) -> tuple[Move, Outcome]:
    """The cluster said no for good. A taken name gets one fresh salt, then it is a visible conflict."""
    if Effect.SUBMIT not in move.effects:
        return move, _failed(loaded, error.code)
    if error.code == "name_taken":
        if loaded.attempt.conflicts < CONFLICT_TRIES - 1:
            return replace(_keep(loaded), due_in=timedelta(0)), Outcome(fresh_name=True)
        conflict = replace(_keep(loaded), reason=Reason(ReasonCode.NAME_CONFLICT), due_in=BACKOFF_MAX)
        return conflict, Outcome()
    reason = Reason(ReasonCode.REJECTED, {"raw": storable(error.detail[:300]) or error.code})
    return Move(
        state=JobState.FAILED,
        reason=reason,
        ending=AttemptEnding(AttemptEnd.FAILED, reason, now),
        released=True,
    ), Outcome()


def _not_sent(loaded: Loaded, move: Move, error: BackendError) -> Move:
    """What people see while the cluster cannot be reached: the last state, and after three tries why."""
    kept = _keep(loaded)
    if Effect.SUBMIT in move.effects and loaded.job.sync.failures >= 2:
        return replace(kept, reason=Reason(ReasonCode.NOT_SENT, {"error": error.code}))
    return kept


def _keep(loaded: Loaded) -> Move:
    """Change nothing that people see."""
    return Move(
        state=loaded.view.state,
        reason=loaded.view.reason,
        stopping=loaded.job.is_stopping,
        held=loaded.job.is_held,
        degraded=loaded.job.is_degraded,
    )


def _failed(loaded: Loaded, code: str, *, slow: bool = False) -> Outcome:
    failures = loaded.job.sync.failures + 1
    return Outcome(error=code, failures=failures, retry_in=BACKOFF_MAX if slow else _backoff(failures))


def _backoff(failures: int) -> timedelta:
    return min(BACKOFF_MAX, timedelta(seconds=2 ** min(failures, 6)))
