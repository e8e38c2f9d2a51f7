"""Queues on a cluster that are not ours: looked at, never touched."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class FoundCards:
    """Cards of one node group that such a queue has, and how many its admitted work holds of them.

    ``node_group`` is '' where no node of a group of ours fits. ``is_spread``: the queue's kind of nodes is found in
    several groups, and its cards were divided between them by their size.
    """

    node_group: str
    resource: str
    cards: int
    held: int = 0
    is_spread: bool = False


@dataclass(frozen=True, slots=True)
class FoundLocalQueue:
    """Where people hand work in to such a queue."""

    space: str
    name: str
    running: int = 0  # admitted pieces of work
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class FoundQueueFacts:
    """A queue of others. ``lends_to``: the circle of queues that lend each other. ``is_pool``: cards of the circle
    itself, which has no work of its own.
    """

    name: str
    cards: tuple[FoundCards, ...] = ()
    local_queues: tuple[FoundLocalQueue, ...] = ()
    running: int = 0
    waiting: int = 0
    lends_to: str = ""
    is_pool: bool = False

    def by_group(self) -> dict[str, int]:
        """Cards by node group, of groups of ours."""
        found: dict[str, int] = {}
        for part in self.cards:
            if part.node_group and part.cards:
                found[part.node_group] = found.get(part.node_group, 0) + part.cards
        return found


@dataclass(frozen=True, slots=True)
class FoundQueues:
    """All queues of others at one moment."""

    read_at: datetime
    queues: tuple[FoundQueueFacts, ...]


@runtime_checkable
class Discovering(Protocol):
    """Sees queues of others on its cluster."""

    def found_queues(self) -> FoundQueues:
        """One whole look; only reads. Raises the errors of `SchedulerBackend`."""
