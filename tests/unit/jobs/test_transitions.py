"""Intent and facts → the next move of a job (decisions 2 to 4): sent, cancelled, vanished, ended, retried."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from clusters.contract import FailureCode, PodPhase, WaitCode, WorkloadFacts
from clusters.domain.reasons import Reason, ReasonCode
from jobs.domain.moves import Effect, Sight
from jobs.domain.transitions import RESUBMIT_AFTER
from jobs.domain.words import AttemptEnd, Desired, JobState
from tests.builders import (
    admitted,
    at,
    attempt_view,
    deleted,
    evicted,
    failed,
    job_view,
    queued,
    running,
    sees,
    succeeded,
    unsent,
)
from tests.unit.jobs.deciding import NOW, move

CANCELLED = {"desired": Desired.CANCEL}


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
    sent = job_view(JobState.QUEUED, attempt=unsent(submitted_at=NOW - RESUBMIT_AFTER))
    look = sees(None, looked=at(10, 39, 58))
    early = move(sent, look, NOW - timedelta(seconds=1))
    assert early.effects == () and early.due_in is not None
    assert move(sent, look, NOW).effects == (Effect.SUBMIT,)


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


@pytest.mark.parametrize("state", [JobState.CREATING, JobState.RUNNING])
def test_an_object_that_is_being_deleted_is_shown_as_it_was_and_stopping(state: JobState) -> None:
    by_somebody = move(job_view(state), sees(deleted(at(10, 39))))
    assert (by_somebody.state, by_somebody.stopping, by_somebody.effects) == (state, True, ())
    told = job_view(state, attempt=attempt_view(stop_asked_at=at(10, 39, 50)), **CANCELLED)
    by_us = move(told, sees(deleted(at(10, 39, 51)), looked=at(10, 39, 55)))
    assert (by_us.state, by_us.stopping, by_us.effects) == (state, True, ())
    assert by_us.reason.code is ReasonCode.CANCELLING


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


@pytest.mark.parametrize("state", [JobState.RETRYING, JobState.QUEUED])
def test_the_next_attempt_is_not_sent_before_those_that_waited_were_looked_at(state: JobState) -> None:
    cause = Reason(ReasonCode.DISRUPTION if state is JobState.RETRYING else ReasonCode.REQUEUED_BY_PERSON)
    settling = job_view(state, reason=cause, attempt=unsent(number=2, not_before=NOW))
    early = move(settling, now=NOW - timedelta(seconds=2))
    assert (early.state, early.reason, early.effects, early.due_in) == (state, cause, (), timedelta(seconds=2))
    assert move(settling).effects == (Effect.SUBMIT,)


def test_a_retry_of_a_held_job_waits_with_us() -> None:
    ended = move(job_view(held=True), sees(failed(FailureCode.NODE_LOST)))
    assert (ended.state, ended.next_attempt, ended.held) == (JobState.RETRYING, True, True)
    step = move(job_view(JobState.RETRYING, held=True, attempt=unsent(number=2)))
    assert (step.state, step.held, step.effects) == (JobState.QUEUED, True, ())
