"""Cancel, hold, resume and restart carried through the loop to the cluster and back."""

from __future__ import annotations

import pytest

from accounts.models import AuditEvent
from clusters.models import SandboxObject
from common.errors import DomainError
from jobs.domain.operations import Operation, Situation
from jobs.domain.words import JobState
from jobs.models import Attempt, Job, JobEvent, JobSync, Run
from jobs.selectors import reasons_of
from quotas.models import Demand
from quotas.selectors import quota_rows
from tests.cast import Cast
from tests.faults.truth import objects, quota_problems
from tests.services.jobs.situations import OWNER, fill, job_in, operate, until, until_state
from tests.stage import Stage

LIVE = [JobState.QUEUED, JobState.CREATING, JobState.RUNNING, JobState.RETRYING]


def _acts(job: Job) -> list[str]:
    rows = AuditEvent.objects.filter(target_id=job.public_id).order_by("pk")
    return [action.removeprefix("job.") for action in rows.values_list("action", flat=True)]


def _object_exists(job: Job) -> bool:
    return any(raw.ulid == job.public_id for raw in objects())


def _held_cards(cast: Cast, group: str = "h100", team: str = "vision") -> int:
    rows = quota_rows(viewer=cast.actor("admin"))
    return next(r.used + r.reserved for r in rows if (r.team_slug, r.node_group) == (team, group))


def _settled(job: Job) -> bool:
    """Nothing is left to do for the job."""
    sync = JobSync.objects.get(job=job)
    return sync.due_at is None and sync.token == ""


# --------------------------------------------------------------------------- cancel


@pytest.mark.parametrize("held", [False, True], ids=["", "held"])
@pytest.mark.parametrize("state", LIVE)
def test_cancel_ends_as_cancelled_when_nothing_is_left_on_the_cluster(cast: Cast, state: JobState, held: bool) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(state, held=held))
        operate(stage, job, Operation.CANCEL, "lead-vision")
        seen = set()
        while stage.job(job).state != "cancelled":
            stage.run(2, 2)
            now = stage.job(job)
            assert quota_problems() == []
            if now.state != "cancelled":
                seen.add((now.state in {s.value for s in LIVE}, "stopping" in now.flags, now.reason_code))
        assert seen <= {(True, True, "cancelling")}
        assert not [raw for raw in objects() if raw.ulid == job.public_id and not raw.finished]
        until(stage, job, _settled)
        assert not _object_exists(job)
        now = stage.job(job)
        assert (now.flags, now.reason_code) == ([], "cancelled_by_person")
        assert now.ended_at is not None
        reason = reasons_of(cast.actor(OWNER), [now])[job.pk]
        assert reason.facts["by_person"] == "lead-vision" and "lead-vision" in reason.text
        assert not Demand.objects.filter(job_ulid=job.public_id).exists()
        attempt = Attempt.objects.filter(job=job).order_by("number").last()
        assert attempt is not None and attempt.end == "stopped" and attempt.released_at is not None
        assert not Run.objects.filter(attempt__job=job, ended_at=None).exists()
        assert _acts(job) == ["submit", *(["hold"] if held else []), "cancel"]
        stage.run(30, 10)
        assert stage.job(job).state == "cancelled"


def test_cancel_before_anything_was_sent_makes_no_object(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit()
        operate(stage, job, Operation.CANCEL)
        until_state(stage, job, "cancelled")
        assert not _object_exists(job)
        assert stage.job(job).started_at is None


def test_cards_are_free_at_once_while_the_pods_of_a_cancelled_job_still_end(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.RUNNING))
        assert _held_cards(cast) == 8
        operate(stage, job, Operation.CANCEL)
        stage.run(2, 1)
        assert _held_cards(cast) == 0 and quota_problems() == []


def test_a_job_that_ended_before_its_cancel_reached_it_keeps_its_own_end(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 10; exit 0"), "running", step=1)
        stage.run(20, 20)  # it has ended, and the loop has only now seen it
        assert stage.job(job).state == "succeeded"
        with pytest.raises(DomainError, match="already_ended"):
            operate(stage, job, Operation.CANCEL)


# --------------------------------------------------------------------------- hold and resume


def test_a_held_job_leaves_the_queue_and_keeps_its_place(cast: Cast) -> None:
    with Stage(cast) as stage:
        blocker = fill(stage)
        first = stage.submit(card_model="h100", cards=32, command="sleep 600")
        stage.run(4)
        second = stage.submit(card_model="h100", cards=32, command="sleep 600")
        stage.run(4)
        operate(stage, first, Operation.HOLD)
        stage.run(4)
        now = stage.job(first)
        assert (now.state, now.flags, now.reason_code) == ("queued", ["held"], "held")
        assert quota_problems() == []  # pending counts the second one only
        stage.run(60, 10)
        operate(stage, first, Operation.RESUME)
        stage.run(4)
        assert (stage.job(first).state, stage.job(first).flags) == ("queued", [])
        operate(stage, blocker, Operation.CANCEL, "eng-vision-2")
        until_state(stage, first, "running")
        assert stage.job(second).state == "queued"
        assert Attempt.objects.filter(job=first).count() == 1


def test_a_held_job_does_not_start_even_when_the_cluster_is_empty(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.QUEUED, held=True))
        stage.run(4)
        for other in Job.objects.exclude(pk=job.pk):
            operate(stage, other, Operation.CANCEL, other.owner.username)
        stage.run(120, 10)
        assert (stage.job(job).state, stage.job(job).flags) == ("queued", ["held"])
        assert _settled(stage.job(job))


def test_holding_a_running_job_frees_its_quota_at_once_and_resume_is_a_new_run(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 60; exit 0"), "running")
        operate(stage, job, Operation.HOLD)
        stage.run(2, 1)
        assert _held_cards(cast) == 0 and quota_problems() == []
        now = stage.job(job)
        assert now.state == "queued" and "held" in now.flags and now.reason_code == "held"
        held_at = now.state_since
        stage.run(300, 30)
        assert stage.job(job).state == "queued"
        operate(stage, job, Operation.RESUME)
        until_state(stage, job, "running")
        until_state(stage, job, "succeeded")
        first, second = Run.objects.filter(attempt__job=job).order_by("ordinal")
        assert first.end_cause == "held" and first.was_evicted
        assert first.ended_at is not None and abs((first.ended_at - held_at).total_seconds()) < 2
        assert second.queued_at is not None and (second.queued_at - first.ended_at).total_seconds() >= 300
        assert (second.ended_at - second.started_at).total_seconds() == 60
        assert Attempt.objects.filter(job=job).count() == 1
        assert _acts(job) == ["submit", "hold", "resume"]


def test_holding_a_job_that_is_being_created_gives_its_cards_back(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.CREATING, held=True))
        stage.run(4, 1)
        now = stage.job(job)
        assert (now.state, now.flags) == ("queued", ["held"])
        assert _held_cards(cast) == 0 and quota_problems() == []
        operate(stage, job, Operation.RESUME)
        until_state(stage, job, "running")


def test_holding_a_retrying_job_keeps_its_next_attempt_from_being_made(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.RETRYING, held=True))
        stage.run(60, 5)
        now = stage.job(job)
        assert (now.state, now.flags, now.attempt_no) == ("queued", ["held"], 2)
        assert not [raw for raw in objects() if raw.ulid == job.public_id and raw.attempt == 2]
        assert quota_problems() == []
        operate(stage, job, Operation.RESUME)
        until_state(stage, job, "failed")
        assert Attempt.objects.filter(job=job).count() == 2


def test_hold_and_resume_before_the_loop_looked_change_nothing(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 30; exit 0"), "running")
        operate(stage, job, Operation.HOLD)
        operate(stage, job, Operation.RESUME)
        stage.run(4, 1)
        assert stage.job(job).state == "running"
        until_state(stage, job, "succeeded")
        assert Run.objects.filter(attempt__job=job).count() == 1


def test_a_job_held_before_it_was_sent_is_sent_when_resumed(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(command="sleep 5; exit 0")
        operate(stage, job, Operation.HOLD)
        stage.run(30, 5)
        assert (stage.job(job).state, stage.job(job).flags) == ("queued", ["held"])
        operate(stage, job, Operation.RESUME)
        until_state(stage, job, "succeeded")


# --------------------------------------------------------------------------- restart


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_restart_is_a_new_attempt_at_the_tail_of_the_queue(cast: Cast, state: JobState) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(state))
        until(stage, job, _settled)
        blocker = fill(stage)
        waiting = stage.submit(card_model="h100", cards=32, command="sleep 600")
        stage.run(4)
        operate(stage, job, Operation.RESTART)
        now = stage.job(job)
        assert (now.state, now.attempt_no, now.reason_code) == ("queued", 2, "submitted")
        stage.run(4)
        assert {raw.attempt for raw in objects() if raw.ulid == job.public_id} == {2}
        operate(stage, blocker, Operation.CANCEL, "eng-vision-2")
        until_state(stage, waiting, "running")
        assert stage.job(job).state == "queued"
        operate(stage, waiting, Operation.CANCEL)
        until_state(stage, job, "creating", "running", "succeeded", "failed")
        assert stage.job(job).attempt_no == 2
        attempts = Attempt.objects.filter(job=job).order_by("number")
        assert [attempt.retries_from for attempt in attempts] == [1, 2]
        assert attempts[0].object_name != attempts[1].object_name
        assert quota_problems() == []


def test_restart_counts_retries_anew(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 1; exit 3", retry_limit=1), "failed")
        assert stage.job(job).attempt_no == 2
        operate(stage, job, Operation.RESTART)
        until_state(stage, job, "failed", seconds=240)
        until(stage, job, lambda now: now.state == "failed" and now.attempt_no == 4, seconds=240)


def test_a_restarted_job_shows_its_new_start_and_end(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 5; exit 0"), "succeeded")
        first = stage.job(job)
        stage.run(60, 20)
        operate(stage, job, Operation.RESTART)
        assert (stage.job(job).started_at, stage.job(job).ended_at) == (None, None)
        until_state(stage, job, "succeeded")
        assert stage.job(job).started_at > first.ended_at


# --------------------------------------------------------------------------- the story that is told


def test_each_act_is_one_entry_of_the_story_with_its_person(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = job_in(stage, Situation(JobState.RUNNING))
        operate(stage, job, Operation.HOLD, "lead-vision")
        stage.run(10)
        operate(stage, job, Operation.RESUME, "admin")
        stage.run(10)
        operate(stage, job, Operation.CANCEL)
        until_state(stage, job, "cancelled")
        acts = JobEvent.objects.filter(job=job, actor__isnull=False).order_by("at", "id")
        assert [(event.code, event.actor.username) for event in acts if event.actor] == [
            ("submitted", OWNER),
            ("asked_hold", "lead-vision"),
            ("asked_resume", "admin"),
            ("asked_cancel", OWNER),
        ]
        assert _acts(job) == ["submit", "hold", "resume", "cancel"]
        until(stage, job, _settled)
        assert not SandboxObject.objects.filter(kind="workload", data__spec__job_ulid=job.public_id).exists()
