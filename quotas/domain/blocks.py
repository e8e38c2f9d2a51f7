"""Free cards by node, and where a gang would go: as a topology-aware gate chooses (`clusters.simulation.placement`).

Nodes are kept by how much they have free, so that a question costs as many steps as there are different amounts, not
nodes. Pure, integers only.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import merge


@dataclass(frozen=True, slots=True)
class NodeRoom:
    """One node: the cards that jobs may have there, and those that nobody holds. In the group's unit."""

    name: str
    group: str
    usable: int
    free: int


class Blocks:
    """The rooms of all node groups."""

    def __init__(self, rooms: Iterable[NodeRoom]) -> None:
        self._free: dict[tuple[str, str], int] = {}  # (group, node)
        self._nodes: dict[str, dict[int, list[str]]] = defaultdict(dict)  # group -> free -> names, sorted
        self._empty: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))  # group -> usable -> nodes
        for room in sorted(rooms, key=lambda each: each.name):
            self._free[room.group, room.name] = room.free
            self._nodes[room.group].setdefault(room.free, []).append(room.name)
            self._empty[room.group][room.usable] += 1

    def fits(self, group: str, pods: int, size: int) -> bool:
        """Whether so many pods of this many cards have a place now."""
        return sum(free // size * len(names) for free, names in self._nodes[group].items() if free >= size) >= pods

    def could_fit(self, group: str, pods: int, size: int) -> bool:
        """Whether they would have one if nobody held anything."""
        return sum(usable // size * count for usable, count in self._empty[group].items()) >= pods

    def choose(self, group: str, pods: int, size: int) -> list[str] | None:
        """A node for each pod: first those that can take the fewest such pods, then by name. None = no place."""
        by_pods: dict[int, list[list[str]]] = defaultdict(list)
        for free, names in self._nodes[group].items():
            if free >= size:
                by_pods[free // size].append(names)
        chosen: list[str] = []
        for count in sorted(by_pods):
            for name in merge(*by_pods[count]):
                chosen.extend([name] * min(count, pods - len(chosen)))
                if len(chosen) == pods:
                    return chosen
        return None

    def move(self, group: str, name: str, cards: int) -> None:
        """So many cards of a node are taken; negative ones come free. A node that nobody knows is left alone."""
        before = self._free.get((group, name))
        if before is None:
            return
        after = before - cards
        nodes = self._nodes[group]
        names = nodes[before]
        del names[bisect_left(names, name)]
        if not names:
            del nodes[before]
        insort(nodes.setdefault(after, []), name)
        self._free[group, name] = after
