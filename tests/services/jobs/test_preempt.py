"""Preempt: the victim stays out until its beneficiary has its cards, at most 15 minutes (decision 5, V14)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent
from common.errors import InvalidInput
from jobs.domain.operations import Operation, Situation
from jobs.domain.words import JobState
from jobs.models import Job, JobEvent, Run
from jobs.selectors import reasons_of, timeline
from quotas.models import Demand
from tests.cast import Cast
from tests.faults.truth import objects, quota_problems
from tests.services.jobs.situations import (
    LEAD,
    OWNER,
    fill,
    job_in,
    operate,
    preempt,
    until,
    until_state,
)
from tests.services.support import refused
from tests.stage import Stage


def _for(stage: Stage, victim: Job, beneficiary: Job, username: str = LEAD) -> Job:
    return operate(stage, victim, Operation.PREEMPT, username, beneficiary=beneficiary.public_id)


def _soon(minutes: float) -> dict[str, str]:
    return {"until": (timezone.now() + timedelta(minutes=minutes)).isoformat()}


def _gives_way(job: Job) -> bool:
    return (job.state, job.reason_code) == ("queued", "preempted_by_person")


def _waiting(stage: Stage, cards: int = 32, username: str = OWNER, **body: Any) -> Job:
    job = stage.submit(username, card_model="h100", cards=cards, command="sleep 600", **body)
    stage.run(4)
    assert stage.job(job).state == "queued"
    return job


def test_the_beneficiary_gets_the_cards_and_the_victim_comes_back_to_its_old_place(cast: Cast) -> None:
    with Stage(cast) as stage:
        victim = fill(stage)
        behind = _waiting(stage)
        beneficiary = _waiting(stage)
        _for(stage, victim, beneficiary)
        now = until(stage, victim, _gives_way)
        assert now.flags in ([], ["stopping"]) and quota_problems() == []
        operate(stage, behind, Operation.HOLD)
        until_state(stage, beneficiary, "running")
        now = until(stage, victim, lambda job: job.rests_until is None, seconds=15)
        assert now.rests_for is None and quota_problems() == []
        operate(stage, behind, Operation.RESUME)
        stage.run(30)
        assert stage.job(victim).state == stage.job(behind).state == "queued"
        operate(stage, beneficiary, Operation.CANCEL)
        until_state(stage, victim, "running")
        assert stage.job(behind).state == "queued"
        first, second = Run.objects.filter(attempt__job=victim).order_by("ordinal")
        assert (first.end_cause, second.end_cause) == ("held", "")


def test_two_victims_stay_out_until_the_large_job_that_needs_both_is_admitted(cast: Cast) -> None:
    """V14: otherwise the first one would be back within seconds, and its work lost for nothing."""
    with Stage(cast) as stage:
        victims = [fill(stage, cards=16), fill(stage, cards=16)]
        beneficiary = _waiting(stage)
        _for(stage, victims[0], beneficiary)
        until(stage, victims[0], _gives_way)
        stage.run(60)
        assert _gives_way(stage.job(victims[0])) and stage.job(beneficiary).state == "queued"
        assert quota_problems() == []
        _for(stage, victims[1], beneficiary, "admin")
        until_state(stage, beneficiary, "running")
        for victim in victims:
            until(stage, victim, lambda job: job.rests_until is None, seconds=15)
        assert {raw.ulid for raw in objects() if raw.holds_quota} == {beneficiary.public_id}


def test_it_says_by_whom_for_whom_and_until_when_and_is_not_held(cast: Cast) -> None:
    with Stage(cast) as stage:
        victim = fill(stage)
        beneficiary = _waiting(stage, name="llm 7b")
        before = timezone.now()
        _for(stage, victim, beneficiary)
        now = until(stage, victim, _gives_way)
        assert (now.held, now.is_held) == (False, False)
        reason = reasons_of(cast.actor(OWNER), [now])[now.pk]
        assert (reason.facts["by"], reason.facts["by_name"]) == (beneficiary.public_id, "llm 7b")
        assert reason.facts["by_person"] == LEAD
        assert reason.facts["until"] == now.rests_until.isoformat()
        assert now.rests_until == before + timedelta(minutes=15)
        assert Demand.objects.get(job_ulid=victim.public_id).held
        audit = AuditEvent.objects.get(action="job.preempt")
        assert audit.detail["by"] == beneficiary.public_id and audit.detail["effect"] == "gives_way"
        told = [entry for entry in timeline(viewer=cast.actor(OWNER), job=now) if entry.code == "asked_preempt"]
        assert len(told) == 1 and "llm 7b" in told[0].text and told[0].actor == LEAD


def test_without_a_beneficiary_it_is_back_at_the_end_of_the_time(cast: Cast) -> None:
    with Stage(cast) as stage:
        victim = fill(stage)
        operate(stage, victim, Operation.PREEMPT, LEAD, **_soon(5))
        until(stage, victim, _gives_way)
        stage.run(270, 10)
        assert _gives_way(stage.job(victim))
        until_state(stage, victim, "running", seconds=60)


def test_after_a_quarter_of_an_hour_it_is_back_whatever_became_of_the_beneficiary(cast: Cast) -> None:
    with Stage(cast) as stage:
        blocker = fill(stage, cards=8)
        victim = fill(stage, cards=8)
        beneficiary = _waiting(stage)
        begun = timezone.now()
        _for(stage, victim, beneficiary)
        until(stage, victim, _gives_way)
        now = until_state(stage, victim, "creating", "running", seconds=1000, step=5)
        assert timedelta(minutes=15) <= timezone.now() - begun <= timedelta(minutes=15, seconds=20)
        assert now.rests_until is None and stage.job(beneficiary).state == "queued"
        assert stage.job(blocker).state == "running"


@pytest.mark.parametrize("operation", [Operation.CANCEL, Operation.HOLD])
def test_a_beneficiary_that_waits_no_more_lets_its_victim_back(cast: Cast, operation: Operation) -> None:
    with Stage(cast) as stage:
        fill(stage, cards=24)
        victim = fill(stage, cards=8)
        beneficiary = _waiting(stage)
        _for(stage, victim, beneficiary)
        until(stage, victim, _gives_way)
        operate(stage, beneficiary, operation)
        until_state(stage, victim, "running", seconds=40)


def test_a_beneficiary_that_waits_no_more_when_the_loop_looks_costs_the_victim_nothing(cast: Cast) -> None:
    with Stage(cast) as stage:
        fill(stage, cards=16)
        victim = fill(stage, cards=16)
        other = Job.objects.exclude(pk=victim.pk).get()
        beneficiary = _waiting(stage, cards=16)
        _for(stage, victim, beneficiary)
        operate(stage, beneficiary, Operation.CANCEL)
        stage.run(20)
        now = stage.job(victim)
        assert (now.state, now.rests_until) == ("running", None)
        assert Run.objects.filter(attempt__job=victim).count() == 1
        assert stage.job(other).state == "running"


def test_one_that_is_being_created_gives_way_too(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.CREATING, resting=True))
        until(stage, job, _gives_way)
        assert quota_problems() == []
        until_state(stage, job, "running", seconds=900, step=10)


def test_a_hold_outlives_the_rest_and_a_resume_before_its_end_goes_on_giving_way(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.QUEUED, held=True, resting=True))
        until(stage, job, lambda now: now.reason_code == "held")
        operate(stage, job, Operation.RESUME)
        now = until(stage, job, _gives_way)
        assert (now.is_held, now.acted_by) == (False, None)
        reason = reasons_of(cast.actor(OWNER), [now])[now.pk]
        assert "by_person" not in reason.facts
        operate(stage, job, Operation.HOLD)
        stage.run(900, 10)
        now = stage.job(job)
        assert (now.state, now.flags, now.rests_until) == ("queued", ["held"], None)
        operate(stage, job, Operation.RESUME)
        until_state(stage, job, "running")


def test_who_may_preempt_may_also_let_it_back_before_the_time(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.QUEUED, resting=True))
        stage.run(10)
        operate(stage, job, Operation.RESUME, LEAD)
        until_state(stage, job, "running", seconds=30)


def test_one_that_gives_way_can_be_cancelled(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.QUEUED, resting=True))
        operate(stage, job, Operation.CANCEL)
        now = until_state(stage, job, "cancelled")
        assert now.rests_until is None
        assert not Demand.objects.filter(job_ulid=job.public_id).exists()


def test_the_next_attempt_of_one_that_failed_meanwhile_waits_for_the_end_of_the_rest(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.RETRYING, resting=True))
        now = until(stage, job, _gives_way)
        stage.run(60)
        assert not [raw for raw in objects() if raw.ulid == job.public_id and raw.attempt == 2]
        assert quota_problems() == []
        rests_until = now.rests_until
        now = until_state(stage, job, "failed", seconds=900, step=10)
        assert now.attempt_no == 2 and now.started_at is not None
        second = Run.objects.get(attempt__job=job, attempt__number=2)
        assert rests_until is not None and second.started_at is not None and second.started_at > rests_until


def test_one_that_ended_by_itself_gives_way_to_nobody(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(OWNER, command="sleep 10; exit 0"), "running", step=1)
        preempt(stage, job)
        stage.run(20, 20)
        now = until_state(stage, job, "succeeded")
        assert now.rests_until is None
        stage.run(20)
        operate(stage, job, Operation.RESTART)
        until_state(stage, job, "running")


def _problems(stage: Stage, victim: Job, username: str = LEAD, **data: Any) -> dict[str, str]:
    error = refused(lambda: operate(stage, victim, Operation.PREEMPT, username, **data), InvalidInput)
    assert isinstance(error, InvalidInput)
    return {problem.attr: problem.code for problem in error.problems}


def test_what_is_named_must_make_sense_and_each_problem_is_at_its_field(cast: Cast) -> None:
    with Stage(cast) as stage:
        victim = fill(stage, cards=32)
        waiting, running = _waiting(stage), until_state(stage, stage.submit(OWNER, card_model="a100"), "running")
        foreign = stage.submit("eng-language-1", card_model="h100", cards=32)
        elsewhere = stage.submit(OWNER, card_model="a100", cards=32, command="sleep 600")
        held = _waiting(stage)
        operate(stage, held, Operation.HOLD)
        stage.run(4)
        assert _problems(stage, victim) == {"beneficiary": "required"}
        assert _problems(stage, victim, beneficiary="01ARZ3NDEKTSV4RRFFQ69G5FAV") == {"beneficiary": "unknown_job"}
        assert _problems(stage, victim, beneficiary=foreign.public_id) == {"beneficiary": "unknown_job"}
        assert _problems(stage, victim, beneficiary=7) == {"beneficiary": "not_text"}
        assert _problems(stage, victim, beneficiary=running.public_id) == {"beneficiary": "not_waiting"}
        assert _problems(stage, victim, beneficiary=held.public_id) == {"beneficiary": "not_waiting"}
        assert _problems(stage, victim, beneficiary=elsewhere.public_id) == {"beneficiary": "other_group"}
        for typed in ("soon", "2026-03-12", "2026-13-12T10:00:00Z", "2026-03-12T10:00:00"):
            assert _problems(stage, victim, until=typed) == {"until": "not_a_time"}
        for minutes in (-1, 0, 15.1):
            assert _problems(stage, victim, **_soon(minutes)) == {"until": "out_of_range"}
        assert _problems(stage, victim, beneficiary="x", until="x") == {
            "beneficiary": "unknown_job",
            "until": "not_a_time",
        }
        operate(stage, victim, Operation.PREEMPT, "admin", beneficiary=foreign.public_id, **_soon(15))
        assert JobEvent.objects.filter(job=victim, code="asked_preempt").count() == 1
        assert stage.job(waiting).state == "queued"


def test_the_name_of_another_teams_job_is_told_to_nobody_who_may_not_see_it(cast: Cast) -> None:
    with Stage(cast) as stage:
        victim = fill(stage)
        foreign = stage.submit("eng-language-1", card_model="h100", cards=32, name="secret", command="sleep 600")
        stage.run(4)
        _for(stage, victim, foreign, "admin")
        now = until(stage, victim, _gives_way)
        for username, sees in ((OWNER, False), (LEAD, False), ("admin", True)):
            viewer = cast.actor(username)
            reason = reasons_of(viewer, [now])[now.pk]
            story = " ".join(f"{entry.text} {entry.facts}" for entry in timeline(viewer=viewer, job=now))
            for told in (f"{reason.text} {reason.facts}", story):
                assert ("secret" in told) is sees
                assert (foreign.public_id in told) is sees
