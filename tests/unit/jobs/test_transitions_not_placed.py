"""A job that holds cards which no nodes can give it does not block the cluster overnight (decision 9)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from clusters.contract import PodPhase
from clusters.domain.reasons import Reason, ReasonCode
from jobs.domain.moves import Effect, JobView, Move
from jobs.domain.transitions import RELEASE_AFTER, RELEASES_MAX
from jobs.domain.words import AttemptEnd, Desired, JobState
from tests.builders import ADMITTED, admitted, at, attempt_view, job_view, queued, sees, unsent
from tests.unit.jobs.deciding import move

NOT_PLACED = Reason(ReasonCode.NOT_PLACED, {"cards": 8})
STUCK = sees(admitted(phases=(PodPhase.WAITING,), unplaceable=True))
LATE = ADMITTED + RELEASE_AFTER


def stuck(**more: object) -> JobView:
    return job_view(JobState.CREATING, **{"reason": NOT_PLACED, **more})


def stopping(*, releases: int = 0, **more: object) -> JobView:
    attempt = attempt_view(number=1 + releases, stop_cause="not_placed", stop_asked_at=LATE, releases=releases)
    return stuck(attempt=attempt, **more)


def freed(job: JobView) -> Move:
    return move(job, sees(None, looked=at(10, 30), gone=True), at(10, 30))


def test_it_is_let_be_for_a_quarter_of_an_hour_and_then_stopped() -> None:
    assert move(stuck(), STUCK, LATE - timedelta(seconds=1)).stop_cause is None
    step = move(stuck(), STUCK, LATE)
    assert (step.stop_cause, step.stopping, step.effects) == ("not_placed", True, ())
    asked = move(stuck(attempt=attempt_view(stop_cause="not_placed")), STUCK, LATE)
    assert asked.effects == (Effect.STOP,)


def test_it_queues_again_as_a_new_attempt_which_says_why() -> None:
    step = freed(stopping())
    assert (step.state, step.reason.code) == (JobState.QUEUED, ReasonCode.RELEASED_NOT_PLACED)
    assert step.next_attempt and not step.hold and not step.held
    assert step.ending is not None and step.ending.end is AttemptEnd.STOPPED
    assert step.ending.reason.code is ReasonCode.NOT_PLACED
    again = move(job_view(JobState.QUEUED, reason=step.reason, attempt=unsent(number=2, releases=1)), sees(None))
    assert (again.effects, again.reason.code) == ((Effect.SUBMIT,), ReasonCode.RELEASED_NOT_PLACED)


def test_the_next_attempt_does_not_wait_for_pods_that_never_started() -> None:
    going = sees(admitted(phases=(PodPhase.WAITING,), evicted_at=at(10, 21), eviction_cause=None, evictions=0))
    assert move(stopping(), going, at(10, 22)).next_attempt


@pytest.mark.parametrize("releases", range(RELEASES_MAX))
def test_after_the_third_time_it_is_held_with_the_reason(releases: int) -> None:
    step = freed(stopping(releases=releases))
    is_last = releases == RELEASES_MAX - 1
    assert (step.hold, step.held) == (is_last, is_last)
    held = job_view(JobState.QUEUED, held=True, reason=step.reason, attempt=unsent(number=2 + releases))
    shown = move(held, sees(None))
    assert shown.reason.code is (ReasonCode.HELD_NOT_PLACED if is_last else ReasonCode.HELD)
    assert shown.effects == () and shown.held


def test_a_person_who_resumes_it_has_it_sent_again() -> None:
    resumed = job_view(JobState.QUEUED, reason=Reason(ReasonCode.HELD_NOT_PLACED), attempt=unsent(number=4))
    assert move(resumed, sees(None)).effects == (Effect.SUBMIT,)


def test_a_cancel_in_between_ends_it_as_cancelled() -> None:
    step = freed(stopping(desired=Desired.CANCEL))
    assert (step.state, step.reason.code, step.next_attempt) == (
        JobState.CANCELLED,
        ReasonCode.CANCELLED_BY_PERSON,
        False,
    )


def test_pods_that_find_nodes_meanwhile_are_left_to_run() -> None:
    assert move(stuck(), sees(admitted(phases=(PodPhase.PULLING,))), LATE).stop_cause is None
    assert move(stuck(), sees(queued()), LATE).stop_cause is None
