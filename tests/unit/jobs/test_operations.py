"""Every cell of the table of operations (decision 5), and that it has no hole."""

from __future__ import annotations

import pytest

from jobs.domain.operations import Cell, Effect, Makes, Operation, Place, Refusal, Situation, cell, situations
from jobs.domain.words import TERMINAL_STATES, JobState

Q, C, R, Y = JobState.QUEUED, JobState.CREATING, JobState.RUNNING, JobState.RETRYING
S, F, X = JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED

STOPS, STOPS_AND_LOSES = Cell(Effect.STOPS), Cell(Effect.STOPS, loses_work=True)
AGAIN = Cell(Effect.NEW_ATTEMPT, Place.TAIL, Makes.ATTEMPT)
LEAVES = Cell(Effect.LEAVES_QUEUE, Place.KEPT)
STAYS_OUT = Cell(Effect.STAYS_OUT, Place.KEPT)
NOT_SENT = Cell(Effect.NOT_SENT, Place.TAIL)
GIVES_BACK = Cell(Effect.GIVES_CARDS_BACK, Place.KEPT)
GIVES_BACK_AND_LOSES = Cell(Effect.GIVES_CARDS_BACK, Place.KEPT, loses_work=True)
ENTERS = Cell(Effect.ENTERS_QUEUE, Place.KEPT, Makes.RUN)
GIVES_WAY_ON = Cell(Effect.GIVES_WAY_ON, Place.KEPT, Makes.RUN)
GIVES_WAY = Cell(Effect.GIVES_WAY, Place.KEPT, Makes.RUN)
GIVES_WAY_AND_LOSES = Cell(Effect.GIVES_WAY, Place.KEPT, Makes.RUN, loses_work=True)
ANEW = Cell(Effect.STARTS_ANEW, Place.TAIL, Makes.ATTEMPT)
ANEW_AND_LOSES = Cell(Effect.STARTS_ANEW, Place.TAIL, Makes.ATTEMPT, loses_work=True)
ORDER = Cell(Effect.NEW_PRIORITY, Place.BY_PRIORITY)
RANK = Cell(Effect.NEW_RANK)
SIZE, NEXT_SIZE = Cell(Effect.NEW_SIZE), Cell(Effect.NEXT_SIZE)
SAME, SAME_HELD = Cell(Effect.NO_CHANGE), Cell(Effect.NO_CHANGE, Place.KEPT)
ENDED = Cell(None, refusal=Refusal.ALREADY_ENDED)
ACTIVE = Cell(None, refusal=Refusal.STILL_ACTIVE)
NOT_HELD = Cell(None, refusal=Refusal.NOT_HELD)
IS_HELD = Cell(None, refusal=Refusal.IS_HELD)
NO_CARDS = Cell(None, refusal=Refusal.HOLDS_NO_CARDS)
OUT = Cell(None, refusal=Refusal.GIVES_WAY)
LEAVING = Cell(None, refusal=Refusal.BEING_CANCELLED)
MOVING = Cell(None, refusal=Refusal.BEING_REQUEUED)

COLUMNS = (
    Operation.CANCEL, Operation.RESTART, Operation.HOLD, Operation.RESUME, Operation.PREEMPT, Operation.REQUEUE,
    Operation.PRIORITY, Operation.SCALE,
)  # fmt: skip
HELD, RESTS, BOTH = {"held": True}, {"resting": True}, {"held": True, "resting": True}
ANEW_SOON, CANCELLING = {"requeuing": True}, {"cancelling": True}
TABLE: list[tuple[Situation, tuple[Cell, ...]]] = [  # the cells in the order of COLUMNS
    (Situation(Q), (STOPS, ACTIVE, LEAVES, NOT_HELD, NO_CARDS, ANEW, ORDER, SIZE)),
    (Situation(Q, **HELD), (STOPS, ACTIVE, SAME_HELD, ENTERS, IS_HELD, IS_HELD, ORDER, NEXT_SIZE)),
    (Situation(Q, **RESTS), (STOPS, ACTIVE, STAYS_OUT, ENTERS, OUT, OUT, ORDER, NEXT_SIZE)),
    (Situation(Q, **BOTH), (STOPS, ACTIVE, SAME_HELD, GIVES_WAY_ON, OUT, IS_HELD, ORDER, NEXT_SIZE)),
    (Situation(Q, **ANEW_SOON), (STOPS, ACTIVE, MOVING, MOVING, MOVING, SAME, ORDER, NEXT_SIZE)),
    (Situation(Q, **CANCELLING), (SAME, ACTIVE, LEAVING, LEAVING, LEAVING, LEAVING, LEAVING, LEAVING)),
    (Situation(C), (STOPS, ACTIVE, GIVES_BACK, NOT_HELD, GIVES_WAY, ANEW, RANK, SIZE)),
    (Situation(C, **HELD), (STOPS, ACTIVE, SAME_HELD, ENTERS, IS_HELD, IS_HELD, ORDER, NEXT_SIZE)),
    (Situation(C, **RESTS), (STOPS, ACTIVE, GIVES_BACK, ENTERS, OUT, OUT, ORDER, NEXT_SIZE)),
    (Situation(C, **BOTH), (STOPS, ACTIVE, SAME_HELD, GIVES_WAY_ON, OUT, IS_HELD, ORDER, NEXT_SIZE)),
    (Situation(C, **ANEW_SOON), (STOPS, ACTIVE, MOVING, MOVING, MOVING, SAME, ORDER, NEXT_SIZE)),
    (Situation(C, **CANCELLING), (SAME, ACTIVE, LEAVING, LEAVING, LEAVING, LEAVING, LEAVING, LEAVING)),
    (
        Situation(R),
        (STOPS_AND_LOSES, ACTIVE, GIVES_BACK_AND_LOSES, NOT_HELD, GIVES_WAY_AND_LOSES, ANEW_AND_LOSES, RANK, SIZE),
    ),
    (Situation(R, **HELD), (STOPS_AND_LOSES, ACTIVE, SAME_HELD, ENTERS, IS_HELD, IS_HELD, ORDER, NEXT_SIZE)),
    (Situation(R, **RESTS), (STOPS_AND_LOSES, ACTIVE, GIVES_BACK_AND_LOSES, ENTERS, OUT, OUT, ORDER, NEXT_SIZE)),
    (Situation(R, **BOTH), (STOPS_AND_LOSES, ACTIVE, SAME_HELD, GIVES_WAY_ON, OUT, IS_HELD, ORDER, NEXT_SIZE)),
    (Situation(R, **ANEW_SOON), (STOPS_AND_LOSES, ACTIVE, MOVING, MOVING, MOVING, SAME, ORDER, NEXT_SIZE)),
    (Situation(R, **CANCELLING), (SAME, ACTIVE, LEAVING, LEAVING, LEAVING, LEAVING, LEAVING, LEAVING)),
    (Situation(Y), (STOPS, ACTIVE, NOT_SENT, NOT_HELD, NO_CARDS, ANEW, ORDER, SIZE)),
    (Situation(Y, **HELD), (STOPS, ACTIVE, SAME_HELD, ENTERS, IS_HELD, IS_HELD, ORDER, NEXT_SIZE)),
    (Situation(Y, **RESTS), (STOPS, ACTIVE, NOT_SENT, ENTERS, OUT, OUT, ORDER, NEXT_SIZE)),
    (Situation(Y, **BOTH), (STOPS, ACTIVE, SAME_HELD, GIVES_WAY_ON, OUT, IS_HELD, ORDER, NEXT_SIZE)),
    (Situation(Y, **ANEW_SOON), (STOPS, ACTIVE, MOVING, MOVING, MOVING, SAME, ORDER, NEXT_SIZE)),
    (Situation(Y, **CANCELLING), (SAME, ACTIVE, LEAVING, LEAVING, LEAVING, LEAVING, LEAVING, LEAVING)),
    (Situation(S), (ENDED, AGAIN, ENDED, ENDED, ENDED, ENDED, ENDED, ENDED)),
    (Situation(F), (ENDED, AGAIN, ENDED, ENDED, ENDED, ENDED, ENDED, ENDED)),
    (Situation(X), (ENDED, AGAIN, ENDED, ENDED, ENDED, ENDED, ENDED, ENDED)),
]


def words(situation: Situation) -> str:
    flags = ("held", "resting", "requeuing", "cancelling")
    return " and ".join([situation.state.value, *(flag for flag in flags if getattr(situation, flag))])


CELLS = [
    pytest.param(operation, situation, expected, id=f"{operation} of a job that is {words(situation)}")
    for situation, row in TABLE
    for operation, expected in zip(COLUMNS, row, strict=True)
]


@pytest.mark.parametrize(("operation", "situation", "expected"), CELLS)
def test_cell(operation: Operation, situation: Situation, expected: Cell) -> None:
    assert cell(operation, situation) == expected


def test_the_table_above_has_every_operation_and_every_situation() -> None:
    assert set(COLUMNS) == set(Operation)
    assert [situation for situation, _ in TABLE] == list(situations())


def test_a_cell_is_an_effect_or_a_refusal_never_both() -> None:
    for operation in Operation:
        for situation in situations():
            found = cell(operation, situation)
            assert (found.effect is None) == (found.refusal is not None)


def test_asking_twice_changes_nothing() -> None:
    for state in JobState:
        if state not in TERMINAL_STATES:
            assert cell(Operation.CANCEL, Situation(state, cancelling=True)).effect is Effect.NO_CHANGE
            assert cell(Operation.HOLD, Situation(state, held=True)).effect is Effect.NO_CHANGE
            assert cell(Operation.REQUEUE, Situation(state, requeuing=True)).effect is Effect.NO_CHANGE


def test_work_is_lost_exactly_where_a_job_that_runs_is_stopped() -> None:
    stopping = {Effect.STOPS, Effect.GIVES_CARDS_BACK, Effect.GIVES_WAY, Effect.STARTS_ANEW}
    for situation in situations():
        for operation in Operation:
            found = cell(operation, situation)
            assert found.loses_work == (found.effect in stopping and situation.state is JobState.RUNNING)
