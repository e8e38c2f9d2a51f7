"""What the console made on a cluster and would leave there, and taking away what of it nobody needs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable


class LeftKind(StrEnum):
    """What an object of ours is for."""

    LOCAL_QUEUE = "local_queue"
    TEAM_QUEUE = "team_queue"
    POOL = "pool"  # the cards that belong to all teams
    NODE_GROUP = "node_group"
    LAYOUT = "layout"  # how nodes lie beside each other
    PRIORITY = "priority"
    SPACE = "space"  # of a team, with its services


class Fate(StrEnum):
    """What becomes of it when the console stops managing the cluster."""

    GOES = "goes"  # ours and empty: it may be taken away
    IN_USE = "in_use"  # work waits or runs in it, or nobody knows yet
    NEEDED = "needed"  # something that stays names it
    STAYS = "stays"  # never taken away by the console


@dataclass(frozen=True, slots=True)
class LeftObject:
    """One object of ours. ``address`` is what the cluster's own tools call it, without its space."""

    kind: LeftKind
    name: str
    space: str  # '' = of the whole cluster
    address: str
    fate: Fate


@dataclass(frozen=True, slots=True)
class TakenAway:
    """What went, and what is left; with the code of the error where one could not go."""

    removed: tuple[LeftObject, ...]
    failed: tuple[tuple[str, str], ...] = ()  # (name, error code)


@runtime_checkable
class Leaving(Protocol):
    """Can leave a cluster as it was found, as far as nobody uses what it made."""

    def left_behind(self) -> tuple[LeftObject, ...]:
        """Everything of ours, in the order in which it could go; only reads. Raises BackendError."""

    def take_away(self) -> TakenAway:
        """Remove what is ours and empty and nobody names, and nothing else. Raises BackendError before the first.

        Saying it twice removes nothing more.
        """
