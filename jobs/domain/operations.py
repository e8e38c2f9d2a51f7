"""What each operation does in each state (decision 5). One table; generates docs/operations.md; pure.

Who may do it is the policy's question (`accounts.policy`), not this table's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from jobs.domain.words import LIVE_STATES, TERMINAL_STATES, JobState


class Operation(StrEnum):
    CANCEL = "cancel"
    RESTART = "restart"
    HOLD = "hold"
    RESUME = "resume"


class Refusal(StrEnum):
    """Why an operation is refused; HTTP 409 on the API."""

    ALREADY_ENDED = "already_ended"
    STILL_ACTIVE = "still_active"
    NOT_HELD = "not_held"
    BEING_CANCELLED = "being_cancelled"


class Place(StrEnum):
    """Place in the queue afterwards."""

    NONE = "none"
    KEPT = "kept"
    TAIL = "tail"


class Makes(StrEnum):
    """What the operation brings into being."""

    NOTHING = "nothing"
    RUN = "run"
    ATTEMPT = "attempt"


class Effect(StrEnum):
    """What happens, in one code; the sentence is in `jobs.labels`."""

    NO_CHANGE = "no_change"  # asked before, and that is fine
    STOPS = "stops"  # objects are removed, then the job is cancelled
    NEW_ATTEMPT = "new_attempt"
    LEAVES_QUEUE = "leaves_queue"
    GIVES_CARDS_BACK = "gives_cards_back"  # pods end, quota is free at once
    NOT_SENT = "not_sent"  # the next attempt is not made until resumed
    ENTERS_QUEUE = "enters_queue"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the table: an effect or a refusal, never both."""

    effect: Effect | None
    place: Place = Place.NONE
    makes: Makes = Makes.NOTHING
    loses_work: bool = False
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides: the shown state, whether it is held, whether a cancel is under way."""

    state: JobState
    held: bool = False
    cancelling: bool = False


def _refused(refusal: Refusal) -> Cell:
    return Cell(None, refusal=refusal)


_HOLDING_CARDS = frozenset({JobState.CREATING, JobState.RUNNING})


def cell(operation: Operation, situation: Situation) -> Cell:
    """The table as a total function."""
    state = situation.state
    if operation is Operation.RESTART:
        if state in LIVE_STATES:
            return _refused(Refusal.STILL_ACTIVE)
        return Cell(Effect.NEW_ATTEMPT, Place.TAIL, Makes.ATTEMPT)
    if state in TERMINAL_STATES:
        return _refused(Refusal.ALREADY_ENDED)
    if operation is Operation.CANCEL:
        if situation.cancelling:
            return Cell(Effect.NO_CHANGE)
        return Cell(Effect.STOPS, loses_work=state is JobState.RUNNING)
    if situation.cancelling:
        return _refused(Refusal.BEING_CANCELLED)
    if operation is Operation.HOLD:
        if situation.held:
            return Cell(Effect.NO_CHANGE, Place.KEPT)
        if state in _HOLDING_CARDS:
            return Cell(Effect.GIVES_CARDS_BACK, Place.KEPT, loses_work=state is JobState.RUNNING)
        if state is JobState.RETRYING:
            return Cell(Effect.NOT_SENT, Place.TAIL)
        return Cell(Effect.LEAVES_QUEUE, Place.KEPT)
    if not situation.held:
        return _refused(Refusal.NOT_HELD)
    return Cell(Effect.ENTERS_QUEUE, Place.KEPT, Makes.RUN)


def situations() -> Iterator[Situation]:
    """Every situation that can be: terminal jobs are neither held nor being cancelled."""
    for state in JobState:
        yield Situation(state)
        if state in LIVE_STATES:
            yield Situation(state, held=True)
            yield Situation(state, cancelling=True)
