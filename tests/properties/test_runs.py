"""Runs of a life that was lived: exact where every moment was looked at, in order and honest where not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from clusters.contract import EvictionCause, Outcome, WorkloadFacts
from jobs.domain.runs import RunView, advance_runs, close_unseen, held_seconds
from tests.builders import CREATED
from tests.properties.strategies import facts

Period = tuple[datetime, datetime | None, datetime | None]  # queued, admitted, ended


@dataclass
class Life:
    """A workload as a cluster drives it: its facts after every event, and the truth about its runs."""

    looks: list[tuple[datetime, WorkloadFacts]]
    truth: list[Period]


@st.composite
def lives(draw: st.DrawFn) -> Life:
    """Admissions, starts, evictions, holds and resumes in any order that can be, perhaps with an end."""
    now = CREATED
    state = WorkloadFacts(created_at=now, queued_at=now, cards=8)
    life = Life([(now, state)], [(now, None, None)])
    for _ in range(draw(st.integers(0, 12))):
        now += timedelta(seconds=draw(st.integers(1, 3_600)))
        event = draw(st.sampled_from(possible(state)))
        state = after(event, state, now)
        note(event, life.truth, now)
        life.looks.append((now, state))
        if state.outcome is not None:
            break
    return life


def is_admitted(state: WorkloadFacts) -> bool:
    return state.admitted_at is not None and (state.evicted_at is None or state.admitted_at > state.evicted_at)


def possible(state: WorkloadFacts) -> list[str]:
    if is_admitted(state):
        return ["evict", "hold running", "finish", *(["start"] if state.ready_at is None else [])]
    return ["admit", "admit", "hold"] if state.active else ["resume"]


def after(event: str, state: WorkloadFacts, now: datetime) -> WorkloadFacts:
    match event:
        case "admit":
            return replace(state, admitted_at=now, reserved_at=now, scheduled_at=None, ready_at=None)
        case "start":
            return replace(state, scheduled_at=now, ready_at=now)
        case "evict" | "hold running":
            held = event == "hold running"
            cause = EvictionCause.HELD if held else EvictionCause.QUOTA_RECLAIMED
            freed = replace(state, evicted_at=now, queued_at=now, released_at=now, evictions=state.evictions + 1)
            return replace(freed, eviction_cause=cause, active=not held)
        case "hold":
            return replace(state, active=False)
        case "resume":
            return replace(state, active=True, queued_at=now)
        case _:
            return replace(state, outcome=Outcome.SUCCEEDED, ended_at=now, released_at=now)


def note(event: str, truth: list[Period], now: datetime) -> None:
    queued, admitted, _ = truth[-1]
    match event:
        case "admit":
            truth[-1] = (queued, now, None)
        case "evict":
            truth[-1] = (queued, admitted, now)
            truth.append((now, None, None))
        case "hold running" | "hold" | "finish":
            truth[-1] = (queued, admitted, now)
        case "resume":
            truth.append((now, None, None))


def periods(runs: tuple[RunView, ...]) -> list[Period]:
    return [(run.queued_at, run.admitted_at, run.ended_at) for run in runs]


def advanced(looks: list[tuple[datetime, WorkloadFacts]]) -> tuple[RunView, ...]:
    runs: tuple[RunView, ...] = ()
    for now, state in looks:
        runs = advance_runs(runs, state, now)
    return runs


@given(lives())
def test_a_life_that_was_looked_at_after_every_event_is_told_exactly(life: Life) -> None:
    runs = advanced(life.looks)
    assert periods(runs) == life.truth
    assert not any(run.times_are_bounds for run in runs)
    now = life.looks[-1][0]
    held = sum(((ended or now) - admitted).total_seconds() for _, admitted, ended in life.truth if admitted)
    assert held_seconds(runs, now) == held


@given(lives(), st.data())
def test_a_life_that_was_looked_at_now_and_then_is_told_in_order(life: Life, data: st.DataObject) -> None:
    seen = [look for look in life.looks[:-1] if data.draw(st.booleans())] + life.looks[-1:]
    runs = advanced(seen)
    now, state = seen[-1]
    assert [run.ordinal for run in runs] == list(range(1, len(runs) + 1))
    assert sum(run.was_evicted for run in runs) == state.evictions
    assert all(not run.open for run in runs[:-1])
    times = [at for period in periods(runs) for at in period if at is not None]
    assert times == sorted(times)
    held = [(admitted, ended) for _, admitted, ended in life.truth]
    for run in runs:
        if run.admitted_at is not None and not run.times_are_bounds:
            assert (run.admitted_at, run.ended_at) in held
        if run.released_at is not None:
            assert run.ended_at is not None and run.released_at >= run.ended_at
    assert held_seconds(runs, now) <= (now - CREATED).total_seconds()


@given(lives())
def test_a_later_look_never_forgets_a_run(life: Life) -> None:
    runs: tuple[RunView, ...] = ()
    for now, state in life.looks:
        before, runs = runs, advance_runs(runs, state, now)
        closed = [run for run in before if not run.open]
        assert list(runs[: len(closed)]) == closed or all(
            replace(new, released_at=old.released_at) == old for new, old in zip(runs, closed, strict=False)
        )


@given(st.lists(facts, max_size=4), st.integers(0, 3_600))
def test_looking_again_changes_nothing_whatever_was_reported(reports: list[WorkloadFacts], seconds: int) -> None:
    runs: tuple[RunView, ...] = ()
    now = CREATED
    for state in reports:
        now += timedelta(minutes=5)
        runs = advance_runs(runs, state, now)
        assert advance_runs(runs, state, now + timedelta(seconds=seconds)) == runs
        for run in runs:
            assert run.admitted_at is None or run.queued_at <= run.admitted_at
            assert run.ended_at is None or run.ended_at >= (run.admitted_at or run.queued_at)
    closed = close_unseen(runs, now, "lost")
    assert all(not run.open for run in closed) and len(closed) == len(runs)
    assert close_unseen(closed, now + timedelta(hours=1), "lost") == closed
