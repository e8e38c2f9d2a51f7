"""The small stage with a clock to move by hand, for stories that need no seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import time_machine

from clusters.backends.sandbox.facts import from_ms, to_ms
from clusters.sync import sync_due
from jobs.logs import collect_logs
from jobs.models import Job
from jobs.reconcile.loop import sweep
from jobs.services.submit import job_submit
from tests.faults.recorder import call_witness
from tests.faults.seeds.cluster import SimulatedCluster, Trouble, on_stage
from tests.faults.seeds.play import BEGIN
from tests.faults.seeds.scene import Scene, build_scene

BODY: dict[str, Any] = {"framework": "pytorch", "image": "registry.example/bert:1.0", "priority": "normal"}


@dataclass
class House:
    """People, workers and a simulated cluster under one clock. ``trouble`` may be set to anything at any time."""

    scene: Scene
    clock: Any
    now_ms: int
    trouble: Callable[[str], Trouble | None] = lambda _call: None
    calls: list[str] = field(default_factory=list)  # everything that was asked of the cluster, answered or not
    refuse: set[str] = field(default_factory=set)  # names of objects that the cluster does not take
    ahead_ms: int = 0  # of the console's clock, before the cluster's and the true one
    cluster: SimulatedCluster = field(init=False)

    def __post_init__(self) -> None:
        self.cluster = SimulatedCluster(self.scene.fresh_world(1), lambda: self.now_ms, self._call, self.refuse)
        self._moments: list[int] = []

    def _call(self, call: str) -> Trouble | None:
        self.calls.append(call)
        self._moments.append(self.now_ms)
        return self.trouble(call)

    def calls_now(self) -> int:
        """Calls at the present moment of the stopped clock."""
        return self._moments.count(self.now_ms)

    def set_clock(self, seconds: float) -> None:
        """Put the console's clock forward or back; the cluster has its own."""
        self.ahead_ms += round(seconds * 1000)
        self.skip(0)

    def submit(self, **body: Any) -> Job:
        return job_submit(actor=self.scene.actors["ada"], data={**BODY, "cards": 0, **body}).job

    def skip(self, seconds: float) -> None:
        self.now_ms += round(seconds * 1000)
        self.clock.move_to(from_ms(self.now_ms + self.ahead_ms))

    def one_pass(self, seconds: float) -> None:
        self.skip(seconds)
        sync_due()
        sweep()
        collect_logs()

    def run(self, seconds: float, step: float = 2.0) -> None:
        """Let time pass, with every tick of the beat that falls into it."""
        for _ in range(round(seconds / step)):
            self.one_pass(step)


@contextmanager
def open_house() -> Iterator[House]:
    """Needs a database; everything in it is as at the start of a seed."""
    call_witness()
    with time_machine.travel(BEGIN, tick=False) as clock:
        scene = build_scene(to_ms(BEGIN))
        house = House(scene, clock, to_ms(BEGIN))
        with on_stage(house.cluster):
            yield house
