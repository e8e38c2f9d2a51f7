"""A small cluster to experiment with: 4 nodes of 8 cards, three queues of 13, 10 and 9 unless told otherwise."""

from __future__ import annotations

from datetime import datetime

from clusters.backends.sandbox.facts import workload_facts
from clusters.contract import Wait, WorkloadFacts
from clusters.simulation.commands import (
    Command,
    Delete,
    NodeDef,
    QueueDef,
    SetActive,
    SetNodes,
    SetPriority,
    SetQuotas,
    Submit,
)
from clusters.simulation.engine import Engine
from clusters.simulation.explain import wait_of
from clusters.simulation.world import Latencies, Plan, Reclaim, Spec, Stage, Strategy, Workload, World

LOW, NORMAL, HIGH = 100, 200, 300
START_MS = 1_700_000_000_000
GIB = 1 << 30


class Lab:
    """An engine with short words for what tests do. Time in calls is milliseconds from the start."""

    def __init__(
        self,
        queues: dict[str, int] | None = None,
        *,
        nodes: tuple[int, ...] = (8, 8, 8, 8),
        pool: int = 0,
        topology_aware: bool = True,
        seed: int = 1,
        latencies: Latencies | None = None,
        strategy: Strategy = Strategy.BEST_EFFORT,
        reclaim: Reclaim = Reclaim.ANY,
    ) -> None:
        world = World(START_MS, seed=seed, topology_aware=topology_aware, latencies=latencies or Latencies())
        self.engine = Engine(world)
        self._strategy, self._reclaim = strategy, reclaim
        self.do(SetNodes(0, tuple(NodeDef(f"n{i}", "h100", cards) for i, cards in enumerate(nodes, start=1))))
        self.set_quotas({"a": 13, "b": 10, "c": 9} if queues is None else queues, pool)

    @property
    def world(self) -> World:
        return self.engine.world

    @property
    def now(self) -> int:
        return self.engine.now_ms - START_MS

    def do(self, command: Command) -> None:
        self.engine.apply(command)

    def set_quotas(self, queues: dict[str, int], pool: int = 0, slowdown: int | None = None) -> None:
        definitions = (
            QueueDef(
                name,
                (("h100", nominal),),
                local_queues=("main",),
                strategy=self._strategy,
                reclaim=self._reclaim,
            )
            for name, nominal in queues.items()
        )
        slowdowns = () if slowdown is None else (("h100", slowdown),)
        self.do(SetQuotas(0, tuple(definitions), (("h100", pool),), slowdowns))

    def submit(
        self,
        name: str,
        queue: str = "a",
        pods: int = 1,
        cards: int = 8,
        priority: int = NORMAL,
        *,
        command: str = "sleep infinity",
        group: str | None = "h100",
        framework: str = "pytorch",
        image: str = "registry.example/train:1",
        kind: str = "training",
        local_queue: str = "main",
        cpu_millis: int = 0,
        memory_bytes: int = 0,
        grace_ms: int = 30_000,
        plan: Plan | None = None,
    ) -> None:
        spec = Spec(
            job_ulid=f"J-{name}",
            attempt=1,
            queue=queue,
            local_queue=local_queue,
            node_group=group,
            priority=priority,
            kind=kind,
            framework=framework,
            image=image,
            command=command,
            pods=pods,
            cards_per_pod=cards if group else 0,
            cpu_millis=cpu_millis,
            memory_bytes=memory_bytes,
            grace_ms=grace_ms,
        )
        self.do(Submit(self.engine.now_ms, name, spec, plan or Plan()))

    def hold(self, name: str) -> None:
        self.do(SetActive(0, name, False))

    def resume(self, name: str) -> None:
        self.do(SetActive(0, name, True))

    def rank(self, name: str, priority: int) -> None:
        self.do(SetPriority(0, name, priority))

    def delete(self, name: str, grace_ms: int = 30_000) -> None:
        self.do(Delete(0, name, grace_ms))

    def pass_ms(self, ms: int) -> None:
        self.engine.run_to(self.engine.now_ms + ms)

    def settle(self) -> None:
        """Long enough for every admission, pull and end that is under way."""
        self.pass_ms(60_000)

    def __getitem__(self, name: str) -> Workload:
        return self.world.workloads[name]

    def facts(self, name: str) -> WorkloadFacts:
        return workload_facts(self.world, self[name])

    def wait(self, name: str) -> Wait | None:
        return wait_of(self.world, self[name])

    def admitted(self) -> set[str]:
        return {name for name, workload in self.world.workloads.items() if workload.stage is Stage.ADMITTED}

    def nodes_of(self, name: str) -> list[str]:
        return self[name].run.nodes


def ms_since_start(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000) - START_MS
