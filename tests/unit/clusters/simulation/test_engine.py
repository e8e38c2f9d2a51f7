"""The engine's door: time, changes, snapshots, and how many events it needs."""

from __future__ import annotations

import heapq
import time

from clusters.contract import Outcome
from clusters.simulation.commands import Cordon, NodeDef, SetNodes, Submit
from clusters.simulation.world import Plan, Spec
from tests.unit.clusters.simulation.lab import START_MS, Lab


def test_time_moves_only_when_told_and_never_back() -> None:
    lab = Lab()
    lab.submit("job", command="sleep 1")
    lab.engine.run_to(START_MS - 1)
    assert lab.now == 0
    lab.pass_ms(30_000)
    lab.engine.run_to(START_MS)
    assert lab.now == 30_000


def test_a_command_waits_for_its_time_and_a_late_one_is_done_now() -> None:
    lab = Lab()
    lab.do(Cordon(START_MS + 5_000, "n1"))
    assert lab.now == 5_000
    lab.do(Cordon(START_MS + 1_000, "n2"))
    assert (lab.now, lab.world.nodes["n2"].since_ms) == (5_000, START_MS + 5_000)


def test_changes_name_exactly_what_was_touched() -> None:
    lab = Lab()
    lab.engine.drain_changes()
    lab.submit("job", "a", command="sleep 10")
    lab.submit("other", "b", pods=5)
    changes = lab.engine.drain_changes()
    assert (changes.workloads, changes.nodes) == ({"job", "other"}, frozenset())
    lab.pass_ms(100)
    changes = lab.engine.drain_changes()
    assert changes.workloads == {"job"}
    assert changes.queues == {"b"}, "the gate's word about a shape stands at its queue"
    assert not lab.engine.drain_changes()
    lab.pass_ms(100_000)
    lab.engine.drain_changes()
    lab.delete("job")
    changes = lab.engine.drain_changes()
    assert (changes.workloads, changes.removed_workloads) == (frozenset(), {"job"})


def test_saying_again_what_already_is_touches_nothing() -> None:
    lab = Lab()
    lab.submit("waits", pods=5)
    lab.settle()
    lab.engine.drain_changes()
    handled = lab.engine.events
    lab.set_quotas({"a": 13, "b": 10, "c": 9})
    lab.do(SetNodes(0, tuple(NodeDef(f"n{number}", "h100", 8) for number in range(1, 5))))
    lab.settle()
    assert not lab.engine.drain_changes()
    assert lab.engine.events == handled
    lab.set_quotas({"a": 13, "b": 10, "c": 8}, pool=1)
    assert lab.engine.drain_changes().queues == {"c"}


def test_a_snapshot_lives_its_own_life() -> None:
    lab = Lab()
    lab.submit("job", pods=2, command="sleep 100")
    lab.pass_ms(5_000)
    snapshot = lab.engine.snapshot()
    assert snapshot.world == lab.world
    snapshot.run_to(snapshot.now_ms + 1_000_000)
    assert snapshot.world.workloads["job"].outcome is Outcome.SUCCEEDED
    assert lab["job"].outcome is None
    assert lab.now == 5_000
    lab.pass_ms(1_000_000)
    assert lab.world == snapshot.world


def test_the_same_seed_gives_the_same_world_and_another_one_does_not() -> None:
    def world(seed: int) -> object:
        lab = Lab(seed=seed)
        for number in range(4):
            lab.submit(f"job{number}", pods=2, cards=2, command="")
        lab.pass_ms(400_000)
        return lab.world.workloads

    assert world(1) == world(1)
    assert world(1) != world(2)


def flat_burst(jobs: int, nodes: int) -> Lab:
    """Equal one-card jobs, all there at once."""
    lab = Lab({"a": 8 * nodes}, nodes=(8,) * nodes)
    for number in range(jobs):
        spec = Spec("J", 1, "a", "main", "h100", 200, "training", "pytorch", "i:1", "sleep 10", 1, 1, 0, 0, 30_000)
        lab.do(Submit(0, f"job{number}", spec, Plan(pull_ms=1_000)))
    return lab


def test_the_number_of_events_grows_with_the_jobs_and_not_with_the_queue() -> None:
    """Counts are asserted, times only told: run with -s to see events per second beside a bare heap."""
    events = {}
    for jobs in (500, 1_000, 2_000):
        lab = flat_burst(jobs, nodes=16)
        before = time.perf_counter()
        lab.pass_ms(10_000_000)
        spent = time.perf_counter() - before
        assert all(workload.outcome is Outcome.SUCCEEDED for workload in lab.world.workloads.values())
        events[jobs] = lab.engine.events
    assert events[2_000] - events[1_000] < 1.05 * 2 * (events[1_000] - events[500])
    assert events[2_000] <= 5 * 2_000
    rate = events[2_000] / spent
    print(f"\n{rate:,.0f} events/s, {rate / heap_rate():.3f} of a bare heap loop")  # noqa: T201


def heap_rate(turns: int = 100_000) -> float:
    """Pops and pushes per second of a heap with 2,000 events of the engine's form."""
    heap = [(at, 1, f"job{at}") for at in range(2_000)]
    heapq.heapify(heap)
    before = time.perf_counter()
    for _ in range(turns):
        at, kind, name = heapq.heappop(heap)
        heapq.heappush(heap, (at + 2_000, kind, name))
    return turns / (time.perf_counter() - before)
