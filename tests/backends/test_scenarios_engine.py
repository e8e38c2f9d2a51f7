"""The table of scenarios on the bare engine."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from clusters.backends.sandbox.facts import observed_objects
from clusters.simulation import commands as c
from clusters.simulation.codec import world_from_dict, world_to_dict
from clusters.simulation.engine import Engine
from clusters.simulation.services import named
from clusters.simulation.world import Hold, Limits, Reclaim, Spec, Stage, Strategy, World
from tests.backends import scenario_words as s
from tests.backends.scenario_runner import Facts, play
from tests.backends.scenarios import SCENARIOS

REST_MS = 60_000


class EngineDriver:
    """Time is the engine's. The world is saved and loaded at every rest, as a store would."""

    def __init__(self, seed: int) -> None:
        self.engine = Engine(World(1_700_000_000_000, seed=seed))
        self._names: dict[str, str] = {}  # ULID -> the scenario's name

    @property
    def now(self) -> int:
        return self.engine.now_ms

    def build(self, cluster: s.ClusterDef) -> None:
        self.engine.world.topology_aware = cluster.topology_aware
        nodes = (c.NodeDef(f"n{number}", s.GROUP, cards) for number, cards in enumerate(cluster.nodes, start=1))
        self.engine.apply(c.SetNodes(self.now, tuple(nodes)))
        self._cluster = cluster
        self.hold_local_queues("", ())

    def submit(self, job: s.Job) -> None:
        self._names[job.ulid] = job.name
        spec = Spec(
            job_ulid=job.ulid,
            attempt=1,
            queue=job.queue,
            local_queue=job.local,
            node_group=s.GROUP,
            priority=job.priority,
            kind=job.kind,
            framework=job.framework,
            image="registry.example/train:1",
            command="sleep infinity",
            pods=job.pods,
            cards_per_pod=job.cards_per_pod,
            cpu_millis=0,
            memory_bytes=0,
            grace_ms=30_000,
        )
        self.engine.apply(c.Submit(self.now, job.name, spec))

    def scale(self, job: str, replicas: int) -> None:
        self.engine.apply(c.Scale(self.now, job, replicas))

    def hold(self, job: str) -> None:
        self.engine.apply(c.SetActive(self.now, job, False))

    def resume(self, job: str) -> None:
        self.engine.apply(c.SetActive(self.now, job, True))

    def cancel(self, job: str) -> None:
        self.engine.apply(c.Delete(self.now, job, 30_000))

    def exit_pod(self, job: str, rank: int, code: int) -> None:
        self.engine.apply(c.ExitPod(self.now, job, rank, code))

    def evict_pod(self, job: str, rank: int) -> None:
        self.engine.apply(c.EvictPod(self.now, job, rank))

    def cordon(self, node: str, cordoned: bool) -> None:
        self.engine.apply(c.Cordon(self.now, node, cordoned))

    def hold_queue(self, queue: str, held: bool, drain: bool) -> None:
        hold = Hold.NONE if not held else Hold.HOLD_AND_DRAIN if drain else Hold.HOLD
        self.engine.apply(c.HoldQueue(self.now, queue, hold))

    def hold_local_queues(self, queue: str, held: tuple[str, ...]) -> None:
        pool = ((s.GROUP, self._cluster.pool),) if self._cluster.pool else ()
        queues = (_queue_def(each, held if each.name == queue else ()) for each in self._cluster.queues)
        self.engine.apply(c.SetQuotas(self.now, tuple(queues), pool))

    def until_leaving(self, job: str) -> None:
        for _ in range(REST_MS):
            if any(workload.stage is Stage.EVICTING for workload in named(self.engine.world, job)):
                return
            self.engine.run_to(self.now + 1)
        pytest.fail(f"{job} was never told to leave")

    def settle(self, done: Callable[[Facts], bool]) -> Facts:
        self.engine.run_to(self.now + REST_MS)
        self.engine = Engine(world_from_dict(json.loads(json.dumps(world_to_dict(self.engine.world)))))
        return {self._names[row.job_ulid]: row.facts for row in observed_objects(self.engine.world)}


def _queue_def(queue: s.QueueDef, held: tuple[str, ...]) -> c.QueueDef:
    return c.QueueDef(
        name=queue.name,
        local_queues=queue.local_queues,
        held_local_queues=held,
        quotas=() if queue.nominal is None else ((s.GROUP, queue.nominal),),
        strategy=Strategy.STRICT if queue.strict else Strategy.BEST_EFFORT,
        reclaim=Reclaim.ANY if queue.reclaims else Reclaim.NEVER,
        borrow_preempts=queue.borrow_preempts_up_to is not None,
        borrow_threshold=queue.borrow_preempts_up_to,
        limits=((s.GROUP, Limits(queue.borrow_limit, queue.lend_limit)),),
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: f"{scenario.key}: {scenario.title}")
def test_the_engine_decides_as_the_real_control_plane(scenario: s.Scenario, seed: int) -> None:
    play(scenario, EngineDriver(seed))


def test_every_row_has_its_own_key() -> None:
    keys = [scenario.key for scenario in SCENARIOS]
    assert len(keys) == len(set(keys))
    assert {"V1", "V2", "V3", "V4", "V5", "V7", "V8", "V9", "V10", "V12", "V13", "V18"} <= set(keys)
