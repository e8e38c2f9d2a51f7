"""Where a job may be placed when maintenance is planned. Pure: values in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Window:
    """A planned maintenance and the nodes that it takes."""

    nodes: frozenset[str]
    starts_at: datetime
    ends_at: datetime

    def is_in_the_way(self, now: datetime, limit: timedelta | None) -> bool:
        """Would a job that starts now still run when it begins? One without a limit would."""
        return now < self.ends_at and (limit is None or now + limit > self.starts_at)


@dataclass(frozen=True, slots=True)
class Placement:
    """``avoid``: nodes on which the job is not placed. ``wait_until``: no others hold it, so it is kept back."""

    avoid: tuple[str, ...] = ()
    wait_until: datetime | None = None


def placement(
    windows: Iterable[Window],
    rooms: Mapping[str, int],
    now: datetime,
    limit: timedelta | None,
    pods: int,
    cards_per_pod: int,
) -> Placement:
    """Where a job of this shape, which runs for ``limit`` at most, may go if it starts now.

    ``rooms`` are the open nodes of its group with their healthy cards, whoever holds them now. A job that all of them
    together could not hold is not kept back: maintenance is not what it waits for.
    """
    in_the_way = [window for window in windows if window.is_in_the_way(now, limit) and window.nodes & rooms.keys()]
    if not in_the_way:
        return Placement()
    closed = frozenset[str]().union(*(window.nodes for window in in_the_way)) & rooms.keys()
    per_pod = max(1, cards_per_pod)
    left = sum(cards // per_pod for node, cards in rooms.items() if node not in closed)
    whole = sum(cards // per_pod for cards in rooms.values())
    if left >= pods or whole < pods:
        return Placement(avoid=tuple(sorted(closed)))
    return Placement(wait_until=min(_changes(window, now) for window in in_the_way))


def _changes(window: Window, now: datetime) -> datetime:
    """When to look again: at its start its nodes are closed, and then the cluster itself keeps jobs off."""
    return window.starts_at if now < window.starts_at else window.ends_at
