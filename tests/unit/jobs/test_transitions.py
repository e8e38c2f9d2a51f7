"""Intent and facts → the next move of a job (decisions 2 to 9)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from clusters.contract import EvictionCause, FailureCode, Outcome, PodPhase, WaitCode, WorkloadFacts
from clusters.domain.reasons import Reason, ReasonCode
from clusters.domain.states import EMPTY_GROUP
from jobs.domain.transitions import IMAGE_LIMITS, KEEP_OBJECT, Effect, JobView, Move, Sight, next_move
from jobs.domain.words import AttemptEnd, Desired, JobState, Kind
from tests.builders import (
    ADMITTED,
    CREATED,
    NOTHING,
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

NOW = at(10, 40)
CANCELLED = {"desired": Desired.CANCEL}


def move(job: JobView, sight: Sight = NOTHING, now: object = NOW) -> Move:
    return next_move(job, sight, EMPTY_GROUP, now)  # type: ignore[arg-type]


# --------------------------------------------------------------------------- from the row to the object


def test_a_new_job_is_sent() -> None:
    step = move(job_view(JobState.QUEUED, attempt=unsent()), sees(None))
    assert (step.state, step.effects) == (JobState.QUEUED, (Effect.SUBMIT,))
    assert step.reason.code is ReasonCode.SUBMITTED


def test_a_job_that_was_sent_waits_until_a_complete_look_has_missed_it() -> None:
    sent = job_view(JobState.QUEUED, attempt=unsent(submitted_at=at(10, 39)))
    not_looked_since = move(sent, sees(None, looked=at(10, 38)))
    assert (not_looked_since.effects, not_looked_since.state) == ((), JobState.QUEUED)
    never_looked = move(sent, Sight(None, gone=False, complete_at=None))
    assert never_looked.effects == ()
    missed = move(sent, sees(None, looked=at(10, 39, 30)))
    assert missed.effects == (Effect.SUBMIT,)


def test_a_job_sent_a_moment_ago_is_not_sent_again() -> None:
    sent = job_view(JobState.QUEUED, attempt=unsent(submitted_at=at(10, 39, 55)))
    step = move(sent, sees(None, looked=at(10, 39, 58)))
    assert step.effects == () and step.due_in is not None


def test_a_job_held_before_it_was_sent_stays_with_us() -> None:
    step = move(job_view(JobState.QUEUED, held=True, attempt=unsent()))
    assert (step.state, step.held, step.effects, step.due_in) == (JobState.QUEUED, True, (), None)
    assert step.reason.code is ReasonCode.HELD


def test_what_the_cluster_says_is_what_people_see() -> None:
    seen = [
        (queued(WaitCode.QUOTA), JobState.QUEUED, ReasonCode.WAITING_FOR_QUOTA),
        (admitted(phases=(PodPhase.PULLING,)), JobState.CREATING, ReasonCode.PULLING_IMAGE),
        (running(), JobState.RUNNING, ReasonCode.RUNNING),
        (evicted(at(10, 35)), JobState.QUEUED, ReasonCode.PREEMPTED_HIGHER_PRIORITY),
    ]
    for facts, state, code in seen:
        step = move(job_view(JobState.QUEUED), sees(facts))
        assert (step.state, step.reason.code, step.effects) == (state, code, ())


def test_pods_that_end_leave_the_state_and_add_stopping() -> None:
    step = move(job_view(), sees(running(phases=(PodPhase.ENDING,), ending=True)))
    assert (step.state, step.stopping) == (JobState.RUNNING, True)


def test_a_gang_of_which_a_rank_is_not_ready_runs_degraded() -> None:
    step = move(job_view(), sees(running(phases=(PodPhase.RUNNING, PodPhase.WAITING))))
    assert (step.state, step.degraded, step.reason.code) == (JobState.RUNNING, True, ReasonCode.PARTLY_READY)


def test_a_signal_nobody_knows_keeps_the_last_state_and_tells_it() -> None:
    step = move(job_view(JobState.CREATING), sees(running(unknown="Odd")))
    assert (step.state, step.reason.code, step.reason.facts["raw"]) == (
        JobState.CREATING,
        ReasonCode.UNKNOWN_SIGNAL,
        "Odd",
    )


def test_a_waiting_job_is_looked_at_again_because_the_nodes_change_without_it() -> None:
    for facts in (queued(WaitCode.PLACES), admitted(phases=(PodPhase.PULLING,))):
        assert move(job_view(JobState.QUEUED), sees(facts)).due_in is not None
    assert move(job_view(), sees(running())).due_in is None


# --------------------------------------------------------------------------- cancel


@pytest.mark.parametrize(
    ("state", "facts"),
    [
        pytest.param(JobState.QUEUED, queued(WaitCode.QUOTA), id="queued"),
        pytest.param(JobState.QUEUED, queued(active=False), id="held"),
        pytest.param(JobState.CREATING, admitted(phases=(PodPhase.PULLING,)), id="creating"),
        pytest.param(JobState.RUNNING, running(), id="running"),
        pytest.param(JobState.QUEUED, evicted(at(10, 35)), id="preempted"),
    ],
)
def test_a_cancelled_job_keeps_its_state_and_stops_until_its_object_is_gone(
    state: JobState, facts: WorkloadFacts
) -> None:
    asked = job_view(state, **CANCELLED)
    first = move(asked, sees(facts))
    assert (first.state, first.stopping, first.effects) == (state, True, (Effect.STOP,))
    assert first.reason.code is ReasonCode.CANCELLING and first.ending is None

    told = replace(asked, attempt=attempt_view(stop_asked_at=at(10, 39, 50)))
    ending = replace(facts, ending=True)
    second = move(told, sees(ending, looked=at(10, 39, 55)))
    assert (second.state, second.stopping, second.effects) == (state, True, ())

    last = move(told, sees(ending, gone=True, looked=at(10, 39, 58)))
    assert (last.state, last.reason.code, last.released) == (
        JobState.CANCELLED,
        ReasonCode.CANCELLED_BY_PERSON,
        True,
    )
    assert last.ending is not None and last.ending.end is AttemptEnd.STOPPED


def test_a_cancel_is_told_again_while_the_object_stays() -> None:
    told = job_view(JobState.RUNNING, attempt=attempt_view(stop_asked_at=at(10, 39, 30)), **CANCELLED)
    assert move(told, sees(running())).effects == (Effect.STOP,)


def test_a_cancel_of_a_job_that_was_never_sent_needs_one_complete_look() -> None:
    never_sent = job_view(JobState.QUEUED, attempt=unsent(), **CANCELLED)
    assert move(never_sent).effects == (Effect.STOP,)
    told = replace(never_sent, attempt=unsent(stop_asked_at=at(10, 39)))
    assert move(told, sees(None, looked=at(10, 38))).state is JobState.QUEUED
    assert move(told, sees(None, looked=at(10, 39, 30))).state is JobState.CANCELLED


def test_a_cancel_between_two_attempts_starts_no_other() -> None:
    between = job_view(JobState.RETRYING, attempt=unsent(number=2), **CANCELLED)
    step = move(between)
    assert (step.state, step.effects, step.next_attempt) == (JobState.RETRYING, (Effect.STOP,), False)


def test_an_end_that_came_before_the_cancel_is_told_as_it_was() -> None:
    told = job_view(JobState.RUNNING, attempt=attempt_view(stop_asked_at=at(10, 39)), **CANCELLED)
    assert move(told, sees(succeeded())).state is JobState.SUCCEEDED
    step = move(told, sees(failed(FailureCode.NODE_LOST)))
    assert (step.state, step.next_attempt) == (JobState.FAILED, False)


# --------------------------------------------------------------------------- the object vanishes


@pytest.mark.parametrize("facts", [queued(), running(), None])
def test_an_object_that_vanished_without_a_word_is_a_failure_nobody_recorded(facts: WorkloadFacts | None) -> None:
    step = move(job_view(), sees(facts, gone=facts is not None))
    assert (step.state, step.reason.code, step.released) == (JobState.FAILED, ReasonCode.OUTCOME_NOT_RECORDED, True)
    assert step.ending is not None
    assert (step.ending.end, step.ending.infrastructure, step.next_attempt) == (AttemptEnd.LOST, False, False)


@pytest.mark.parametrize(
    ("facts", "state"), [(succeeded(), JobState.SUCCEEDED), (failed(), JobState.FAILED)], ids=["succeeded", "failed"]
)
def test_the_last_word_of_an_object_that_vanished_counts(facts: WorkloadFacts, state: JobState) -> None:
    """C-20: a short job that was removed between two looks."""
    step = move(job_view(), sees(facts, gone=True))
    assert step.state is state
    assert step.ending is not None and step.ending.at == facts.ended_at


def test_absence_in_an_older_look_proves_nothing() -> None:
    sent_again = job_view(attempt=attempt_view(submitted_at=at(10, 39)))
    step = move(sent_again, sees(None, looked=at(10, 38)))
    assert (step.state, step.ending) == (JobState.QUEUED, None)


# --------------------------------------------------------------------------- ends and retries


def test_an_end_is_recorded_with_the_time_and_exit_code_of_the_cluster() -> None:
    good = move(job_view(), sees(succeeded()))
    assert good.ending is not None
    assert (good.state, good.ending.end, good.ending.at, good.ending.exit_code) == (
        JobState.SUCCEEDED,
        AttemptEnd.SUCCEEDED,
        at(10, 30),
        0,
    )
    bad = move(job_view(), sees(failed(exit_code=137)))
    assert bad.ending is not None
    assert (bad.state, bad.ending.end, bad.ending.exit_code) == (JobState.FAILED, AttemptEnd.FAILED, 137)


INFRASTRUCTURE = [
    FailureCode.NODE_LOST,
    FailureCode.NODE_SHUTDOWN,
    FailureCode.NODE_PRESSURE,
    FailureCode.DEVICE_ADMISSION,
    FailureCode.DISRUPTION,
]
APPLICATION = [code for code in FailureCode if code not in INFRASTRUCTURE]


@pytest.mark.parametrize("code", INFRASTRUCTURE)
@pytest.mark.parametrize(("earlier", "retried"), [(0, True), (1, True), (2, False)])
def test_an_infrastructure_cause_is_retried_twice(code: FailureCode, earlier: int, retried: bool) -> None:
    job = job_view(attempt=attempt_view(number=earlier + 1, infra_failures=earlier, app_failures=3))
    step = move(job, sees(failed(code)))
    assert (step.state, step.next_attempt) == (JobState.RETRYING if retried else JobState.FAILED, retried)
    assert step.reason.code.value == code.value
    assert step.ending is not None and step.ending.infrastructure


@pytest.mark.parametrize("code", APPLICATION)
def test_a_cause_of_the_application_is_not_retried_by_default(code: FailureCode) -> None:
    step = move(job_view(), sees(failed(code)))
    assert (step.state, step.next_attempt) == (JobState.FAILED, False)
    assert step.ending is not None and not step.ending.infrastructure


@pytest.mark.parametrize(("earlier", "retried"), [(0, True), (2, True), (3, False)])
def test_a_cause_of_the_application_is_retried_as_often_as_the_job_says(earlier: int, retried: bool) -> None:
    job = job_view(retry_limit=3, attempt=attempt_view(number=earlier + 1, app_failures=earlier, infra_failures=2))
    assert move(job, sees(failed())).next_attempt is retried


def test_between_two_attempts_the_job_is_retrying_until_the_new_object_is_seen() -> None:
    cause = Reason(ReasonCode.NODE_LOST, {"node": "node-1"})
    between = job_view(JobState.RETRYING, reason=cause, attempt=unsent(number=2))
    sent = move(between)
    assert (sent.state, sent.reason, sent.effects) == (JobState.RETRYING, cause, (Effect.SUBMIT,))
    waiting = move(replace(between, attempt=unsent(number=2, submitted_at=at(10, 39))), sees(None, looked=at(10, 38)))
    assert (waiting.state, waiting.reason) == (JobState.RETRYING, cause)
    seen = move(replace(between, attempt=attempt_view(number=2)), sees(queued(WaitCode.QUOTA)))
    assert seen.state is JobState.QUEUED


def test_a_retry_of_a_held_job_waits_with_us() -> None:
    ended = move(job_view(held=True), sees(failed(FailureCode.NODE_LOST)))
    assert (ended.state, ended.next_attempt, ended.held) == (JobState.RETRYING, True, True)
    step = move(job_view(JobState.RETRYING, held=True, attempt=unsent(number=2)))
    assert (step.state, step.held, step.effects) == (JobState.QUEUED, True, ())


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
    old = sees(failed(), looked=at(10, 30) + KEEP_OBJECT + timedelta(seconds=1))
    assert move(over(), old).effects == (Effect.STOP,)


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
