"""The simulated cluster as plain data: one header, and one object per node, team queue and workload.

Times are integer milliseconds since the epoch, cards are integers in the node group's own unit. Everything
that decides the future is stored here, also what is planned but has not happened yet (``*_ms`` fields in the
future); there is no other state. :mod:`clusters.simulation.codec` turns each object into JSON and back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from clusters.contract import EvictionCause, FailureCode, Outcome, PodPhase, WaitCode

WHOLE_SPEED = 1_000
"""Run time per mille of that on whole cards."""
ALIVE = frozenset({PodPhase.WAITING, PodPhase.PULLING, PodPhase.RUNNING, PodPhase.ENDING})


class Strategy(StrEnum):
    """What a team queue does with a head that cannot be admitted."""

    BEST_EFFORT = "best_effort"  # set it aside, try the next one
    STRICT = "strict"  # the head blocks its queue


class Reclaim(StrEnum):
    """Whose admitted work a queue may evict to get its own nominal quota back from borrowers."""

    ANY = "any"
    LOWER_PRIORITY = "lower_priority"
    NEVER = "never"


class Hold(StrEnum):
    NONE = "none"
    HOLD = "hold"  # nobody is admitted, what runs goes on
    HOLD_AND_DRAIN = "hold_and_drain"  # what runs is evicted too


class Stage(StrEnum):
    QUEUED = "queued"  # holds no quota; out of the queue while inactive or being deleted
    ADMITTED = "admitted"  # holds quota
    EVICTING = "evicting"  # told to leave, holds quota until ``frees_ms``
    FINISHED = "finished"  # has an outcome, holds no quota


class Shape(NamedTuple):
    """Workloads of one queue and one shape always get the same answer from the gate."""

    priority: int
    node_group: str | None
    pods: int
    cards_per_pod: int
    avoid: tuple[str, ...] = ()


@dataclass(slots=True)
class Latencies:
    """How long the machinery of the cluster takes, in milliseconds."""

    cycle: int = 10  # from a reason to try until the next admission cycle; at least 1
    retry: int = 1_000  # from a change in the cohort until set-aside workloads are tried again
    eviction: int = 500  # from the decision to evict until the quota is free
    pods: int = 300  # from admission until the pods exist and look for nodes
    round: int = 200  # from cards coming free until the executor tries the waiting gangs again
    pull_min: int = 3_000
    pull_max: int = 15_000
    restart_min: int = 10_000  # until a replica's program is started again, twice as long each time
    restart_max: int = 300_000
    cached: int = 500  # an image that is already on the node
    image_problem: int = 2_000  # until the first failed pull is reported
    stop_min: int = 1_000
    stop_max: int = 6_000  # a pod told to stop ends after min..max, never later than its grace
    node_lost: int = 40_000  # from a node going down until its pods count as lost


@dataclass(slots=True)
class Group:
    """A node group's words; its sizes follow from its nodes."""

    name: str
    title: str = ""
    vendor: str = ""
    card_model: str = ""
    interconnect: str = ""
    sharing: str = "exclusive"
    unit: str = "card"
    shares_per_card: int = 0  # of slices; 0: nobody says
    position: int = 0  # in lists; then by name


@dataclass(slots=True)
class Node:
    name: str
    group: str | None
    cards: int
    sick: int = 0
    cpu_millis: int = 128_000
    memory_bytes: int = 1 << 40
    cordoned: bool = False
    down: bool = False
    since_ms: int = 0  # of the present health
    lost_ms: int | None = None  # when the pods of a node that is down count as lost
    outside: int = 0  # cards of pods of no queue
    images: dict[str, int] = field(default_factory=dict)  # image -> when it is on the node

    @property
    def schedulable(self) -> bool:
        return not (self.cordoned or self.down)

    @property
    def usable(self) -> int:
        """Cards that pods of our queues may have: sick ones and those of a closed node never count."""
        return max(0, self.cards - self.sick - self.outside) if self.schedulable else 0


@dataclass(frozen=True, slots=True)
class Note:
    """The gate's word about one shape in one queue. Numbers are cards; None = not told."""

    code: WaitCode
    asked: int | None = None
    more: int | None = None
    maximum: int | None = None
    nominal: int | None = None
    used: int | None = None


@dataclass(slots=True)
class ShapeState:
    note: Note
    parked: bool  # set aside until something in the cohort changes


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a queue may borrow and lend of one node group; None = as much as there is."""

    borrow: int | None = None
    lend: int | None = None


@dataclass(slots=True)
class Queue:
    """A team queue: nominal quota per node group, in one flat cohort with all others."""

    name: str
    space: str = ""
    quotas: dict[str, int] = field(default_factory=dict)  # node group -> nominal cards
    limits: dict[str, Limits] = field(default_factory=dict)  # node groups that have some
    local_queues: tuple[str, ...] = ()
    strategy: Strategy = Strategy.BEST_EFFORT
    reclaim: Reclaim = Reclaim.ANY
    borrow_preempts: bool = False  # may evict lower work of borrowers while borrowing itself
    borrow_threshold: int | None = None  # then only victims up to this priority
    hold: Hold = Hold.NONE
    held_local_queues: tuple[str, ...] = ()  # nobody of theirs is admitted, what runs goes on
    sticky: str | None = None  # workload whose victims are still ending: stays the head
    shapes: dict[Shape, ShapeState] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Member:
    """A workload that is one replica of a service: admitted, placed and ended by itself."""

    service: str  # its name
    number: int  # from 0
    born_ms: int  # when the service was submitted


@dataclass(frozen=True, slots=True)
class Spec:
    """What the engine needs to know of a workload's specification."""

    job_ulid: str
    attempt: int
    queue: str
    local_queue: str
    node_group: str | None
    priority: int
    kind: str
    framework: str
    image: str
    command: str
    pods: int
    cards_per_pod: int
    cpu_millis: int
    memory_bytes: int
    grace_ms: int
    spec_hash: str = ""
    space: str = ""
    member: Member | None = None
    avoid: tuple[str, ...] = ()  # nodes on which none of its pods is placed

    @property
    def cards(self) -> int:
        return self.pods * self.cards_per_pod


@dataclass(frozen=True, slots=True)
class Plan:
    """What a workload will do, where that shall not follow from its command. None = follows."""

    run_ms: int | None = None  # from all pods running until the exit
    exit_code: int | None = None
    pull_ms: int | None = None
    failing_rank: int | None = None  # the rank that exits with the code; None: every rank does
    utilisation: int | None = None  # mean, in percent
    resumes: bool = False  # a new run goes on where the evicted one stopped


@dataclass(slots=True)
class Pod:
    rank: int
    phase: PodPhase = PodPhase.WAITING
    node: str | None = None
    starts_ms: int | None = None  # planned
    started_ms: int | None = None
    stops_ms: int | None = None  # planned, once told to stop
    ended_ms: int | None = None
    exit_code: int | None = None
    restarts: int = 0  # of its program, in place
    down_ms: int | None = None  # newest end of its program before a start in place
    problem: FailureCode | None = None  # of the image
    problem_ms: int | None = None  # when it shows; may lie in the future


@dataclass(slots=True)
class Run:
    """One admission of a workload."""

    queued_ms: int
    admitted_ms: int
    nodes: list[str] = field(default_factory=list)  # by rank, once chosen
    creates_ms: int | None = None  # planned creation of the pods; None: waits for earlier pods to go
    scheduled_ms: int | None = None
    ready_ms: int | None = None
    slowdown: int = WHOLE_SPEED  # of its node group when it became ready
    exits_ms: int | None = None  # planned
    told_ms: int | None = None  # evicted, deleted or finished
    frees_ms: int | None = None  # planned end of an eviction: the quota is free
    freed_ms: int | None = None
    released_ms: int | None = None  # no pod left
    cause: EvictionCause | None = None
    by: str | None = None  # job that gets the cards
    pods: list[Pod] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Fault:
    """The earliest failing pod of a failed workload."""

    code: FailureCode
    rank: int | None
    exit_code: int | None
    node: str | None
    at_ms: int
    raw: str = ""


@dataclass(slots=True)
class Workload:
    """One attempt of a job, from submission until it is deleted."""

    name: str
    spec: Spec
    plan: Plan
    created_ms: int  # order inside a priority, kept over preemption and hold
    sequence: int  # order inside a millisecond
    queued_ms: int
    active: bool = True
    stage: Stage = Stage.QUEUED
    deleting: bool = False
    victims: int = 0  # admitted work that still has to leave for this one
    runs: list[Run] = field(default_factory=list)
    evictions: int = 0
    done_ms: int = 0  # work saved by earlier runs
    unplaceable: bool = False
    waiting_release: bool = False
    ended_ms: int | None = None
    outcome: Outcome | None = None
    outcome_by_policy: bool = False
    fault: Fault | None = None

    @property
    def run(self) -> Run:
        """The newest admission; only for workloads that had one."""
        return self.runs[-1]

    @property
    def shape(self) -> Shape:
        spec = self.spec
        return Shape(spec.priority, spec.node_group, spec.pods, spec.cards_per_pod, spec.avoid)

    @property
    def order(self) -> tuple[int, int, int]:
        """Sorts as the gate does inside a queue: priority, then creation."""
        return (-self.spec.priority, self.created_ms, self.sequence)

    @property
    def holds_quota(self) -> bool:
        return self.stage is Stage.ADMITTED or self.stage is Stage.EVICTING

    @property
    def waits(self) -> bool:
        """In its queue, from where the gate may take it."""
        return self.stage is Stage.QUEUED and self.active and not self.deleting

    @property
    def inert(self) -> bool:
        """Nothing but its deletion can change it any more."""
        return self.stage is Stage.FINISHED and not self.deleting and all(r.released_ms is not None for r in self.runs)

    def unreleased(self) -> list[Run]:
        """Runs told to stop whose pods are not all gone, newest first. Runs are released in order."""
        found = []
        for run in reversed(self.runs):
            if run.released_ms is not None:
                break
            if run.told_ms is not None:
                found.append(run)
        return found

    def next_due(self) -> int | None:
        """The next moment at which something planned happens to this workload."""
        if not self.runs:
            return None
        due: list[int] = []
        run = self.runs[-1]
        if self.stage is Stage.EVICTING and run.frees_ms is not None:
            due.append(run.frees_ms)
        elif self.stage is Stage.ADMITTED:
            if not run.pods:
                if run.creates_ms is not None:
                    due.append(run.creates_ms)
            elif run.exits_ms is not None:
                due.append(run.exits_ms)
            elif run.ready_ms is None:
                for pod in run.pods:
                    if pod.phase is PodPhase.PULLING:
                        if pod.starts_ms is not None:
                            due.append(pod.starts_ms)
                        elif pod.problem_ms is not None and pod.problem is None:
                            due.append(pod.problem_ms)
        if run.told_ms is not None or len(self.runs) > 1:
            for ending in self.unreleased():
                due.extend(pod.stops_ms for pod in ending.pods if pod.stops_ms is not None and pod.phase in ALIVE)
        return min(due, default=None)


@dataclass(slots=True)
class World:
    """The header and all objects. ``*_ms`` are planned world-wide steps; None = none planned."""

    now_ms: int
    seed: int = 1
    topology_aware: bool = True
    latencies: Latencies = field(default_factory=Latencies)
    sequence: int = 0  # workloads submitted so far
    pool: dict[str, int] = field(default_factory=dict)  # node group -> common cards of the cohort
    groups: dict[str, Group] = field(default_factory=dict)
    slowdowns: dict[str, int] = field(default_factory=dict)  # node group -> run time per mille, where it is not 1,000
    cycle_ms: int | None = None
    retry_ms: int | None = None
    round_ms: int | None = None
    nodes: dict[str, Node] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    workloads: dict[str, Workload] = field(default_factory=dict)
