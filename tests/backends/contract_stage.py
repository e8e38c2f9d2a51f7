"""Where the contract suite plays: what a cluster under test must be able to do, specs, and how to watch objects."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol

import pytest

from clusters.contract import (
    GroupQuota,
    ObservedObject,
    PodPhase,
    QueuePlan,
    QuotaPlan,
    SchedulerBackend,
    Scope,
    WorkloadRef,
    WorkloadSpec,
)

GROUP = "h100"
NODES, CARDS = 4, 8
GRACE = timedelta(seconds=30)
ALPHA, BETA = "slu-alpha-000000", "slu-beta-000000"


class Stage(Protocol):
    """A cluster with NODES nodes of CARDS cards in GROUP and nothing else of ours; time passes when told to."""

    def backend(self) -> SchedulerBackend:
        """A fresh instance, as every call of the product makes one."""

    def wait(self, seconds: float) -> None: ...

    def occupy(self, spec: WorkloadSpec) -> None:
        """Put an object of this name there that belongs to somebody else."""

    def broken(self) -> SchedulerBackend:
        """A backend whose cluster cannot answer."""


def plan(alpha: int, beta: int) -> QuotaPlan:
    """Two team queues; what is left of the group is common."""
    return QuotaPlan(
        queues=(
            QueuePlan("alpha", ALPHA, (GroupQuota(GROUP, alpha),), ("default",)),
            QueuePlan("beta", BETA, (GroupQuota(GROUP, beta),), ("default",)),
        ),
        pool=(GroupQuota(GROUP, NODES * CARDS - alpha - beta),),
    )


def spec_of(number: int = 1, **changes: Any) -> WorkloadSpec:
    """One attempt of one job of alpha; eight cards in one pod, running until it is stopped."""
    values: dict[str, Any] = {
        "job_ulid": f"01{number:024}",
        "attempt": 1,
        "object_name": f"j-job-{number:010}-1",
        "spec_hash": f"{number:032}",
        "space": ALPHA,
        "queue": "alpha",
        "local_queue": "default",
        "node_group": GROUP,
        "priority": 200,
        "kind": "training",
        "framework": "pytorch",
        "image": "registry.example/bert:1.0",
        "command": "sleep infinity",
        "env": (("A", "1"),),
        "pods": 1,
        "cards_per_pod": 8,
        "cpu_millis": 0,
        "memory_bytes": 0,
        "stop_grace": GRACE,
        "max_run": None,
    }
    return WorkloadSpec(**{**values, **changes})


def ref_of(spec: WorkloadSpec) -> WorkloadRef:
    return WorkloadRef(spec.job_ulid, spec.attempt, spec.space, spec.object_name)


def is_running(row: ObservedObject) -> bool:
    facts = row.facts
    alive = [pod for pod in facts.pods if pod.phase is PodPhase.RUNNING]
    current = facts.admitted_at is not None and (facts.evicted_at is None or facts.admitted_at > facts.evicted_at)
    return current and facts.outcome is None and len(alive) == facts.wanted_pods


class ContractBase:
    """The stage of every test of the suite, and how to watch it."""

    @pytest.fixture
    def stage(self) -> Stage:
        raise NotImplementedError

    @pytest.fixture
    def ready(self, stage: Stage) -> Stage:
        """The stage with quotas in place."""
        stage.backend().apply_quotas(plan(16, 16))
        stage.wait(2)
        return stage

    # helpers

    def look(self, stage: Stage, *specs: WorkloadSpec) -> list[ObservedObject | None]:
        found = {(row.job_ulid, row.attempt): row for row in stage.backend().observe(Scope()).objects}
        return [found.get((spec.job_ulid, spec.attempt)) for spec in specs]

    def until(self, stage: Stage, spec: WorkloadSpec, reached: Callable[[ObservedObject], bool]) -> ObservedObject:
        for _ in range(120):
            (row,) = self.look(stage, spec)
            if row is not None and reached(row):
                return row
            stage.wait(1)
        raise AssertionError(f"never: {row}")

    def running(self, stage: Stage, spec: WorkloadSpec) -> ObservedObject:
        stage.backend().submit(spec)
        return self.until(stage, spec, is_running)
