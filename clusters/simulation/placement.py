"""Which nodes: who occupies what, and how a gang is laid out.

Two views of a node are kept apart. *Promised* cards were given out by a topology-aware gate; they are free for
the gate again as soon as the quota is free. *Occupied* cards belong to pods that are on the node, ending ones
too; only the executor looks at them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from clusters.simulation.world import Node, Spec, Workload

CARD_SHARE = (9, 10)
"""Part of a card node's CPU and memory that belongs to its cards; pods without cards share the rest."""


def fill(slots: Iterable[tuple[int, int, str]], pods: int) -> list[str] | None:
    """Lay out equal pods on nodes ``(rank, pods that fit, name)``, smallest rank first; None = not all fit."""
    chosen: list[str] = []
    for _, count, name in sorted(slots):
        chosen.extend([name] * min(count, pods - len(chosen)))
        if len(chosen) == pods:
            return sorted(chosen)
    return None


def least_free_capacity(rooms: Iterable[tuple[str, int]], pods: int, cards: int) -> list[str] | None:
    """The topology-aware gate's choice: nodes that can take the fewest such pods first, then by name.

    ``rooms`` are ``(node, free cards)``.
    """
    if pods == 1:
        best = min(((free // cards, name) for name, free in rooms if free >= cards), default=None)
        return None if best is None else [best[1]]
    return fill(((free // cards, free // cards, name) for name, free in rooms if free >= cards), pods)


def binpack(rooms: Iterable[tuple[str, int]], pods: int, cards: int) -> list[str] | None:
    """The executor's choice: the fullest node that still fits first, then by name."""
    if pods == 1:
        best = min(((free, name) for name, free in rooms if free >= cards), default=None)
        return None if best is None else [best[1]]
    return fill(((free, free // cards, name) for name, free in rooms if free >= cards), pods)


class Floor:
    """Counts per node, kept in step with the workloads."""

    def __init__(self, nodes: dict[str, Node]) -> None:
        self._nodes = nodes
        self._promised: defaultdict[str, int] = defaultdict(int)
        self._unpromised: dict[str | None, dict[str, int]] = {}  # group -> node -> cards the gate may give out
        self._occupied: defaultdict[str, int] = defaultdict(int)
        self._unoccupied: dict[str | None, dict[str, int]] = {}  # group -> node -> cards without a pod
        self._ending: defaultdict[str, int] = defaultdict(int)
        self._cpu: defaultdict[str, int] = defaultdict(int)
        self._memory: defaultdict[str, int] = defaultdict(int)
        self._pods: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.nodes_changed()

    def nodes_changed(self) -> None:
        """Learn the nodes anew: some came, changed their group or their health."""
        self._unpromised = {}
        self._unoccupied = {}
        for name, node in self._nodes.items():
            self._unpromised.setdefault(node.group, {})[name] = node.usable - self._promised[name]
            self._unoccupied.setdefault(node.group, {})[name] = node.usable - self._occupied[name]

    # what the gate sees

    def promise(self, nodes: Iterable[str], cards: int) -> None:
        """Give out ``cards`` on each node of the list, once per pod; negative cards take them back."""
        for name in nodes:
            self._promised[name] += cards
            self._unpromised[self._nodes[name].group][name] -= cards

    def choose(self, spec: Spec, *, empty: bool = False) -> list[str] | None:
        """Nodes for a gang as a topology-aware gate chooses them; ``empty`` = as if nothing were given out."""
        free = _without(self._unpromised.get(spec.node_group, {}), spec.avoid)
        if empty:
            free = {name: self._nodes[name].usable for name in free}
        return least_free_capacity(free.items(), spec.pods, spec.cards_per_pod)

    def has_promise_room(self, nodes: Sequence[str], cards: int) -> bool:
        """Whether a choice made earlier still stands."""
        counts = Counter(nodes)
        return all(self._promised[name] + cards * counts[name] <= self._nodes[name].usable for name in counts)

    # what the executor sees

    def occupy(self, name: str, workload: Workload) -> None:
        self._count(name, workload, 1)

    def vacate(self, name: str, workload: Workload) -> None:
        self._count(name, workload, -1)

    def _count(self, name: str, workload: Workload, sign: int) -> None:
        spec = workload.spec
        if spec.cards_per_pod:
            cards = sign * spec.cards_per_pod
            self._occupied[name] += cards
            self._unoccupied[self._nodes[name].group][name] -= cards
        else:
            self._cpu[name] += sign * spec.cpu_millis
            self._memory[name] += sign * spec.memory_bytes
        pods = self._pods[name]
        pods[workload.name] += sign
        if not pods[workload.name]:
            del pods[workload.name]

    def mark_ending(self, name: str, cards: int) -> None:
        """Of the occupied cards, ``cards`` more (or fewer) belong to pods that are ending."""
        self._ending[name] += cards

    def occupants(self, name: str) -> list[str]:
        """Workloads with pods on the node."""
        return sorted(self._pods.get(name, ()))

    def free(self, name: str, *, after_release: bool = False) -> int:
        """Cards of a node that no pod occupies; ``after_release`` = once the ending pods are gone."""
        return self._unoccupied[self._nodes[name].group][name] + (self._ending[name] if after_release else 0)

    def pack(self, workload: Workload, *, after_release: bool = False) -> list[str] | None:
        """Nodes for a gang as the executor chooses them, all or nothing."""
        spec = workload.spec
        if not spec.cards_per_pod:
            return self._pack_without_cards(spec)
        free = _without(self._unoccupied.get(spec.node_group, {}), spec.avoid)
        if after_release:
            free = {name: cards + self._ending[name] for name, cards in free.items()}
        return binpack(free.items(), spec.pods, spec.cards_per_pod)

    def _pack_without_cards(self, spec: Spec) -> list[str] | None:
        slots = []
        for name, node in self._nodes.items():
            if not node.schedulable or name in spec.avoid:
                continue
            fits = spec.pods
            for total, held, asked in (
                (node.cpu_millis, self._cpu[name], spec.cpu_millis),
                (node.memory_bytes, self._memory[name], spec.memory_bytes),
            ):
                part, whole = CARD_SHARE
                left = (total - total * part // whole if node.cards else total) - held
                fits = min(fits, left // asked if asked else fits)
            if fits > 0:
                slots.append((fits, fits, name))
        return fill(slots, spec.pods)


def _without(free: dict[str, int], avoid: tuple[str, ...]) -> dict[str, int]:
    """Most workloads avoid nothing: then no copy is made."""
    return {name: cards for name, cards in free.items() if name not in avoid} if avoid else free
