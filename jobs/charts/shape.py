"""Pods and free blocks as rows of squares."""

from __future__ import annotations

from collections.abc import Iterable

from jobs.charts.nodes import Square
from jobs.domain.shape import Shape

NODES_DRAWN = 4
"""A larger job is drawn by its first nodes; the words beside the picture have the number."""


def draw_shape(shape: Shape, cards_per_node: int) -> list[list[Square]]:
    """The nodes of a shape, each with the cards it would use and those it would leave."""
    node = _node(cards_per_node - shape.cards_per_pod, cards_per_node)
    return [node] * min(shape.pods, NODES_DRAWN)


def draw_blocks(blocks: Iterable[int], cards_per_node: int) -> list[tuple[int, list[Square]]]:
    """Nodes that have some cards free, each with their number."""
    return [(free, _node(free, cards_per_node)) for free in blocks if 0 < free <= cards_per_node]


def _node(free: int, cards: int) -> list[Square]:
    return [Square("used")] * (cards - free) + [Square("free")] * free
