"""What the demo's director sees, and what it may ask for: frozen values, nothing else.

Times are milliseconds since the epoch, cards are in the node group's own unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from clusters.contract import FailureCode
from jobs.domain.operations import Operation
from jobs.domain.words import JobState, Kind, Priority

# --------------------------------------------------------------------------- seen


@dataclass(frozen=True, slots=True)
class JobSight:
    """One live job. ``run_ms`` is how long it will run once it runs; None = until somebody stops it."""

    key: str  # public id
    is_demo: bool
    team: str
    group: str | None
    cards: int
    pods: int
    priority: str
    state: JobState
    submitted_ms: int
    held: bool = False
    stopping: bool = False
    preemptions: int = 0
    running_since_ms: int | None = None
    run_ms: int | None = None

    @property
    def waits(self) -> bool:
        """In its team's queue, or about to be."""
        return self.state in (JobState.QUEUED, JobState.RETRYING) and not self.held and not self.stopping

    @property
    def runs(self) -> bool:
        return self.state is JobState.RUNNING and not self.stopping

    @property
    def ends_ms(self) -> int | None:
        """When the present run will end by itself, if that is known."""
        if not self.runs or self.running_since_ms is None or self.run_ms is None:
            return None
        return self.running_since_ms + self.run_ms


@dataclass(frozen=True, slots=True)
class Holder:
    """Cards that one job holds on a node; ``ending`` ones come free by themselves."""

    key: str
    cards: int
    ending: bool = False


@dataclass(frozen=True, slots=True)
class NodeSight:
    """One node. ``free`` is 0 where it takes no work."""

    name: str
    cards: int
    free: int
    is_open: bool = True
    down_since_ms: int | None = None
    holders: tuple[Holder, ...] = ()

    @property
    def ending(self) -> int:
        return sum(holder.cards for holder in self.holders if holder.ending)


@dataclass(frozen=True, slots=True)
class GroupSight:
    """One node group: its nodes by name, and quota nominal and held (used and reserved) by team."""

    name: str
    nodes: tuple[NodeSight, ...]
    nominal: Mapping[str, int]
    held: Mapping[str, int]

    @property
    def capacity(self) -> int:
        return sum(node.cards for node in self.nodes)

    @property
    def held_total(self) -> int:
        return sum(self.held.values())

    @property
    def quota_free(self) -> int:
        """Cards of the whole cohort that nobody holds."""
        return self.capacity - self.held_total

    @property
    def rooms(self) -> tuple[tuple[str, int], ...]:
        """(node, free cards) of the nodes that have some."""
        return tuple((node.name, node.free) for node in self.nodes if node.free > 0)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Free cards per node, largest first, without the zeros."""
        return tuple(sorted((free for _, free in self.rooms), reverse=True))

    def room_within(self, team: str) -> int:
        """Cards that the team may still take of its own nominal quota."""
        return self.nominal.get(team, 0) - self.held.get(team, 0)


@dataclass(frozen=True)
class Situation:
    """One moment of the stage. ``step_ms`` is the time until the director will be asked again."""

    now_ms: int
    step_ms: int
    groups: Mapping[str, GroupSight]
    jobs: tuple[JobSight, ...]  # live ones of the demo, and of others those that wait

    @cached_property
    def _by_group(self) -> dict[tuple[bool, str | None], list[JobSight]]:
        """By (is it the demo's, node group)."""
        found: dict[tuple[bool, str | None], list[JobSight]] = {}
        for job in self.jobs:
            found.setdefault((job.is_demo, job.group), []).append(job)
        return found

    def demo_jobs(self, group: str | None) -> Sequence[JobSight]:
        """Live demo jobs of one node group (None: those without cards), oldest first."""
        return self._by_group.get((True, group), ())

    def strangers_waiting(self, group: str) -> list[JobSight]:
        """Waiting jobs of one node group that people submitted themselves."""
        return [job for job in self._by_group.get((False, group), ()) if job.waits]

    def placed(self, group: str) -> frozenset[str]:
        """Keys of the jobs that hold cards on the group's nodes."""
        return frozenset(holder.key for node in self.groups[group].nodes for holder in node.holders)


# --------------------------------------------------------------------------- asked for


@dataclass(frozen=True, slots=True)
class Request:
    """One job in the words of the submit form; ``held`` = put on hold before it is sent."""

    team: str
    owner: str
    group: str | None
    cards: int
    priority: Priority
    kind: Kind
    framework: str
    name: str
    image: str
    command: str
    retry_limit: int = 0
    held: bool = False

    def body(self) -> dict[str, Any]:
        """The body of ``POST /jobs``."""
        data: dict[str, Any] = {
            "team": self.team,
            "framework": self.framework,
            "image": self.image,
            "cards": self.cards,
            "priority": self.priority.value,
            "kind": self.kind.value,
            "name": self.name,
            "command": self.command,
            "retry_limit": self.retry_limit,
        }
        return data | ({"card_model": self.group} if self.group is not None else {})


@dataclass(frozen=True, slots=True)
class SubmitJob:
    request: Request


@dataclass(frozen=True, slots=True)
class Operate:
    """Its owner does something to a demo job."""

    key: str
    operation: Operation


@dataclass(frozen=True, slots=True)
class Disrupt:
    """The cluster takes a pod of a running demo job away."""

    key: str


@dataclass(frozen=True, slots=True)
class Crash:
    """A pod of a running demo job ends by itself, before its time."""

    key: str
    code: int
    cause: FailureCode


@dataclass(frozen=True, slots=True)
class Power:
    """A node stops answering, or is back."""

    node: str
    up: bool


Action = SubmitJob | Operate | Disrupt | Crash | Power


@dataclass(slots=True)
class Wishes:
    """Actions of one moment, at most one per job."""

    actions: list[Action] = field(default_factory=list)
    _touched: set[str] = field(default_factory=set)

    def submit(self, request: Request) -> None:
        self.actions.append(SubmitJob(request))

    def operate(self, key: str, operation: Operation) -> None:
        self._once(key, Operate(key, operation))

    def cancel(self, *keys: str) -> None:
        for key in keys:
            self.operate(key, Operation.CANCEL)

    def disrupt(self, key: str) -> None:
        self._once(key, Disrupt(key))

    def crash(self, key: str, code: int, cause: FailureCode) -> None:
        self._once(key, Crash(key, code, cause))

    def power(self, node: str, *, up: bool) -> None:
        self.actions.append(Power(node, up))

    def _once(self, key: str, action: Action) -> None:
        if key not in self._touched:
            self._touched.add(key)
            self.actions.append(action)
