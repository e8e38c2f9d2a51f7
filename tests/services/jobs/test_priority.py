"""Another priority for a live job: up to one's maximum, with a reason for urgent, and kept true on the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEvent
from clusters.backends.sandbox import driver
from clusters.simulation.commands import SetPriority
from common.errors import InvalidInput
from jobs.domain.operations import Operation, Situation
from jobs.domain.words import JobState
from jobs.models import Attempt, Job, JobEvent
from tests.cast import Cast
from tests.faults.truth import objects, quota_problems, rows
from tests.services.jobs.situations import LEAD, OWNER, fill, job_in, operate, until, until_state
from tests.services.support import refused
from tests.stage import Stage


def _ask(stage: Stage, job: Job, priority: Any, username: str = OWNER, **more: Any) -> Job:
    return operate(stage, job, Operation.PRIORITY, username, priority=priority, **more)


def _on_cluster(job: Job) -> list[int]:
    return [raw.data["spec"]["priority"] for raw in objects() if raw.ulid == job.public_id]


def _waiting(stage: Stage, cards: int = 32) -> Job:
    job = stage.submit(OWNER, card_model="h100", cards=cards, command="sleep 600")
    stage.run(4)
    return job


def test_the_order_of_waiting_follows_and_the_time_in_the_queue_is_kept(cast: Cast) -> None:
    with Stage(cast) as stage:
        blocker = fill(stage)
        first, second = _waiting(stage), _waiting(stage)
        _ask(stage, first, "low")
        stage.run(6)
        assert (_on_cluster(first), _on_cluster(second)) == ([100], [200])
        _ask(stage, first, "normal")
        stage.run(6)
        assert quota_problems() == []
        operate(stage, blocker, Operation.CANCEL, "eng-vision-2")
        until_state(stage, first, "running")
        assert stage.job(second).state == "queued"
        assert Attempt.objects.filter(job=first).count() == 1


def test_one_that_is_raised_interrupts_lower_work_of_its_team(cast: Cast) -> None:
    with Stage(cast) as stage:
        fill(stage, cards=24)
        lower = fill(stage, cards=8)
        job = _waiting(stage, cards=8)
        _ask(stage, job, "high", LEAD)
        until_state(stage, job, "running")
        now = stage.job(lower)
        assert (now.state, now.reason_code) == ("queued", "preempted_higher_priority")


def test_one_that_runs_goes_on_and_is_interrupted_more_easily(cast: Cast) -> None:
    with Stage(cast) as stage:
        fill(stage, cards=24)
        runs = fill(stage, cards=8)
        job = _waiting(stage, cards=8)
        _ask(stage, runs, "low", "eng-vision-2")
        until_state(stage, job, "running")
        assert stage.job(runs).reason_code == "preempted_higher_priority"


def test_the_next_attempt_has_it_too(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(OWNER, command="sleep 20; exit 3", retry_limit=1)
        until_state(stage, job, "running", step=1)
        _ask(stage, job, "low")
        until(stage, job, lambda now: now.attempt_no == 2)
        stage.run(6)
        assert _on_cluster(job)[-1] == 100


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.CREATING, JobState.RUNNING, JobState.RETRYING])
def test_the_object_gets_it_in_every_live_state(cast: Cast, state: JobState) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(state))
        _ask(stage, job, "low")
        stage.run(8)
        newest = [raw for raw in objects() if raw.ulid == job.public_id][-1]
        assert newest.data["spec"]["priority"] == 100 and quota_problems() == []


def test_a_held_job_keeps_it_for_when_it_is_resumed(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.QUEUED, held=True))
        stage.run(6)
        _ask(stage, job, "low")
        stage.run(12)
        assert _on_cluster(job) == [100] and stage.job(job).flags == ["held"]


def test_one_that_somebody_changed_on_the_cluster_is_put_right(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.RUNNING))
        name = Attempt.objects.get(job=job).object_name
        driver.send(cast.cluster, SetPriority(driver.now_ms(), name, 400))
        stage.run(12)
        assert _on_cluster(job) == [200]


def _problems(stage: Stage, job: Job, priority: Any, username: str = OWNER, **more: Any) -> dict[str, str]:
    error = refused(lambda: _ask(stage, job, priority, username, **more), InvalidInput)
    assert isinstance(error, InvalidInput)
    return {problem.attr: problem.code for problem in error.problems}


def test_nobody_goes_above_their_maximum_and_urgent_needs_a_reason(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = _waiting(stage)
        assert _problems(stage, job, "high") == {"priority": "above_maximum"}
        assert _problems(stage, job, "urgent", priority_reason="please") == {"priority": "above_maximum"}
        assert _problems(stage, job, "highest") == {"priority": "unknown_choice"}
        assert _problems(stage, job, None) == {"priority": "required"}
        assert _problems(stage, job, ["high"]) == {"priority": "unknown_choice"}
        for username in (LEAD, "admin"):
            assert _problems(stage, job, "urgent", username) == {"priority_reason": "required"}
            assert _problems(stage, job, "urgent", username, priority_reason="  ") == {"priority_reason": "required"}
        _ask(stage, job, "high", LEAD)
        _ask(stage, job, "urgent", "admin", priority_reason="paper deadline")
        _ask(stage, job, "low")
        assert stage.job(job).priority == "low"


def test_the_reason_of_an_urgent_job_is_kept_with_who_gave_it(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = _waiting(stage)
        _ask(stage, job, "urgent", LEAD, priority_reason="paper deadline")
        audit = AuditEvent.objects.get(action="job.priority")
        facts = {"from": "normal", "to": "urgent", "reason": "paper deadline"}
        assert (audit.actor_name, {name: audit.detail[name] for name in facts}) == (LEAD, facts)
        event = JobEvent.objects.get(job=job, code="asked_priority")
        assert event.facts == facts
        _ask(stage, job, "urgent", OWNER)
        assert AuditEvent.objects.filter(action="job.priority").count() == 1, (
            "it is urgent already: nothing is asked for"
        )


def test_a_change_is_asked_of_the_cluster_once(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.RUNNING))
        _ask(stage, job, "low")
        with_command = "SELECT count(*) FROM clusters_sandboxcommand WHERE payload->>'kind' = 'set_priority'"
        asked = 0
        for _ in range(10):
            stage.run(2, 2)
            asked += rows(with_command)[0][0]
        assert asked == 1
