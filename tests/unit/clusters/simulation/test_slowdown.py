"""Work on cut cards takes longer, by the slow-down of their node group."""

from __future__ import annotations

import pytest

from clusters.simulation.codec import world_from_dict, world_to_dict
from clusters.simulation.engine import Engine
from clusters.simulation.world import Plan
from tests.unit.clusters.simulation.lab import Lab

QUEUES = {"a": 32}


def worked(lab: Lab, name: str) -> int:
    """Milliseconds from the start of the work to its end."""
    lab.pass_ms(600_000)
    workload = lab[name]
    assert workload.ended_ms is not None
    assert workload.run.ready_ms is not None
    return workload.ended_ms - workload.run.ready_ms


@pytest.mark.parametrize(
    ("slowdown", "expected"), [(None, 100_000), (1_000, 100_000), (1_300, 130_000), (2_505, 250_500)]
)
def test_the_run_time_follows_the_slow_down(slowdown: int | None, expected: int) -> None:
    lab = Lab(QUEUES)
    lab.set_quotas(QUEUES, slowdown=slowdown)
    lab.submit("job", command="sleep 100")
    assert worked(lab, "job") == expected


def test_a_job_without_cards_is_not_slowed() -> None:
    lab = Lab(QUEUES)
    lab.set_quotas(QUEUES, slowdown=2_000)
    lab.submit("job", command="sleep 100", group=None)
    assert worked(lab, "job") == 100_000


def test_what_has_begun_keeps_its_pace_and_what_begins_later_does_not() -> None:
    lab = Lab(QUEUES)
    lab.submit("before", command="sleep 100")
    lab.settle()
    lab.set_quotas(QUEUES, slowdown=1_500)
    lab.submit("after", command="sleep 100")
    assert (worked(lab, "before"), worked(lab, "after")) == (100_000, 150_000)


def test_a_job_that_resumes_has_done_as_much_work_as_its_pace_let_it() -> None:
    lab = Lab(QUEUES)
    lab.set_quotas(QUEUES, slowdown=2_000)
    lab.submit("job", command="sleep 100", plan=Plan(resumes=True, pull_ms=0))
    lab.pass_ms(310)  # admitted, placed and running
    lab.pass_ms(80_000)  # 40 s of work
    lab.hold("job")
    lab.pass_ms(20_000)
    lab.set_quotas(QUEUES, slowdown=1_000)
    lab.resume("job")
    assert worked(lab, "job") == 60_000


def test_the_slow_down_survives_being_stored() -> None:
    lab = Lab(QUEUES)
    lab.set_quotas(QUEUES, slowdown=1_300)
    lab.submit("job", command="sleep 100")
    lab.settle()
    lab.engine = Engine(world_from_dict(world_to_dict(lab.world)))
    assert lab["job"].run.slowdown == 1_300
    assert worked(lab, "job") == 130_000
