"""Two workers at the same job, and people who ask for something while a worker is in the middle of it.

A worker that stalls is played in one process: at a fault point, others do their work for longer than its lease,
then it goes on as if nothing had happened (R22: leases are hints, the token is law).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from clusters.models import SandboxWorld
from clusters.sync import cluster_sync
from common.errors import DomainError
from jobs.domain.operations import Operation
from jobs.logs import collect_logs
from jobs.models import Attempt, Job, JobEvent, JobSync, Run
from jobs.reconcile.claims import claim_due
from jobs.reconcile.load import Loaded, load
from jobs.reconcile.loop import _keep, reconcile_jobs, reconcile_loaded, sweep
from jobs.reconcile.writeback import Outcome, write_back
from jobs.services.operations import job_operate
from jobs.services.submit import job_submit
from tests.cast import Cast, build_cast
from tests.faults.invariants import at_rest
from tests.faults.recorder import call_witness
from tests.faults.rehearsal import OWNER, Rehearsal, Report, Step, rehearse
from tests.faults.stories import STORIES, Story, rings, submits, waits
from tests.faults.truth import objects, quota_problems
from tests.stage import BODY, Stage


@pytest.fixture
def cast(db: None) -> Cast:
    call_witness()
    return build_cast()


def outside_a_transaction(point: str) -> bool:
    """Points of a worker's step at which it holds no lock and no transaction."""
    return point in {"claim.after", "writeback.before"} or ".call." in point


def _check(report: Report) -> None:
    shown = "\n".join(report.problems[:25])
    assert not report.problems, f"{len(report.problems)} problems in {report.faults} plays:\n{shown}"
    assert report.faults >= 5


# --------------------------------------------------------------------------- a worker that stalls


def stall(stage: Rehearsal, point: str) -> None:
    """Longer than the lease; the others go on meanwhile."""
    for seconds in (31, 2, 5, 5):
        stage.one_pass(seconds)


CANNOT_STALL = ("hold", "meanwhile")
"""Stories that ask for something in a state that is over after a stall of half a minute."""


@pytest.mark.parametrize(
    "story", [s for s in STORIES if not any(word in s.name for word in CANNOT_STALL)], ids=lambda story: story.name
)
def test_a_worker_that_wakes_up_after_its_lease_changes_nothing(cast: Cast, story: Story) -> None:
    report = rehearse(
        cast,
        story.name,
        story.body,
        story.prologue,
        story.steps,
        happens=stall,
        at=outside_a_transaction,
        finale=story.finale,
    )
    _check(report)


def test_a_write_back_under_a_lost_claim_is_dropped(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 600")
        stage.run(4)
        JobSync.objects.update(due_at=timezone.now())
        claim = claim_due(timezone.now(), 10)
        (loaded,) = load(claim.job_ids)
        assert isinstance(loaded, Loaded)
        stage.run(60, 5)  # the lease has run out, another worker has moved the job on
        before = list(Job.objects.values()), list(Attempt.objects.values()), JobEvent.objects.count()
        assert write_back(claim, loaded, _keep(loaded), Outcome(error="late"), timezone.now()) is False
        reconcile_loaded(claim, [loaded])
        assert (list(Job.objects.values()), list(Attempt.objects.values()), JobEvent.objects.count()) == before
        assert stage.job(job).state == "running"
        assert not JobSync.objects.exclude(last_error="").exists()


def test_jobs_under_a_claim_are_left_to_it_until_its_lease_ends(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit()
        claim = claim_due(timezone.now(), 10)
        assert claim.job_ids == (job.pk,)
        assert claim_due(timezone.now(), 10).job_ids == ()
        assert reconcile_jobs([job.pk]) == 0
        stage._clock.shift(timedelta(seconds=29))
        assert sweep() == 0
        stage._clock.shift(timedelta(seconds=2))
        assert sweep() == 1


# --------------------------------------------------------------------------- people in the middle of a step


def cancels(stage: Rehearsal, point: str) -> None:
    _ask(stage, Operation.CANCEL)


def holds(stage: Rehearsal, point: str) -> None:
    _ask(stage, Operation.HOLD)


def holds_and_resumes(stage: Rehearsal, point: str) -> None:
    _ask(stage, Operation.HOLD)
    _ask(stage, Operation.RESUME)


def _ask(stage: Rehearsal, operation: Operation) -> None:
    try:
        stage.operate(operation, stage.job().state)
    except DomainError as refusal:
        assert refusal.code in {"already_ended", "not_held"}


def resumes() -> Step:
    def resume(stage: Rehearsal) -> None:
        if stage.job().held and not stage.job().ended_at:
            _ask(stage, Operation.RESUME)

    return Step("resume", resume)


IN_A_HURRY = Story(
    "run, fail, retry once, end",
    prologue=(submits("failed", "cancelled"),),
    steps=(rings(), *waits(1, 16, 5, 1, 16, 5)),
    command="sleep 2; exit 3",
)


@pytest.mark.parametrize("happens", [cancels, holds, holds_and_resumes], ids=lambda happens: happens.__name__)
def test_whatever_is_asked_in_the_middle_of_a_step_is_done(cast: Cast, happens: object) -> None:
    body = {**IN_A_HURRY.body, "retry_limit": 1}
    finale = (resumes(), *waits(1, 20, 5, 1, 20, 5))
    report = rehearse(
        cast,
        IN_A_HURRY.name,
        body,
        IN_A_HURRY.prologue,
        IN_A_HURRY.steps,
        happens=happens,  # type: ignore[arg-type]
        at=outside_a_transaction,
        finale=finale,
    )
    _check(report)


def test_a_hold_between_the_look_and_the_retry_is_kept_in_the_demand(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 2; exit 3", retry_limit=1)
        while stage.job(job).state != "running":
            stage.run(1, 1)
        stage._clock.shift(timedelta(seconds=3))
        cluster_sync(cast.cluster)
        claim = claim_due(timezone.now(), 10)
        (loaded,) = load(claim.job_ids)
        assert isinstance(loaded, Loaded)
        job_operate(actor=cast.actor(OWNER), job=stage.job(job), operation=Operation.HOLD)
        reconcile_loaded(claim, [loaded])
        assert stage.job(job).attempt_no == 2
        assert quota_problems() == []


# --------------------------------------------------------------------------- two workers in two threads

JOBS = 24


@pytest.fixture
def open_cast(transactional_db: None) -> Cast:
    return build_cast()


def test_two_workers_at_the_same_jobs_make_no_object_twice(open_cast: Cast) -> None:
    actor = open_cast.actor(OWNER)
    for number in range(JOBS):
        command = f"sleep {number % 3}; exit {number % 2}"
        job_submit(actor=actor, data={**BODY, "cards": number % 3, "command": command})
    ids = list(Job.objects.values_list("pk", flat=True))
    with time_machine.travel(timezone.now(), tick=False) as clock, ThreadPoolExecutor(2) as pool:
        for _ in range(60):
            clock.shift(timedelta(seconds=2))
            cluster_sync(open_cast.cluster)
            _in_both(pool, lambda number: (sweep(), reconcile_jobs(ids if number else ids[::-1])))
            collect_logs()
            live = Counter((raw.ulid, raw.attempt) for raw in objects())
            assert not live or max(live.values()) == 1
            if at_rest():
                break
        _in_both(pool, lambda _number: connection.close())
    assert at_rest()
    assert {job.state for job in Job.objects.all()} == {"succeeded", "failed"}
    assert Attempt.objects.count() == JOBS
    assert SandboxWorld.objects.get().header["sequence"] == JOBS
    assert Run.objects.count() == JOBS
    told = Counter(JobEvent.objects.values_list("job", "attempt_no", "code"))
    assert max(told.values()) == 1


def _in_both(pool: ThreadPoolExecutor, task: Callable[[int], object]) -> None:
    """The task in two threads that start together; the barrier keeps one thread from taking both."""
    start = Barrier(2)

    def one(number: int) -> None:
        start.wait(timeout=30)
        task(number)

    list(pool.map(one, range(2)))
