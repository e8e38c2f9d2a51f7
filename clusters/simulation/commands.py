"""What can be done to a simulated cluster, as frozen values with a JSON form.

A command takes effect at its own time ``at_ms``; one whose time has passed takes effect now. Every command is
idempotent: saying it again changes nothing, and one about an object that is not there does nothing.

A service is submitted as one and becomes a workload per replica (see :mod:`clusters.simulation.services`). A command
about it names the service and means all of them; its ranks are the numbers of its replicas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from clusters.contract import FailureCode, WorkloadSpec
from clusters.simulation.world import Group, Hold, Limits, Plan, Reclaim, Spec, Strategy


@dataclass(frozen=True, slots=True)
class NodeDef:
    """A node as it shall be installed. Health, sick cards and images of a known node are kept."""

    name: str
    group: str | None
    cards: int
    cpu_millis: int = 128_000
    memory_bytes: int = 1 << 40
    outside: int = 0


@dataclass(frozen=True, slots=True)
class QueueDef:
    """A team queue as it shall be. Its hold is kept."""

    name: str
    quotas: tuple[tuple[str, int], ...]  # (node group, nominal cards)
    space: str = ""
    local_queues: tuple[str, ...] = ()
    strategy: Strategy = Strategy.BEST_EFFORT
    reclaim: Reclaim = Reclaim.ANY
    borrow_preempts: bool = False
    borrow_threshold: int | None = None
    limits: tuple[tuple[str, Limits], ...] = ()  # node group, where it has some
    held_local_queues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Submit:
    """Create a workload, or a service of one pod a replica. One of the same name, in whatever state, is left alone."""

    kind: ClassVar[str] = "submit"
    at_ms: int
    name: str
    spec: Spec
    plan: Plan = field(default_factory=Plan)

    @classmethod
    def of(cls, at_ms: int, spec: WorkloadSpec, plan: Plan | None = None) -> Submit:
        """The command that creates the workload of a contract specification."""
        inner = Spec(
            job_ulid=spec.job_ulid,
            attempt=spec.attempt,
            queue=spec.queue,
            local_queue=spec.local_queue,
            node_group=spec.node_group,
            priority=spec.priority,
            kind=spec.kind,
            framework=spec.framework,
            image=spec.image,
            command=spec.command,
            pods=spec.pods,
            cards_per_pod=spec.cards_per_pod,
            cpu_millis=spec.cpu_millis,
            memory_bytes=spec.memory_bytes,
            grace_ms=round(spec.stop_grace.total_seconds() * 1000),
            spec_hash=spec.spec_hash,
            space=spec.space,
            avoid=spec.avoid_nodes,
        )
        return cls(at_ms, spec.object_name, inner, plan or Plan())


@dataclass(frozen=True, slots=True)
class Scale:
    """A service shall have so many replicas: the last ones go, new ones are submitted like the first."""

    kind: ClassVar[str] = "scale"
    at_ms: int
    name: str
    replicas: int


@dataclass(frozen=True, slots=True)
class Delete:
    """Stop a workload within the grace and forget it once its pods are gone."""

    kind: ClassVar[str] = "delete"
    at_ms: int
    name: str
    grace_ms: int


@dataclass(frozen=True, slots=True)
class SetActive:
    """False: out of the queue, quota freed at once. True: back in its old place."""

    kind: ClassVar[str] = "set_active"
    at_ms: int
    name: str
    active: bool


@dataclass(frozen=True, slots=True)
class SetPriority:
    """Where a workload stands among the waiting, and who may interrupt it. Its time in the queue is kept."""

    kind: ClassVar[str] = "set_priority"
    at_ms: int
    name: str
    priority: int


@dataclass(frozen=True, slots=True)
class Steer:
    """On which nodes a workload that waits is not placed. One that holds quota stays as it is."""

    kind: ClassVar[str] = "steer"
    at_ms: int
    name: str
    avoid: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetQuotas:
    """All team queues and the common pool, in one step. Never evicts; queues left out are removed.

    With it comes how slow the cut cards of node groups are; what has begun keeps its pace.
    """

    kind: ClassVar[str] = "set_quotas"
    at_ms: int
    queues: tuple[QueueDef, ...]
    pool: tuple[tuple[str, int], ...] = ()
    slowdowns: tuple[tuple[str, int], ...] = ()  # (node group, run time per mille of that on whole cards)


@dataclass(frozen=True, slots=True)
class SetNodes:
    """Install nodes, or change installed ones, with the words of their groups."""

    kind: ClassVar[str] = "set_nodes"
    at_ms: int
    nodes: tuple[NodeDef, ...]
    groups: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Cordon:
    """No new pods on a node (``cordoned``), or open it again."""

    kind: ClassVar[str] = "cordon"
    at_ms: int
    node: str
    cordoned: bool = True


@dataclass(frozen=True, slots=True)
class NodePower:
    """A node stops answering (``up`` false) or is back. Its pods count as lost after a while."""

    kind: ClassVar[str] = "node_power"
    at_ms: int
    node: str
    up: bool


@dataclass(frozen=True, slots=True)
class Sicken:
    """So many cards of a node are sick; 0 = all well."""

    kind: ClassVar[str] = "sicken"
    at_ms: int
    node: str
    cards: int


@dataclass(frozen=True, slots=True)
class ExitPod:
    """A running pod exits by itself."""

    kind: ClassVar[str] = "exit_pod"
    at_ms: int
    name: str
    rank: int
    code: int
    reason: FailureCode = FailureCode.APP_EXIT


@dataclass(frozen=True, slots=True)
class EvictPod:
    """The cluster takes one pod away: its gang fails as a whole."""

    kind: ClassVar[str] = "evict_pod"
    at_ms: int
    name: str
    rank: int


@dataclass(frozen=True, slots=True)
class HoldQueue:
    kind: ClassVar[str] = "hold_queue"
    at_ms: int
    queue: str
    hold: Hold


Command = (
    Submit
    | Scale
    | Delete
    | SetActive
    | SetPriority
    | Steer
    | SetQuotas
    | SetNodes
    | Cordon
    | NodePower
    | Sicken
    | ExitPod
    | EvictPod
    | HoldQueue
)

_KINDS: dict[str, type[Command]] = {
    cls.kind: cls
    for cls in (
        Submit, Scale, Delete, SetActive, SetPriority, Steer, SetQuotas, SetNodes, Cordon, NodePower, Sicken, ExitPod,
        EvictPod, HoldQueue,
    )
}  # fmt: skip


def command_to_dict(command: Command) -> dict[str, Any]:
    return {"kind": command.kind, **msgspec.to_builtins(command)}


def command_from_dict(data: Mapping[str, Any]) -> Command:
    """The command of a JSON form. Raises KeyError for an unknown kind, msgspec.ValidationError for bad fields."""
    values = dict(data)
    return msgspec.convert(values, _KINDS[values.pop("kind")])
