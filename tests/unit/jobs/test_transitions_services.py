"""What is done about an inference service: scaled as wanted, kept while anything of it runs, given up at last."""

from __future__ import annotations

from datetime import timedelta

import pytest

from clusters.contract import FailureCode, PodPhase
from clusters.domain.reasons import ReasonCode
from jobs.domain.moves import Effect, JobView, Rest
from jobs.domain.words import Desired, JobState, Kind
from tests.builders import ADMITTED, ENDED, at, attempt_view, job_view, pod, sees, service
from tests.unit.jobs.deciding import NOW, move

RUNNING, PULLING = PodPhase.RUNNING, PodPhase.PULLING
UNPULLABLE = pod(1, PULLING, image_problem=FailureCode.IMAGE_NOT_FOUND, image_problem_since=ADMITTED)


def serving(replicas: int = 2, **more: object) -> JobView:
    return job_view(kind=Kind.INFERENCE, replicas=replicas, **more)


def test_a_service_of_another_size_than_wanted_is_scaled_until_it_has_it() -> None:
    assert move(serving(3), sees(service(RUNNING, RUNNING))).effects == (Effect.SCALE,)
    assert move(serving(1), sees(service(RUNNING, RUNNING))).effects == (Effect.SCALE,)
    assert move(serving(2), sees(service(RUNNING, RUNNING))).effects == ()
    assert move(serving(2), sees(service(RUNNING, wanted=2))).effects == ()  # the second one waits for cards


def test_a_service_out_of_the_queue_gets_its_new_size_when_it_comes_back() -> None:
    out = service(wanted=2, active=False)
    assert move(serving(3, held=True), sees(out)).effects == ()
    assert move(serving(3, rest=Rest(at(10, 50))), sees(out)).effects == ()
    assert move(serving(3), sees(out)).effects == (Effect.RELEASE,)


def test_a_gang_and_a_cluster_that_cannot_scale_are_never_asked_to() -> None:
    assert move(job_view(), sees(service(RUNNING))).effects == ()
    assert move(serving(3, can_scale=False), sees(service(RUNNING))).effects == ()


def test_a_service_that_runs_in_part_keeps_what_runs_whatever_the_image_of_the_rest() -> None:
    half = service(pods=(pod(0), UNPULLABLE))
    kept = move(serving(), sees(half), at(12))
    assert (kept.state, kept.degraded, kept.stop_cause) == (JobState.RUNNING, True, None)
    nothing = service(pods=(UNPULLABLE,))
    assert move(serving(1), sees(nothing), at(12)).stop_cause == "image_not_found"


@pytest.mark.parametrize(
    ("minutes", "reason", "cause"),
    [
        (9, ReasonCode.PULLING_IMAGE, None),
        (10, ReasonCode.ROLLOUT_STUCK, None),
        (59, ReasonCode.ROLLOUT_STUCK, None),
        (60, ReasonCode.ROLLOUT_STUCK, "rollout_stuck"),
    ],
)
def test_a_service_that_does_not_come_up_is_given_up_after_an_hour(
    minutes: int, reason: ReasonCode, cause: str | None
) -> None:
    stuck = service(PULLING, PULLING, stalled_since=ADMITTED)
    decided = move(serving(), sees(stuck), ADMITTED + timedelta(minutes=minutes))
    assert (decided.reason.code, decided.stop_cause) == (reason, cause)
    assert decided.state is (JobState.CREATING if minutes < 10 else JobState.RETRYING)
    assert decided.due_in is not None  # time alone changes the answer


def test_a_service_given_up_fails_when_it_is_gone() -> None:
    given_up = attempt_view(stop_cause="rollout_stuck", stop_asked_at=at(11, 5))
    over = move(serving(attempt=given_up), sees(service(PULLING), gone=True), at(11, 6))
    assert (over.state, over.reason.code) == (JobState.FAILED, ReasonCode.ROLLOUT_STUCK)


def test_a_service_stopped_by_its_owner_is_cancelled() -> None:
    stopped = serving(desired=Desired.CANCEL, attempt=attempt_view(stop_asked_at=ENDED))
    over = move(stopped, sees(service(RUNNING), gone=True), NOW)
    assert (over.state, over.reason.code) == (JobState.CANCELLED, ReasonCode.CANCELLED_BY_PERSON)
