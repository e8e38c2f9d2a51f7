"""Services: replicas that come and go one by one, and come back by themselves."""

from __future__ import annotations

import pytest

from clusters.backends.sandbox.facts import node_facts, service_facts
from clusters.contract import PodPhase, WorkloadFacts
from clusters.simulation.commands import EvictPod, ExitPod, NodePower, Scale
from clusters.simulation.logs import tail
from clusters.simulation.services import replicas_of
from clusters.simulation.world import Stage, Workload
from tests.unit.clusters.simulation.lab import HIGH, Lab


def serving(lab: Lab, replicas: int = 2, cards: int = 4, **more: object) -> None:
    lab.submit("web", pods=replicas, cards=cards, kind="inference", command="serve", **more)  # type: ignore[arg-type]
    lab.settle()


def replicas(lab: Lab) -> list[Workload]:
    return replicas_of(lab.world, "web")


def facts(lab: Lab) -> WorkloadFacts:
    return service_facts(lab.world, replicas(lab))


def test_a_service_is_a_workload_per_replica_and_serves_until_it_is_stopped() -> None:
    lab = Lab()
    serving(lab, 3)
    assert [(w.name, w.spec.pods, w.spec.cards) for w in replicas(lab)] == [(f"web-{n}", 1, 4) for n in range(3)]
    lab.pass_ms(24 * 3_600_000)
    assert facts(lab).ready_at is not None and all(w.stage is Stage.ADMITTED for w in replicas(lab))


def test_the_same_service_is_not_made_twice_in_whatever_size() -> None:
    lab = Lab()
    serving(lab, 2)
    serving(lab, 3)
    assert len(replicas(lab)) == 2


def test_a_program_that_ends_is_started_again_in_place_ever_later() -> None:
    lab = Lab()
    serving(lab, 1)
    waits = []
    for _ in range(7):
        lab.do(ExitPod(0, "web", 0, 3))
        (pod,) = facts(lab).pods
        assert (pod.phase, pod.exit_code) == (PodPhase.PULLING, 3)
        (replica,) = replicas(lab)
        waits.append((replica.run.pods[0].starts_ms or 0) - lab.engine.now_ms)
        assert replica.holds_quota and facts(lab).stalled_since is not None
        lab.pass_ms(waits[-1])
        assert facts(lab).pods[0].phase is PodPhase.RUNNING and facts(lab).stalled_since is None
    assert waits == [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]
    assert facts(lab).pods[0].restarts == 7


def test_a_program_that_says_when_it_ends_is_started_again_and_again() -> None:
    lab = Lab()
    lab.submit("web", pods=1, cards=4, kind="inference", command="sleep 5; exit 1")
    lab.pass_ms(120_000)
    assert facts(lab).pods[0].restarts >= 3 and facts(lab).outcome is None


@pytest.mark.parametrize("how", ["its node is lost", "its pod is taken away"])
def test_a_replica_that_loses_its_place_finds_another(how: str) -> None:
    lab = Lab({"a": 16}, nodes=(8, 8))
    serving(lab, 1, cards=8)
    (before,) = {pod.node for pod in facts(lab).pods}
    if how == "its node is lost":
        lab.do(NodePower(0, str(before), up=False))
        lab.pass_ms(lab.world.latencies.node_lost)
    else:
        lab.do(EvictPod(0, "web", 0))
    lab.settle()
    assert facts(lab).ready_at is not None and facts(lab).evictions == 0
    if how == "its node is lost":
        assert {pod.node for pod in facts(lab).pods} != {before}


def test_scaling_down_takes_the_last_replicas_and_scaling_up_gives_them_their_numbers_back() -> None:
    lab = Lab()
    serving(lab, 4, cards=2)
    lab.do(Scale(0, "web", 1))
    lab.settle()
    assert [w.name for w in replicas(lab)] == ["web-0"]
    lab.do(Scale(0, "web", 3))
    lab.settle()
    assert [w.name for w in replicas(lab)] == ["web-0", "web-1", "web-2"]
    assert (facts(lab).wanted_pods, facts(lab).admitted_pods) == (3, 3)


def test_a_service_that_is_stopped_holds_its_cards_until_they_are_freed_and_is_then_being_deleted() -> None:
    lab = Lab()
    serving(lab)
    lab.delete("web")
    assert facts(lab).ending and not facts(lab).being_deleted and facts(lab).admitted_pods == 2
    lab.pass_ms(lab.world.latencies.eviction)
    assert facts(lab).being_deleted and facts(lab).admitted_pods == 0
    lab.settle()
    assert replicas(lab) == []


def test_a_preempted_replica_waits_and_says_for_what() -> None:
    lab = Lab({"a": 16}, nodes=(8, 8))
    serving(lab, 2, cards=8)
    lab.submit("urgent", cards=8, priority=HIGH)
    lab.settle()
    assert (facts(lab).admitted_pods, facts(lab).active) == (1, True)
    assert facts(lab).wait is not None and facts(lab).stalled_since is None


def test_replicas_on_one_node_are_one_holder_of_its_cards() -> None:
    lab = Lab({"a": 8}, nodes=(8,))
    serving(lab, 2, cards=4)
    (node,) = node_facts(lab.world)
    assert [(holder.job_ulid, holder.cards, holder.running) for holder in node.holders] == [("J-web", 8, True)]


def test_the_log_of_a_service_is_that_of_all_replicas_in_one_order() -> None:
    lab = Lab()
    serving(lab, 3, cards=2)
    lab.settle()
    whole = tail(lab.world, replicas(lab), "").lines
    assert {line.rank for line in whole} == {0, 1, 2}
    assert [line.seq for line in whole] == sorted({line.seq for line in whole})
    assert tail(lab.world, replicas(lab), str(whole[2].seq)).lines == whole[3:]
