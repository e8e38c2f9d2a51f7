"""What the console asks of a scheduler, and the frozen values that travel both ways.

Pure: no ORM, no clock, no client library. Every backend (`clusters/backends/<kind>/`) implements
:class:`SchedulerBackend`; optional abilities are small protocols of their own, announced as a
:class:`Capability`, so that callers ask for the ability and never for the class.

Times are timezone-aware UTC datetimes. Cards are exact integers in the node group's own unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import ClassVar, Protocol, runtime_checkable


class Capability(StrEnum):
    """An optional ability of a backend (decision 29)."""

    HOLD = "hold"
    PRIORITY = "priority"
    SCALE = "scale"
    TOPOLOGY = "topology"
    WATCH = "watch"


# --------------------------------------------------------------------------- errors


class BackendError(Exception):
    """A call to a cluster failed. ``code`` is stable, ``detail`` is the cluster's own text for admins."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(detail or code)
        self.code = code
        self.detail = detail


class Retryable(BackendError):
    """The same call may succeed later: time-out, overload, connection lost."""


class Rejected(BackendError):
    """The cluster refused this object for good; repeating the call gives the same answer."""


class Unauthorized(BackendError):
    """The credential is not accepted or lacks a right; an admin has to act."""


# --------------------------------------------------------------------------- intent, downwards

POD_ROOT = "/sluice"
"""Everything the platform mounts into a pod lies under this folder."""

DEVICE_VARIABLES = frozenset(
    {"NVIDIA_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES", "AMD_VISIBLE_DEVICES", "HABANA_VISIBLE_DEVICES"}
)
"""Container runtimes take these as orders and would hand out cards of others, so nobody but a cluster sets them."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder of a named volume of the team, inside the job's pods."""

    volume: str  # the volume's name on the cluster
    folder: str  # inside the volume, relative; '' = all of it
    path: str  # inside the pod, absolute
    read_only: bool = False


class CodeKind(StrEnum):
    IMAGE = "image"  # the image brings it
    GIT = "git"
    ARCHIVE = "archive"  # uploaded, unpacked by the console into the job's folder


GIT_ADDRESS = r"https://[0-9A-Za-z.-]+(:[0-9]{1,5})?(/[0-9A-Za-z._~+-]+)+/?"
"""Of a repository that everybody may read: no credentials, no query, nothing that looks like a program's option."""
GIT_REVISION = r"[0-9A-Za-z][0-9A-Za-z._/+-]{0,199}"
"""A branch, tag or commit."""


@dataclass(frozen=True, slots=True)
class Code:
    """Where the program comes from. ``address`` and ``revision`` for git; ``mount`` for an archive."""

    kind: CodeKind = CodeKind.IMAGE
    address: str = ""
    revision: str = ""
    mount: Mount | None = None


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """One attempt of a job as a backend shall create it. Submitting the same spec twice is one object."""

    job_ulid: str
    attempt: int  # from 1
    object_name: str  # DNS label, unique per (job, attempt)
    spec_hash: str
    space: str  # the team's own space in the cluster
    queue: str  # team queue
    local_queue: str
    node_group: str | None  # None: no cards wanted
    priority: int  # 100..450, decision 11
    kind: str  # training | development | inference
    framework: str
    image: str
    command: str
    env: tuple[tuple[str, str], ...]
    pods: int
    cards_per_pod: int
    cpu_millis: int  # per pod; 0 = follow from the cards
    memory_bytes: int  # per pod; 0 = follow from the cards
    stop_grace: timedelta
    max_run: timedelta | None
    display_name: str = ""
    code: Code = Code()
    mounts: tuple[Mount, ...] = ()
    checkpoint_dir: str = ""  # inside the pod; '' = the cluster has no storage for it
    results_dir: str = ""
    env_secrets: tuple[str, ...] = ()  # names of the team's secrets on the cluster whose values become variables
    pull_secrets: tuple[str, ...] = ()  # names of the team's registry credentials on the cluster
    as_root: bool = True  # False: the team's programs must not run as root

    @property
    def cards(self) -> int:
        return self.pods * self.cards_per_pod


@dataclass(frozen=True, slots=True)
class WorkloadRef:
    """Names one attempt's object. ``uid`` is None until the cluster has given one."""

    job_ulid: str
    attempt: int
    space: str
    object_name: str
    uid: str | None = None
    kind: str = "training"


@dataclass(frozen=True, slots=True)
class GroupQuota:
    """Cards of one node group that belong to one team queue. None = no limit."""

    node_group: str
    nominal: int
    borrow_limit: int | None = None  # at most so many of others' cards
    lend_limit: int | None = None  # at most so many of its own to others


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """One team queue as it shall be in the cluster."""

    queue: str
    space: str
    quotas: tuple[GroupQuota, ...]
    local_queues: tuple[str, ...]
    strict: bool = False  # the head blocks its queue (decision 24)
    reclaims: bool = True  # takes its nominal back from borrowers (decision 22)
    borrow_preempts_up_to: int | None = None  # while borrowing evicts lower work, up to this priority


@dataclass(frozen=True, slots=True)
class QuotaPlan:
    """All team queues of a cluster and the common pool. Applied decreases first (decision 21)."""

    queues: tuple[QueuePlan, ...]
    pool: tuple[GroupQuota, ...]


@dataclass(frozen=True, slots=True)
class QuotaSyncReport:
    """What :meth:`SchedulerBackend.apply_quotas` changed, and what it could not."""

    changed: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()  # (queue, error code)


# --------------------------------------------------------------------------- facts, upwards


class PodPhase(StrEnum):
    WAITING = "waiting"  # no node yet
    PULLING = "pulling"  # on a node, image not there yet
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ENDING = "ending"  # told to stop, still holds its node's cards


class Outcome(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class EvictionCause(StrEnum):
    """Why an admitted attempt lost its admission."""

    HIGHER_PRIORITY = "higher_priority"  # inside the team
    QUOTA_RECLAIMED = "quota_reclaimed"  # the owner took its cards back
    WHILE_BORROWING = "while_borrowing"  # a borrower of higher priority
    FAIR_SHARE = "fair_share"
    HELD = "held"
    QUEUE_DRAINED = "queue_drained"
    NOT_READY = "not_ready"
    NODE_FAILURE = "node_failure"
    CHECK = "check"
    OTHER = "other"  # the gate gives a cause that no rule knows


class WaitCode(StrEnum):
    """Why an attempt is not admitted, as far as the gate says so."""

    QUOTA = "quota"  # not enough unused quota
    NEVER_FITS = "never_fits"  # more than the whole cohort has
    PLACES = "places"  # quota is there, no set of nodes can hold it
    PREEMPTING = "preempting"  # victims are still ending
    ABOVE_NOMINAL = "above_nominal"  # would have to borrow, and what could be taken back is not enough
    NOT_OFFERED = "not_offered"  # the queue has no quota for this node group
    QUEUE_HELD = "queue_held"
    QUEUE_MISSING = "queue_missing"
    QUEUE_MISCONFIGURED = "queue_misconfigured"
    CHECK = "check"  # an admission check has not answered
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Wait:
    """The gate's newest word about a waiting attempt. Numbers are cards; None = not told."""

    code: WaitCode
    asked: int | None = None
    more: int | None = None  # missing unused quota
    maximum: int | None = None
    nominal: int | None = None
    used: int | None = None  # held by the team in this group
    victims: int | None = None
    raw: str = ""


class FailureCode(StrEnum):
    """Cause of a failed pod or attempt, by the cluster's words. Grouped by decision 4."""

    APP_EXIT = "app_exit"
    OUT_OF_MEMORY = "out_of_memory"
    TIME_LIMIT = "time_limit"
    IMAGE_NAME_INVALID = "image_name_invalid"
    IMAGE_NOT_FOUND = "image_not_found"
    IMAGE_UNAUTHORIZED = "image_unauthorized"
    IMAGE_TIMEOUT = "image_timeout"
    BAD_CONFIG = "bad_config"
    NODE_LOST = "node_lost"
    NODE_SHUTDOWN = "node_shutdown"
    NODE_PRESSURE = "evicted_node_pressure"
    DEVICE_ADMISSION = "device_admission_error"
    DISRUPTION = "disruption"
    NEVER_READY = "never_ready"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


INFRASTRUCTURE_FAILURES = frozenset(
    {
        FailureCode.NODE_LOST,
        FailureCode.NODE_SHUTDOWN,
        FailureCode.NODE_PRESSURE,
        FailureCode.DEVICE_ADMISSION,
        FailureCode.DISRUPTION,
    }
)
"""Decision 4: these are the platform's, everything else is the application's."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The earliest failing pod of an attempt (decision 3)."""

    code: FailureCode
    rank: int | None = None
    exit_code: int | None = None
    node: str | None = None
    at: datetime | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class PodFacts:
    """One pod of the newest admission. ``rank`` counts from 0."""

    rank: int
    name: str
    phase: PodPhase
    node: str | None = None
    cards: int = 0
    exit_code: int | None = None
    image_problem: FailureCode | None = None
    image_problem_since: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    restarts: int = 0  # of its program, in place; then ``exit_code`` is that of the newest end


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """Everything a backend could read about one attempt, nothing derived (decision 44).

    The times describe the newest admission; ``evictions`` is cumulative over the object's life, so a jump
    of more than one between two looks is visible (decision 46).
    """

    created_at: datetime
    active: bool = True  # False: held, out of the queue
    priority: int | None = None  # what the gate compares now; None = not told
    wanted_pods: int = 1
    cards: int = 0
    queued_at: datetime | None = None  # entered the queue (again)
    reserved_at: datetime | None = None  # quota reserved
    admitted_at: datetime | None = None
    scheduled_at: datetime | None = None  # all pods have a node
    ready_at: datetime | None = None  # all pods run
    evicted_at: datetime | None = None  # newest eviction, or the deletion under way: quota freed
    released_at: datetime | None = None  # pods of the newest eviction or end are gone
    ended_at: datetime | None = None
    evictions: int = 0
    eviction_cause: EvictionCause | None = None  # None when it is being deleted
    evicted_by: str | None = None  # job ulid of the beneficiary
    ending: bool = False  # evicted or ended, pods still there
    wait: Wait | None = None
    unplaceable: bool = False  # admitted, and the executor says that the gang does not fit
    waiting_release: bool = False  # the nodes meant for it are not free yet
    pods: tuple[PodFacts, ...] = ()
    outcome: Outcome | None = None
    outcome_by_policy: bool = False  # launcher ended, the rest was stopped
    failure: Failure | None = None
    foreign_owner: bool = False  # an object of this name belongs to somebody else
    unknown: str = ""  # a signal no rule knows, verbatim
    admitted_pods: int | None = None  # of a service: its replicas with quota; None: all pods share one admission
    stalled_since: datetime | None = None  # of a service: all admitted, and since then none of them is ready

    @property
    def is_service(self) -> bool:
        """Its pods are admitted, placed and ended one by one (`clusters.domain.replicas`)."""
        return self.admitted_pods is not None

    @property
    def being_deleted(self) -> bool:
        """Its quota is free although nothing evicted it: the object goes away as soon as its pods have ended."""
        return self.outcome is None and self.evicted_at is not None and self.eviction_cause is None


@dataclass(frozen=True, slots=True)
class ObservedObject:
    """One object of ours as one list saw it. ``revision`` changes exactly when the facts change."""

    job_ulid: str
    attempt: int
    uid: str
    revision: str
    facts: WorkloadFacts


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at a cluster. Absence means something only when ``complete`` (design section 4).

    A partial one may name attempts whose objects were seen to vanish.
    """

    read_at: datetime
    complete: bool
    objects: tuple[ObservedObject, ...]
    gone: tuple[tuple[str, int], ...] = ()  # (job ulid, attempt)


class NodeHealth(StrEnum):
    READY = "ready"
    DEGRADED = "degraded"  # some cards are sick
    CORDONED = "cordoned"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class CardHolder:
    """Cards that one attempt holds on a node. ``running`` tells used from reserved."""

    job_ulid: str
    attempt: int
    cards: int
    running: bool
    ending: bool = False


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


class SharingMode(StrEnum):
    EXCLUSIVE = "exclusive"
    MIG = "mig"
    TIME_SLICED = "time_sliced"
    VGPU = "vgpu"


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


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line as written: bytes, because programs write what they like (case C-54)."""

    seq: int
    at: datetime
    pod: str
    rank: int
    data: bytes


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Lines after ``cursor``; ``complete`` = the pods ended and nothing more will come."""

    lines: tuple[LogLine, ...]
    cursor: str
    complete: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """What to look at. The whole cluster by default."""

    spaces: frozenset[str] = field(default_factory=frozenset)


class SchedulerBackend(Protocol):
    """Six methods every backend has. All may raise Retryable, Rejected or Unauthorized, nothing else."""

    kind: ClassVar[str]
    capabilities: ClassVar[frozenset[Capability]]
    calls_at_once: ClassVar[int]  # 1: not reached over a network, calls are made by the caller's own thread
    settles_in: ClassVar[timedelta]  # from when cards come free until all that wait for some were looked at

    def submit(self, spec: WorkloadSpec) -> WorkloadRef:
        """Create or adopt the object of this spec. The same spec twice gives the same ref.

        An object of the same name that belongs to another owner raises ``Rejected("name_taken")``.
        """

    def stop(self, ref: WorkloadRef, grace: timedelta) -> None:
        """Delete the object, its pods get ``grace`` to end. A missing object is success."""

    def observe(self, scope: Scope) -> Observation:
        """List every object of ours in scope."""

    def apply_quotas(self, plan: QuotaPlan) -> QuotaSyncReport:
        """Make queues and quotas as planned, decreases before increases; never evicts."""

    def inventory(self) -> ClusterInventory:
        """Node groups, nodes, their health and who holds their cards."""

    def tail_logs(self, ref: WorkloadRef, cursor: str) -> LogChunk:
        """Lines after the cursor ('' = from the start), at most about 1,000 at a time."""


@runtime_checkable
class Holdable(Protocol):
    """HOLD: take an attempt out of the queue, or give it back with its old place (decision 5)."""

    def set_held(self, ref: WorkloadRef, held: bool) -> None:
        """Held frees its quota at once. A missing object is success. Saying it twice changes nothing."""


@runtime_checkable
class Prioritised(Protocol):
    """PRIORITY: change the priority of an attempt that waits or runs (decision 11)."""

    def set_priority(self, ref: WorkloadRef, priority: int) -> None:
        """Takes effect on the order of waiting and on who may be interrupted. A missing object is success."""


@runtime_checkable
class Scalable(Protocol):
    """SCALE: change the number of replicas of an inference service."""

    def scale(self, ref: WorkloadRef, replicas: int) -> None:
        """At least 1; not for one that is held. A missing object is success. Saying it twice changes nothing."""


@runtime_checkable
class Tidying(Protocol):
    """Clears up what the cluster itself left behind of ours."""

    def tidy(self) -> int:
        """Remove leftovers of ours whose owner is gone and make again what is missing; how many were touched.

        Follows the newest :meth:`SchedulerBackend.observe` of this instance. Never touches what is not ours.
        """


@runtime_checkable
class Tracing(Protocol):
    """Finds an attempt by its marks, for one whose job the database does not know (any more)."""

    def trace(self, job_ulid: str, attempt: int) -> WorkloadRef | None:
        """The object as it is on the cluster now; None if it is not there."""


@runtime_checkable
class Watchable(Protocol):
    """WATCH: be told of changes at once instead of looking again and again (decision 27)."""

    def watch(self, stop: Callable[[], bool]) -> Iterator[Observation]:
        """A complete observation first and at least each minute, partial ones of what changed between.

        At least one a second, of nothing if nothing has changed: other work has its turn between them.
        Ends when ``stop`` says so; raises BackendError when the cluster cannot be followed.
        """


SECRET_PREFIX = "slu-"
"""Names of secrets in a space that begin so are the console's, all others are somebody else's."""


@runtime_checkable
class SecretKeeper(Protocol):
    """Keeps values for the jobs of a space where only they can read them. Without it a backend has no use for them.

    Whoever writes them can read none, so names tell whose they are (``SECRET_PREFIX``).
    """

    def put_secret(self, space: str, name: str, data: Mapping[str, bytes]) -> None:
        """Store these values, in place of what there was under this name.

        Raises Rejected("secret_refused") for names or values that the cluster does not take and for names that are
        somebody else's, Retryable while the space is not there yet.
        """

    def drop_secret(self, space: str, name: str) -> None:
        """Remove it. A missing one is success. Raises Rejected("secret_refused") for somebody else's name."""
