"""What a backend can do: six methods, and abilities that it may have besides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import ClassVar, Protocol, runtime_checkable

from clusters.contract.facts import Observation
from clusters.contract.intent import WorkloadRef, WorkloadSpec
from clusters.contract.inventory import ClusterInventory
from clusters.contract.quotas import QuotaPlan, QuotaSyncReport
from clusters.preflight.survey import Survey


class Capability(StrEnum):
    """An optional ability of a backend (decision 29)."""

    HOLD = "hold"
    PRIORITY = "priority"
    SCALE = "scale"
    TOPOLOGY = "topology"
    WATCH = "watch"
    NODES = "nodes"
    STEER = "steer"


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
class Steerable(Protocol):
    """STEER: change on which nodes an attempt that still waits is not placed. It keeps its place in the queue."""

    def steer(self, ref: WorkloadRef, avoid_nodes: tuple[str, ...]) -> None:
        """These nodes, sorted, instead of those it avoided before (`WorkloadFacts.avoid_nodes`).

        What has been admitted stays as it is: a backend does nothing then, or raises Rejected. A missing object is
        success. Not for services.
        """


@runtime_checkable
class NodeKeeper(Protocol):
    """NODES: close a node for new work, and open it again. What runs on it goes on."""

    def set_schedulable(self, node: str, schedulable: bool, *, dry_run: bool = False) -> None:
        """Saying it twice changes nothing; a ``dry_run`` only asks whether it could be done.

        Raises Rejected("node_missing") for a node that is not there, Unauthorized where the credentials do not
        allow it.
        """


@dataclass(frozen=True, slots=True)
class TidyReport:
    """How many leftovers went, and whose pods had lost what gathers them: (job ulid, attempt)."""

    removed: int = 0
    gathered_again: tuple[tuple[str, int], ...] = ()


@runtime_checkable
class Tidying(Protocol):
    """Clears up what the cluster itself left behind of ours."""

    def tidy(self) -> TidyReport:
        """Remove leftovers of ours whose owner is gone and make again what is missing.

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


@runtime_checkable
class Preflightable(Protocol):
    """Says what its cluster is set up to do, for the preflight table."""

    def survey(self, now: datetime) -> Survey:
        """One look; ``now`` is the console's clock. What the console itself knows is left out.

        Raises the errors of `SchedulerBackend` when there is no whole look.
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
