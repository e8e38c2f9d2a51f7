"""The stories that are played with a death at every point: from submit to every operation and every end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from clusters.backends.sandbox import driver
from clusters.nodes_models import Maintenance
from clusters.simulation.commands import Command, EvictPod, HoldQueue
from clusters.simulation.world import Hold
from jobs.domain.operations import Operation
from tests.faults.rehearsal import Rehearsal, Step
from tests.stage import BODY

HOLD, RESUME, CANCEL, RESTART = Operation.HOLD, Operation.RESUME, Operation.CANCEL, Operation.RESTART
PREEMPT, REQUEUE, PRIORITY, SCALE = Operation.PREEMPT, Operation.REQUEUE, Operation.PRIORITY, Operation.SCALE


@dataclass(frozen=True)
class Story:
    """What leads up to it, the steps in which a process dies, and how it goes on until its end."""

    name: str
    prologue: tuple[Step, ...]
    steps: tuple[Step, ...]
    command: str
    finale: tuple[Step, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        return {**BODY, "cards": 2, "command": self.command, **self.more}


def submits(*ends: str) -> Step:
    return Step("submit", lambda stage: stage.submit(*ends))


def asks(operation: Operation, state: str, data: Callable[[], dict[str, Any]] = dict) -> Step:
    """A person who sees the job in this state asks for something."""
    return Step(operation.value, lambda stage: stage.operate(operation, state, data))


def until(seconds: int) -> Callable[[], dict[str, Any]]:
    """So long from the moment it is asked on."""
    return lambda: {"until": (timezone.now() + timedelta(seconds=seconds)).isoformat()}


def replicas(count: int) -> Callable[[], dict[str, Any]]:
    return lambda: {"replicas": count}


def low() -> dict[str, Any]:
    return {"priority": "low"}


def rings() -> Step:
    return Step("hint", Rehearsal.hint)


def waits(*seconds: float) -> tuple[Step, ...]:
    """One pass of all workers after each of so many seconds."""

    def one(length: float) -> Step:
        return Step(f"pass after {length} s", lambda stage: stage.one_pass(length))

    return tuple(one(length) for length in seconds)


def loses_a_pod() -> Step:
    def make(at_ms: int, name: str) -> Command:
        return EvictPod(at_ms, name, 0)

    return Step("a pod is taken away", lambda stage: stage.send(make))


def holds_queue(hold: Hold = Hold.HOLD) -> Step:
    """The cluster starts nothing of the job's team, or goes on starting."""

    def send(stage: Rehearsal) -> None:
        driver.send(stage.cast.cluster, HoldQueue(driver.now_ms(), "vision", hold))

    return Step(f"the queue's hold is {hold}", send)


def plans_maintenance(node: str) -> Step:
    """Tomorrow: a job of unknown length shall not be there then."""

    def plan(stage: Rehearsal) -> None:
        now = timezone.now()
        times = {"created_at": now, "starts_at": now + timedelta(days=1), "ends_at": now + timedelta(days=2)}
        Maintenance.objects.create(cluster=stage.cast.cluster, node=node, reason="firmware", **times)

    return Step("maintenance is planned", plan)


RUNNING = (rings(), *waits(1, 20))
"""From the submit until it runs; the deaths on the way are those of the first story."""

SERVICE = {"kind": "inference", "replicas": 2}

STORIES = (
    Story(
        "submit, run, finish",
        prologue=(),
        steps=(submits("succeeded"), rings(), *waits(1, 20, 15, 1, 5)),
        command="sleep 15; exit 0",
    ),
    Story(
        "hold while it runs, resume, finish",
        prologue=(submits("succeeded"), *RUNNING),
        steps=(
            asks(HOLD, "running"), rings(), *waits(1, 9),
            asks(RESUME, "queued"), rings(), *waits(1),
        ),
        finale=waits(20, 20, 110, 5),
        command="sleep 100; exit 0",
    ),
    Story(
        "cancel while it waits",
        prologue=(),
        steps=(submits("cancelled"), asks(CANCEL, "queued"), rings(), *waits(1, 5)),
        command="sleep 600",
    ),
    Story(
        "cancel while it runs",
        prologue=(submits("cancelled"), *RUNNING),
        steps=(asks(CANCEL, "running"), rings(), *waits(1, 8)),
        command="sleep 600",
    ),
    Story(
        "hold while it waits, cancel",
        prologue=(submits("cancelled"),),
        steps=(rings(), asks(HOLD, "queued"), *waits(1), asks(CANCEL, "queued"), *waits(1, 5)),
        command="sleep 600",
    ),
    Story(
        "lose a pod, retry, cancel",
        prologue=(submits("cancelled", "failed"), *RUNNING, loses_a_pod()),
        steps=(*waits(1, 2, 20), asks(CANCEL, "running"), *waits(1)),
        finale=waits(8),
        command="sleep 600",
    ),
    Story(
        "fail, restart, fail again",
        prologue=(submits("failed"), *RUNNING, *waits(6)),
        steps=(asks(RESTART, "failed"), rings(), *waits(1)),
        finale=waits(20, 5),
        command="sleep 2; exit 3",
    ),
    Story(
        "give way while it runs, come back, finish",
        prologue=(submits("succeeded"), *RUNNING),
        steps=(asks(PREEMPT, "running", until(30)), rings(), *waits(1, 9, 21, 1)),
        finale=waits(20, 20, 110, 5),
        command="sleep 100; exit 0",
    ),
    Story(
        "give way, be cancelled meanwhile",
        prologue=(submits("cancelled"), *RUNNING, asks(PREEMPT, "running", until(300))),
        steps=(*waits(1, 9), asks(CANCEL, "queued"), rings(), *waits(1, 5)),
        command="sleep 600",
    ),
    Story(
        "requeue while it runs, finish",
        prologue=(submits("succeeded"), *RUNNING),
        steps=(asks(REQUEUE, "running"), rings(), *waits(1, 1, 8, 1)),
        finale=waits(20, 5, 5, 20, 60, 60, 5),
        command="sleep 60; exit 0",
    ),
    Story(
        "requeue while it waits, cancel meanwhile",
        prologue=(submits("cancelled"), rings()),
        steps=(
            asks(REQUEUE, "queued"), rings(), *waits(1),
            asks(CANCEL, "queued or creating or running"), *waits(1, 5, 8),
        ),
        command="sleep 600",
    ),
    Story(
        "be steered off a node while it waits, finish",
        prologue=(holds_queue(), submits("succeeded"), rings(), *waits(1), plans_maintenance("h100-01")),
        steps=(*waits(25, 1), holds_queue(Hold.NONE)),
        finale=waits(1, 20, 15, 5),
        command="sleep 15; exit 0",
        more={"card_model": "h100"},
    ),
    Story(
        "submit in bulk, cancel in bulk",
        prologue=(),
        steps=(
            Step("submit in bulk", lambda stage: stage.submit_in_bulk("cancelled")), *waits(1, 20),
            Step("cancel in bulk", lambda stage: stage.operate_in_bulk(CANCEL, "running")), *waits(1, 8),
        ),
        command="sleep 600",
    ),
    Story(
        "change the priority while it runs, finish",
        prologue=(submits("succeeded"), *RUNNING),
        steps=(asks(PRIORITY, "running", low), rings(), *waits(1, 2)),
        finale=waits(60, 5),
        command="sleep 60; exit 0",
    ),
    Story(
        "serve, stop",
        prologue=(),
        steps=(submits("cancelled"), rings(), *waits(1, 20), asks(CANCEL, "running"), rings(), *waits(1, 8)),
        command="serve",
        more=SERVICE,
    ),
    *(
        Story(
            f"scale from 2 to {count}, stop",
            prologue=(submits("cancelled"), *RUNNING),
            steps=(asks(SCALE, "running", replicas(count)), rings(), *waits(1, 1)),
            finale=(*waits(20), asks(CANCEL, "running"), rings(), *waits(1, 8)),
            command="serve",
            more=SERVICE,
        )
        for count in (3, 1)
    ),
)  # fmt: skip
"""A cancel that comes when the job has failed and nobody has seen it yet leaves it failed."""
