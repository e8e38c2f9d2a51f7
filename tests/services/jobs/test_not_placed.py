"""Without topology-aware admission a job may hold cards that no node can give it (decision 9, V2)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clusters.backends.sandbox import driver
from clusters.models import SandboxWorld
from jobs.domain.operations import Operation
from jobs.models import Job
from jobs.services.operations import job_operate
from tests.cast import Cast
from tests.stage import Stage

QUARTER = 15 * 60


@pytest.fixture
def in_pieces(cast: Cast) -> Iterator[tuple[Stage, Job]]:
    """Every A100 node has three free cards, and a job that needs four on one of them is admitted all the same."""
    driver.touch(cast.cluster)
    world = SandboxWorld.objects.get(cluster=cast.cluster)
    SandboxWorld.objects.filter(pk=world.pk).update(header={**world.header, "topology_aware": False})
    with Stage(cast) as stage:
        for team, count in (("eng-vision-1", 2), ("eng-language-1", 2)):
            for _ in range(count):
                stage.submit(team, cards=5, card_model="a100", command="sleep infinity")
                stage.run(10)
        job = stage.submit("eng-robotics-1", cards=4, card_model="a100", command="sleep infinity")
        yield stage, job


def test_it_is_said_released_tried_three_times_and_then_held(in_pieces: tuple[Stage, Job]) -> None:
    stage, job = in_pieces
    stage.run(130)
    assert (stage.job(job).state, stage.job(job).reason_code) == ("creating", "not_placed")
    stage.run(QUARTER + 60, step=10)
    assert stage.job(job).attempt_no == 2
    stage.run(2 * (QUARTER + 120), step=10)
    held = stage.job(job)
    assert (held.state, held.reason_code, held.flags) == ("queued", "held_not_placed", ["held"])
    assert held.attempt_no == 4 and held.attempts.get(number=4).submitted_at is None
    assert list(held.attempts.order_by("number").values_list("stop_cause", flat=True)) == ["not_placed"] * 3 + [""]
    stage.run(600, step=60)
    assert stage.job(job).reason_code == "held_not_placed"
    job_operate(actor=stage.cast.actor("eng-robotics-1"), job=stage.job(job), operation=Operation.RESUME)
    stage.run(20)
    assert stage.job(job).state == "creating" and stage.job(job).flags == []
