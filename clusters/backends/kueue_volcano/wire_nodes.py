"""Nodes of a Kubernetes API as far as the console reads them; everything else is in `wire`. Pure."""

from __future__ import annotations

from msgspec import field

from clusters.backends.kueue_volcano.quantities import Quantity
from clusters.backends.kueue_volcano.wire import Condition, Meta, Moment, Struct


class NodeMeta(Meta):
    """Labels of nodes are chosen by people. Of the annotations those are kept in which plugins register devices."""

    labels: dict[str, str] = {}  # type: ignore[assignment]
    annotations: dict[str, str] = {}  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.annotations = {name: text for name, text in self.annotations.items() if "register" in name}


class Taint(Struct):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: Moment | None = None


class NodeSpec(Struct):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeCondition(Condition):
    last_heartbeat_time: Moment | None = None


class NodeStatus(Struct):
    capacity: dict[str, Quantity] = {}
    allocatable: dict[str, Quantity] = {}
    conditions: tuple[NodeCondition, ...] = ()


class Node(Struct):
    metadata: NodeMeta = field(default_factory=NodeMeta)
    unreadable: str = ""
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)

    @property
    def key(self) -> str:
        return self.metadata.name
