"""What live jobs hold and wait for, and what is said of those that wait. Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from quotas.domain.blocks import NodeRoom


@dataclass(frozen=True, slots=True)
class Holding:
    """Cards that one job (of a service: one replica) holds. ``leaving``: it was told to stop already."""

    job_ulid: str
    queue: str
    group: str
    cards: int
    priority: int
    admitted_at: float  # seconds; the newest loan is taken back first
    nodes: tuple[tuple[str, int], ...] = ()  # (name, cards), as far as they are known
    leaving: bool = False

    @property
    def claim(self) -> tuple[bool, int, float, str]:
        """The order in which holdings are taken: who leaves anyway, lowest priority, newest, by name."""
        return not self.leaving, self.priority, -self.admitted_at, self.job_ulid


@dataclass(frozen=True, slots=True)
class Waiting:
    """Cards that one job (of a service: one replica) waits for, in pods of the same size."""

    job_ulid: str
    queue: str
    group: str
    cards: int
    priority: int
    queued_at: float  # seconds
    pods: int = 1

    @property
    def place(self) -> tuple[int, float, str]:
        """The order of a queue: highest priority, then first come."""
        return -self.priority, self.queued_at, self.job_ulid

    @property
    def size(self) -> int:
        """Cards of one pod."""
        return max(1, self.cards // self.pods)


@dataclass(frozen=True, slots=True)
class Live:
    """All jobs of a cluster with cards, and its nodes. Jobs that people keep back wait for nothing.

    ``by_topology``: the gate itself looks for nodes; else it gives quota alone, and a job may find no place with it.
    """

    holdings: tuple[Holding, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    rooms: tuple[NodeRoom, ...] = ()
    by_topology: bool = True


class Verdict(StrEnum):
    """When a waiting job starts, as far as that can be said."""

    NOW = "now"
    TAKES = "takes"  # as soon as others have given their cards back
    CARDS = "cards"  # when cards of the quota come free
    PLACES = "places"  # there is quota; no set of nodes has room now
    BEHIND = "behind"  # after the job before it: its team keeps a strict order
    NEVER = "never"  # more than its team can ever have, or than all nodes together can hold

    @property
    def starts(self) -> bool:
        return self in (Verdict.NOW, Verdict.TAKES)


@dataclass(frozen=True, slots=True)
class Taken:
    """A holding that is taken back at once, and the job that gets further by it."""

    holding: Holding
    by: Waiting
