"""What each operation does in each state (decision 5). One table; generates docs/operations.md; pure.

Who may do it is the policy's question (`accounts.policy`), not this table's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from clusters.contract import Capability
from jobs.domain.words import LIVE_STATES, TERMINAL_STATES, JobState


class Operation(StrEnum):
    CANCEL = "cancel"
    RESTART = "restart"
    HOLD = "hold"
    RESUME = "resume"
    PREEMPT = "preempt"
    REQUEUE = "requeue"
    PRIORITY = "priority"
    SCALE = "scale"  # of a service alone


class Refusal(StrEnum):
    """Why an operation is refused; HTTP 409 on the API."""

    ALREADY_ENDED = "already_ended"
    STILL_ACTIVE = "still_active"
    NOT_HELD = "not_held"
    IS_HELD = "is_held"
    HOLDS_NO_CARDS = "holds_no_cards"
    GIVES_WAY = "gives_way"
    BEING_CANCELLED = "being_cancelled"
    BEING_REQUEUED = "being_requeued"
    NO_SERVICE = "no_service"
    NOT_OFFERED = "not_offered"  # by the job's cluster
    QUEUE_TAKES_NONE = "queue_takes_none"  # its local queue is being emptied, or closed


NEEDS: dict[Operation, Capability] = {
    Operation.HOLD: Capability.HOLD,
    Operation.RESUME: Capability.HOLD,
    Operation.PREEMPT: Capability.HOLD,  # the victim is held for a while
    Operation.PRIORITY: Capability.PRIORITY,
    Operation.SCALE: Capability.SCALE,
}
"""What a backend must be able to do; the other operations are made of submit and cancel, which each one can do."""


class Place(StrEnum):
    """Place in the queue afterwards."""

    NONE = "none"
    KEPT = "kept"
    TAIL = "tail"
    BY_PRIORITY = "by_priority"  # its waiting time is kept


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
    STAYS_OUT = "stays_out"  # it gave way for a while, now somebody has to resume it
    ENTERS_QUEUE = "enters_queue"
    GIVES_WAY_ON = "gives_way_on"  # held no more, still out of the queue for another job
    GIVES_WAY = "gives_way"  # gives its cards back and stays out of the queue for a while
    STARTS_ANEW = "starts_anew"  # the present attempt is stopped, then a new one is made
    NEW_PRIORITY = "new_priority"  # decides when it starts
    NEW_RANK = "new_rank"  # it goes on; decides who may interrupt it
    NEW_SIZE = "new_size"  # replicas come or go, the others go on
    NEXT_SIZE = "next_size"  # it has none now, and comes back with so many


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
    """What decides: the shown state, and what people have asked for that is not over yet."""

    state: JobState
    held: bool = False
    cancelling: bool = False
    requeuing: bool = False
    resting: bool = False  # gives way to another job, or until a time


def _refused(refusal: Refusal) -> Cell:
    return Cell(None, refusal=refusal)


_HOLDING_CARDS = frozenset({JobState.CREATING, JobState.RUNNING})


def cell(operation: Operation, situation: Situation) -> Cell:
    """The table as a total function."""
    if operation is Operation.RESTART:
        if situation.state in LIVE_STATES:
            return _refused(Refusal.STILL_ACTIVE)
        return Cell(Effect.NEW_ATTEMPT, Place.TAIL, Makes.ATTEMPT)
    if situation.state in TERMINAL_STATES:
        return _refused(Refusal.ALREADY_ENDED)
    if operation is Operation.CANCEL:
        if situation.cancelling:
            return Cell(Effect.NO_CHANGE)
        return Cell(Effect.STOPS, loses_work=situation.state is JobState.RUNNING)
    if situation.cancelling:
        return _refused(Refusal.BEING_CANCELLED)
    if operation is Operation.PRIORITY:
        if situation.state in _HOLDING_CARDS and not (situation.held or situation.resting or situation.requeuing):
            return Cell(Effect.NEW_RANK)
        return Cell(Effect.NEW_PRIORITY, Place.BY_PRIORITY)
    if operation is Operation.SCALE:
        is_out = situation.held or situation.resting or situation.requeuing
        return Cell(Effect.NEXT_SIZE if is_out else Effect.NEW_SIZE)
    if situation.requeuing:
        return Cell(Effect.NO_CHANGE) if operation is Operation.REQUEUE else _refused(Refusal.BEING_REQUEUED)
    return _LIVE[operation](situation)


def _hold(situation: Situation) -> Cell:
    if situation.held:
        return Cell(Effect.NO_CHANGE, Place.KEPT)
    if situation.state in _HOLDING_CARDS:
        return Cell(Effect.GIVES_CARDS_BACK, Place.KEPT, loses_work=situation.state is JobState.RUNNING)
    if situation.state is JobState.RETRYING:
        return Cell(Effect.NOT_SENT, Place.TAIL)
    return Cell(Effect.STAYS_OUT if situation.resting else Effect.LEAVES_QUEUE, Place.KEPT)


def _resume(situation: Situation) -> Cell:
    if situation.held and situation.resting:
        return Cell(Effect.GIVES_WAY_ON, Place.KEPT, Makes.RUN)
    if not situation.held and not situation.resting:
        return _refused(Refusal.NOT_HELD)
    return Cell(Effect.ENTERS_QUEUE, Place.KEPT, Makes.RUN)


def _preempt(situation: Situation) -> Cell:
    if situation.resting:
        return _refused(Refusal.GIVES_WAY)
    if situation.held:
        return _refused(Refusal.IS_HELD)
    if situation.state not in _HOLDING_CARDS:
        return _refused(Refusal.HOLDS_NO_CARDS)
    return Cell(Effect.GIVES_WAY, Place.KEPT, Makes.RUN, loses_work=situation.state is JobState.RUNNING)


def _requeue(situation: Situation) -> Cell:
    if situation.held:
        return _refused(Refusal.IS_HELD)
    if situation.resting:
        return _refused(Refusal.GIVES_WAY)
    loses_work = situation.state is JobState.RUNNING
    return Cell(Effect.STARTS_ANEW, Place.TAIL, Makes.ATTEMPT, loses_work=loses_work)


_LIVE = {
    Operation.HOLD: _hold,
    Operation.RESUME: _resume,
    Operation.PREEMPT: _preempt,
    Operation.REQUEUE: _requeue,
}
"""Of a live job that is neither being cancelled nor being requeued."""


def situations() -> Iterator[Situation]:
    """Every situation that can be: nothing is under way for an ended job, and a cancel covers everything else."""
    for state in JobState:
        yield Situation(state)
        if state in LIVE_STATES:
            yield Situation(state, held=True)
            yield Situation(state, resting=True)
            yield Situation(state, held=True, resting=True)
            yield Situation(state, requeuing=True)
            yield Situation(state, cancelling=True)
