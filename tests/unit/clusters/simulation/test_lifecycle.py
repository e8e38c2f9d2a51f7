"""From admission to the end of a workload."""

from __future__ import annotations

import pytest

from clusters.contract import EvictionCause, FailureCode, Outcome, PodPhase
from clusters.simulation.commands import EvictPod, ExitPod, NodePower
from clusters.simulation.world import Plan, Stage
from tests.unit.clusters.simulation.lab import HIGH, LOW, Lab, ms_since_start


def test_a_gang_begins_its_work_when_the_last_pod_runs() -> None:
    lab = Lab()
    lab.submit("gang", pods=2, cards=8, command="sleep 20")
    lab.settle()
    run = lab["gang"].run
    started = [pod.started_ms for pod in run.pods]
    assert None not in started
    assert run.ready_ms == max(started)  # type: ignore[type-var]
    assert lab["gang"].ended_ms == run.ready_ms + 20_000
    assert lab["gang"].outcome is Outcome.SUCCEEDED
    assert run.released_ms == lab["gang"].ended_ms
    assert lab["gang"].inert


def test_the_steps_of_a_start_have_their_times_in_order() -> None:
    lab = Lab()
    lab.submit("job", plan=Plan(pull_ms=4_000))
    lab.settle()
    facts = lab.facts("job")
    times = [facts.queued_at, facts.admitted_at, facts.scheduled_at, facts.ready_at]
    assert [ms_since_start(moment) for moment in times] == [0, 10, 310, 4_310]


def test_without_a_failing_rank_every_rank_exits_with_the_code_and_the_first_counts() -> None:
    lab = Lab()
    lab.submit("gang", pods=2, cards=4, command="sleep 5; exit 9")
    lab.settle()
    fault = lab["gang"].fault
    assert fault is not None
    assert (fault.code, fault.rank, fault.exit_code) == (FailureCode.APP_EXIT, 0, 9)
    assert [pod.exit_code for pod in lab["gang"].run.pods] == [9, 9]


def test_a_failing_rank_stops_its_siblings_within_their_grace() -> None:
    lab = Lab()
    lab.submit("gang", pods=3, cards=4, command="sleep 5; exit 9", grace_ms=2_000, plan=Plan(failing_rank=1))
    lab.pass_ms(310)
    while lab["gang"].outcome is None:
        lab.pass_ms(1)
    facts = lab.facts("gang")
    assert facts.ending
    assert facts.released_at is None
    assert [pod.phase for pod in facts.pods] == [PodPhase.ENDING, PodPhase.FAILED, PodPhase.ENDING]
    assert facts.failure is not None
    assert facts.failure.rank == 1
    lab.pass_ms(2_000)
    facts = lab.facts("gang")
    assert not facts.ending
    assert facts.released_at is not None
    assert facts.ended_at is not None
    assert [pod.exit_code for pod in facts.pods] == [143, 9, 143]
    assert (facts.released_at - facts.ended_at).total_seconds() <= 2


def test_the_launcher_of_an_mpi_job_decides_for_all() -> None:
    lab = Lab()
    lab.submit("mpi", pods=3, cards=4, framework="mpi", command="sleep 5")
    lab.settle()
    assert lab["mpi"].outcome is Outcome.SUCCEEDED
    assert lab["mpi"].outcome_by_policy
    lab.submit("alone", pods=1, cards=4, framework="mpi", command="sleep 5")
    lab.settle()
    assert lab["alone"].outcome is Outcome.SUCCEEDED
    assert not lab["alone"].outcome_by_policy


def test_out_of_memory_is_its_own_cause() -> None:
    lab = Lab()
    lab.submit("job")
    lab.settle()
    lab.do(ExitPod(0, "job", 0, 137, FailureCode.OUT_OF_MEMORY))
    fault = lab["job"].fault
    assert fault is not None
    assert (fault.code, fault.exit_code, fault.node) == (FailureCode.OUT_OF_MEMORY, 137, "n1")


def test_an_eviction_frees_quota_within_a_second_and_the_pods_within_their_grace() -> None:
    lab = Lab()
    lab.submit("job", grace_ms=3_000)
    lab.settle()
    told = lab.now
    lab.hold("job")
    lab.settle()
    facts = lab.facts("job")
    assert facts.eviction_cause is EvictionCause.HELD
    freed, released = ms_since_start(facts.evicted_at), ms_since_start(facts.released_at)
    assert freed is not None
    assert released is not None
    assert freed - told == 500
    assert 1_000 <= released - told <= 3_000
    assert facts.pods == ()


def test_a_workload_told_to_go_and_come_back_waits_for_its_own_pods() -> None:
    lab = Lab()
    lab.submit("job", grace_ms=60_000)
    lab.settle()
    lab.hold("job")
    lab.pass_ms(600)
    lab.resume("job")
    lab.pass_ms(100)
    workload = lab["job"]
    assert workload.stage is Stage.ADMITTED
    assert lab.facts("job").waiting_release
    assert lab.facts("job").pods == ()
    lab.settle()
    first, second = workload.runs
    assert first.released_ms is not None
    assert second.creates_ms == first.released_ms + 300
    assert not lab.facts("job").waiting_release
    assert second.ready_ms is not None


def test_a_run_starts_its_work_anew_unless_the_job_resumes() -> None:
    for resumes, expected in ((False, 100_000), (True, 60_000)):
        lab = Lab()
        lab.submit("job", command="sleep 100", plan=Plan(resumes=resumes))
        lab.pass_ms(20_000)
        ready = lab["job"].run.ready_ms
        assert ready is not None
        lab.pass_ms(ready + 40_000 - lab.engine.now_ms)
        lab.hold("job")
        lab.settle()
        lab.resume("job")
        lab.pass_ms(300_000)
        second = lab["job"].run
        assert second.ready_ms is not None
        assert lab["job"].ended_ms == second.ready_ms + expected


def test_a_deleted_job_is_gone_when_its_pods_are() -> None:
    lab = Lab()
    lab.submit("job")
    lab.settle()
    lab.delete("job", grace_ms=1_500)
    lab.pass_ms(600)
    assert lab.facts("job").ending
    assert lab["job"].stage is Stage.QUEUED
    assert lab.wait("job") is None
    lab.pass_ms(900)
    assert "job" not in lab.world.workloads
    lab.submit("queued", "a", pods=5)
    lab.settle()
    lab.delete("queued")
    assert "queued" not in lab.world.workloads


def test_a_finished_job_stays_until_it_is_deleted_and_holds_nothing() -> None:
    lab = Lab({"a": 8}, nodes=(8,))
    lab.submit("done", command="sleep 1")
    lab.settle()
    lab.submit("next")
    lab.settle()
    assert lab["done"].outcome is Outcome.SUCCEEDED
    assert lab.facts("next").ready_at is not None
    lab.delete("done")
    assert "done" not in lab.world.workloads


def test_a_lost_node_fails_its_gangs_after_a_while_and_the_earliest_pod_is_named() -> None:
    lab = Lab()
    lab.submit("gang", pods=2, cards=8)
    lab.submit("other", "b")
    lab.settle()
    lab.do(NodePower(0, "n2", up=False))
    lab.pass_ms(39_999)
    assert lab["gang"].outcome is None
    lab.pass_ms(1)
    fault = lab["gang"].fault
    assert fault is not None
    assert (fault.code, fault.node, fault.exit_code) == (FailureCode.NODE_LOST, "n2", None)
    assert lab["other"].outcome is None
    lab.pass_ms(40_000)
    assert lab["gang"].inert


def test_a_node_that_is_back_in_time_loses_nothing() -> None:
    lab = Lab()
    lab.submit("job")
    lab.settle()
    lab.do(NodePower(0, "n1", up=False))
    lab.pass_ms(39_000)
    lab.do(NodePower(0, "n1", up=True))
    lab.pass_ms(600_000)
    assert lab["job"].outcome is None
    assert lab.admitted() == {"job"}


def test_a_pod_evicted_while_pulling_fails_its_gang_as_a_disruption() -> None:
    lab = Lab()
    lab.submit("gang", pods=2, cards=8)
    lab.pass_ms(500)
    lab.do(EvictPod(0, "gang", 1))
    facts = lab.facts("gang")
    assert facts.failure is not None
    assert (facts.failure.code, facts.failure.rank) == (FailureCode.DISRUPTION, 1)
    assert not facts.ending, "nothing ran yet, so nothing has to end"


@pytest.mark.parametrize("rank", [0, 1])
def test_faults_of_pods_that_do_not_run_are_ignored(rank: int) -> None:
    lab = Lab()
    lab.submit("job")
    lab.do(ExitPod(0, "job", rank, 1))
    lab.do(EvictPod(0, "job", rank))
    lab.settle()
    assert lab["job"].outcome is None


def test_a_preempted_gang_is_queued_again_at_its_old_place_and_never_lost() -> None:
    """Case C-13."""
    lab = Lab({"a": 32})
    lab.submit("gang", pods=4, cards=8, priority=LOW)
    lab.settle()
    created = lab.facts("gang").created_at
    lab.submit("urgent", pods=1, cards=8, priority=HIGH)
    lab.settle()
    facts = lab.facts("gang")
    assert facts.evictions == 1
    assert facts.eviction_cause is EvictionCause.HIGHER_PRIORITY
    assert facts.evicted_by == "J-urgent"
    assert facts.created_at == created
    assert facts.queued_at == facts.evicted_at
    assert facts.pods == ()
    assert facts.wait is not None
    assert lab.facts("urgent").ready_at is not None
    lab.do(ExitPod(0, "urgent", 0, 0))
    lab.settle()
    assert lab.facts("gang").ready_at is not None
    assert lab.facts("gang").evictions == 1
