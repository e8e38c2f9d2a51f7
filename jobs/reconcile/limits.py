"""Limits of local queues: an attempt that would go beyond them is not handed to its cluster yet (decision 20).

The gate itself is `quotas.limits`. A job that is kept back asks again by itself, and at once when cards come free.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction

from clusters.domain.reasons import FactValue, Reason, ReasonCode
from jobs.domain.moves import Effect
from jobs.domain.words import JobState
from jobs.models import Job, JobSync
from jobs.reconcile.calls import Step
from quotas.domain.limits import By, KeptBack
from quotas.limits import limits_leave, limits_let_in, limits_pass_over, limits_record, limits_turns

ASKS_AGAIN = timedelta(seconds=20)
"""Limits are raised and queues shrink: a job that is kept back asks at least so often."""
PASSED_OVER_FOR = timedelta(minutes=3)
"""So long a job that waits for something else stands in nobody's way; it says so again much sooner."""

_ENTERS = frozenset({Effect.SUBMIT, Effect.RELEASE, Effect.SCALE})
_WELL = frozenset({ReasonCode.RUNNING, ReasonCode.PARTLY_READY})
_REASONS = {By.QUEUE: ReasonCode.LOCAL_LIMIT, By.PERSON: ReasonCode.PERSONAL_LIMIT}


def within_limits(steps: Sequence[Step], now: datetime) -> list[Step]:
    """The steps without what the limits of local queues keep back. No query where nothing enters or leaves a queue."""
    limits_leave([_job(step).public_id for step in steps if _is_out(step)])
    limited = [step for step in steps if _job(step).local_queue.is_limited]
    limits_pass_over([_job(step).public_id for step in limited if _waits_for_nodes(step)], now + PASSED_OVER_FOR)
    limits_record([_job(step).public_id for step in limited if _is_in(step)])
    answer = limits_let_in({_job(step).public_id: _job(step).local_queue_id for step in steps if _enters(step)}, now)
    _wake(answer.others, now)
    return [_kept_back(step, answer.kept_back) for step in steps]


def wake_next(steps: Sequence[Step], now: datetime) -> None:
    """Have those looked at whose turn it is, where a step has made room; no query where none has."""
    queues = {
        _job(step).local_queue_id
        for step in steps
        if _job(step).local_queue.is_limited and (step.move.ending is not None or _is_out(step))
    }
    if queues:
        _wake(limits_turns(queues, now), now)


def _job(step: Step) -> Job:
    return step.loaded.job


def _enters(step: Step) -> bool:
    return not _ENTERS.isdisjoint(step.move.effects)


def _waits_for_nodes(step: Step) -> bool:
    return step.move.reason.code is ReasonCode.WAITING_FOR_MAINTENANCE


def _is_out(step: Step) -> bool:
    """Not in its cluster's queue, because somebody wants it so; what it still holds there counts until it is gone."""
    loaded = step.loaded
    if not (loaded.view.stays_out or _waits_for_nodes(step)) or _enters(step):
        return False
    return loaded.attempt.submitted_at is None if loaded.facts is None else not loaded.facts.active


def _is_in(step: Step) -> bool:
    """Its cluster has it and may start it, in the size in which it is wanted."""
    facts, view = step.loaded.facts, step.loaded.view
    if facts is None or facts.outcome is not None or facts.being_deleted:
        return False
    return facts.active and not view.stays_out and view.replicas in (None, facts.wanted_pods)


def _kept_back(step: Step, kept_back: Mapping[str, KeptBack]) -> Step:
    """A job that waits says what for; a service that shall grow goes on as it is, and says why it does not grow.

    Unless something else is to be said of it: one that waits for cards at its present size does not lack a limit.
    """
    why = kept_back.get(_job(step).public_id)
    if why is None:
        return step
    move = step.move
    effects = tuple(effect for effect in move.effects if effect not in _ENTERS)
    due_in = ASKS_AGAIN if move.due_in is None else min(move.due_in, ASKS_AGAIN)
    facts: dict[str, FactValue] = {"queue": _job(step).local_queue.name, "cards": why.cards}
    facts |= {"limit": why.limit, "taken": why.taken}
    if Effect.SCALE in move.effects:
        grown = Reason(_REASONS[why.by], {**facts, "has": _cards_now(step)})
        reason = grown if move.reason.code in _WELL else move.reason
        return replace(step, move=replace(move, reason=reason, effects=effects, due_in=due_in))
    reason = Reason(_REASONS[why.by], facts)
    return replace(step, move=replace(move, state=JobState.QUEUED, reason=reason, effects=effects, due_in=ASKS_AGAIN))


def _cards_now(step: Step) -> int:
    """Of a service, in the size that its cluster has been told."""
    facts = step.loaded.facts
    return _job(step).cards_per_pod * facts.wanted_pods if facts is not None else 0


def _wake(ulids: Collection[str], now: datetime) -> None:
    """One that somebody works on at this moment asks by itself."""
    if not ulids:
        return
    with transaction.atomic():
        rows = JobSync.objects.filter(job_ulid__in=ulids, token="").select_for_update(skip_locked=True)
        JobSync.objects.filter(pk__in=list(rows.values_list("pk", flat=True))).update(due_at=now)
