"""Five and three: the choreography stands up again after whatever people and machines do to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clusters.simulation.commands import Delete, EvictPod, NodePower, Submit
from clusters.simulation.world import Spec
from console.demo.layout import A100, H100
from console.demo.rehearsal import Guest, Rehearsal
from console.demo.situation import JobSight, Operate
from jobs.domain.operations import Operation
from jobs.domain.words import JobState
from tests.demo.house import BEGIN_MS, MINUTE, SECOND, TICK, house

OPENING = 20 * MINUTE
NAME = "j-mine-1"


def stranger(team: str, cards: int, group: str = H100, pods: int = 1) -> Guest:
    """A person's own job, to be sent by :func:`send`."""
    sight = JobSight("mine", False, team, group, cards, pods, "normal", JobState.QUEUED, BEGIN_MS + OPENING)
    return Guest(sight, NAME)


def send(rehearsal: Rehearsal, guest: Guest, command: str) -> None:
    sight = guest.sight
    spec = Spec(
        job_ulid=sight.key,
        attempt=1,
        queue=sight.team,
        local_queue="default",
        node_group=sight.group,
        priority=200,
        kind="training",
        framework="pytorch",
        image="registry.example/mine:1",
        command=command,
        pods=sight.pods,
        cards_per_pod=sight.cards // sight.pods,
        cpu_millis=0,
        memory_bytes=0,
        grace_ms=120 * SECOND,
    )
    rehearsal.engine.apply(Submit(rehearsal.now_ms, NAME, spec))


def opened(seed: int, *guests: Guest, after_minutes: int = 0) -> Rehearsal:
    rehearsal = house(seed, guests)
    rehearsal.play(BEGIN_MS + OPENING + after_minutes * MINUTE, TICK)
    assert stands(rehearsal)
    return rehearsal


def stands(rehearsal: Rehearsal) -> bool:
    """Five and three are free, and a job of eight waits for them."""
    if rehearsal.situation(TICK).groups[H100].blocks != (5, 3):
        return False
    rehearsal.look_at_the_queue()
    codes = {job.reason.code.value for job in rehearsal.jobs.values() if job.request.cards == 8 and not job.is_over}
    return "split_over_nodes" in codes


def minutes_until(rehearsal: Rehearsal, condition: Callable[[], bool], limit: int) -> float:
    begun = rehearsal.now_ms
    while not condition():
        assert rehearsal.now_ms < begun + limit * MINUTE, rehearsal.situation(TICK).groups
        rehearsal.play(rehearsal.now_ms + TICK, TICK)
    return (rehearsal.now_ms - begun) / MINUTE


def runs_undisturbed(rehearsal: Rehearsal) -> bool:
    """The person's own job still has its first run."""
    (run,) = rehearsal.engine.world.workloads[NAME].runs
    return run.ready_ms is not None and run.told_ms is None


@pytest.mark.parametrize("team", ["vision", "language", "robotics"])
@pytest.mark.parametrize("cards", [1, 2, 3, 4, 5])
def test_it_stands_again_while_a_person_uses_the_free_cards(team: str, cards: int) -> None:
    guest = stranger(team, cards)
    rehearsal = opened(1, guest)
    send(rehearsal, guest, "sleep 3600")
    rehearsal.look(rehearsal.now_ms + 30 * SECOND)
    assert not stands(rehearsal)
    minutes_until(rehearsal, lambda: stands(rehearsal), limit=4)
    rehearsal.play(rehearsal.now_ms + 40 * MINUTE, TICK)
    assert stands(rehearsal)
    assert runs_undisturbed(rehearsal)


@pytest.mark.parametrize("cards", [2, 5, 8])
def test_it_stands_again_after_a_person_has_left(cards: int) -> None:
    guest = stranger("vision", cards)
    rehearsal = opened(2, guest)
    send(rehearsal, guest, "sleep 600")
    rehearsal.play(rehearsal.now_ms + 12 * MINUTE, TICK)
    rehearsal.engine.apply(Delete(rehearsal.now_ms, NAME, 0))
    minutes_until(rehearsal, lambda: stands(rehearsal), limit=6)


@pytest.mark.parametrize("team", ["vision", "language", "robotics"])
@pytest.mark.parametrize("group", [H100, A100, "ascend-910b"])
@pytest.mark.parametrize("after_minutes", [0, 200])
def test_a_person_with_a_job_of_eight_starts_within_a_minute_in_every_group(
    team: str, group: str, after_minutes: int
) -> None:
    guest = stranger(team, 8, group)
    rehearsal = opened(1, guest, after_minutes=after_minutes)
    send(rehearsal, guest, "sleep 3600")
    minutes = minutes_until(rehearsal, lambda: rehearsal.engine.world.workloads[NAME].stage.value == "admitted", 1)
    rehearsal.play(rehearsal.now_ms + round((1 - minutes) * MINUTE), TICK)
    assert runs_undisturbed(rehearsal)
    minutes_until(rehearsal, lambda: stands(rehearsal), limit=6)
    rehearsal.play(rehearsal.now_ms + 40 * MINUTE, TICK)
    assert runs_undisturbed(rehearsal)


def test_it_goes_on_while_a_person_waits_for_more_than_a_node() -> None:
    guest = stranger("vision", 16, pods=2)
    rehearsal = opened(1, guest)
    send(rehearsal, guest, "sleep 3600")
    bumped = 0
    for _ in range(6 * 4):
        rehearsal.play(rehearsal.now_ms + 15 * MINUTE, TICK)
        bumped = sum(1 for job in rehearsal.jobs.values() for run in job.attempt.runs if run.was_evicted)
        assert stands(rehearsal)
    assert bumped >= 4


def test_it_stands_again_after_a_node_was_lost_and_came_back() -> None:
    rehearsal = opened(4)
    rehearsal.engine.apply(NodePower(rehearsal.now_ms, "h100-03", up=False))
    rehearsal.play(rehearsal.now_ms + 10 * MINUTE, TICK)
    rehearsal.engine.apply(NodePower(rehearsal.now_ms, "h100-03", up=True))
    minutes_until(rehearsal, lambda: stands(rehearsal), limit=10)


def test_it_stands_again_after_everything_on_the_group_was_cancelled() -> None:
    rehearsal = opened(5)
    for job in list(rehearsal.jobs.values()):
        if job.request.group == H100 and not job.is_over:
            rehearsal.carry_out(Operate(job.key, Operation.CANCEL))
    minutes_until(rehearsal, lambda: stands(rehearsal), limit=10)


def test_it_stands_again_after_what_stands_still_was_evicted() -> None:
    rehearsal = opened(1)
    for name, workload in list(rehearsal.engine.world.workloads.items()):
        if workload.spec.node_group == H100 and workload.spec.cards in (3, 5) and workload.run.ready_ms is not None:
            rehearsal.engine.apply(EvictPod(rehearsal.now_ms, name, 0))
    minutes_until(rehearsal, lambda: stands(rehearsal), limit=6)


def test_somebody_preempted_waits_again_soon_after_all_of_them_were_cancelled() -> None:
    def preempted() -> list[str]:
        return [
            key
            for key, job in rehearsal.jobs.items()
            if job.state is JobState.QUEUED and job.reason.code.value.startswith("preempted_")
        ]

    rehearsal = opened(2)
    for key in preempted():
        rehearsal.carry_out(Operate(key, Operation.CANCEL))
    minutes_until(rehearsal, lambda: bool(preempted()), limit=6 * 60)
