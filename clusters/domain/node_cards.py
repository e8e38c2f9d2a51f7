"""How the cards of one node are split for people (cases C-67 and C-68). Pure, exact integers, in the group's unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clusters.contract import NodeHealth

OPEN_FOR_WORK = frozenset({NodeHealth.READY.value, NodeHealth.DEGRADED.value})


@dataclass(frozen=True, slots=True)
class NodeCards:
    """used + reserved + ending + outside + free + out = installed, unless more is held than is installed."""

    used: int
    reserved: int
    ending: int
    free: int
    out: int  # sick, or free on a node that takes no work


def node_cards(
    *, health: str, installed: int, sick: int, outside: int, holders: Iterable[Mapping[str, Any]]
) -> NodeCards:
    """Cards in use count as used also on a node that takes no new work.

    Cards that are promised to a job while others still leave them count as ending until they have left.
    """
    used = ending = promised = 0
    for holder in holders:
        if holder["ending"]:
            ending += holder["cards"]
        elif holder["running"]:
            used += holder["cards"]
        else:
            promised += holder["cards"]
    reserved = min(promised, max(0, installed - used - ending - outside))
    left = max(0, installed - used - ending - reserved - outside)
    free = max(0, left - sick) if health in OPEN_FOR_WORK else 0
    return NodeCards(used, reserved, ending, free, left - free)
