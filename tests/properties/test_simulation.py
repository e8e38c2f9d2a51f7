"""Whatever is done to the simulated cluster, and whenever: nothing is lost, doubled or overfilled."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from clusters.contract import EvictionCause, PodPhase, WaitCode
from clusters.simulation.admission import Mode, nominate
from clusters.simulation.codec import node_to_dict, queue_to_dict, workload_to_dict, world_from_dict, world_to_dict
from clusters.simulation.commands import (
    Command,
    Cordon,
    Delete,
    EvictPod,
    ExitPod,
    HoldQueue,
    NodeDef,
    NodePower,
    QueueDef,
    SetActive,
    SetNodes,
    SetPriority,
    SetQuotas,
    Sicken,
    Steer,
    Submit,
    command_from_dict,
    command_to_dict,
)
from clusters.simulation.engine import Engine
from clusters.simulation.explain import wait_of
from clusters.simulation.preemption import Trial
from clusters.simulation.state import State
from clusters.simulation.world import ALIVE, Hold, Latencies, Plan, Reclaim, Spec, Stage, Strategy, Workload, World

NODES = {"g-1": ("g", 8), "g-2": ("g", 8), "g-3": ("g", 4), "h-1": ("h", 4)}
QUEUES = ("a", "b", "c")
IMPOSSIBLE = {WaitCode.NEVER_FITS, WaitCode.NOT_OFFERED, WaitCode.PLACES}
SHORT = {WaitCode.QUOTA, WaitCode.ABOVE_NOMINAL}

counts = st.integers(0, 16)
queue_names = st.sampled_from(QUEUES)
node_names = st.sampled_from(sorted(NODES))
jobs = st.tuples(
    st.sampled_from(("g", "g", "g", "h", None)), st.sampled_from((100, 200, 300)), st.integers(1, 3), st.integers(1, 8)
)
steps = st.one_of(st.integers(0, 50), st.integers(0, 1_500), st.integers(1_000, 8_000), st.integers(0, 120_000))


def _spec(name: str, queue: str, group: str | None, priority: int, pods: int, cards: int, **other: Any) -> Spec:
    values: dict[str, Any] = {"framework": "pytorch", "command": "sleep infinity", **other}
    return Spec(
        job_ulid=f"J-{name}",
        attempt=1,
        queue=queue,
        local_queue="main",
        node_group=group,
        priority=priority,
        kind="training",
        image="registry.example/train:1",
        pods=pods,
        cards_per_pod=cards if group else 0,
        cpu_millis=0 if group else 1_000,
        memory_bytes=0,
        grace_ms=30_000,
        **values,
    )


def _queue(name: str, nominal: int, reclaim: Reclaim, borrow_preempts: bool) -> QueueDef:
    return QueueDef(name, (("g", nominal),), local_queues=("main",), reclaim=reclaim, borrow_preempts=borrow_preempts)


def reloaded(engine: Engine) -> Engine:
    """The same world after a trip through a store that does not keep the order of keys."""
    return Engine(world_from_dict(json.loads(json.dumps(world_to_dict(engine.world), sort_keys=True))))


admitted_jobs = st.tuples(queue_names, st.sampled_from((100, 200)), st.integers(1, 2), st.integers(1, 8))
newcomers = st.tuples(queue_names, st.sampled_from((100, 200, 300)), st.integers(1, 2), st.integers(1, 8))
queue_defs = (
    st.builds(_queue, st.just(name), st.integers(0, 12), st.sampled_from(Reclaim), st.booleans()) for name in QUEUES
)


@given(
    queues=st.tuples(*queue_defs),
    jobs=st.lists(admitted_jobs, min_size=3, max_size=10),
    newcomer=newcomers,
    topology_aware=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_every_victim_is_allowed_and_necessary(
    queues: tuple[QueueDef, ...],
    jobs: list[tuple[str, int, int, int]],
    newcomer: tuple[str, int, int, int],
    topology_aware: bool,
) -> None:
    engine = Engine(World(0, topology_aware=topology_aware))
    engine.apply(SetNodes(0, tuple(NodeDef(f"n{number}", "g", 8) for number in range(3))))
    engine.apply(SetQuotas(0, queues, (("g", 4),)))
    for number, (name, priority, pods, cards) in enumerate(jobs):
        engine.apply(Submit(engine.now_ms, f"w{number}", _spec(f"w{number}", name, "g", priority, pods, cards)))
        engine.run_to(engine.now_ms + 5_000)
    name, priority, pods, cards = newcomer
    workload = Workload("new", _spec("new", name, "g", priority, pods, cards), Plan(), 0, 999, 0)
    state = engine._state
    queue = engine.world.queues[name]
    before = world_to_dict(engine.world)
    borrowing = {other for other in QUEUES if state.ledger.borrows(other, "g")}
    targets = nominate(state, workload, queue).targets
    assert world_to_dict(engine.world) == before, "looking for victims changes nothing"
    assert targets == nominate(state, workload, queue).targets, "and leaves no trace in the counts"
    for target in targets:
        victim = target.workload.spec
        if victim.queue == name:
            assert victim.priority < priority
            assert target.cause is EvictionCause.HIGHER_PRIORITY
        else:
            assert victim.queue in borrowing
            assert queue.reclaim is not Reclaim.NEVER
            assert queue.reclaim is Reclaim.ANY or victim.priority < priority
            assert target.cause is not EvictionCause.HIGHER_PRIORITY
    if not targets:
        return
    trial = Trial(state)
    for target in targets:
        trial.remove(target.workload)
    assert nominate(state, workload, queue).mode is Mode.FIT
    reclaimed = any(target.cause is EvictionCause.QUOTA_RECLAIMED for target in targets)
    assert not (reclaimed and state.ledger.would_borrow(name, "g", pods * cards)), "reclaiming never ends in borrowing"
    for target in targets:
        trial.restore(target.workload)
        fits = nominate(state, workload, queue).mode is Mode.FIT
        borrows = state.ledger.would_borrow(name, "g", pods * cards)
        # Where others borrow, the first try is to get along without borrowing; that may take more of the own queue.
        assert not fits or (borrows and borrowing - {name}), f"{target.workload.name} need not have left"
        trial.remove(target.workload)


class ClusterMachine(RuleBasedStateMachine):
    """Drives one engine in one go, and a twin that is split, saved and loaded on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.expected: set[str] = set()
        self.held_before: Counter[str] = Counter()

    @initialize(topology_aware=st.booleans(), cycle=st.integers(0, 20), seed=st.integers(0, 3))
    def build(self, topology_aware: bool, cycle: int, seed: int) -> None:
        latencies = Latencies(cycle=cycle, node_lost=5_000, pull_min=0, pull_max=800, cached=50)
        world = World(1_000_000, seed=seed, topology_aware=topology_aware, latencies=latencies)
        self.engine = Engine(world)
        self.twin = Engine(world_from_dict(world_to_dict(world)))
        self.rows: dict[str, dict[str, Any]] = {"nodes": {}, "queues": {}, "workloads": {}}
        nodes = tuple(NodeDef(name, group, cards) for name, (group, cards) in NODES.items())
        self.do(SetNodes(0, nodes))
        queues = tuple(QueueDef(name, (("g", 6), ("h", 1)), local_queues=("main",)) for name in QUEUES)
        self.do(SetQuotas(0, queues, (("g", 2),)))

    @property
    def now(self) -> int:
        return self.engine.now_ms

    def do(self, command: Command) -> None:
        self.engine.apply(command)
        self.twin.apply(command_from_dict(json.loads(json.dumps(command_to_dict(command)))))

    # what people and clusters do

    @rule(
        jobs=st.lists(jobs, min_size=1, max_size=4),
        queue=queue_names,
        seconds=st.integers(0, 90),
        code=st.sampled_from((0, 0, 3)),
        framework=st.sampled_from(("pytorch", "mpi")),
        resumes=st.booleans(),
    )
    def submit(
        self,
        jobs: list[tuple[str | None, int, int, int]],
        queue: str,
        seconds: int,
        code: int,
        framework: str,
        resumes: bool,
    ) -> None:
        for group, priority, pods, cards in jobs:
            self.number += 1
            name = f"w{self.number}"
            command = f"sleep {seconds}; exit {code}"
            spec = _spec(name, queue, group, priority, pods, cards, framework=framework, command=command)
            self.do(Submit(self.now, name, spec, Plan(resumes=resumes)))
            self.expected.add(name)

    @precondition(lambda self: self.expected)
    @rule(data=st.data(), ms=st.integers(400, 2_000))
    def hold_and_resume_at_once(self, data: st.DataObject, ms: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.expected)))
        self.do(SetActive(self.now, name, False))
        self.do(SetActive(self.now + ms, name, True))

    @precondition(lambda self: self.expected)
    @rule(data=st.data(), grace_ms=st.sampled_from((0, 1_500, 60_000)))
    def delete(self, data: st.DataObject, grace_ms: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.expected)))
        self.do(Delete(self.now, name, grace_ms))
        self.expected.discard(name)

    @precondition(lambda self: self.expected)
    @rule(data=st.data(), active=st.booleans())
    def hold_or_resume(self, data: st.DataObject, active: bool) -> None:
        self.do(SetActive(self.now, data.draw(st.sampled_from(sorted(self.expected))), active))

    @precondition(lambda self: self.expected)
    @rule(data=st.data(), priority=st.sampled_from((100, 200, 300)))
    def change_priority(self, data: st.DataObject, priority: int) -> None:
        self.do(SetPriority(self.now, data.draw(st.sampled_from(sorted(self.expected))), priority))

    @precondition(lambda self: self.expected)
    @rule(data=st.data(), avoid=st.sets(st.sampled_from(sorted(NODES))))
    def steer(self, data: st.DataObject, avoid: set[str]) -> None:
        self.do(Steer(self.now, data.draw(st.sampled_from(sorted(self.expected))), tuple(sorted(avoid))))

    @precondition(lambda self: self.expected)
    @rule(data=st.data(), rank=st.integers(0, 2), code=st.sampled_from((0, 1)))
    def exit_pod(self, data: st.DataObject, rank: int, code: int) -> None:
        self.do(ExitPod(self.now, data.draw(st.sampled_from(sorted(self.expected))), rank, code))

    @precondition(lambda self: self.expected)
    @rule(data=st.data(), rank=st.integers(0, 2))
    def evict_pod(self, data: st.DataObject, rank: int) -> None:
        self.do(EvictPod(self.now, data.draw(st.sampled_from(sorted(self.expected))), rank))

    @rule(
        shares=st.tuples(counts, counts, counts),
        pool=counts,
        strategy=st.sampled_from(Strategy),
        reclaim=st.sampled_from(Reclaim),
        borrow_preempts=st.booleans(),
        missing=st.sampled_from((None, None, "c")),
    )
    def set_quotas(
        self,
        shares: tuple[int, int, int],
        pool: int,
        strategy: Strategy,
        reclaim: Reclaim,
        borrow_preempts: bool,
        missing: str | None,
    ) -> None:
        queues = tuple(
            QueueDef(
                name,
                (("g", share), ("h", 1)),
                local_queues=("main",),
                strategy=strategy,
                reclaim=reclaim,
                borrow_preempts=borrow_preempts,
            )
            for name, share in zip(QUEUES, shares, strict=True)
            if name != missing
        )
        self.do(SetQuotas(self.now, queues, (("g", pool),)))

    @rule(queue=queue_names, hold=st.sampled_from(Hold))
    def hold_queue(self, queue: str, hold: Hold) -> None:
        self.do(HoldQueue(self.now, queue, hold))

    @rule(node=node_names, cordoned=st.booleans())
    def cordon(self, node: str, cordoned: bool) -> None:
        self.do(Cordon(self.now, node, cordoned))

    @rule(node=node_names, up=st.booleans())
    def power(self, node: str, up: bool) -> None:
        self.do(NodePower(self.now, node, up))

    @rule(node=node_names, cards=st.integers(0, 8))
    def sicken(self, node: str, cards: int) -> None:
        self.do(Sicken(self.now, node, cards))

    @rule(ms=steps, split=st.floats(0, 1), reload=st.booleans())
    def let_time_pass(self, ms: int, split: float, reload: bool) -> None:
        target = self.now + ms
        self.engine.run_to(target)
        self.twin.run_to(self.twin.now_ms + round(ms * split))
        if reload:
            self.twin = reloaded(self.twin)
        self.twin.run_to(target)

    # what always holds

    @invariant()
    def a_split_and_reloaded_run_ends_in_the_same_world(self) -> None:
        assert self.engine.world == self.twin.world

    @invariant()
    def writing_only_what_changed_keeps_a_store_complete(self) -> None:
        """As the driver does: rows of touched objects are written, rows of removed ones deleted."""
        world, changes = self.engine.world, self.engine.drain_changes()
        for name in changes.nodes:
            self.rows["nodes"][name] = node_to_dict(world.nodes[name])
        for name in changes.queues:
            self.rows["queues"][name] = queue_to_dict(world.queues[name])
        for name in changes.workloads:
            self.rows["workloads"][name] = workload_to_dict(world.workloads[name])
        for name in changes.removed_queues:
            del self.rows["queues"][name]
        for name in changes.removed_workloads:
            self.rows["workloads"].pop(name, None)  # it may have come and gone between two writes
        assert self.rows["nodes"] == {name: node_to_dict(node) for name, node in world.nodes.items()}
        assert self.rows["queues"] == {name: queue_to_dict(queue) for name, queue in world.queues.items()}
        assert self.rows["workloads"] == {name: workload_to_dict(item) for name, item in world.workloads.items()}

    @invariant()
    def held_quota_never_grows_beyond_the_cohort(self) -> None:
        world = self.engine.world
        held: Counter[str] = Counter()
        for workload in world.workloads.values():
            if workload.holds_quota and workload.spec.node_group:
                held[workload.spec.node_group] += workload.spec.cards
        for group, cards in held.items():
            capacity = world.pool.get(group, 0) + sum(queue.quotas.get(group, 0) for queue in world.queues.values())
            assert cards <= max(capacity, self.held_before[group])
        self.held_before = held

    @invariant()
    def no_node_carries_more_cards_than_it_has(self) -> None:
        on_node: Counter[str] = Counter()
        for workload in self.engine.world.workloads.values():
            for run in workload.runs:
                for pod in run.pods:
                    if pod.node and pod.phase in ALIVE:
                        on_node[pod.node] += workload.spec.cards_per_pod
        assert all(cards <= self.engine.world.nodes[name].cards for name, cards in on_node.items())

    @invariant()
    def a_gang_has_all_its_nodes_or_none(self) -> None:
        for workload in self.engine.world.workloads.values():
            for run in workload.runs:
                placed = [pod for pod in run.pods if pod.node is not None]
                assert len(placed) in (0, workload.spec.pods)
                assert bool(placed) == (run.scheduled_ms is not None)

    @invariant()
    def no_workload_is_lost_and_none_counted_twice(self) -> None:
        world = self.engine.world
        assert self.expected <= set(world.workloads)
        assert all(workload.deleting for name, workload in world.workloads.items() if name not in self.expected)
        state, fresh = self.engine._state, State(world_from_dict(world_to_dict(world)))
        assert {queue: set(line) for queue, line in state.waiting.items() if line} == {
            queue: set(line) for queue, line in fresh.waiting.items() if line
        }
        assert set(state.unplaced) == set(fresh.unplaced)
        for queue in QUEUES:
            for group in ("g", "h"):
                assert state.ledger.used(queue, group) == fresh.ledger.used(queue, group)
        for node in NODES:
            assert state.floor.free(node) == fresh.floor.free(node)
            assert state.floor.free(node, after_release=True) == fresh.floor.free(node, after_release=True)
            assert state.floor.occupants(node) == fresh.floor.occupants(node)

    @invariant()
    def one_set_of_pods_at_a_time(self) -> None:
        for workload in self.engine.world.workloads.values():
            alive = [run for run in workload.runs if any(pod.phase in ALIVE for pod in run.pods)]
            assert len(alive) <= 1
            if workload.outcome is not None:
                assert workload.stage is Stage.FINISHED
                assert not any(pod.phase is PodPhase.RUNNING for run in workload.runs for pod in run.pods)

    # in the end

    def teardown(self) -> None:
        """Once everything works again, whatever can run has run, and every card is back."""
        if not hasattr(self, "engine"):
            return
        for node in NODES:
            self.do(NodePower(self.now, node, True))
            self.do(Cordon(self.now, node, False))
            self.do(Sicken(self.now, node, 0))
        for queue in QUEUES:
            self.do(HoldQueue(self.now, queue, Hold.NONE))
        queues = tuple(QueueDef(name, (("g", 6), ("h", 1)), local_queues=("main",)) for name in QUEUES)
        self.do(SetQuotas(self.now, queues, (("g", 2), ("h", 1))))
        for name in self.expected:
            self.do(SetActive(self.now, name, True))
        self.engine.run_to(self.now + 100_000_000)
        world = self.engine.world
        idle = not any(workload.holds_quota for workload in world.workloads.values())
        for workload in world.workloads.values():
            if workload.stage is not Stage.FINISHED and not workload.unplaceable:
                wait = wait_of(world, workload)
                assert wait is not None
                assert wait.code in (IMPOSSIBLE if idle else IMPOSSIBLE | SHORT)
        for name in self.expected:
            self.engine.apply(Delete(self.now, name, 0))
        self.engine.run_to(self.now + 100_000)
        assert not world.workloads
        for node, (_, cards) in NODES.items():
            assert self.engine._state.floor.free(node) == cards


ClusterMachine.TestCase.settings = settings(
    max_examples=120, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
TestCluster = ClusterMachine.TestCase
