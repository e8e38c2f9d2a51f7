"""Observed attempts that need not be worked out again: nothing of their own changed, nor what they asked of others.

Most of a cluster stands still between two looks, so a look at all attempts costs what has changed. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from clusters.backends.kueue_volcano.bundle import Releasing, Surroundings
from clusters.backends.kueue_volcano.index import Key
from clusters.backends.kueue_volcano.waits import Queue
from clusters.backends.kueue_volcano.wire import Condition, Workload
from clusters.contract import ObservedObject, WorkloadFacts


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was asked of the surroundings, with which answer: a name of :class:`Surroundings` and its argument."""

    question: str
    about: tuple[Any, ...]
    answer: Any

    def stands(self, around: Surroundings) -> bool:
        now = getattr(around, self.question)(*self.about)
        if isinstance(now, Queue) and isinstance(self.answer, Queue):  # made for each question of two objects
            return now.local is self.answer.local and now.cluster is self.answer.cluster
        return now is self.answer or (isinstance(now, str) and now == self.answer)


@dataclass(frozen=True, slots=True)
class _Entry:
    row: ObservedObject
    read_at: datetime | None
    releasing: Releasing | None  # None: not asked for
    answers: tuple[_Answer, ...]

    def stands(self, around: Surroundings) -> bool:
        return (
            self.read_at == around.read_at
            and (self.releasing is None or self.releasing == around.releasing)
            and all(answer.stands(around) for answer in self.answers)
        )


@dataclass(slots=True)
class Kept:
    """Rows by attempt. Whoever changes an object of an attempt says :meth:`forget`; the rest is found out here."""

    _entries: dict[Key, _Entry] = field(default_factory=dict)

    def forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._entries.pop(key, None)

    def rows(
        self, keys: Iterable[Key], around: Surroundings, work_out: Callable[[Key, Surroundings], ObservedObject | None]
    ) -> tuple[ObservedObject, ...]:
        """The rows of these attempts, of which some may be none; only those that could have changed are worked out."""
        notes = _Notes(around)
        asking = notes.surroundings()
        rows = []
        for key in keys:
            entry = self._entries.get(key)
            if entry is not None and entry.stands(around):
                rows.append(entry.row)
                continue
            row, answers = work_out(key, asking), notes.taken()
            if row is not None:
                rows.append(row)
                self._entries[key] = _Entry(row, around.read_at, _asked_releasing(row.facts, around), answers)
        return tuple(rows)


def _asked_releasing(facts: WorkloadFacts, around: Surroundings) -> Releasing | None:
    """Whether cards are about to come free decides between two facts, of which one is set exactly where it is asked."""
    return around.releasing if facts.unplaceable or facts.waiting_release else None


@dataclass(slots=True)
class _Notes:
    """Passes questions on and writes down the answers."""

    _around: Surroundings
    _answers: list[_Answer] = field(default_factory=list)

    def surroundings(self) -> Surroundings:
        return replace(self._around, queue=self._queue, job_of=self._job_of, peers_word=self._peers_word)

    def taken(self) -> tuple[_Answer, ...]:
        """The answers since this was last called."""
        answers = tuple(self._answers)
        self._answers.clear()
        return answers

    def _queue(self, space: str, name: str) -> Queue | None:
        return self._noted("queue", (space, name), self._around.queue(space, name))

    def _job_of(self, uid: str) -> str | None:
        return self._noted("job_of", (uid,), self._around.job_of(uid))

    def _peers_word(self, workload: Workload) -> Condition | None:
        return self._noted("peers_word", (workload,), self._around.peers_word(workload))

    def _noted(self, question: str, about: tuple[Any, ...], answer: Any) -> Any:
        self._answers.append(_Answer(question, about, answer))
        return answer
