"""Objects of a Kubernetes API as far as the console reads them: types only, `raw` decodes them. Pure.

Only fields that somebody uses are kept, so that a mirror of a large cluster stays small: pod templates and managed
fields are skipped while the bytes are read. Unknown fields are ignored and missing ones have defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from sys import intern
from typing import Annotated

import msgspec
from msgspec import field

from clusters.backends.kueue_volcano.marks import NO_MARKS, Marks
from clusters.backends.kueue_volcano.quantities import Quantity, whole
from clusters.domain.accelerators import whole_amounts

Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class Struct(msgspec.Struct, rename="camel", gc=False):
    """Base of everything here: trees without cycles, so the garbage collector need not follow them."""


class Owner(Struct):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Meta(Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: Moment | None = None
    deletion_timestamp: Moment | None = None
    deletion_grace_period_seconds: int = 0
    labels: Marks = NO_MARKS
    annotations: Marks = NO_MARKS
    owner_references: tuple[Owner, ...] = ()

    def __post_init__(self) -> None:
        self.namespace = intern(self.namespace)

    @property
    def owner(self) -> Owner | None:
        """The controlling owner, else the first."""
        return next((owner for owner in self.owner_references if owner.controller), None) or next(
            iter(self.owner_references), None
        )


class Condition(Struct):
    """The shape that conditions of all kinds share."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Moment | None = None

    def __post_init__(self) -> None:
        self.type = intern(self.type)
        self.status = intern(self.status)
        self.reason = intern(self.reason)


Conditions = tuple[Condition, ...]


class Status(Struct):
    conditions: Conditions = ()


class Object(Struct):
    """A whole object. ``unreadable`` says why only its metadata is there."""

    metadata: Meta = field(default_factory=Meta)
    unreadable: str = ""

    @property
    def key(self) -> str:
        """Tells an object from all others, also from a later one of its name."""
        return self.metadata.uid or f"{self.metadata.namespace}/{self.metadata.name}"


# --------------------------------------------------------------------------- what runs


class JobSpec(Struct):
    parallelism: int | None = None
    completions: int | None = None


class JobStatus(Status):
    completion_time: Moment | None = None


class Job(Object):
    spec: JobSpec = field(default_factory=JobSpec)
    status: JobStatus = field(default_factory=JobStatus)


class DeploymentSpec(Struct):
    replicas: int = 1


class Deployment(Object):
    spec: DeploymentSpec = field(default_factory=DeploymentSpec)


class Resources(Struct):
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}


class Container(Struct):
    name: str = ""
    restart_policy: str = ""
    resources: Resources = field(default_factory=Resources)


Asks = tuple[tuple[str, int], ...]  # extended resources of a pod, by name
_same_asks: dict[Asks, Asks] = {}
NO_OVERHEAD: Mapping[str, Quantity] = {}


class PodSpec(Struct):
    """Of a pod or a template. The containers are folded into what the pod asks for and then let go."""

    node_name: str = ""
    scheduler_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: dict[str, Quantity] = {}
    asks: Asks = field(default=(), name=" asks")

    def __post_init__(self) -> None:
        self.node_name, self.scheduler_name = intern(self.node_name), intern(self.scheduler_name)
        asks = pod_asks(self.containers, self.init_containers, self.overhead)
        self.asks = _same_asks.setdefault(asks, asks) if len(_same_asks) < 1024 else asks
        self.containers = self.init_containers = ()
        self.overhead = {}

    def asked(self, resource: str) -> int:
        return next((count for name, count in self.asks if name == resource), 0)


def pod_asks(
    containers: tuple[Container, ...],
    init_containers: tuple[Container, ...] = (),
    overhead: Mapping[str, Quantity] = NO_OVERHEAD,
) -> Asks:
    """Extended resources a pod takes (C-34): all that run together, or more while a first container needs more.

    What its runtime takes comes on top.
    """
    together: dict[str, int] = {}
    most: dict[str, int] = {}
    for container in init_containers:
        stays = container.restart_policy == "Always"
        for name, count in _extended(container):
            if stays:
                together[name] = together.get(name, 0) + count
            else:
                most[name] = max(most.get(name, 0), together.get(name, 0) + count)
    for container in containers:
        for name, count in _extended(container):
            together[name] = together.get(name, 0) + count
    asks = {name: max(together.get(name, 0), most.get(name, 0)) for name in (*together, *most)}
    for name, count in _whole_devices(overhead):
        asks[name] = asks.get(name, 0) + count
    return tuple(sorted((intern(name), count) for name, count in asks.items() if count))


def _extended(container: Container) -> list[tuple[str, int]]:
    amounts = _whole_devices({**container.resources.limits, **container.resources.requests})
    return list(whole_amounts(dict(amounts)).items())


def _whole_devices(amounts: Mapping[str, Quantity]) -> list[tuple[str, int]]:
    return [(name, whole(amount)) for name, amount in amounts.items() if "/" in name]


class Waiting(Struct):
    reason: str = ""
    message: str = ""


class Running(Struct):
    started_at: Moment | None = None


class Terminated(Struct):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: Moment | None = None
    finished_at: Moment | None = None


class ContainerState(Struct):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


NO_STATE = ContainerState()


class ContainerStatus(Struct):
    name: str = ""
    restart_count: int = 0
    state: ContainerState = field(default_factory=ContainerState)
    last_state: ContainerState = field(default_factory=ContainerState)

    def __post_init__(self) -> None:
        self.name = intern(self.name)
        if self.last_state.terminated is None:
            self.last_state = NO_STATE


class PodStatus(Status):
    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: Moment | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()

    def __post_init__(self) -> None:
        self.phase = intern(self.phase)


class Pod(Object):
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)


class PodGroup(Object):
    status: Status = field(default_factory=Status)


# --------------------------------------------------------------------------- the gate


class TemplateMeta(Struct):
    labels: Marks = NO_MARKS


class Template(Struct):
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    spec: PodSpec = field(default_factory=PodSpec)


class PodSet(Struct):
    name: str = ""
    count: int = 0
    template: Template = field(default_factory=Template)

    def __post_init__(self) -> None:
        self.name = intern(self.name)


class WorkloadSpec(Struct):
    active: bool = True
    queue_name: str = ""
    priority: int | None = None
    pod_sets: tuple[PodSet, ...] = ()

    def __post_init__(self) -> None:
        self.queue_name = intern(self.queue_name)


class AdmissionCheck(Struct):
    name: str = ""
    state: str = ""
    message: str = ""


class EvictionCount(Struct):
    reason: str = ""
    underlying_cause: str = ""
    count: int = 0


class SchedulingStats(Struct):
    evictions: tuple[EvictionCount, ...] = ()


class PodSetAssignment(Struct):
    count: int | None = None


class Admission(Struct):
    pod_set_assignments: tuple[PodSetAssignment, ...] = ()


class WorkloadStatus(Status):
    admission: Admission | None = None
    admission_checks: tuple[AdmissionCheck, ...] = ()
    scheduling_stats: SchedulingStats | None = None
    accumulated_past_execution_time_seconds: int | None = None  # there since the first admission that was lost


class Workload(Object):
    spec: WorkloadSpec = field(default_factory=WorkloadSpec)
    status: WorkloadStatus = field(default_factory=WorkloadStatus)


class ResourceAmount(Struct):
    """Of a queue: quota in its spec, usage in its status."""

    name: str = ""
    nominal_quota: Quantity = 0
    total: Quantity = 0


class FlavorAmounts(Struct):
    name: str = ""
    resources: tuple[ResourceAmount, ...] = ()


class ResourceGroup(Struct):
    flavors: tuple[FlavorAmounts, ...] = ()


class QueueStatus(Status):
    """``flavor_usage`` is the older version's name of ``flavors_usage`` (C-89)."""

    flavors_reservation: tuple[FlavorAmounts, ...] = ()
    flavors_usage: tuple[FlavorAmounts, ...] = ()
    flavor_usage: tuple[FlavorAmounts, ...] = ()

    @property
    def usage(self) -> tuple[FlavorAmounts, ...]:
        return self.flavors_usage or self.flavor_usage


class QueueSpec(Struct):
    """Of either kind: quota in the one, the way to it in the other."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    cluster_queue: str = ""
    stop_policy: str = ""


class ClusterQueue(Object):
    """``status`` None: the gate has not said anything yet, which is not the same as nothing used."""

    spec: QueueSpec = field(default_factory=QueueSpec)
    status: QueueStatus | None = None


class LocalQueue(Object):
    spec: QueueSpec = field(default_factory=QueueSpec)
    status: QueueStatus | None = None
