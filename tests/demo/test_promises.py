"""What the demo promises holds at every minute of a day, for five seeds (virtual time, no database)."""

from __future__ import annotations

from collections import Counter

import pytest

from clusters.simulation.commands import Submit
from clusters.simulation.world import Spec
from console.demo.layout import A100, ASCEND, H100, TEAMS
from console.demo.played import PlayedJob
from console.demo.rehearsal import Rehearsal
from console.demo.situation import GroupSight
from jobs.domain.words import JobState
from tests.demo.house import HOUR, MINUTE, SECOND, TICK, house

OPENING = 20 * MINUTE
SAMPLES = 24 * 60


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_the_stage_stands_at_every_minute_of_a_day(seed: int) -> None:
    rehearsal = house(seed)
    rehearsal.play(rehearsal.now_ms + OPENING, TICK)
    well_filled: Counter[str] = Counter()
    broken: list[str] = []
    for minute in range(SAMPLES):
        rehearsal.play(rehearsal.now_ms + MINUTE, TICK)
        rehearsal.look_at_the_queue()
        broken += [f"minute {minute}: {what}" for what in broken_promises(rehearsal)]
        groups = rehearsal.situation(TICK).groups
        well_filled.update(name for name in (H100, A100, ASCEND) if is_well_filled(groups[name]))
        if minute % 120 == 0:
            broken += [f"minute {minute}: {team} waits" for team in TEAMS if not stranger_starts(rehearsal, team)]
    assert broken == []
    assert {name: count / SAMPLES >= 0.95 for name, count in well_filled.items()} == {
        H100: True,
        A100: True,
        ASCEND: True,
    }


def broken_promises(rehearsal: Rehearsal) -> list[str]:
    live = [job for job in rehearsal.jobs.values() if not job.is_over]
    running = [job for job in live if job.state is JobState.RUNNING]
    queued = [job for job in live if job.state is JobState.QUEUED]
    codes = {job.reason.code.value for job in queued}
    room = rehearsal.situation(TICK).groups[A100]
    promises = {
        f"{len(running)} running": len(running) >= 10,
        f"{len(queued)} queued": sum(1 for job in queued if not job.held) >= 6,
        f"codes {codes}": len(codes) >= 4,
        "nobody preempted": any(code.startswith("preempted_") for code in codes),
        "nobody held": "held" in codes,
        "no 8 split over 5 and 3": any(is_split(job) for job in queued),
        f"no free A100 node {room.blocks}": max(room.blocks) >= 8 and room.quota_free >= 8,
        f"not inside the shares {room.held}": all(room.room_within(team) >= 8 for team in ("vision", "language")),
    }
    return [what for what, kept in promises.items() if not kept]


def is_split(job: PlayedJob) -> bool:
    """Waits for 8 cards on one node while 5 and 3 are free, and at most, for a second, a lane that changes hands."""
    if job.reason.code.value != "split_over_nodes" or (job.shape.pods, job.shape.cards) != (1, 8):
        return False
    blocks = job.reason.facts["blocks"]
    return isinstance(blocks, list) and [block for block in blocks if block < 8] == [5, 3]


def is_well_filled(group: GroupSight) -> bool:
    return 0.6 <= group.held_total / group.capacity <= 0.95


def stranger_starts(rehearsal: Rehearsal, team: str) -> bool:
    """A job of a whole A100 node runs within a minute, the director doing nothing for it."""
    engine = rehearsal.engine.snapshot()
    spec = Spec(
        job_ulid="stranger",
        attempt=1,
        queue=team,
        local_queue="default",
        node_group=A100,
        priority=200,
        kind="training",
        framework="pytorch",
        image="registry.example/mine:1",
        command="",
        pods=1,
        cards_per_pod=8,
        cpu_millis=0,
        memory_bytes=0,
        grace_ms=120 * SECOND,
    )
    engine.apply(Submit(engine.now_ms, "j-stranger", spec))
    engine.run_to(engine.now_ms + MINUTE)
    return bool(engine.world.workloads["j-stranger"].runs) and (
        engine.world.workloads["j-stranger"].run.ready_ms is not None
    )


def test_preempted_and_held_jobs_are_not_always_the_same_ones() -> None:
    rehearsal = house(1)
    seen: dict[str, set[str]] = {"held": set(), "preempted": set(), "resumed": set()}
    for _ in range(3 * 24 * 4):
        rehearsal.play(rehearsal.now_ms + HOUR // 4, 15 * SECOND)
        for key, job in rehearsal.jobs.items():
            if job.state is JobState.QUEUED and job.held:
                seen["held"].add(key)
            if job.state is JobState.QUEUED and job.reason.code.value.startswith("preempted_"):
                seen["preempted"].add(key)
            if job.state is JobState.SUCCEEDED and len(job.attempt.runs) == 2:
                seen["resumed"].add(key)
    assert len(seen["held"]) >= 3
    assert len(seen["preempted"]) >= 8
    assert len(seen["resumed"]) >= 4
