"""Intent and facts → the next move of a job (decisions 5 to 9): held, at a limit of ours, over."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from clusters.contract import EvictionCause, FailureCode, Outcome, PodPhase, WaitCode, WorkloadFacts
from clusters.domain.reasons import Reason, ReasonCode
from jobs.domain.moves import Effect, JobView
from jobs.domain.transitions import IMAGE_LIMITS, KEEP_OBJECT
from jobs.domain.words import JobState, Kind
from tests.builders import (
    ADMITTED,
    CREATED,
    admitted,
    at,
    attempt_view,
    evicted,
    failed,
    job_view,
    pod,
    queued,
    running,
    sees,
    succeeded,
    unsent,
)
from tests.unit.jobs.deciding import NOW, move

# --------------------------------------------------------------------------- hold and resume


def test_a_wish_to_hold_is_brought_to_the_object_until_the_facts_agree() -> None:
    wish = job_view(JobState.QUEUED, held=True)
    asked = move(wish, sees(queued(WaitCode.QUOTA)))
    assert (asked.effects, asked.state, asked.held) == ((Effect.HOLD,), JobState.QUEUED, True)
    assert asked.reason.code is ReasonCode.HELD
    done = move(wish, sees(queued(active=False)))
    assert (done.effects, done.held, done.reason.code) == ((), True, ReasonCode.HELD)


def test_a_running_job_that_shall_be_held_runs_on_until_its_cards_are_back() -> None:
    wish = job_view(held=True)
    asked = move(wish, sees(running()))
    assert (asked.state, asked.effects) == (JobState.RUNNING, (Effect.HOLD,))
    held = move(wish, sees(evicted(at(10, 39), EvictionCause.HELD, active=False, ending=True)))
    assert (held.state, held.held, held.stopping, held.effects) == (JobState.QUEUED, True, True, ())


def test_a_wish_to_resume_is_brought_to_the_object() -> None:
    step = move(job_view(JobState.QUEUED), sees(queued(active=False)))
    assert (step.effects, step.state) == ((Effect.RELEASE,), JobState.QUEUED)


def test_a_cluster_that_cannot_hold_is_not_asked_to() -> None:
    assert move(job_view(JobState.QUEUED, held=True, can_hold=False), sees(queued())).effects == ()


# --------------------------------------------------------------------------- limits of ours


def after_the_limit(kind: Kind) -> JobView:
    return job_view(kind=kind, max_run=timedelta(minutes=30))


@pytest.mark.parametrize(
    ("kind", "cause", "state"),
    [
        (Kind.TRAINING, "time_limit", JobState.FAILED),
        (Kind.DEVELOPMENT, "stopped_at_limit", JobState.SUCCEEDED),
    ],
)
def test_a_job_at_its_longest_run_time_is_stopped(kind: Kind, cause: str, state: JobState) -> None:
    job = after_the_limit(kind)
    due = move(job, sees(running()), at(10, 35))
    assert (due.stop_cause, due.state, due.stopping, due.effects) == (cause, JobState.RUNNING, True, ())

    noted = replace(job, attempt=attempt_view(stop_cause=cause))
    told = move(noted, sees(running()), at(10, 35))
    assert (told.effects, told.state, told.stopping) == ((Effect.STOP,), JobState.RUNNING, True)

    asked = replace(job, attempt=attempt_view(stop_cause=cause, stop_asked_at=at(10, 35)))
    killed = move(asked, sees(failed(exit_code=143), looked=at(10, 36)), at(10, 36))
    assert (killed.state, killed.ending) == (JobState.RUNNING, None)  # our stop, not a failure of the program

    gone = move(asked, sees(running(), gone=True, looked=at(10, 36)), at(10, 36))
    assert (gone.state, gone.reason.code.value, gone.next_attempt) == (state, cause, False)


def test_before_its_limit_a_job_is_left_alone_and_looked_at_in_time() -> None:
    step = move(after_the_limit(Kind.TRAINING), sees(running()), at(10, 34))
    assert (step.stop_cause, step.due_in) == (None, timedelta(minutes=1))


def test_of_several_deadlines_the_first_counts() -> None:
    pods_again = running(phases=(PodPhase.PULLING, PodPhase.WAITING))  # looked at every 30 seconds while it is creating
    far, near = timedelta(hours=9), timedelta(minutes=30)
    assert move(job_view(max_run=far), sees(pods_again), at(10, 34)).due_in == timedelta(seconds=30)
    assert move(job_view(max_run=near), sees(pods_again), at(10, 34, 50)).due_in == timedelta(seconds=10)


def test_the_limit_counts_running_time_over_all_runs_of_the_attempt_but_no_wait() -> None:
    job = replace(after_the_limit(Kind.TRAINING), attempt=attempt_view(ran_seconds=20 * 60))
    assert move(job, sees(running()), at(10, 14)).stop_cause is None
    assert move(job, sees(running()), at(10, 15)).stop_cause == "time_limit"
    assert move(job, sees(evicted(at(10, 20))), at(23)).stop_cause is None
    assert move(job, sees(admitted(phases=(PodPhase.PULLING,))), at(23)).stop_cause is None


def stuck(problem: FailureCode) -> WorkloadFacts:
    return admitted(phases=(PodPhase.PULLING,), pods=(stuck_pod(problem),))


def stuck_pod(problem: FailureCode) -> object:
    return pod(0, PodPhase.PULLING, image_problem=problem, image_problem_since=ADMITTED)


@pytest.mark.parametrize(
    ("problem", "limit"),
    [
        (FailureCode.IMAGE_NAME_INVALID, timedelta(0)),
        (FailureCode.IMAGE_NOT_FOUND, timedelta(minutes=10)),
        (FailureCode.IMAGE_UNAUTHORIZED, timedelta(minutes=10)),
        (FailureCode.IMAGE_TIMEOUT, timedelta(minutes=30)),
    ],
)
def test_an_image_that_cannot_be_pulled_ends_the_job_after_its_limit(problem: FailureCode, limit: timedelta) -> None:
    assert IMAGE_LIMITS[problem] == limit
    job = job_view(JobState.CREATING)
    if limit:
        before = move(job, sees(stuck(problem)), ADMITTED + limit - timedelta(seconds=1))
        assert (before.state, before.stop_cause) == (JobState.CREATING, None)
        assert before.reason.code.value == problem.value
    due = move(job, sees(stuck(problem)), ADMITTED + limit)
    assert (due.stop_cause, due.state) == (problem.value, JobState.CREATING)
    asked = attempt_view(stop_cause=problem.value, stop_asked_at=at(11))
    gone = move(replace(job, attempt=asked), sees(stuck(problem), gone=True), at(11, 1))
    assert (gone.state, gone.reason.code.value, gone.next_attempt) == (JobState.FAILED, problem.value, False)


# --------------------------------------------------------------------------- after the end


def over(state: JobState = JobState.FAILED, **attempt: object) -> JobView:
    return job_view(state, reason=Reason(ReasonCode.APP_EXIT), attempt=attempt_view(ended=True, **attempt))


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
@pytest.mark.parametrize("facts", [None, queued(), running(), succeeded(), failed(), queued(active=False)])
def test_what_has_ended_stays_ended_whatever_is_seen(state: JobState, facts: WorkloadFacts | None) -> None:
    step = move(over(state), sees(facts))
    assert (step.state, step.reason.code, step.ending, step.next_attempt) == (state, ReasonCode.APP_EXIT, None, False)


@pytest.mark.parametrize("facts", [queued(), admitted(), running()])
def test_an_object_that_comes_late_is_stopped(facts: WorkloadFacts) -> None:
    assert move(over(JobState.CANCELLED), sees(facts)).effects == (Effect.STOP,)


def test_a_finished_object_is_cleared_away_once_its_logs_are_read_or_it_is_too_old() -> None:
    waiting = move(over(), sees(failed()))
    assert (waiting.effects, waiting.released) == ((), False)
    assert move(over(logs_complete=True), sees(failed())).effects == (Effect.STOP,)
    much_later = at(10, 30) + KEEP_OBJECT + timedelta(seconds=1)
    old = sees(failed(), looked=much_later)
    assert move(over(logs_tried_at=much_later - timedelta(seconds=3)), old).effects == (Effect.STOP,)


@pytest.mark.parametrize("tried_at", [None, at(10, 29), at(10, 30)])
def test_a_finished_object_whose_log_nobody_has_tried_to_read_since_is_not_too_old(tried_at: datetime | None) -> None:
    """The clock was put forward: what has just ended looks as if it had ended long ago."""
    an_hour_later = sees(failed(), looked=at(11, 30))
    assert move(over(logs_tried_at=tried_at), an_hour_later).effects == ()


@pytest.mark.parametrize(("seconds", "effects"), [(5, ()), (29, ()), (30, (Effect.STOP,))])
def test_a_finished_object_is_not_asked_to_go_all_the_time(seconds: int, effects: tuple[Effect, ...]) -> None:
    asked = over(logs_complete=True, stop_asked_at=NOW - timedelta(seconds=seconds))
    assert move(asked, sees(failed())).effects == effects
    assert move(asked, sees(running())).effects == (Effect.STOP,)  # it holds cards


def test_once_nothing_is_left_there_is_nothing_to_do() -> None:
    for sight in (sees(None), sees(failed(), gone=True)):
        step = move(over(logs_complete=True), sight)
        assert (step.effects, step.released, step.due_in) == ((), True, None)


def test_a_failed_job_whose_pods_still_end_shows_that_it_holds_cards() -> None:
    """C-19."""
    facts = failed(phases=(PodPhase.FAILED, PodPhase.ENDING), ending=True)
    assert move(job_view(), sees(facts)).stopping
    assert move(over(), sees(facts)).stopping


def test_a_restarted_job_is_sent_again_and_its_old_end_does_not_matter() -> None:
    restarted = job_view(JobState.QUEUED, attempt=unsent(number=2))
    step = move(restarted, sees(None))
    assert (step.state, step.effects) == (JobState.QUEUED, (Effect.SUBMIT,))


def test_an_outcome_without_a_time_ends_now() -> None:
    step = move(job_view(), sees(queued(outcome=Outcome.FAILED, created_at=CREATED)))
    assert step.ending is not None and step.ending.at == NOW
