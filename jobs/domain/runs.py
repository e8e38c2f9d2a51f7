"""Runs follow from facts (decision 46): pure, and the same for every backend.

A run is one admission period. It opens when the attempt enters the queue and closes when its quota is freed.
Held time belongs to no run. ``evictions`` is cumulative, so periods that nobody saw become closed runs whose
times are bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from clusters.contract import Outcome, WorkloadFacts


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
    if facts.outcome is not None:
        _close_ended(result, facts, now)
    elif not facts.active:
        if result and result[-1].open:  # held while it waited: that wait ends here
            result[-1] = replace(result[-1], ended_at=max(now, result[-1].queued_at), end_cause="held")
    else:
        if not result or not result[-1].open:
            result.append(_opened(result, facts))
        result[-1] = _filled(result[-1], facts)
    if result and not result[-1].open and result[-1].released_at is None and facts.released_at is not None:
        result[-1] = replace(result[-1], released_at=facts.released_at)
    return tuple(result)


def _opened(runs: Sequence[RunView], facts: WorkloadFacts) -> RunView:
    queued_at = facts.queued_at or facts.created_at
    if runs and runs[-1].ended_at is not None:
        queued_at = max(queued_at, runs[-1].ended_at)
    return RunView(ordinal=len(runs) + 1, queued_at=queued_at)


def _is_current(facts: WorkloadFacts, at: datetime | None) -> bool:
    return at is not None and (facts.evicted_at is None or at > facts.evicted_at)


def _filled(run: RunView, facts: WorkloadFacts) -> RunView:
    if not _is_current(facts, facts.admitted_at):
        return run
    return _with_admission(run, facts)


def _with_admission(run: RunView, facts: WorkloadFacts) -> RunView:
    admitted = facts.admitted_at
    assert admitted is not None
    nodes = tuple(sorted({pod.node for pod in facts.pods if pod.node}))
    return replace(
        run,
        queued_at=min(run.queued_at, admitted),
        admitted_at=admitted,
        scheduled_at=_not_before(facts.scheduled_at, admitted) or run.scheduled_at,
        started_at=_not_before(facts.ready_at, admitted) or run.started_at,
        nodes=nodes or run.nodes,
        cards=facts.cards,
    )


def _not_before(at: datetime | None, bound: datetime) -> datetime | None:
    return at if at is not None and at >= bound else None


def _close_evicted(runs: list[RunView], facts: WorkloadFacts) -> None:
    missing = facts.evictions - sum(1 for run in runs if run.was_evicted)
    cause = facts.eviction_cause.value if facts.eviction_cause else "evicted"
    for left in range(missing, 0, -1):
        newest = left == 1
        if not runs or not runs[-1].open:
            runs.append(_opened(runs, facts))
        run = runs[-1]
        end = facts.evicted_at or facts.created_at
        if newest and facts.admitted_at is not None and not _is_current(facts, facts.admitted_at):
            run = _with_admission(run, facts)
        ended = max(end, run.admitted_at or run.queued_at)
        runs[-1] = replace(
            run,
            queued_at=min(run.queued_at, ended),
            ended_at=ended,
            end_cause=cause if newest else "evicted",
            times_are_bounds=run.times_are_bounds or not newest or missing > 1,
            was_evicted=True,
        )


def _close_ended(runs: list[RunView], facts: WorkloadFacts, now: datetime) -> None:
    if runs and not runs[-1].open and not (_is_current(facts, facts.admitted_at)):
        return
    if runs and not runs[-1].open and runs[-1].end_cause in {Outcome.SUCCEEDED.value, Outcome.FAILED.value}:
        return
    if not runs or not runs[-1].open:
        runs.append(_opened(runs, facts))
    run = _filled(runs[-1], facts)
    ended = max(facts.ended_at or now, run.admitted_at or run.queued_at)
    outcome = facts.outcome.value if facts.outcome else ""
    runs[-1] = replace(run, queued_at=min(run.queued_at, ended), ended_at=ended, end_cause=outcome)


def close_unseen(runs: Sequence[RunView], at: datetime, cause: str) -> tuple[RunView, ...]:
    """Close the open run of an object that vanished without a last word; its end is a bound."""
    if not runs or not runs[-1].open:
        return tuple(runs)
    last = runs[-1]
    ended = max(at, last.admitted_at or last.queued_at)
    closed = replace(last, ended_at=ended, released_at=ended, end_cause=cause, times_are_bounds=True)
    return (*runs[:-1], closed)


def held_seconds(runs: Sequence[RunView], now: datetime) -> int:
    """Seconds in which quota was held, over all runs, rounded down once."""
    total = sum(
        ((run.ended_at or now) - run.admitted_at).total_seconds() for run in runs if run.admitted_at is not None
    )
    return int(total)
