"""Where attempts that are about to be made may be placed: not on nodes that are suspected or go into maintenance.

A job that would not end before a maintenance and fits on no other node is kept back: it is not handed to its cluster
until that has changed. Nothing of this is stored: each step looks anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from clusters.domain.reasons import Reason, ReasonCode
from clusters.nodes_maintenance import Windows, planned_windows
from clusters.nodes_suspicion import Suspected, suspected_nodes
from jobs.domain.moves import Effect
from jobs.reconcile.calls import Step

LOOK_AGAIN_WITHIN = timedelta(minutes=1)
"""Plans change: a job that is kept back looks again at least so often."""


def places_of(steps: Sequence[Step], now: datetime) -> list[Step]:
    """The steps with the nodes that new attempts avoid; two queries where nothing is planned or suspected."""
    made = [step for step in steps if Effect.SUBMIT in step.move.effects]
    if not made:
        return list(steps)
    windows = planned_windows({step.loaded.job.cluster_id for step in made}, now)
    suspected = suspected_nodes({step.loaded.job.cluster_id for step in made if _is_retry(step)})
    return [_placed(step, windows, suspected, now) if Effect.SUBMIT in step.move.effects else step for step in steps]


def _is_retry(step: Step) -> bool:
    return step.loaded.attempt.number > 1


def _placed(step: Step, windows: Windows, suspected: Suspected, now: datetime) -> Step:
    job = step.loaded.job
    shape = (job.cluster_id, job.group_id, job.pods, job.cards_per_pod)
    limit = timedelta(seconds=job.max_run_seconds) if job.max_run_seconds else None
    found = windows.placement(*shape, limit, now)
    if found.wait_until is not None:
        return _kept_back(step, found.wait_until, now)
    doubted = suspected.avoided_by(*shape) if _is_retry(step) else ()
    return replace(step, avoid_nodes=tuple(sorted({*found.avoid, *doubted})))


def _kept_back(step: Step, until: datetime, now: datetime) -> Step:
    """Shown as it was, with the reason."""
    effects = tuple(effect for effect in step.move.effects if effect is not Effect.SUBMIT)
    reason = Reason(ReasonCode.WAITING_FOR_MAINTENANCE, {"until": until.isoformat()})
    due_in = min(max(until - now, timedelta(seconds=1)), LOOK_AGAIN_WITHIN)
    return replace(step, move=replace(step.move, effects=effects, reason=reason, due_in=due_in))
