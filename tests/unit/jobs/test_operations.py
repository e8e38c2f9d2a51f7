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
NOT_SENT = Cell(Effect.NOT_SENT, Place.TAIL)
GIVES_BACK = Cell(Effect.GIVES_CARDS_BACK, Place.KEPT)
GIVES_BACK_AND_LOSES = Cell(Effect.GIVES_CARDS_BACK, Place.KEPT, loses_work=True)
ENTERS = Cell(Effect.ENTERS_QUEUE, Place.KEPT, Makes.RUN)
SAME, SAME_HELD = Cell(Effect.NO_CHANGE), Cell(Effect.NO_CHANGE, Place.KEPT)
ENDED = Cell(None, refusal=Refusal.ALREADY_ENDED)
ACTIVE = Cell(None, refusal=Refusal.STILL_ACTIVE)
NOT_HELD = Cell(None, refusal=Refusal.NOT_HELD)
LEAVING = Cell(None, refusal=Refusal.BEING_CANCELLED)

COLUMNS = (Operation.CANCEL, Operation.RESTART, Operation.HOLD, Operation.RESUME)
TABLE: list[tuple[Situation, tuple[Cell, Cell, Cell, Cell]]] = [  # the cells in the order of COLUMNS
    (Situation(Q), (STOPS, ACTIVE, LEAVES, NOT_HELD)),
    (Situation(Q, held=True), (STOPS, ACTIVE, SAME_HELD, ENTERS)),
    (Situation(Q, cancelling=True), (SAME, ACTIVE, LEAVING, LEAVING)),
    (Situation(C), (STOPS, ACTIVE, GIVES_BACK, NOT_HELD)),
    (Situation(C, held=True), (STOPS, ACTIVE, SAME_HELD, ENTERS)),
    (Situation(C, cancelling=True), (SAME, ACTIVE, LEAVING, LEAVING)),
    (Situation(R), (STOPS_AND_LOSES, ACTIVE, GIVES_BACK_AND_LOSES, NOT_HELD)),
    (Situation(R, held=True), (STOPS_AND_LOSES, ACTIVE, SAME_HELD, ENTERS)),
    (Situation(R, cancelling=True), (SAME, ACTIVE, LEAVING, LEAVING)),
    (Situation(Y), (STOPS, ACTIVE, NOT_SENT, NOT_HELD)),
    (Situation(Y, held=True), (STOPS, ACTIVE, SAME_HELD, ENTERS)),
    (Situation(Y, cancelling=True), (SAME, ACTIVE, LEAVING, LEAVING)),
    (Situation(S), (ENDED, AGAIN, ENDED, ENDED)),
    (Situation(F), (ENDED, AGAIN, ENDED, ENDED)),
    (Situation(X), (ENDED, AGAIN, ENDED, ENDED)),
]


def words(situation: Situation) -> str:
    marks = (["held"] if situation.held else []) + (["being cancelled"] if situation.cancelling else [])
    return " and ".join([situation.state.value, *marks])


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
