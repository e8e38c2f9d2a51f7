"""A whole cluster in memory, behind the contract of every backend: it answers at once, or misbehaves when told to.

The simulation's engine moves it; a call takes effect before its answer, as at an API server, so an answer can be lost
after the deed. What happened is noted for the independent checker, which reads it from the witness's tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum
from typing import Any, ClassVar, TypeVar

from django.db import connection
from django.utils import timezone

from clusters import registry
from clusters.backends.sandbox.backend import SandboxBackend
from clusters.backends.sandbox.facts import from_ms, inventory, observed_objects, pod_name, uid_of
from clusters.contract import (
    Capability,
    ClusterInventory,
    LogChunk,
    LogLine,
    Observation,
    QuotaPlan,
    QuotaSyncReport,
    Rejected,
    Retryable,
    Scope,
    Unauthorized,
    WorkloadRef,
    WorkloadSpec,
)
from clusters.models import Cluster, SandboxObject, SandboxWorld
from clusters.simulation.codec import header_to_dict, node_to_dict, queue_to_dict, workload_to_dict
from clusters.simulation.commands import (
    Command,
    Delete,
    QueueDef,
    Scale,
    SetActive,
    SetPriority,
    SetQuotas,
    Steer,
    Submit,
    command_to_dict,
)
from clusters.simulation.engine import Engine
from clusters.simulation.logs import tail
from clusters.simulation.services import named
from clusters.simulation.world import Stage, Workload, World

T = TypeVar("T")


class Trouble(StrEnum):
    """What may become of one call."""

    AWAY = "away"  # nobody listens
    REQUEST_LOST = "request lost"  # a time-out, and nothing was done
    ANSWER_LOST = "answer lost"  # a time-out, and it was done
    GATEWAY = "gateway gave up"  # an error instead of the answer, and it was done
    BUSY = "busy"
    FORBIDDEN = "forbidden"


class SimulatedCluster:
    """One world and everything that was asked of it. ``now_ms`` is the cluster's own clock, which only goes on."""

    def __init__(
        self,
        world: World,
        now_ms: Callable[[], int],
        trouble: Callable[[str], Trouble | None],
        refused: Set[str] = frozenset(),
    ) -> None:
        self.engine = Engine(world)
        self.refused = refused  # names of objects that its own rules do not allow
        self._now_ms = now_ms
        self._trouble = trouble
        self.to_be_told: list[Observation] = []  # by the next watch
        self._known: dict[str, Workload] = {}
        self._births: list[tuple[str, str, int, str | None]] = []
        self._deaths: list[tuple[str, str]] = []
        self._commands: list[tuple[str, str]] = []

    @property
    def world(self) -> World:
        return self.engine.world

    @property
    def born(self) -> list[tuple[str, int]]:
        """(job, attempt) of every object that was ever made, in order."""
        return [(ulid, attempt) for _name, ulid, attempt, _beside in self._births]

    def asked(self, kind: str) -> list[str]:
        """Names of the objects that a kind of command was carried out for, in order."""
        return [name for command, name in self._commands if command == kind]

    def answer(self, call: str, do: Callable[[], T]) -> T:
        """Carry out a call of the console, with what becomes of it."""
        trouble = self._trouble(call)
        if trouble is Trouble.AWAY:
            raise Retryable("unreachable")
        if trouble is Trouble.BUSY:
            raise Retryable("busy", "too many requests (retry after 1 s)")
        if trouble is Trouble.FORBIDDEN:
            raise Unauthorized("forbidden")
        if trouble is Trouble.REQUEST_LOST:
            raise Retryable("silent")
        done = do()
        if trouble is Trouble.ANSWER_LOST:
            raise Retryable("silent")
        if trouble is Trouble.GATEWAY:
            raise Retryable("server_error")
        return done

    def run(self) -> World:
        """Let everything happen that is due."""
        self.engine.run_to(self._now_ms())
        self._note_deaths()
        return self.world

    def apply(self, make: Callable[[int], Command]) -> None:
        self.run()
        command = make(self._now_ms())
        self._commands.append((command.kind, command_to_dict(command).get("name", "")))
        before = set(self.world.workloads)
        self.engine.apply(command)
        fresh = [workload for name, workload in self.world.workloads.items() if name not in before]
        for workload in fresh:
            self._note_birth(workload)
        self._note_deaths()

    def find(self, name: str) -> list[Workload]:
        self.run()
        return named(self.world, name)

    def _note_birth(self, workload: Workload) -> None:
        name, spec = _service_of(workload), workload.spec
        beside = min(
            (
                other.name
                for other in self.world.workloads.values()
                if other.spec.job_ulid == spec.job_ulid and _service_of(other) != name and _counts(other)
            ),
            default=None,
        )
        self._births.append((name, spec.job_ulid, spec.attempt, beside))

    def _note_deaths(self) -> None:
        removed = self.engine.drain_changes().removed_workloads
        self._deaths += [(name, json.dumps(workload_to_dict(self._known[name]))) for name in sorted(removed)]
        self._known = dict(self.world.workloads)

    def testify(self, cluster: Cluster) -> None:
        """Write down for the checker what there is at the end, and everything that happened."""
        self.show(cluster)
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO seen_birth (name, ulid, attempt_no, beside) VALUES (%s, %s, %s, %s)", self._births
            )
            cursor.executemany("INSERT INTO seen_death (name, data) VALUES (%s, %s)", self._deaths)
            cursor.executemany("INSERT INTO seen_command (kind, name) VALUES (%s, %s)", self._commands)

    def show(self, cluster: Cluster) -> None:
        """Store the world as it is now where the checker looks for it."""
        SandboxWorld.objects.update_or_create(
            cluster=cluster, defaults={"now_ms": self.world.now_ms, "header": header_to_dict(self.world)}
        )
        world = self.world
        kinds: list[tuple[str, dict[str, Any], Callable[[Any], dict[str, Any]]]] = [
            ("node", world.nodes, node_to_dict),
            ("queue", world.queues, queue_to_dict),
            ("workload", world.workloads, workload_to_dict),
        ]
        SandboxObject.objects.bulk_create(
            SandboxObject(cluster=cluster, kind=kind, name=name, data=dump(found))
            for kind, objects, dump in kinds
            for name, found in objects.items()
        )


def _service_of(workload: Workload) -> str:
    return workload.spec.member.service if workload.spec.member is not None else workload.name


def _counts(workload: Workload) -> bool:
    """It holds cards or could get some."""
    return workload.stage is not Stage.FINISHED and not (workload.stage is Stage.QUEUED and workload.deleting)


class SimulatedBackend:
    """The console's way to the cluster on stage. A name that is still going away is not given out again."""

    kind: ClassVar[str] = "sandbox"
    capabilities: ClassVar[frozenset[Capability]] = SandboxBackend.capabilities
    calls_at_once: ClassVar[int] = 1
    settles_in: ClassVar[timedelta] = timedelta(seconds=1)

    on_stage: ClassVar[SimulatedCluster]

    def __init__(self, _cluster: Cluster) -> None:
        self._at = self.on_stage

    def submit(self, spec: WorkloadSpec) -> WorkloadRef:
        return self._at.answer("submit", lambda: self._submit(spec))

    def _submit(self, spec: WorkloadSpec) -> WorkloadRef:
        if spec.object_name in self._at.refused:
            raise Rejected("denied", "a rule of the cluster denied the request")
        found = self._at.find(spec.object_name)
        if not found:
            self._at.apply(lambda now_ms: Submit.of(now_ms, spec))
            found = self._at.find(spec.object_name)
        elif (found[0].spec.job_ulid, found[0].spec.attempt) != (spec.job_ulid, spec.attempt):
            raise Rejected("name_taken", spec.object_name)
        if all(workload.deleting for workload in found):
            raise Retryable("still_ending", spec.object_name)
        return WorkloadRef(
            spec.job_ulid, spec.attempt, spec.space, spec.object_name, uid=uid_of(found[0]), kind=spec.kind
        )

    def stop(self, ref: WorkloadRef, grace: timedelta) -> None:
        grace_ms = round(grace.total_seconds() * 1000)
        self._command("stop", ref, lambda now_ms: Delete(now_ms, ref.object_name, grace_ms))

    def set_held(self, ref: WorkloadRef, held: bool) -> None:
        self._command("hold", ref, lambda now_ms: SetActive(now_ms, ref.object_name, active=not held))

    def set_priority(self, ref: WorkloadRef, priority: int) -> None:
        self._command("priority", ref, lambda now_ms: SetPriority(now_ms, ref.object_name, priority))

    def steer(self, ref: WorkloadRef, avoid_nodes: tuple[str, ...]) -> None:
        self._command("steer", ref, lambda now_ms: Steer(now_ms, ref.object_name, avoid_nodes))

    def scale(self, ref: WorkloadRef, replicas: int) -> None:
        self._command("scale", ref, lambda now_ms: Scale(now_ms, ref.object_name, replicas))

    def _command(self, call: str, ref: WorkloadRef, make: Callable[[int], Command]) -> None:
        def do() -> None:
            found = self._at.find(ref.object_name)
            if found and found[0].spec.job_ulid == ref.job_ulid:
                self._at.apply(make)

        self._at.answer(call, do)

    def observe(self, scope: Scope) -> Observation:
        return self._at.answer("observe", self._observe)

    def _observe(self) -> Observation:
        begun_at = timezone.now()  # by the clock of the console, as at a real cluster
        return Observation(begun_at, complete=True, objects=tuple(observed_objects(self._at.run())))

    def watch(self, stop: Callable[[], bool]) -> Iterator[Observation]:
        """Tells what there is to be told, and ends."""
        told, self._at.to_be_told = self._at.to_be_told, []
        yield from told

    def inventory(self) -> ClusterInventory:
        return inventory(self._at.run())

    def apply_quotas(self, plan: QuotaPlan) -> QuotaSyncReport:
        queues = tuple(
            QueueDef(
                queue.queue, tuple((q.node_group, q.nominal) for q in queue.quotas), queue.space, queue.local_queues
            )
            for queue in plan.queues
        )
        pool = tuple((quota.node_group, quota.nominal) for quota in plan.pool)
        self._at.apply(lambda now_ms: SetQuotas(now_ms, queues, pool))
        return QuotaSyncReport()

    def tail_logs(self, ref: WorkloadRef, cursor: str) -> LogChunk:
        return self._at.answer("logs", lambda: self._tail(ref, cursor))

    def _tail(self, ref: WorkloadRef, cursor: str) -> LogChunk:
        workloads = self._at.find(ref.object_name)
        if not workloads or workloads[0].spec.job_ulid != ref.job_ulid:
            return LogChunk(lines=(), cursor=cursor, complete=True)
        read = tail(self._at.world, workloads, cursor)
        lines = tuple(
            LogLine(line.seq, from_ms(line.at_ms), pod_name(ref.object_name, line.rank), line.rank, line.data)
            for line in read.lines
        )
        return LogChunk(lines, read.cursor, read.complete)


@contextmanager
def on_stage(cluster: SimulatedCluster) -> Iterator[None]:
    """All calls to a sandbox go to this cluster instead."""
    kinds = registry._KINDS
    kept = dict(kinds)
    kinds["sandbox"] = f"{SimulatedBackend.__module__}.{SimulatedBackend.__qualname__}"
    SimulatedBackend.on_stage = cluster
    try:
        yield
    finally:
        kinds.update(kept)
