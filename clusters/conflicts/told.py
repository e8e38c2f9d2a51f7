"""What only the layers above know about jobs, as they tell it.

Jobs are known above clusters and imports go down only, so the composition root hands in who can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class JobTold:
    """A job's node group (None: it has no cards) and how long its pods may take to end."""

    group_id: int | None
    stop_grace: timedelta


@dataclass(frozen=True, slots=True)
class Preemption:
    """One job was interrupted for another."""

    cluster_id: int
    victim: str  # ulid
    by: str  # ulid
    at: datetime


@dataclass(frozen=True, slots=True)
class Teller:
    """``jobs`` by ulid, those that exist; ``preemptions`` of jobs that have not ended, from a moment on."""

    jobs: Callable[[Sequence[str]], Mapping[str, JobTold]]
    preemptions: Callable[[datetime], Sequence[Preemption]]


_tellers: list[Teller] = []


def told_by(teller: Teller) -> None:
    """Name the one that tells; called once, when the process starts."""
    _tellers[:] = [teller]


def teller() -> Teller:
    """Raises RuntimeError in a process that nobody told."""
    if not _tellers:
        raise RuntimeError("nobody tells about jobs: the console's application is not installed")
    return _tellers[0]
