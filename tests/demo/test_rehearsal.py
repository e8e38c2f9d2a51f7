"""A rehearsed job leaves what a real one leaves; the same seed and moment give the same play."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clusters.backends.sandbox import driver
from clusters.backends.sandbox.facts import from_ms
from clusters.contract import Outcome
from clusters.simulation.commands import EvictPod, Submit
from console.demo.layout import A100
from console.demo.played import PlayedJob
from console.demo.rehearsal import Guest
from console.demo.situation import JobSight, Operate, Request, SubmitJob
from jobs.domain.operations import Operation
from jobs.domain.runs import RunView
from jobs.domain.shape import Shape
from jobs.domain.words import JobState, Kind, Priority
from jobs.models import Job, Run
from jobs.services.operations import job_operate
from tests.cast import Cast, build_cast
from tests.demo.house import BEGIN_MS, HOUR, SECOND, house
from tests.stage import Stage

LOOK = 2
"""Seconds between two looks, in both worlds."""


def request(command: str, **changes: object) -> Request:
    values: dict[str, object] = {
        "team": "vision",
        "owner": "eng-vision-1",
        "group": A100,
        "cards": 4,
        "priority": Priority.NORMAL,
        "kind": Kind.TRAINING,
        "framework": "pytorch",
        "name": "车道线 v7",
        "image": "registry.example/mine:1",
        "command": command,
    }
    return Request(**values | changes)  # type: ignore[arg-type]


Script = tuple[Request, dict[int, Operation | str], int]
"""(job, what happens to it after so many seconds, seconds until everything is over)"""

SCRIPTS: dict[str, Script] = {
    "ends well": (request("sleep 30; exit 0"), {}, 90),
    "fails": (request("sleep 20; exit 3"), {}, 90),
    "fails and tries again": (request("sleep 20; exit 3", retry_limit=1), {}, 120),
    "is cancelled while it runs": (request("sleep 600"), {30: Operation.CANCEL}, 90),
    "is held, and goes on": (request("sleep 30"), {24: Operation.HOLD, 60: Operation.RESUME}, 150),
    "loses a pod": (request("sleep 40", cards=2), {30: "evict"}, 150),
    "needs no cards": (request("sleep 10; exit 0", group=None, cards=0, framework="command"), {}, 60),
}


def rehearsed(script: Script) -> PlayedJob:
    wanted, acts, seconds = script
    rehearsal = house(7)
    rehearsal.carry_out(SubmitJob(wanted))
    (job,) = rehearsal.jobs.values()
    for second in range(LOOK, seconds, LOOK):
        rehearsal.look(rehearsal.now_ms + LOOK * SECOND)
        match acts.get(second):
            case Operation() as operation:
                rehearsal.carry_out(Operate(job.key, operation))
            case "evict":
                rehearsal.engine.apply(EvictPod(rehearsal.now_ms, job.attempt.object_name, 0))
    return job


def real(cast: Cast, script: Script) -> Job:
    wanted, acts, seconds = script
    with Stage(cast) as stage:
        body = {key: value for key, value in wanted.body().items() if key != "team"}
        job = stage.submit(wanted.owner, **body)
        for second in range(LOOK, seconds, LOOK):
            stage.run(LOOK, step=LOOK)
            match acts.get(second):
                case Operation() as operation:
                    job_operate(actor=cast.actor(wanted.owner), job=stage.job(job), operation=operation)
                case "evict":
                    name = job.attempts.latest("number").object_name
                    driver.send(cast.cluster, EvictPod(driver.now_ms(), name, 0))
        return stage.job(job)


@pytest.mark.parametrize("title", SCRIPTS)
def test_a_rehearsed_job_leaves_the_rows_of_a_real_one(db: None, title: str) -> None:
    played, job = rehearsed(SCRIPTS[title]), real(build_cast(), SCRIPTS[title])
    assert (played.state.value, played.reason.code.value) == (job.state, job.reason_code)
    assert (played.shape.pods, played.shape.cards_per_pod) == (job.pods, job.cards_per_pod)
    assert [
        (a.number, a.end.value if a.end else "", a.is_infrastructure, a.exit_code, a.released_at is not None)
        for a in played.attempts
    ] == [
        (a.number, a.end, a.is_infrastructure, a.exit_code, a.released_at is not None)
        for a in job.attempts.order_by("number")
    ]
    assert [
        (attempt.number, run.ordinal, run.end_cause, run.cards, len(run.nodes), *known(run))
        for attempt in played.attempts
        for run in attempt.runs
    ] == [
        (attempt.number, run.ordinal, run.end_cause, run.cards, len(run.nodes), *known(run))
        for attempt in job.attempts.order_by("number")
        for run in attempt.runs.order_by("ordinal")
    ]
    told = [(event.code, event.attempt_no, event.run_ordinal, event.by_owner) for event in played.events]
    rows = job.events.order_by("id")
    assert story(told) == story([(row.code, row.attempt_no, row.run_ordinal, row.actor_id is not None) for row in rows])
    assert played.events[0].facts.keys() == job.events.earliest("id").facts.keys()


Told = tuple[str, int, int | None, bool]
"""(code, attempt, run, whether the owner did it)"""


def known(run: RunView | Run) -> tuple[bool, ...]:
    times = (run.admitted_at, run.scheduled_at, run.started_at, run.ended_at, run.released_at)
    return tuple(at is not None for at in times)


def story(events: list[Told]) -> list[Told]:
    """Without what lies between two looks: the real loop acts on one look and sees the effect at the next."""
    passing = {"starting", "pulling_image", "waiting_for_pods", "waiting_for_release"}
    return [event for event in events if event[0] not in passing]


def test_the_same_seed_gives_the_same_play() -> None:
    def play(seed: int) -> list[tuple[str, str, str, int]]:
        rehearsal = house(seed)
        rehearsal.play(rehearsal.now_ms + 6 * HOUR, 60 * SECOND)
        return [(job.key, job.request.name, job.state.value, len(job.events)) for job in rehearsal.jobs.values()]

    assert play(1) == play(1)
    assert play(1) != play(2)


def test_what_is_asked_of_a_job_that_is_not_there_does_nothing() -> None:
    rehearsal = house(1)
    for operation in Operation:
        rehearsal.carry_out(Operate("nobody", operation))
    assert rehearsal.jobs == {}


def test_guests_run_on_in_the_cluster_and_are_not_operated_on() -> None:
    sight = JobSight("mine", True, "vision", A100, 8, 1, "low", JobState.QUEUED, BEGIN_MS, run_ms=HOUR)
    rehearsal = house(1, [Guest(sight, "j-mine-1")])
    spec = request("sleep 3600", cards=8, priority=Priority.LOW)
    played = PlayedJob("mine", spec, Shape(1, 8), "", "slu-vision", from_ms(BEGIN_MS))
    played.submit()
    rehearsal.engine.apply(replace(Submit.of(BEGIN_MS, played.spec()), name="j-mine-1"))
    rehearsal.look(BEGIN_MS + 30 * SECOND)
    (seen,) = rehearsal.situation(SECOND).jobs
    assert (seen.state, seen.ends_ms is not None) == (JobState.RUNNING, True)
    rehearsal.carry_out(Operate("mine", Operation.CANCEL))
    rehearsal.look(BEGIN_MS + 2 * HOUR)
    assert rehearsal.engine.world.workloads["j-mine-1"].outcome is Outcome.SUCCEEDED
    assert rehearsal.situation(SECOND).jobs == ()
    assert rehearsal.jobs == {}


def test_director_and_rehearsal_know_no_framework_and_no_store() -> None:
    program = (
        "import sys, console.demo.rehearsal;"
        "sys.exit(', '.join({'django', 'celery', 'redis', 'psycopg'} & sys.modules.keys()) or None)"
    )
    root = Path(__file__).parents[2]
    environment = {"PYTHONPATH": f"{root}:{root / 'platform'}"}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert result.returncode == 0
