"""Limits of a local queue and of a person in it: who of those that wait is let in (decision 20). Pure, exact integers.

First come, first served within a priority: whoever waits for the queue's limit stops everybody behind, so that nobody
small overtakes somebody large for ever. Who waits for the own limit stops only the own jobs. What is above a limit by
itself can never be let in and stops nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Limits(NamedTuple):
    """Cards that may be held at once; None = no limit."""

    queue: int | None = None
    person: int | None = None

    @property
    def any(self) -> bool:
        return self.queue is not None or self.person is not None


class Asks(NamedTuple):
    """A job that wants to be let in with ``cards``; of them ``let_in`` are already, as with a service that grows."""

    job: str
    owner: int
    cards: int
    let_in: int = 0


class By(StrEnum):
    """Whose limit keeps a job back."""

    QUEUE = "queue"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class KeptBack:
    """Why a job is not let in: ``taken`` of ``limit`` cards are taken, by those before it too."""

    by: By
    cards: int
    limit: int
    taken: int

    @property
    def is_too_large(self) -> bool:
        """Above the limit by itself."""
        return self.cards > self.limit


def decide(limits: Limits, asking: Sequence[Asks], taken: Mapping[int, int]) -> dict[str, KeptBack | None]:
    """For each that asks, in the order they are let in: None, or why not. ``taken``: cards let in, by person."""
    held = Counter(taken)
    total = sum(taken.values())
    is_closed = False
    waiting: set[int] = set()
    verdicts: dict[str, KeptBack | None] = {}
    for each in asking:
        more = each.cards - each.let_in
        own, whole = held[each.owner], total
        if (too_large := _too_large(limits, each, own, whole)) is not None:
            verdicts[each.job] = too_large
        elif limits.person is not None and (each.owner in waiting or own + more > limits.person):
            waiting.add(each.owner)
            verdicts[each.job] = KeptBack(By.PERSON, each.cards, limits.person, own)
        elif limits.queue is not None and (is_closed or whole + more > limits.queue):
            is_closed = True
            verdicts[each.job] = KeptBack(By.QUEUE, each.cards, limits.queue, whole)
        else:
            held[each.owner] += more
            total += more
            verdicts[each.job] = None
    return verdicts


def above(limits: Limits, holding: Sequence[Asks]) -> tuple[str, ...]:
    """Of those that are in, in their order, the ones that would find no room beside those before them."""
    found = []
    total = 0
    own: Counter[int] = Counter()
    for each in holding:
        whole, mine = total + each.cards, own[each.owner] + each.cards
        if (limits.queue is not None and whole > limits.queue) or (limits.person is not None and mine > limits.person):
            found.append(each.job)
        else:
            total, own[each.owner] = whole, mine
    return tuple(found)


def _too_large(limits: Limits, each: Asks, own: int, whole: int) -> KeptBack | None:
    if limits.queue is not None and each.cards > limits.queue:
        return KeptBack(By.QUEUE, each.cards, limits.queue, whole)
    if limits.person is not None and each.cards > limits.person:
        return KeptBack(By.PERSON, each.cards, limits.person, own)
    return None
