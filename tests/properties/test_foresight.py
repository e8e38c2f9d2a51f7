"""The preview of a plan decides about a job as the simulated cluster does, and the same jobs have to leave."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusters.simulation.admission import Mode, nominate
from clusters.simulation.state import State
from clusters.simulation.world import Node, Plan, Reclaim, Run, Spec, Stage, Workload, World
from clusters.simulation.world import Queue as SimulatedQueue
from quotas.domain.blocks import NodeRoom
from quotas.domain.gate import Gate
from quotas.domain.live import Holding, Live, Verdict, Waiting
from quotas.domain.plan import TAKES_UP_TO, Division, GroupPart, QueuePart, divide
from quotas.domain.plan import Plan as SharePlan

GROUP, QUEUES = "g", ("a", "b", "c")
SIZES = st.sampled_from([1, 2, 4, 8])


@st.composite
def divisions(draw: st.DrawFn) -> Division:
    left, queues = 10_000, {}
    for name in QUEUES:
        points = draw(st.integers(0, left // 500)) * 500
        left -= points
        limits = [draw(st.none() | st.integers(0, 20)) for _ in range(2)]
        part = GroupPart(points, *(None if limit is None else limit * 500 for limit in limits))
        reclaims = draw(st.booleans())
        queues[name] = QueuePart(draw(st.integers(0, 3)) if reclaims else 0, False, reclaims, {GROUP: part})
    return Division(SharePlan(queues), {GROUP: draw(st.integers(0, 40))})


class Scene:
    """The same cluster twice: as the simulation has it, and as the preview reads it."""

    def __init__(self, division: Division, by_topology: bool, nodes: list[int]) -> None:
        shared_out = divide(division)
        self.division = division
        self.world = World(0, topology_aware=by_topology, pool=dict(shared_out.pool))
        self.world.nodes = {f"n{at}": Node(f"n{at}", GROUP, cards) for at, cards in enumerate(nodes)}
        self.free = {name: node.cards for name, node in self.world.nodes.items()}
        self.holdings: list[Holding] = []
        for name, rules in division.plan.queues.items():
            highest = TAKES_UP_TO[rules.rank]
            self.world.queues[name] = SimulatedQueue(
                name,
                local_queues=("main",),
                reclaim=Reclaim.ANY if rules.reclaims else Reclaim.NEVER,
                borrow_preempts=highest is not None,
                borrow_threshold=highest,
            )
        state = Gate(division, Live()).ledger
        for name, queue in self.world.queues.items():
            queue.quotas = {GROUP: state.nominal(name, GROUP)}
            limits = state._limits.get((name, GROUP))
            queue.limits = {} if limits is None else {GROUP: limits}

    def add(self, name: str, queue: str, pods: int, size: int, priority: int) -> Workload:
        number = len(self.world.workloads)
        spec = Spec(name, 1, queue, "main", GROUP, priority, "training", "", "", "", pods, size, 0, 0, 0)
        workload = Workload(name, spec, Plan(), created_ms=number, sequence=number, queued_ms=number)
        self.world.workloads[name] = workload
        return workload

    def hold(self, queue: str, pods: int, size: int, priority: int, leaving: bool) -> None:
        """Where its pods have room; else it is not there at all."""
        nodes: list[str] = []
        for name in sorted(self.free):
            nodes += [name] * min(self.free[name] // size, pods - len(nodes))
        if len(nodes) < pods:
            return
        for name in nodes:
            self.free[name] -= size
        job = f"h{len(self.holdings):02}"
        workload = self.add(job, queue, pods, size, priority)
        workload.stage = Stage.EVICTING if leaving else Stage.ADMITTED
        at = workload.sequence
        workload.runs = [Run(at, at, nodes)]
        placed = tuple((name, size) for name in nodes)
        self.holdings.append(Holding(job, queue, GROUP, pods * size, priority, at, placed, leaving))

    def live(self) -> Live:
        rooms = [NodeRoom(name, GROUP, node.cards, self.free[name]) for name, node in self.world.nodes.items()]
        return Live(tuple(self.holdings), (), tuple(rooms), self.world.topology_aware)


jobs = st.tuples(st.sampled_from(QUEUES), st.integers(1, 2), SIZES, st.sampled_from([100, 200, 300]))


@given(
    divisions(),
    st.booleans(),
    st.lists(st.sampled_from([4, 8]), min_size=1, max_size=5),
    st.lists(st.tuples(jobs, st.sampled_from([False, False, False, True])), max_size=8),
    jobs,
)
def test_one_job_at_the_gate_gets_the_same_answer_as_in_the_simulation(
    division: Division,
    by_topology: bool,
    nodes: list[int],
    held: list[tuple[tuple[str, int, int, int], bool]],
    asks: tuple[str, int, int, int],
) -> None:
    scene = Scene(division, by_topology, nodes)
    for (queue, pods, size, priority), leaving in held:
        scene.hold(queue, pods, size, priority, leaving)
    head = scene.add("head", *asks)
    queue, pods, size, priority = asks
    gate = Gate(division, scene.live())
    answer = gate.victims(Waiting("head", queue, GROUP, pods * size, priority, 0, pods))
    entry = nominate(State(scene.world), head, scene.world.queues[queue])
    if isinstance(answer, Verdict):
        assert entry.mode is Mode.NO_FIT or (entry.mode is Mode.PREEMPT and not entry.targets)
    else:
        expected = [target.workload.name for target in entry.targets]
        assert (entry.mode is Mode.FIT) == (answer == [])
        assert [each.job_ulid for each in answer] == expected


@given(divisions(), st.lists(st.tuples(jobs, st.just(False)), max_size=8), st.lists(jobs, max_size=8))
def test_the_counts_are_exact_after_any_decisions(
    division: Division, held: list[tuple[tuple[str, int, int, int], bool]], asks: list[tuple[str, int, int, int]]
) -> None:
    scene = Scene(division, True, [8, 8, 4])
    for (queue, pods, size, priority), leaving in held:
        scene.hold(queue, pods, size, priority, leaving)
    gate = Gate(division, scene.live())
    started = []
    for number, (queue, pods, size, priority) in enumerate(asks):
        waiting = Waiting(f"w{number}", queue, GROUP, pods * size, priority, number, pods)
        if gate.decide(waiting).starts:
            started.append(waiting)
    stays = sum(each.cards for each in gate.holdings()) + sum(each.cards for each in started)
    assert sum(gate.ledger.used(queue, GROUP) for queue in QUEUES) == stays <= 20
