"""Jobs and objects whose names look alike never get mixed up (case C-66)."""

from __future__ import annotations

from jobs.domain.operations import Operation
from jobs.logs import read_logs
from jobs.models import Attempt, Job
from tests.cast import Cast
from tests.faults.truth import objects
from tests.services.jobs.situations import operate, until_state
from tests.stage import Stage

NAMES = ("exp-1", "exp-11", "exp", "exp-1-1", "EXP-1", "exp 1")


def _running(stage: Stage) -> dict[str, Job]:
    jobs = {name: stage.submit(name=name, cards=2, command="sleep 600") for name in NAMES}
    return {name: until_state(stage, job, "running") for name, job in jobs.items()}


def test_stopping_one_leaves_its_neighbours_alone(cast: Cast) -> None:
    with Stage(cast) as stage:
        jobs = _running(stage)
        operate(stage, jobs["exp-1"], Operation.CANCEL)
        until_state(stage, jobs["exp-1"], "cancelled")
        stage.run(10)
        others = [job for name, job in jobs.items() if name != "exp-1"]
        assert {stage.job(job).state for job in others} == {"running"}
        assert {raw.ulid for raw in objects()} == {job.public_id for job in others}


def test_each_has_the_log_of_its_own_pods(cast: Cast) -> None:
    with Stage(cast) as stage:
        jobs = _running(stage)
        stage.run(60, 10)
        for job in jobs.values():
            attempt = Attempt.objects.get(job=job)
            pods = {line.pod for line in read_logs(attempt).lines}
            assert pods == {f"{attempt.object_name}-0"}


def test_names_of_objects_differ_even_where_the_typed_ones_do_not(cast: Cast) -> None:
    with Stage(cast) as stage:
        for _ in range(5):
            stage.submit(name="exp", cards=1)
    names = list(Attempt.objects.values_list("object_name", flat=True))
    assert len(set(names)) == len(names)
    assert not [a for a in names for b in names if a != b and b.startswith(a)]
