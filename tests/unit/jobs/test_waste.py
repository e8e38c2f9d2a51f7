"""Card-seconds that led to nothing, by cause (decision 39, case C-48)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.waste import Account, HeldRun, Waste
from jobs.domain.words import Kind

NINE = datetime(2026, 5, 4, 9, tzinfo=UTC)
LONG_AGO, LATER = NINE - timedelta(days=1), NINE + timedelta(days=1)


def minutes(count: float) -> datetime:
    return NINE + timedelta(minutes=count)


def run(**changes: Any) -> HeldRun:
    """Eight cards, admitted at nine, ten minutes without nodes, ten for pulling, an hour of work."""
    values: dict[str, Any] = {
        "cards": 8,
        "kind": Kind.TRAINING,
        "admitted_at": NINE,
        "scheduled_at": minutes(10),
        "started_at": minutes(20),
        "ended_at": minutes(80),
        "end_cause": "succeeded",
    }
    return HeldRun(**{**values, **changes})


def account(*runs: HeldRun, since: datetime = LONG_AGO, until: datetime = LATER) -> Account:
    found = Account()
    for each in runs:
        found.add(each, since, until)
    return found


def wasted(found: Account) -> dict[str, float]:
    """Card-minutes by cause, where there are some."""
    return {cause.value: seconds / 60 for cause, seconds in found.wasted.items() if seconds}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, {"not_placed": 80, "pulling": 80}, id="what succeeds wastes its start alone"),
        pytest.param({"end_cause": "failed"}, {"not_placed": 80, "pulling": 80, "failed": 480}, id="failed"),
        pytest.param({"end_cause": "time_limit"}, {"not_placed": 80, "pulling": 80, "failed": 480}, id="too long"),
        pytest.param(
            {"end_cause": "quota_reclaimed"}, {"not_placed": 80, "pulling": 80, "preempted": 480}, id="taken back"
        ),
        pytest.param({"end_cause": "cancelled"}, {"not_placed": 80, "pulling": 80, "stopped": 480}, id="cancelled"),
        pytest.param(
            {"end_cause": "failed", "checkpoint_at": minutes(65)},
            {"not_placed": 80, "pulling": 80, "failed": 120},
            id="what was saved is kept",
        ),
        pytest.param(
            {"scheduled_at": None, "started_at": None, "end_cause": "not_placed"},
            {"not_placed": 640},
            id="never placed",
        ),
        pytest.param(
            {"started_at": None, "end_cause": "image_not_found"}, {"not_placed": 80, "pulling": 560}, id="never pulled"
        ),
        pytest.param(
            {"kind": Kind.INFERENCE, "end_cause": "cancelled"}, {"not_placed": 80, "pulling": 80}, id="a service served"
        ),
        pytest.param(
            {"kind": Kind.DEVELOPMENT, "end_cause": "quota_reclaimed"},
            {"not_placed": 80, "pulling": 80},
            id="a session was used",
        ),
        pytest.param(
            {"ended_at": None, "end_cause": ""}, {"not_placed": 80, "pulling": 80}, id="one that runs is not judged"
        ),
        pytest.param({"end_cause": "lost"}, {"not_placed": 80, "pulling": 80}, id="nor one whose end nobody saw"),
    ],
)
def test_each_second_has_one_cause(changes: dict[str, Any], expected: dict[str, float]) -> None:
    assert wasted(account(run(**changes), until=minutes(80))) == expected


def test_two_attempts_and_the_gap_between_them() -> None:
    """C-48: sixteen card-hours are held, the half hour between the attempts is not, and waste is never below zero."""
    first = run(scheduled_at=NINE, started_at=NINE, ended_at=minutes(60), end_cause="failed")
    second = run(admitted_at=minutes(90), scheduled_at=minutes(90), started_at=minutes(90), ended_at=minutes(150))
    found = account(first, second)
    assert (found.held, found.useful, found.waste) == (16 * 3600, 8 * 3600, 8 * 3600)
    assert found.percent == 50


def test_a_job_that_did_nothing_but_hold_is_all_waste_and_one_that_held_nothing_is_none() -> None:
    found = account(run(scheduled_at=None, started_at=None, end_cause="failed"))
    assert found.waste == found.held > 0 and found.percent == 100
    assert (Account().waste, Account().percent) == (0, 0)


def test_a_period_counts_what_lies_in_it() -> None:
    found = account(run(end_cause="failed"), since=minutes(15), until=minutes(50))
    assert wasted(found) == {"pulling": 40, "failed": 240} and found.held == 8 * 35 * 60


TIMES = st.integers(0, 10_000).map(lambda seconds: NINE + timedelta(seconds=seconds))
RUNS = st.builds(
    HeldRun,
    cards=st.integers(0, 512),
    kind=st.sampled_from(Kind),
    admitted_at=TIMES,
    scheduled_at=st.none() | TIMES,
    started_at=st.none() | TIMES,
    ended_at=st.none() | TIMES,
    end_cause=st.sampled_from(["", "succeeded", "failed", "lost", "held", "cancelled", "fair_share", "a new word"]),
    checkpoint_at=st.none() | TIMES,
)


@given(st.lists(RUNS, max_size=6), TIMES, TIMES)
def test_waste_is_never_below_zero_nor_above_what_was_held(
    runs: list[HeldRun], since: datetime, until: datetime
) -> None:
    found = account(*runs, since=since, until=until)
    assert 0 <= found.waste <= found.held
    assert found.held == found.useful + found.open + found.waste
    assert min(found.useful, found.open, *found.wasted.values()) >= 0
    assert 0 <= found.percent <= 100


@given(RUNS)
def test_a_run_is_booked_for_as_long_as_it_held_its_cards(each: HeldRun) -> None:
    end = each.ended_at or LATER
    assert account(each).held == each.cards * max(0, int((end - each.admitted_at).total_seconds()))


def test_every_cause_has_its_place_in_the_account() -> None:
    assert set(Account().wasted) == set(Waste)
