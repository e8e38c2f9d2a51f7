"""The reconcile loop: claim → load → decide → apply on the cluster → write back.

Level-triggered and safe to run twice or to die anywhere: every effect is idempotent, every decision follows
from rows, and the write-back only counts while the claim is ours. Calls to clusters over a network are made side by
side (`jobs.reconcile.calls`); rows are read and written by this thread alone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from clusters.contract import BackendError, Rejected, Unauthorized
from clusters.domain.reasons import Reason, ReasonCode
from common.texts import storable
from jobs.domain.moves import AttemptEnding, Effect, Move
from jobs.domain.transitions import LOOK_AGAIN, next_move
from jobs.domain.words import AttemptEnd, JobState
from jobs.models import Job
from jobs.reconcile.calls import Called, CalledFor, Step, call_all, older_to_clear
from jobs.reconcile.claims import Claim, claim_due, claim_jobs, give_back
from jobs.reconcile.limits import wake_next, within_limits
from jobs.reconcile.load import Loaded, Unreadable, load
from jobs.reconcile.places import places_of
from jobs.reconcile.writeback import Outcome, write_back

logger = logging.getLogger(__name__)

LEASE_MARGIN = timedelta(seconds=5)
BACKOFF_MAX = timedelta(seconds=60)
CONFLICT_TRIES = 2
INTERNAL_ERROR = "internal_error"


def sweep() -> int:
    """Reconcile everything that is due, one batch; returns how many jobs were worked on."""
    return _work(claim_due(timezone.now(), settings.SLUICE["SWEEP_BATCH"]))


def reconcile_jobs(job_ids: Sequence[int]) -> int:
    """Reconcile these jobs now, as a hint asks; those under another claim are left to it."""
    return _work(claim_jobs(job_ids, timezone.now()))


def _work(claim: Claim) -> int:
    return reconcile_loaded(claim, load(claim.job_ids))


def reconcile_loaded(claim: Claim, jobs: Sequence[Loaded | Unreadable]) -> int:
    """Bring each claimed job one step closer to its intent; returns how many steps were written back or dropped."""
    now = timezone.now()
    steps: list[Step] = []
    for loaded in jobs:
        if isinstance(loaded, Unreadable):
            _let_rest(claim, loaded.job)
            continue
        with _guarded(claim, loaded.job):
            move = next_move(loaded.view, loaded.sight, loaded.group, now)
            steps.append(Step(loaded, move, older_to_clear(loaded)))
    done = 0
    steps = within_limits(places_of(steps, now), now)
    for called in call_all(steps, until=claim.until - LEASE_MARGIN):
        loaded = called.step.loaded
        with _guarded(claim, loaded.job):
            move, outcome = _concluded(called, timezone.now())
            write_back(claim, loaded, move, outcome, timezone.now())
        done += 1
    wake_next(steps, timezone.now())
    return done


@contextmanager
def _guarded(claim: Claim, job: Job) -> Iterator[None]:
    """One poisoned job must not stop the others: it backs off and says so."""
    try:
        yield
    except Exception:
        logger.exception("reconcile of %s failed", job.public_id)
        _let_rest(claim, job)


def _let_rest(claim: Claim, job: Job) -> None:
    give_back(claim, job.pk, error=INTERNAL_ERROR, due_at=timezone.now() + _backoff(job.sync.failures + 1))


def _concluded(called: Called, now: datetime) -> tuple[Move, Outcome]:
    """What the calls of a step came to: the move to record, and times or an error beside it."""
    loaded, move = called.step.loaded, called.step.move
    outcome = Outcome(submitted_at=called.submitted_at, uid=called.uid, stop_asked_at=called.stop_asked_at)
    match called.error:
        case None:
            pass
        case Rejected() as error if called.failed is CalledFor.NEWEST:
            return _rejected(loaded, move, error, now)
        case error:
            code = _code_of(loaded, error)
            failed = _failed(loaded, code, slow=isinstance(error, Unauthorized))
            if called.failed is CalledFor.OLDER:  # what was done for the newest attempt counts all the same
                return move, replace(outcome, error=failed.error, failures=failed.failures, retry_in=failed.retry_in)
            return _not_sent(loaded, move, code), failed
    if called.step.older:
        move = replace(move, due_in=LOOK_AGAIN if move.due_in is None else min(move.due_in, LOOK_AGAIN))
    return move, outcome


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


def _code_of(loaded: Loaded, error: BaseException) -> str:
    """One word for what went wrong; the log has the rest. An error nobody foresaw is a failed call like any other."""
    if isinstance(error, BackendError):
        logger.warning("%s of %s: %s", type(error).__name__, loaded.job.public_id, error.code)
        return error.code
    logger.error("reconcile of %s failed", loaded.job.public_id, exc_info=error)
    return INTERNAL_ERROR


def _not_sent(loaded: Loaded, move: Move, code: str) -> Move:
    """What people see while the cluster cannot be reached: the last state, and after three tries why."""
    kept = _keep(loaded)
    if Effect.SUBMIT in move.effects and loaded.job.sync.failures >= 2:
        return replace(kept, reason=Reason(ReasonCode.NOT_SENT, {"error": code}))
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
