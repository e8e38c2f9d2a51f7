"""The words a scenario is written in: clusters, jobs, steps and what is expected. Plain data, no cluster in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from clusters.contract import EvictionCause, FailureCode, WaitCode

LOW, NORMAL, HIGH = 100, 200, 300
GROUP = "h100"


@dataclass(frozen=True)
class QueueDef:
    name: str
    nominal: int | None  # cards of the one node group; None: the queue does not offer it
    strict: bool = False  # the head blocks its queue
    reclaims: bool = True  # takes its nominal back from borrowers
    borrow_preempts_up_to: int | None = None  # while borrowing evicts lower work of borrowers, up to this priority
    borrow_limit: int | None = None  # at most so many of others' cards
    lend_limit: int | None = None  # at most so many of its own to others
    local_queues: tuple[str, ...] = ("default",)


@dataclass(frozen=True)
class ClusterDef:
    """Nodes ``n1``… of one group, and team queues in one cohort."""

    queues: tuple[QueueDef, ...]
    nodes: tuple[int, ...] = (8, 8, 8, 8)  # cards of each
    pool: int = 0
    topology_aware: bool = True


@dataclass(frozen=True)
class Job:
    """A job of equal pods that runs until it is told to exit."""

    name: str
    queue: str
    pods: int
    cards_per_pod: int
    priority: int = NORMAL
    framework: str = "pytorch"
    kind: str = "training"  # or inference: a service of ``pods`` replicas
    local: str = "default"  # one of the team's local queues

    @property
    def ulid(self) -> str:
        return self.name.upper().replace("-", "").rjust(26, "0")


@dataclass(frozen=True)
class Submit:
    """Create jobs, one right after the other."""

    jobs: tuple[Job, ...]

    def __init__(self, *jobs: Job) -> None:
        object.__setattr__(self, "jobs", jobs)


@dataclass(frozen=True)
class Settle:
    """Let the cluster come to rest."""


@dataclass(frozen=True)
class Scale:
    """A service shall have so many replicas."""

    job: str
    replicas: int


@dataclass(frozen=True)
class HoldJob:
    job: str


@dataclass(frozen=True)
class ResumeJob:
    job: str


@dataclass(frozen=True)
class Cancel:
    job: str


@dataclass(frozen=True)
class Exit:
    """A running pod exits by itself; without a rank all of them do."""

    job: str
    code: int = 0
    rank: int | None = None


@dataclass(frozen=True)
class EvictPod:
    """Somebody else than the gate takes one pod away."""

    job: str
    rank: int


@dataclass(frozen=True)
class Cordon:
    node: str
    cordoned: bool = True


@dataclass(frozen=True)
class HoldQueue:
    queue: str
    held: bool = True
    drain: bool = False


@dataclass(frozen=True)
class HoldLocalQueues:
    """From now on the console keeps exactly these local queues of a team queue from starting anything.

    Held and draining are the same to a cluster: whether new jobs are taken is the console's own check.
    """

    queue: str
    held: tuple[str, ...] = ()


@dataclass(frozen=True)
class UntilLeaving:
    """Go on at a moment at which this job was told to leave and still holds its quota."""

    job: str


@dataclass(frozen=True)
class Victim:
    cause: EvictionCause
    by: str | None = None  # the job that got the cards
    times: int = 1


@dataclass(frozen=True)
class Failed:
    code: FailureCode
    rank: int | None = None
    exit_code: int | None = None


@dataclass(frozen=True)
class Numbers:
    """Cards, as the gate tells them; None is not compared."""

    asked: int | None = None
    nominal: int | None = None
    used: int | None = None
    maximum: int | None = None


@dataclass(frozen=True)
class Checkpoint:
    """The cluster at rest. All sets are complete: a job that is not named must not be in that state."""

    name: str
    admitted: frozenset[str] = frozenset()
    running: frozenset[str] | None = None  # None: exactly the admitted ones
    waiting: dict[str, WaitCode | None] = field(default_factory=dict)  # None: it waits, the code is left open
    held: frozenset[str] = frozenset()
    unplaceable: frozenset[str] = frozenset()
    succeeded: frozenset[str] = frozenset()
    failed: dict[str, Failed] = field(default_factory=dict)
    victims: dict[str, Victim] = field(default_factory=dict)  # everybody who was ever evicted
    numbers: dict[str, Numbers] = field(default_factory=dict)
    replicas: dict[str, int] = field(default_factory=dict)  # of services: how many have their cards; none: not compared


Step = (
    Submit
    | Settle
    | Scale
    | HoldJob
    | ResumeJob
    | Cancel
    | Exit
    | EvictPod
    | Cordon
    | HoldQueue
    | HoldLocalQueues
    | UntilLeaving
    | Checkpoint
)


@dataclass(frozen=True)
class Scenario:
    key: str
    title: str
    cluster: ClusterDef
    steps: tuple[Step, ...]


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ABC = (QueueDef("a", 13), QueueDef("b", 10), QueueDef("c", 9))
"""Three teams that share four nodes of eight cards."""
