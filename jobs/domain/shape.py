"""Cards → pods (decision 12): the fewest equal pods, each at least half a node. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """``pods`` equal pods of ``cards_per_pod`` cards. 0 cards is one pod without cards (decision 54)."""

    pods: int
    cards_per_pod: int

    @property
    def cards(self) -> int:
        return self.pods * self.cards_per_pod


class NoShape(ValueError):
    """No equal split exists; ``nearest`` are the good counts below and above, either may be missing."""

    def __init__(self, cards: int, nearest: tuple[int, ...]) -> None:
        super().__init__(f"{cards} cards have no equal split")
        self.cards = cards
        self.nearest = nearest

    def up_to(self, capacity: int) -> NoShape:
        """The same without counts that no group could ever give; of none that could, the nearest below stays."""
        return NoShape(self.cards, tuple(n for n in self.nearest if n <= capacity) or self.nearest[:1])


def per_pod_sizes(cards_per_node: int, vendor: str) -> tuple[int, ...]:
    """Cards one pod may have, ascending. Ascend nodes take 1, 2, 4 or 8, then whole nodes (decision 12)."""
    if vendor == "ascend":
        return (*(size for size in (1, 2, 4, 8) if size < cards_per_node), cards_per_node)
    return tuple(range(1, cards_per_node + 1))


def shape_of(cards: int, *, cards_per_node: int, vendor: str = "nvidia") -> Shape:
    """The shape of ``cards`` on nodes of ``cards_per_node`` >= 1. Raises NoShape with the nearest good counts."""
    if cards == 0:
        return Shape(pods=1, cards_per_pod=0)
    found = _shape_or_none(cards, cards_per_node, vendor)
    if found is not None:
        return found
    below = next((n for n in range(cards - 1, 0, -1) if _shape_or_none(n, cards_per_node, vendor)), None)
    above = next(
        n for n in range(cards + 1, cards + 2 * cards_per_node + 1) if _shape_or_none(n, cards_per_node, vendor)
    )
    raise NoShape(cards, tuple(n for n in (below, above) if n is not None))


def service_shape(cards: int, replicas: int, *, cards_per_node: int, vendor: str = "nvidia") -> Shape:
    """``replicas`` pods of ``cards`` each, every one on a single node. Raises NoShape with the nearest good counts."""
    sizes = per_pod_sizes(cards_per_node, vendor)
    if cards and cards not in sizes:
        below = [size for size in sizes if size < cards][-1:]
        above = [size for size in sizes if size > cards][:1]
        raise NoShape(cards, (*below, *above))
    return Shape(replicas, cards)


def _shape_or_none(cards: int, cards_per_node: int, vendor: str) -> Shape | None:
    sizes = per_pod_sizes(cards_per_node, vendor)
    if cards in sizes:
        return Shape(1, cards)
    for size in reversed(sizes):
        if 2 * size < cards_per_node or (vendor == "ascend" and size != cards_per_node):
            break
        if cards % size == 0:
            return Shape(cards // size, size)
    return None
