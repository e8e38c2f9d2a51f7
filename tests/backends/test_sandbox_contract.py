"""The sandbox keeps the contract of every backend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from clusters.backends.sandbox import driver
from clusters.backends.sandbox.backend import SandboxBackend
from clusters.contract import SchedulerBackend, Scope, WorkloadSpec
from clusters.models import Cluster
from clusters.simulation.commands import NodeDef, SetNodes, Submit
from clusters.simulation.engine import Engine
from clusters.simulation.world import Group, World
from tests.backends.contract import BackendContract
from tests.backends.contract_stage import CARDS, GROUP, NODES, Stage, plan, ref_of, spec_of


class SandboxStage:
    """A sandbox cluster of its own; time is moved."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self.cluster = Cluster.objects.create(slug="contract", name="Contract", kind="sandbox")
        nodes = tuple(NodeDef(f"node-{number}", GROUP, CARDS) for number in range(1, NODES + 1))
        engine = Engine(World(now_ms=driver.now_ms(), seed=11))
        engine.apply(SetNodes(engine.now_ms, nodes, (Group(GROUP, "H100 NVLink", "nvidia", "H100", "NVLink"),)))
        driver.create_world(self.cluster, engine.world)

    def backend(self) -> SchedulerBackend:
        return SandboxBackend(self.cluster)

    def wait(self, seconds: float) -> None:
        self._clock.shift(timedelta(seconds=seconds))
        driver.touch(self.cluster)

    def occupy(self, spec: WorkloadSpec) -> None:
        foreign = replace(spec, job_ulid="01ARZ3NDEKTSV4RRFFQ69G5FAV")
        driver.send(self.cluster, Submit.of(driver.now_ms(), foreign))
        self.wait(2)

    def broken(self) -> SchedulerBackend:
        return SandboxBackend(Cluster.objects.create(slug="empty", name="Empty", kind="sandbox"))


@pytest.fixture
def stage(db: None) -> Iterator[Stage]:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        yield SandboxStage(clock)


class TestSandbox(BackendContract):
    @pytest.fixture
    def stage(self, db: None) -> Iterator[Stage]:
        with time_machine.travel(timezone.now(), tick=False) as clock:
            yield SandboxStage(clock)


def test_a_look_takes_the_same_queries_for_many_objects(stage: Stage) -> None:
    def look() -> int:
        stage.wait(2)
        with CaptureQueriesContext(connection) as queries:
            stage.backend().observe(Scope())
        return len(queries)

    stage.backend().apply_quotas(plan(16, 16))
    stage.backend().submit(spec_of(1))
    stage.wait(30)
    few = look()
    for number in range(2, 60):
        stage.backend().submit(spec_of(number))
    stage.wait(30)
    assert look() == few


def test_what_was_asked_while_nobody_looked_is_carried_out_in_order(stage: Stage) -> None:
    backend = stage.backend()
    backend.apply_quotas(plan(16, 16))
    backend.submit(spec_of(1))
    backend.stop(ref_of(spec_of(1)), timedelta(0))
    backend.submit(spec_of(2, command="sleep 10; exit 0"))
    stage.wait(3_600)
    (row,) = backend.observe(Scope()).objects
    assert row.job_ulid == spec_of(2).job_ulid and row.facts.outcome is not None
    assert row.facts.ended_at is not None and row.facts.ended_at < timezone.now() - timedelta(minutes=59)
