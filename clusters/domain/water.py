"""The water level of a node group or of the whole cards of a cluster: what its cards do at one moment. Pure.

All figures are exact integers in the group's own unit, and for every level

* capacity = healthy + down
* healthy = used + reserved + free + releasing + outside
* 0 <= unusable <= free, and 0 <= busy <= used where busy is known

A card that somebody holds counts as healthy for as long as it is held, also on a node that was closed or lost
meanwhile: it leaves the level when its holder does. ``down`` are cards that nobody holds and nobody can get.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

FIGURES = ("capacity", "healthy", "used", "reserved", "free", "releasing", "outside", "unusable", "busy")
"""What is kept over time."""


@dataclass(frozen=True, slots=True)
class NodeSplit:
    """The cards of one node, each counted once (`clusters.domain.node_cards`)."""

    used: int = 0
    reserved: int = 0
    ending: int = 0
    outside: int = 0
    free: int = 0
    out: int = 0


@dataclass(frozen=True, slots=True)
class Level:
    """The figures of one moment. ``busy`` is None where nobody measures what cards really do."""

    capacity: int
    healthy: int
    used: int
    reserved: int
    free: int
    releasing: int  # freed for others, but pods still leave
    outside: int  # held by pods of no queue
    unusable: int  # free, and asked for, but in blocks too small for what waits
    busy: int | None = None

    @property
    def down(self) -> int:
        return self.capacity - self.healthy

    @property
    def usable(self) -> int:
        """Free cards that are not known to be of no use."""
        return self.free - self.unusable


def level_of(nodes: Iterable[NodeSplit], *, unusable: int = 0, busy: int | None = None) -> Level:
    """Sum up the nodes of one group. Where more is held than is said to be installed, what is held exists as well."""
    used = reserved = releasing = outside = free = down = 0
    for node in nodes:
        used += node.used
        reserved += node.reserved
        releasing += node.ending
        outside += node.outside
        free += node.free
        down += node.out
    healthy = used + reserved + free + releasing + outside
    return Level(
        capacity=healthy + down,
        healthy=healthy,
        used=used,
        reserved=reserved,
        free=free,
        releasing=releasing,
        outside=outside,
        unusable=min(unusable, free),
        busy=None if busy is None else min(busy, used),
    )


def total(levels: Iterable[Level]) -> Level:
    """The sum of levels of the same unit; busy is known only where it is known of all of them."""
    rows = list(levels)
    busy = [row.busy for row in rows if row.busy is not None]
    return Level(
        capacity=sum(row.capacity for row in rows),
        healthy=sum(row.healthy for row in rows),
        used=sum(row.used for row in rows),
        reserved=sum(row.reserved for row in rows),
        free=sum(row.free for row in rows),
        releasing=sum(row.releasing for row in rows),
        outside=sum(row.outside for row in rows),
        unusable=sum(row.unusable for row in rows),
        busy=sum(busy) if rows and len(busy) == len(rows) else None,
    )
