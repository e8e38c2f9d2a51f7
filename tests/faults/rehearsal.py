"""Plays a story again and again, and each time something happens at one fault point: mostly, a process dies there.

A story is a list of steps: acts of people, each in a web process, and passes of the workers. A death is a
``BaseException`` at a fault point: whatever was not committed is gone, the claim of a dead worker stands until
its lease ends. Afterwards life goes on with fresh calls: people ask again, workers are started again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import time_machine
from django.db import transaction
from django.utils import timezone

from clusters.backends.sandbox import driver
from clusters.simulation.commands import Command
from clusters.sync import cluster_sync
from common import faults
from common.errors import DomainError
from jobs.domain.operations import Operation
from jobs.logs import collect_logs
from jobs.models import Attempt, Job
from jobs.reconcile.loop import reconcile_jobs, sweep
from jobs.services.bulk import jobs_submit
from jobs.services.bulk_operate import jobs_operate
from jobs.services.operations import job_operate
from jobs.services.submit import job_submit
from tests.cast import Cast
from tests.faults.invariants import Acknowledged, at_rest, violations

REST = (1.0, 5.0, 25.0, 2.0, 5.0, 6.0)
"""Seconds between the passes after a story: the lease of whoever died (30 s) runs out in the third of them."""
REST_WITHIN = timedelta(seconds=30 + 15)
"""I5: that lease, and 15 s."""
OWNER, LEAD = "eng-vision-1", "lead-vision"

_ALREADY = {Operation.RESTART: "still_active", Operation.RESUME: "not_held", Operation.PREEMPT: "gives_way"}
"""What a person is told who asks again, not knowing that the first time was recorded."""


class Died(BaseException):
    """The process is gone; nothing after the point was done."""


@dataclass(frozen=True)
class Step:
    """One step: something done by a person, or one pass of all workers after some seconds."""

    name: str
    do: Callable[[Rehearsal], None]


@dataclass
class Rehearsal:
    """The stage of one story: its cast, its clock, and what people were told so far."""

    cast: Cast
    clock: Any
    body: dict[str, Any]
    told: Acknowledged = field(default_factory=Acknowledged)
    ulid: str = ""

    # people

    def submit(self, *ends: str) -> None:
        def ask() -> None:
            done = job_submit(actor=self.cast.actor(OWNER), data=self.body, idempotency_key="the only one")
            self.ulid = done.job.public_id

        self._until_answered(ask)
        self.told.jobs[self.ulid] = set(ends)
        self.told.act(self.ulid, "job.submit")

    def submit_in_bulk(self, *ends: str) -> None:
        """The one job, in a request that could bring a hundred."""

        def ask() -> None:
            (entry,) = jobs_submit(actor=self.cast.actor(OWNER), bodies=[self.body], idempotency_key="the only one")
            assert entry.job is not None
            self.ulid = entry.job.public_id

        self._until_answered(ask)
        self.told.jobs[self.ulid] = set(ends)
        self.told.act(self.ulid, "job.submit")

    def operate_in_bulk(self, operation: Operation, state: str) -> None:
        self._wait_for(state)

        def ask() -> None:
            (result,) = jobs_operate(actor=self.cast.actor(OWNER), operation=operation, ids=[self.ulid])
            assert result.error is None

        self._until_answered(ask)
        self.told.act(self.ulid, f"job.{operation.value}")

    def operate(self, operation: Operation, state: str, data: Callable[[], dict[str, Any]] = dict) -> None:
        """Ask for something once the job is shown in this state; after a death that may take a while."""
        self._wait_for(state)
        asked = 0
        who, particulars = LEAD if operation is Operation.PREEMPT else OWNER, data()

        def ask() -> None:
            nonlocal asked
            asked += 1
            try:
                job_operate(actor=self.cast.actor(who), job=self.job(), operation=operation, data=particulars)
            except DomainError as refusal:
                if asked == 1 or refusal.code != _ALREADY.get(operation):
                    raise

        self._until_answered(ask)
        self.told.act(self.ulid, f"job.{operation.value}")

    def _until_answered(self, ask: Callable[[], None]) -> None:
        for _ in range(2):
            try:
                return ask()
            except Died:
                continue
        raise AssertionError("died twice")

    def _wait_for(self, state: str) -> None:
        """Until the job is in this state, or in one of several: ``queued or running``."""
        for seconds in REST:
            if self.job().state in state.split(" or "):
                return
            self.one_pass(seconds)
        raise AssertionError(f"{self.job().state} instead of {state}")

    def job(self) -> Job:
        return Job.objects.get(public_id=self.ulid)

    # the cluster

    def send(self, make: Callable[[int, str], Command]) -> None:
        newest = Attempt.objects.filter(job__public_id=self.ulid).order_by("number").last()
        assert newest is not None
        driver.send(self.cast.cluster, make(driver.now_ms(), newest.object_name))

    # workers

    def hint(self) -> None:
        """The doorbell of the last act reaches a worker."""
        self._as_process(lambda: reconcile_jobs([self.job().pk]))

    def one_pass(self, seconds: float) -> None:
        """So much time passes, then each worker does its part once, whoever of them dies."""
        self.clock.shift(timedelta(seconds=seconds))
        for task in (lambda: cluster_sync(self.cast.cluster), sweep, collect_logs):
            self._as_process(task)

    def _as_process(self, task: Callable[[], object]) -> None:
        with suppress(Died):
            task()

    def come_to_rest(self) -> timedelta:
        """Passes until nothing is left to do; how long that took."""
        begun = timezone.now()
        for seconds in REST:
            if at_rest():
                break
            self.one_pass(seconds)
        return timezone.now() - begun


@dataclass
class Report:
    """What all rehearsals of one story came to."""

    story: str
    faults: int = 0
    points: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def die(stage: Rehearsal, point: str) -> None:
    raise Died(point)


def everywhere(point: str) -> bool:
    return True


def rehearse(
    cast: Cast,
    story: str,
    body: dict[str, Any],
    prologue: Sequence[Step],
    steps: Sequence[Step],
    *,
    happens: Callable[[Rehearsal, str], None] = die,
    at: Callable[[str], bool] = everywhere,
    finale: Sequence[Step] = (),
) -> Report:
    """Play the story once whole, and once more for every point that its steps reach, with a death there.

    Something else may happen instead, and at some of the points only. The finale is always played undisturbed.
    """
    report = Report(story)
    with time_machine.travel(timezone.now(), tick=False) as clock:
        stage = Rehearsal(cast, clock, body)
        for step in prologue:
            step.do(stage)
        for index, step in enumerate(steps):
            reached = _points_of(stage, step)
            report.points.update(reached)
            for occurrence, point in enumerate(reached):
                if not at(point):
                    continue
                with _undone(stage):
                    with _once_at(occurrence, stage, happens):
                        step.do(stage)
                    problems = _play_on(stage, [*steps[index + 1 :], *finale], faults=1)
                report.faults += 1
                report.problems += [f"{story}, {step.name}, {point} (#{occurrence}): {text}" for text in problems]
            step.do(stage)
        report.problems += [f"{story}, nobody died: {text}" for text in _play_on(stage, finale, faults=0)]
    return report


def _points_of(stage: Rehearsal, step: Step) -> list[str]:
    reached: list[str] = []
    with _undone(stage), faults.handler(reached.append):
        step.do(stage)
    return reached


def _play_on(stage: Rehearsal, steps: Sequence[Step], *, faults: int) -> list[str]:
    for step in steps:
        step.do(stage)
    took = stage.come_to_rest()
    late = [f"I5: rest only after {took}"] if took > REST_WITHIN else []
    return [*late, *violations(stage.told, faults=faults)]


@contextmanager
def _undone(stage: Rehearsal) -> Iterator[None]:
    """Play in the block what is undone afterwards: rows, clock, and what people were told."""
    at, told, ulid = timezone.now(), stage.told, stage.ulid
    stage.told = Acknowledged({key: set(ends) for key, ends in told.jobs.items()}, dict(told.acts))
    try:
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
    finally:
        stage.clock.move_to(at)
        stage.told, stage.ulid = told, ulid


@contextmanager
def _once_at(occurrence: int, stage: Rehearsal, happens: Callable[[Rehearsal, str], None]) -> Iterator[None]:
    """It happens when a fault point is reached for the n-th time, and never again."""
    left = occurrence

    def reach(point: str) -> None:
        nonlocal left
        left -= 1
        if left == -1:
            happens(stage, point)

    with faults.handler(reach):
        yield
