"""The table of scenarios through the sandbox backend: commands waiting in rows, worlds stored and loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from clusters.backends.sandbox import driver
from clusters.backends.sandbox.backend import SandboxBackend
from clusters.contract import GroupQuota, QueuePlan, QuotaPlan, Scope, WorkloadRef, WorkloadSpec
from clusters.models import Cluster
from clusters.simulation import commands as c
from clusters.simulation.engine import Engine
from clusters.simulation.world import Hold, Stage, World
from tests.backends import scenario_words as s
from tests.backends.scenario_runner import Facts, play
from tests.backends.scenarios import SCENARIOS

REST = timedelta(seconds=60)
MOMENT = timedelta(milliseconds=50)
"""Shorter than an eviction takes."""
MOMENTS = 200
GRACE = timedelta(seconds=30)


class SandboxDriver:
    """What the contract offers goes through the backend; faults and settings of queues are the sandbox's own."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._names: dict[str, str] = {}  # ULID -> the scenario's name

    def build(self, cluster: s.ClusterDef) -> None:
        self._cluster = Cluster.objects.create(slug="scenario", name="Scenario", kind="sandbox")
        engine = Engine(World(now_ms=driver.now_ms(), seed=3, topology_aware=cluster.topology_aware))
        nodes = (c.NodeDef(f"n{number}", s.GROUP, cards) for number, cards in enumerate(cluster.nodes, start=1))
        engine.apply(c.SetNodes(engine.now_ms, tuple(nodes)))
        driver.create_world(self._cluster, engine.world)
        self._planned = cluster
        self.hold_local_queues("", ())

    def hold_local_queues(self, queue: str, held: tuple[str, ...]) -> None:
        cluster = self._planned
        pool = (GroupQuota(s.GROUP, cluster.pool),) if cluster.pool else ()
        queues = (_queue_plan(each, held if each.name == queue else ()) for each in cluster.queues)
        self._backend.apply_quotas(QuotaPlan(tuple(queues), pool))

    @property
    def _backend(self) -> SandboxBackend:
        return SandboxBackend(self._cluster)

    def _send(self, command: c.Command) -> None:
        driver.send(self._cluster, command)

    def submit(self, job: s.Job) -> None:
        self._names[job.ulid] = job.name
        self._backend.submit(
            WorkloadSpec(
                job_ulid=job.ulid,
                attempt=1,
                object_name=job.name,
                spec_hash="",
                space=f"slu-{job.queue}",
                queue=job.queue,
                local_queue=job.local,
                node_group=s.GROUP,
                priority=job.priority,
                kind=job.kind,
                framework=job.framework,
                image="registry.example/train:1",
                command="sleep infinity",
                env=(),
                pods=job.pods,
                cards_per_pod=job.cards_per_pod,
                cpu_millis=0,
                memory_bytes=0,
                stop_grace=GRACE,
                max_run=None,
            )
        )

    def _ref(self, job: str) -> WorkloadRef:
        ulid = next(ulid for ulid, name in self._names.items() if name == job)
        return WorkloadRef(ulid, 1, space="", object_name=job)

    def scale(self, job: str, replicas: int) -> None:
        self._backend.scale(self._ref(job), replicas)

    def hold(self, job: str) -> None:
        self._backend.set_held(self._ref(job), True)

    def resume(self, job: str) -> None:
        self._backend.set_held(self._ref(job), False)

    def cancel(self, job: str) -> None:
        self._backend.stop(self._ref(job), GRACE)

    def exit_pod(self, job: str, rank: int, code: int) -> None:
        self._send(c.ExitPod(driver.now_ms(), job, rank, code))

    def evict_pod(self, job: str, rank: int) -> None:
        self._send(c.EvictPod(driver.now_ms(), job, rank))

    def cordon(self, node: str, cordoned: bool) -> None:
        self._send(c.Cordon(driver.now_ms(), node, cordoned))

    def hold_queue(self, queue: str, held: bool, drain: bool) -> None:
        hold = Hold.NONE if not held else Hold.HOLD_AND_DRAIN if drain else Hold.HOLD
        self._send(c.HoldQueue(driver.now_ms(), queue, hold))

    def until_leaving(self, job: str) -> None:
        for _ in range(MOMENTS):
            self._send(c.NodePower(driver.now_ms(), "n1", up=True))  # changes nothing; a touch is due for it
            driver.touch(self._cluster)
            if any(workload.stage is Stage.EVICTING for workload in driver.find_workloads(self._cluster, job)):
                return
            self._clock.shift(MOMENT)
        pytest.fail(f"{job} was never told to leave")

    def settle(self, done: Callable[[Facts], bool]) -> Facts:
        driver.touch(self._cluster)
        self._clock.shift(REST)
        seen = self._backend.observe(Scope())
        return {self._names[row.job_ulid]: row.facts for row in seen.objects}


def _queue_plan(queue: s.QueueDef, held: tuple[str, ...]) -> QueuePlan:
    quota = None if queue.nominal is None else GroupQuota(s.GROUP, queue.nominal, queue.borrow_limit, queue.lend_limit)
    return QueuePlan(
        queue.name,
        f"slu-{queue.name}",
        () if quota is None else (quota,),
        queue.local_queues,
        held_local_queues=held,
        strict=queue.strict,
        reclaims=queue.reclaims,
        borrow_preempts_up_to=queue.borrow_preempts_up_to,
    )


@pytest.fixture
def sandbox(db: None) -> Iterator[SandboxDriver]:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        yield SandboxDriver(clock)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: f"{scenario.key}: {scenario.title}")
def test_the_sandbox_backend_decides_as_the_real_control_plane(sandbox: SandboxDriver, scenario: s.Scenario) -> None:
    play(scenario, sandbox)
