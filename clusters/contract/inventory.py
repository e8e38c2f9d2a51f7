"""Node groups, nodes and their cards, and who holds them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class NodeHealth(StrEnum):
    READY = "ready"
    DEGRADED = "degraded"  # some cards are sick
    CORDONED = "cordoned"
    DOWN = "down"


class NodeTrouble(StrEnum):
    """What a node may have, as its cluster says. The first four keep new work out."""

    NOT_READY = "not_ready"
    UNHEARD = "unheard"  # nothing is heard from it
    CORDONED = "cordoned"
    TAINTED = "tainted"  # keeps out everything that does not tolerate ``detail``
    MEMORY_PRESSURE = "memory_pressure"
    DISK_PRESSURE = "disk_pressure"
    PID_PRESSURE = "pid_pressure"
    SICK_CARDS = "sick_cards"  # fewer cards on offer than installed
    NO_CARDS = "no_cards"  # its label names cards, it reports none
    UNREADABLE = "unreadable"  # it reports an amount that is no number; ``detail`` is that


class SharingMode(StrEnum):
    EXCLUSIVE = "exclusive"
    MIG = "mig"
    TIME_SLICED = "time_sliced"
    VGPU = "vgpu"


@dataclass(frozen=True, slots=True)
class NodeCondition:
    """One trouble of a node; ``since`` is None where the cluster does not say. ``detail`` is its own words."""

    trouble: NodeTrouble
    since: datetime | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class CardHolder:
    """Cards that one attempt holds on a node. ``running`` tells used from reserved."""

    job_ulid: str
    attempt: int
    cards: int
    running: bool
    ending: bool = False


OUTSIDERS_MAX = 8
"""So many pods of no queue are named for one node, those with the most cards."""


@dataclass(frozen=True, slots=True)
class Outsider:
    """A pod of no queue that holds cards of a node, and who placed it."""

    pod: str
    space: str
    scheduler: str
    cards: int


@dataclass(frozen=True, slots=True)
class CardPart:
    """Memory or cores of the virtual cards of one node, in a unit of their own: never cards (C-32).

    ``asked`` and ``used`` (asked by pods that run) are of the pods that are placed there. ``unsaid``: virtual cards of
    pods that name no amount of this kind, so that more than ``asked`` may be taken.
    """

    resource: str
    unit: str  # '' where only the vendor knows
    capacity: int | None  # None: the node does not say
    asked: int
    used: int
    unsaid: int


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node: installed, sick and held cards. ``offered`` = installed minus sick, 0 unless schedulable."""

    name: str
    node_group: str | None
    health: NodeHealth
    installed: int
    sick: int = 0
    since: datetime | None = None
    cpu_millis: int = 0
    memory_bytes: int = 0
    holders: tuple[CardHolder, ...] = ()
    outside: int = 0  # cards of pods of no queue
    outsiders: tuple[Outsider, ...] = ()  # who they are, as far as the backend tells
    conditions: tuple[NodeCondition, ...] = ()  # in the order of `NodeTrouble`; empty: it is well
    labels: tuple[tuple[str, str], ...] = ()  # those by which people may choose it for a group, sorted
    offers: tuple[tuple[str, SharingMode], ...] = ()  # resources of its cards, best first; how each is shared
    physical: int | None = None  # cards behind what is installed; None: the node does not say
    parts: tuple[CardPart, ...] = ()  # of virtual cards; empty where nobody gives or asks for any

    @property
    def schedulable(self) -> bool:
        return self.health in (NodeHealth.READY, NodeHealth.DEGRADED)

    @property
    def offered(self) -> int:
        return self.installed - self.sick if self.schedulable else 0

    @property
    def held(self) -> int:
        return sum(holder.cards for holder in self.holders) + self.outside

    @property
    def free(self) -> int:
        return max(0, self.offered - self.held)


REPLICAS_MAX = 64
"""Of one inference service."""


@dataclass(frozen=True, slots=True)
class NodeGroupFacts:
    """Nodes with the same card model, interconnect and sharing mode; ``unit`` is never converted (decision 25)."""

    name: str  # slug, unique in the cluster
    title: str
    vendor: str
    card_model: str
    interconnect: str
    sharing: SharingMode
    unit: str  # card | slice
    cards_per_node: int  # the most common node size, in units
    cpu_millis_per_node: int = 0
    memory_bytes_per_node: int = 0
    resource: str = ""  # what a pod asks for to get a card; '' where the backend has no such names
    selector: tuple[tuple[str, str], ...] = ()  # labels of its nodes, sorted


class Part(StrEnum):
    """What a cluster may lack (decision 15)."""

    GATE = "gate"  # decides who enters; without it nothing may be submitted
    GANG = "gang"  # starts the pods of one job together
    TOPOLOGY = "topology"  # lets the gate choose the nodes


@dataclass(frozen=True, slots=True)
class ClusterInventory:
    read_at: datetime
    groups: tuple[NodeGroupFacts, ...]
    nodes: tuple[NodeFacts, ...]
    topology_aware: bool = True
    lacks: frozenset[Part] = frozenset()
