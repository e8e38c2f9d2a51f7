"""Where held cards went (decision 39): seconds of a run that led to nothing, by cause. Pure, whole card-seconds.

Waiting holds nothing and is never waste. What a run's end has not shown yet is neither: it is open.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

from jobs.domain.words import Kind


class Waste(StrEnum):
    """Causes, each second in the first that fits."""

    NOT_PLACED = "not_placed"  # admitted, and the pods had no nodes
    PULLING = "pulling"  # on nodes, and not all pods ran
    FAILED = "failed"
    PREEMPTED = "preempted"  # somebody else was given the cards
    STOPPED = "stopped"  # by a person


_SUCCESS = frozenset({"succeeded", "stopped_at_limit", "stopped_idle"})
_PREEMPTED = frozenset(
    {
        "higher_priority",
        "quota_reclaimed",
        "while_borrowing",
        "fair_share",
        "check",
        "other",
        "evicted",
        "preempted_by_person",
    }
)
_STOPPED = frozenset({"held", "cancelled", "cancelled_by_person", "requeued", "requeued_by_person", "queue_drained"})
_UNSEEN = frozenset({"", "lost"})
"""Nobody saw how it ended: it stays open, as it stays out of failure rates."""


@dataclass(frozen=True, slots=True)
class Stretches:
    """Card-seconds of what was held, in turn: before it had nodes, before it ran, until a checkpoint, and the rest."""

    not_placed: int
    pulling: int
    kept: int
    rest: int


@dataclass(frozen=True, slots=True)
class HeldRun:
    """One admission with its cards; ``ended_at`` is when its quota was freed, None while it lasts."""

    cards: int
    kind: Kind
    admitted_at: datetime
    scheduled_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    end_cause: str = ""
    checkpoint_at: datetime | None = None  # newest known one; work before it is kept

    def stretches(self, since: datetime, until: datetime) -> Stretches:
        """Those parts that lie between two moments. jobs/waste.py has the same in SQL, for many."""
        over = self.ended_at or until
        end = min(over, until)
        scheduled = _between(self.scheduled_at or self.started_at, self.admitted_at, over)
        started = _between(self.started_at, scheduled, over)
        kept = started if self.checkpoint_at is None else _between(self.checkpoint_at, started, over)
        moments = (self.admitted_at, scheduled, started, kept, over)
        parts = (_seconds(begin, after, since, end) for begin, after in pairwise(moments))
        return Stretches(*(self.cards * seconds for seconds in parts))


@dataclass(slots=True)
class Account:
    """Card-seconds: held = useful + open + the sum of ``wasted``."""

    held: int = 0
    useful: int = 0
    open: int = 0
    wasted: dict[Waste, int] = field(default_factory=lambda: dict.fromkeys(Waste, 0))

    @property
    def waste(self) -> int:
        return sum(self.wasted.values())

    @property
    def percent(self) -> int:
        """Of what was held; 0 where nothing was."""
        return round(100 * self.waste / self.held) if self.held else 0

    def add(self, run: HeldRun, since: datetime, until: datetime) -> None:
        """Book the part of a run that lies between two moments."""
        self.add_all(run.stretches(since, until), run.kind, run.end_cause, is_over=run.ended_at is not None)

    def add_all(self, held: Stretches, kind: Kind, end_cause: str, *, is_over: bool) -> None:
        """Book what one run, or many of the same kind and end together, held."""
        self._book(Waste.NOT_PLACED, held.not_placed)
        self._book(Waste.PULLING, held.pulling)
        self._book(None, held.kept)
        if not is_over or (end_cause in _UNSEEN and kind is Kind.TRAINING):
            self.held += held.rest
            self.open += held.rest
        else:
            self._book(_lost_by(kind, end_cause), held.rest)

    def _book(self, cause: Waste | None, card_seconds: int) -> None:
        self.held += card_seconds
        if cause is None:
            self.useful += card_seconds
        else:
            self.wasted[cause] += card_seconds


def _lost_by(kind: Kind, end_cause: str) -> Waste | None:
    """What took the work of the last stretch; None: nothing did. A session or a service is its own result."""
    if kind is not Kind.TRAINING or end_cause in _SUCCESS:
        return None
    if end_cause in _PREEMPTED:
        return Waste.PREEMPTED
    return Waste.STOPPED if end_cause in _STOPPED else Waste.FAILED


def _between(at: datetime | None, low: datetime, high: datetime) -> datetime:
    """``at`` within its bounds; without one the stretch before it lasts to the end."""
    return high if at is None else max(low, min(at, high))


def _seconds(begin: datetime, end: datetime, since: datetime, until: datetime) -> int:
    return max(0, int((min(end, until) - max(begin, since)).total_seconds()))
