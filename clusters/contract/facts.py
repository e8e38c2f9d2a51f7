"""What a backend could read about attempts, nothing derived."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


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
    misfit: str = ""  # the executor's words where no machine has cards of the wanted kind, however many are free
    avoid_nodes: tuple[str, ...] = ()  # sorted names of nodes on which no pod of it is placed
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
