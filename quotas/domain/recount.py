"""How many cards of a node group its shares divide while nodes come, go and fall sick (decision 21). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from clusters.contract import NodeHealth

CORDONED_GRACE = timedelta(minutes=10)
SICK_GRACE = timedelta(minutes=30)
"""Nodes that are down, and sick cards."""
WAITS_ABOVE_PERCENT = 10
"""A change of a larger part of a group waits for an admin: a flapping switch must not get jobs taken back."""


@dataclass(frozen=True, slots=True)
class NodeCards:
    """Cards of one node. ``since`` is from when its health is what it is; None = nobody knows."""

    health: NodeHealth
    installed: int
    sick: int = 0
    since: datetime | None = None


def fit_cards(nodes: Iterable[NodeCards], now: datetime) -> int:
    """Cards to divide: those of nodes that work, and of nodes that have been out for no longer than the grace."""
    return sum(_fit(node, now) for node in nodes)


def _fit(node: NodeCards, now: datetime) -> int:
    out_for = now - node.since if node.since is not None else timedelta(0)
    if node.health is NodeHealth.CORDONED:
        return 0 if out_for >= CORDONED_GRACE else node.installed
    if node.health is NodeHealth.DOWN:
        return 0 if out_for >= SICK_GRACE else node.installed
    if node.health is NodeHealth.DEGRADED and out_for >= SICK_GRACE:
        return max(0, node.installed - node.sick)
    return node.installed


def waits_for_a_person(divided: int, fit: int) -> bool:
    """Whether the change is too large to be made by itself. Where nothing is divided yet, nothing can be lost."""
    return divided > 0 and abs(fit - divided) * 100 > divided * WAITS_ABOVE_PERCENT
