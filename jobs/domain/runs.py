"""Runs follow from facts (decision 46): pure, and the same for every backend.

A run is one admission period. It opens when the attempt enters the queue and closes when its quota is freed.
Held time belongs to no run. ``evictions`` is cumulative, so periods that nobody saw become closed runs whose
times are bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from clusters.contract import Outcome, PodPhase, WorkloadFacts


@dataclass(frozen=True, slots=True)
class RunView:
    """One run; ``ended_at`` = quota freed, ``released_at`` = pods gone."""

    ordinal: int
    queued_at: datetime
    admitted_at: datetime | None = None
    scheduled_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    released_at: datetime | None = None
    end_cause: str = ""
    nodes: tuple[str, ...] = ()
    cards: int = 0
    times_are_bounds: bool = False
    was_evicted: bool = False  # closed by an eviction the facts count

    @property
    def open(self) -> bool:
        return self.ended_at is None


def advance_runs(runs: Sequence[RunView], facts: WorkloadFacts, now: datetime) -> tuple[RunView, ...]:
    """All runs of an attempt after this look. Calling it again with the same facts changes nothing."""
    result = list(runs)
    _close_evicted(result, facts)
    _close_abandoned(result, facts, now)
    if facts.outcome is not None:
        _close_ended(result, facts, now)
    elif facts.active or _admitted_now(facts):  # one that is held keeps its quota until its eviction is counted
        if not result or not result[-1].open:
            result.append(_opened(result, facts))
        result[-1] = _filled(result[-1], facts)
    elif result and result[-1].open:  # held while it waited: that wait ends here
        result[-1] = replace(result[-1], ended_at=_not_too_early(now, result[-1]), end_cause="held")
    _note_release(result, facts)
    return tuple(result)


def _admitted_now(facts: WorkloadFacts) -> bool:
    """The newest admission lasts: the newest eviction did not take it, and of a service some replica has it."""
    if facts.admitted_pods == 0:
        return False
    return facts.admitted_at is not None and (facts.evicted_at is None or facts.admitted_at > facts.evicted_at)


def _not_too_early(end: datetime, run: RunView) -> datetime:
    """No run ends before what is known of it, whatever two clocks say, or one that was put back."""
    return max(
        end, run.queued_at, *(at for at in (run.admitted_at, run.scheduled_at, run.started_at) if at is not None)
    )


def _opened(runs: Sequence[RunView], facts: WorkloadFacts) -> RunView:
    queued_at = facts.queued_at or facts.created_at
    if runs and runs[-1].ended_at is not None:
        queued_at = max(queued_at, runs[-1].ended_at)
    return RunView(ordinal=len(runs) + 1, queued_at=queued_at)


def _filled(run: RunView, facts: WorkloadFacts) -> RunView:
    return _with_admission(run, facts) if _admitted_now(facts) else run


def _with_admission(run: RunView, facts: WorkloadFacts) -> RunView:
    admitted = facts.admitted_at
    assert admitted is not None
    if facts.is_service and run.admitted_at is not None:
        admitted = min(admitted, run.admitted_at)  # the replica that was admitted first may be gone
    nodes = tuple(sorted({pod.node for pod in facts.pods if pod.node}))
    return replace(
        run,
        queued_at=min(run.queued_at, admitted),
        admitted_at=admitted,
        scheduled_at=_not_before(facts.scheduled_at, admitted) or run.scheduled_at,
        started_at=_not_before(_up_since(run, facts), admitted) or run.started_at,
        nodes=nodes or run.nodes,
        cards=facts.cards,
    )


def _up_since(run: RunView, facts: WorkloadFacts) -> datetime | None:
    """A gang is up when all of it is, a service with its first replica."""
    if not facts.is_service:
        return facts.ready_at
    starts = (pod.started_at for pod in facts.pods if pod.phase is PodPhase.RUNNING and pod.started_at is not None)
    return run.started_at or min(starts, default=None)


def _not_before(at: datetime | None, bound: datetime) -> datetime | None:
    return at if at is not None and at >= bound else None


def _close_evicted(runs: list[RunView], facts: WorkloadFacts) -> None:
    """Close one run for each eviction that no run stands for yet. What nobody saw of them gets bounds as times."""
    missing = facts.evictions - sum(1 for run in runs if run.was_evicted)
    freed = facts.evicted_at or facts.created_at
    admitted = None if _admitted_now(facts) else facts.admitted_at  # of the newest eviction
    for left in range(missing, 0, -1):
        is_newest = left == 1
        was_seen = bool(runs) and runs[-1].open
        if not was_seen:
            queued_at = (runs[-1].ended_at if runs else None) or facts.created_at
            runs.append(RunView(ordinal=len(runs) + 1, queued_at=queued_at))
        run = runs[-1]
        if is_newest and admitted is not None:
            run = _with_admission(run, facts)
        latest = freed if is_newest or admitted is None else min(freed, admitted)
        cause = facts.eviction_cause.value if is_newest and facts.eviction_cause else "evicted"
        runs[-1] = replace(
            run,
            ended_at=_not_too_early(latest, run),
            end_cause=cause,
            times_are_bounds=run.times_are_bounds or not was_seen or not is_newest or run.admitted_at is None,
            was_evicted=True,
        )


def _close_abandoned(runs: list[RunView], facts: WorkloadFacts, now: datetime) -> None:
    """A run of a service lasts from its first admitted replica until none is left; it waits in a new one."""
    has_none = facts.is_service and facts.active and not facts.being_deleted and not facts.admitted_pods
    if has_none and runs and runs[-1].open and runs[-1].admitted_at is not None:
        runs[-1] = replace(runs[-1], ended_at=_not_too_early(now, runs[-1]), end_cause="evicted", times_are_bounds=True)


_OUTCOMES = frozenset(outcome.value for outcome in Outcome)


def _close_ended(runs: list[RunView], facts: WorkloadFacts, now: datetime) -> None:
    if runs and not runs[-1].open and (runs[-1].end_cause in _OUTCOMES or not _admitted_now(facts)):
        return
    if not runs or not runs[-1].open:
        runs.append(_opened(runs, facts))
    run = _filled(runs[-1], facts)
    ended = _not_too_early(facts.ended_at or now, run)
    outcome = facts.outcome.value if facts.outcome else ""
    runs[-1] = replace(run, ended_at=ended, end_cause=outcome)


def _note_release(runs: list[RunView], facts: WorkloadFacts) -> None:
    """That the pods of the newest eviction or end are gone belongs to the newest run that ended so.

    Those of earlier runs were gone before: nobody saw when, but no later than the pods after them had nodes.
    """
    if facts.released_at is None:
        return
    for index in range(len(runs) - 1, -1, -1):
        run = runs[index]
        if run.ended_at is not None and (run.was_evicted or run.end_cause in _OUTCOMES):
            if run.released_at is None:
                runs[index] = replace(run, released_at=max(facts.released_at, run.ended_at))
            latest = facts.released_at
            for before in range(index - 1, -1, -1):
                latest = runs[before + 1].scheduled_at or latest
                runs[before] = _released(runs[before], latest)
            return


def close_unseen(
    runs: Sequence[RunView], at: datetime, cause: str, freed_at: datetime | None = None, *, pods_gone: bool = True
) -> tuple[RunView, ...]:
    """Close the open run of an object that is gone at ``at``, or goes and has its last pods left. Its quota was free
    from ``freed_at`` on, where that was seen; otherwise the end is a bound.
    """
    if pods_gone:
        runs = [_released(run, at) for run in runs]
    if not runs or not runs[-1].open:
        return tuple(runs)
    last = runs[-1]
    released = _not_too_early(at, last)
    seen = freed_at is not None and last.admitted_at is not None and last.admitted_at <= freed_at <= released
    closed = replace(
        last,
        ended_at=freed_at if seen else released,
        released_at=released if pods_gone else None,
        end_cause=cause,
        times_are_bounds=last.times_are_bounds or not seen,
    )
    return (*runs[:-1], closed)


def _released(run: RunView, at: datetime) -> RunView:
    """Nobody saw its last pod go, and now it must be gone."""
    if run.admitted_at is None or run.ended_at is None or run.released_at is not None:
        return run
    return replace(run, released_at=max(at, run.ended_at))


def held_seconds(runs: Sequence[RunView], now: datetime) -> int:
    """Seconds in which quota was held, over all runs, rounded down once."""
    total = sum(
        ((run.ended_at or now) - run.admitted_at).total_seconds() for run in runs if run.admitted_at is not None
    )
    return int(total)
