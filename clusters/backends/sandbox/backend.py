"""The sandbox behind the same contract as a real cluster."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from clusters.backends.sandbox import driver
from clusters.backends.sandbox.facts import from_ms, inventory, observed_objects, pod_name, uid_of
from clusters.backends.sandbox.surveying import sandbox_survey
from clusters.contract import (
    Capability,
    ClusterInventory,
    LogChunk,
    LogLine,
    Observation,
    QuotaPlan,
    QuotaSyncReport,
    Rejected,
    Scope,
    WorkloadRef,
    WorkloadSpec,
)
from clusters.models import Cluster
from clusters.preflight.survey import Survey
from clusters.simulation.commands import (
    Cordon,
    Delete,
    QueueDef,
    Scale,
    SetActive,
    SetPriority,
    SetQuotas,
    Steer,
    Submit,
)
from clusters.simulation.logs import tail
from clusters.simulation.world import Limits, Reclaim, Strategy, Workload, World


class SandboxBackend:
    """One cluster row's sandbox. Instances are short-lived: a look and the inventory after it share one touch."""

    kind: ClassVar[str] = "sandbox"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.HOLD,
            Capability.NODES,
            Capability.PRIORITY,
            Capability.SCALE,
            Capability.STEER,
            Capability.TOPOLOGY,
        }
    )
    calls_at_once: ClassVar[int] = 1
    settles_in: ClassVar[timedelta] = timedelta(0)

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._world: World | None = None

    def submit(self, spec: WorkloadSpec) -> WorkloadRef:
        found = self._found(spec.object_name)
        if found is not None and (found.spec.job_ulid, found.spec.attempt) != (spec.job_ulid, spec.attempt):
            raise Rejected("name_taken", spec.object_name)
        if found is None:
            driver.send(self._cluster, Submit.of(driver.now_ms(), spec))
        return WorkloadRef(
            job_ulid=spec.job_ulid,
            attempt=spec.attempt,
            space=spec.space,
            object_name=spec.object_name,
            uid=uid_of(found) if found is not None else None,
            kind=spec.kind,
        )

    def stop(self, ref: WorkloadRef, grace: timedelta) -> None:
        if not self._is_foreign(ref):
            grace_ms = round(grace.total_seconds() * 1000)
            driver.send(self._cluster, Delete(driver.now_ms(), ref.object_name, grace_ms))

    def trace(self, job_ulid: str, attempt: int) -> WorkloadRef | None:
        for found in driver.touch(self._cluster).workloads.values():
            spec = found.spec
            if (spec.job_ulid, spec.attempt) == (job_ulid, attempt):
                name = spec.member.service if spec.member is not None else found.name
                return WorkloadRef(job_ulid, attempt, spec.space, name, uid_of(found), spec.kind)
        return None

    def set_held(self, ref: WorkloadRef, held: bool) -> None:
        if not self._is_foreign(ref):
            driver.send(self._cluster, SetActive(driver.now_ms(), ref.object_name, active=not held))

    def set_priority(self, ref: WorkloadRef, priority: int) -> None:
        if not self._is_foreign(ref):
            driver.send(self._cluster, SetPriority(driver.now_ms(), ref.object_name, priority))

    def steer(self, ref: WorkloadRef, avoid_nodes: tuple[str, ...]) -> None:
        if not self._is_foreign(ref):
            driver.send(self._cluster, Steer(driver.now_ms(), ref.object_name, avoid_nodes))

    def scale(self, ref: WorkloadRef, replicas: int) -> None:
        if not self._is_foreign(ref):
            driver.send(self._cluster, Scale(driver.now_ms(), ref.object_name, replicas))

    def set_schedulable(self, node: str, schedulable: bool, *, dry_run: bool = False) -> None:
        if not driver.has_node(self._cluster, node):
            raise Rejected("node_missing", node)
        if not dry_run:
            driver.send(self._cluster, Cordon(driver.now_ms(), node, cordoned=not schedulable))

    def _found(self, name: str) -> Workload | None:
        """The workload of this name as last stored, or any replica of the service."""
        return next(iter(driver.find_workloads(self._cluster, name)), None)

    def _is_foreign(self, ref: WorkloadRef) -> bool:
        """Somebody else's object of this name is never touched."""
        found = self._found(ref.object_name)
        return found is not None and (found.spec.job_ulid, found.spec.attempt) != (ref.job_ulid, ref.attempt)

    def observe(self, scope: Scope) -> Observation:
        self._world = world = driver.touch(self._cluster)
        return Observation(
            read_at=from_ms(world.now_ms),
            complete=not scope.spaces,
            objects=tuple(observed_objects(world, scope.spaces)),
        )

    def inventory(self) -> ClusterInventory:
        world, self._world = self._world or driver.touch(self._cluster), None
        return inventory(world)

    def survey(self, now: datetime) -> Survey:
        return sandbox_survey(driver.touch(self._cluster))

    def apply_quotas(self, plan: QuotaPlan) -> QuotaSyncReport:
        queues = tuple(
            QueueDef(
                name=queue.queue,
                space=queue.space,
                quotas=tuple((quota.node_group, quota.nominal) for quota in queue.quotas),
                local_queues=queue.local_queues,
                held_local_queues=queue.held_local_queues,
                strategy=Strategy.STRICT if queue.strict else Strategy.BEST_EFFORT,
                reclaim=Reclaim.ANY if queue.reclaims else Reclaim.NEVER,
                borrow_preempts=queue.reclaims and queue.borrow_preempts_up_to is not None,
                borrow_threshold=queue.borrow_preempts_up_to,
                limits=tuple(
                    (quota.node_group, Limits(quota.borrow_limit, quota.lend_limit))
                    for quota in queue.quotas
                    if (quota.borrow_limit, quota.lend_limit) != (None, None)
                ),
            )
            for queue in plan.queues
        )
        pool = tuple((quota.node_group, quota.nominal) for quota in plan.pool)
        driver.send(self._cluster, SetQuotas(driver.now_ms(), queues, pool, plan.slowdowns))
        return QuotaSyncReport(changed=tuple(queue.queue for queue in plan.queues))

    def tail_logs(self, ref: WorkloadRef, cursor: str) -> LogChunk:
        workloads = driver.find_workloads(self._cluster, ref.object_name)
        if not workloads or workloads[0].spec.job_ulid != ref.job_ulid:
            return LogChunk(lines=(), cursor=cursor, complete=True)  # gone: nothing more will come
        try:
            read = tail(driver.header_of(self._cluster), workloads, cursor)
        except ValueError as error:
            raise Rejected("bad_cursor", cursor[:100]) from error
        lines = tuple(
            LogLine(line.seq, from_ms(line.at_ms), pod_name(ref.object_name, line.rank), line.rank, line.data)
            for line in read.lines
        )
        return LogChunk(lines, read.cursor, read.complete)
