"""Where attempts that are not admitted yet may be placed: not on nodes that are suspected or go into maintenance.

One that its cluster has already is steered to other nodes, and keeps its place in the queue. A job that would not end
before a maintenance and fits on no other node is kept back: it is not handed to its cluster, or taken out of the queue
there, until that has changed. Nothing of this is stored: each step looks anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from clusters.contract import Capability
from clusters.domain.reasons import FactValue, Reason, ReasonCode
from clusters.nodes_maintenance import Windows, planned_windows
from clusters.nodes_suspicion import Suspected, suspected_nodes
from clusters.services import capabilities_of
from jobs.domain.moves import Effect
from jobs.domain.words import JobState
from jobs.reconcile.calls import Step

LOOK_AGAIN_WITHIN = timedelta(minutes=1)
"""Plans change: a job that is kept back looks again at least so often."""


def places_of(steps: Sequence[Step], now: datetime) -> list[Step]:
    """The steps with the nodes that their attempts avoid; two queries where nothing is planned or suspected."""
    concerned = [step for step in steps if _is_made(step) or _waits(step)]
    if not concerned:
        return list(steps)
    windows = planned_windows({step.loaded.job.cluster_id for step in concerned}, now)
    suspected = suspected_nodes({step.loaded.job.cluster_id for step in concerned if _is_retry(step)})
    placed = {id(step): _placed(step, windows, suspected, now) for step in concerned}
    return [placed.get(id(step), step) for step in steps]


def _is_made(step: Step) -> bool:
    return Effect.SUBMIT in step.move.effects


def _waits(step: Step) -> bool:
    """Whether its cluster has it in the queue, or is about to. What a person keeps out of it is not looked at."""
    facts, view, move = step.loaded.facts, step.loaded.view, step.move
    return (
        facts is not None
        and not facts.is_service
        and facts.reserved_at is None
        and move.state is JobState.QUEUED
        and not (move.stopping or view.stays_out)
        and Capability.STEER in capabilities_of(step.loaded.job.cluster)
    )


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
    avoid = tuple(sorted({*found.avoid, *doubted}))
    facts = step.loaded.facts
    if facts is None or _is_made(step) or facts.avoid_nodes == avoid:
        return replace(step, avoid_nodes=avoid)
    effects = (Effect.STEER, *step.move.effects)  # before it is let back into the queue
    return replace(step, avoid_nodes=avoid, move=replace(step.move, effects=effects))


def _kept_back(step: Step, until: datetime, now: datetime) -> Step:
    """Shown as it was, with the reason."""
    facts = step.loaded.facts
    is_in_queue = facts is not None and facts.active and step.loaded.view.can_hold
    kept = tuple(effect for effect in step.move.effects if effect not in (Effect.SUBMIT, Effect.RELEASE))
    effects = (*kept, Effect.HOLD) if is_in_queue else kept
    told: dict[str, FactValue] = {"until": until.isoformat()}
    if limit := step.loaded.job.max_run_seconds:
        told["max_run_seconds"] = limit
    reason = Reason(ReasonCode.WAITING_FOR_MAINTENANCE, told)
    due_in = min(max(until - now, timedelta(seconds=1)), LOOK_AGAIN_WITHIN)
    return replace(step, move=replace(step.move, effects=effects, reason=reason, due_in=due_in))
