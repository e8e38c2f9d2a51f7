"""Many jobs in one request: the same rows as one by one, in a fixed number of statements."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.forms.models import model_to_dict
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEvent
from common.errors import DomainError, InvalidInput
from jobs.domain.operations import Operation
from jobs.models import Attempt, IdempotencyKey, Job, JobEvent, JobSync
from jobs.services.bulk import BULK_MAX, Entry, jobs_submit
from jobs.services.bulk_operate import OPERATE_MAX, Outcome, Result, jobs_operate
from jobs.services.operations import job_operate
from jobs.services.submit import job_submit
from quotas.models import Demand
from tests.cast import Cast
from tests.faults.truth import quota_problems
from tests.services.jobs.situations import fill, until_state
from tests.services.support import refused, row_counts
from tests.stage import BODY, Stage

OWNER = "eng-vision-1"


def _submit(cast: Cast, *bodies: Any, username: str = OWNER, **options: Any) -> list[Entry]:
    return jobs_submit(actor=cast.actor(username), bodies=list(bodies), **options)


def _body(**changes: Any) -> dict[str, Any]:
    return {**BODY, **changes}


def _problems(error: DomainError) -> list[tuple[str, str]]:
    assert isinstance(error, InvalidInput)
    return [(problem.attr, problem.code) for problem in error.problems]


# --------------------------------------------------------------------------- submit


def test_each_job_is_stored_as_if_it_had_come_alone(cast: Cast) -> None:
    bodies = [
        _body(name="one", env={"A": "1"}, retry_limit=2),
        _body(name="two", cards=16, max_run_seconds=600, kind="development"),
        _body(cards=0, cpu="500m", memory="1Gi", framework="command", priority="low"),
    ]
    with Stage(cast) as stage:
        together = [entry.job for entry in _submit(cast, *bodies)]
        alone = [job_submit(actor=cast.actor(OWNER), data=body).job for body in bodies]
        for many, one in zip(together, alone, strict=True):
            assert many is not None
            assert _told_of(stage.job(many)) == _told_of(stage.job(one))


OWN_WORDS = {"id", "job", "public_id", "job_ulid", "salt", "object_name", "spec_hash", "target_id"}


def _told_of(job: Job) -> list[dict[str, Any]]:
    """Every row about a job, but for what names the job itself."""
    rows = [job, *Attempt.objects.filter(job=job), *JobSync.objects.filter(job=job), *JobEvent.objects.filter(job=job)]
    rows += [Demand.objects.get(job_ulid=job.public_id), *AuditEvent.objects.filter(target_id=job.public_id)]
    assert len(rows) == 6
    return [{key: value for key, value in model_to_dict(row).items() if key not in OWN_WORDS} for row in rows]


def test_a_hundred_jobs_take_as_many_statements_as_one(cast: Cast) -> None:
    counts = {}
    for number in (1, BULK_MAX):
        bodies = [_body(name=f"sweep {n}", cards=1 + n % 3, framework=("pytorch", "mpi")[n % 2]) for n in range(number)]
        _submit(cast, *bodies[:2], idempotency_key=f"warm {number}")
        with CaptureQueriesContext(connection) as captured:
            entries = _submit(cast, *bodies, idempotency_key=f"sweep {number}")
        counts[number] = len(captured)
        assert all(entry.job for entry in entries)
    more_frameworks = 1  # whose cards the person's last job of each framework had
    assert counts[BULK_MAX] <= counts[1] + more_frameworks
    assert counts[1] <= 25


def test_they_run_like_any_others(cast: Cast) -> None:
    with Stage(cast) as stage:
        entries = _submit(cast, *[_body(cards=2, command="sleep 5; exit 0") for _ in range(3)])
        for entry in entries:
            assert entry.job is not None
            until_state(stage, entry.job, "succeeded")
        assert quota_problems() == []


def test_one_that_is_wrong_keeps_all_from_being_stored_and_says_where_it_is_wrong(cast: Cast) -> None:
    error = refused(lambda: _submit(cast, _body(), _body(cards=-1, image=""), 7, _body(nonsense=1)))
    assert error.status == 400
    assert _problems(error) == [
        ("jobs.1.image", "image_blank"),
        ("jobs.1.cards", "cards_negative"),
        ("jobs.2", "not_an_object"),
        ("jobs.3.nonsense", "unknown_field"),
    ]


def test_by_request_the_right_ones_are_stored_and_the_others_keep_their_problems(cast: Cast) -> None:
    entries = _submit(cast, _body(name="a"), _body(cards=-1), _body(name="c"), all_or_nothing=False)
    assert [entry.job.display_name if entry.job else None for entry in entries] == ["a", None, "c"]
    assert [[problem.code for problem in entry.problems] for entry in entries] == [[], ["cards_negative"], []]
    assert Job.objects.count() == 2 == AuditEvent.objects.filter(action="job.submit").count()
    error = refused(lambda: _submit(cast, _body(cards=-1), all_or_nothing=False))
    assert _problems(error) == [("jobs.0.cards", "cards_negative")]


@pytest.mark.parametrize(
    ("bodies", "options", "problem"),
    [
        ([], {}, ("jobs", "out_of_range")),
        ([BODY] * (BULK_MAX + 1), {}, ("jobs", "out_of_range")),
        (None, {}, ("jobs", "not_a_list")),
        ("jobs", {}, ("jobs", "not_a_list")),
        ({"0": BODY}, {}, ("jobs", "not_a_list")),
        ([BODY], {"all_or_nothing": "yes"}, ("all_or_nothing", "not_a_boolean")),
        ([BODY], {"idempotency_key": " "}, ("Idempotency-Key", "malformed")),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_as_a_whole(
    cast: Cast, bodies: Any, options: dict[str, Any], problem: tuple[str, str]
) -> None:
    error = refused(lambda: jobs_submit(actor=cast.actor(OWNER), bodies=bodies, **options))
    assert _problems(error) == [problem]


def test_the_same_key_with_the_same_body_gives_the_same_jobs(cast: Cast) -> None:
    bodies = [_body(name="a"), _body(name="b")]
    first = _submit(cast, *bodies, idempotency_key="sweep")
    before = row_counts()
    again = _submit(cast, *bodies, idempotency_key="sweep")
    assert [entry.job for entry in again] == [entry.job for entry in first]
    assert row_counts() == before
    assert IdempotencyKey.objects.count() == 2
    for changed in ([bodies[0]], [*bodies, bodies[0]], list(reversed(bodies))):
        error = refused(lambda changed=changed: _submit(cast, *changed, idempotency_key="sweep"))
        assert (error.status, error.code) == (422, "key_reused")
    other = _submit(cast, *bodies, username="eng-vision-2", idempotency_key="sweep")
    assert {entry.job for entry in other}.isdisjoint({entry.job for entry in first})
    assert job_submit(actor=cast.actor(OWNER), data=bodies[0], idempotency_key="sweep").created, (
        "one job is another thing"
    )


def test_a_repeated_request_makes_what_was_wrong_then_and_right_now_and_nothing_twice(cast: Cast) -> None:
    bodies = [_body(name="a"), _body(name="b", local_queue="research")]
    first = _submit(cast, *bodies, all_or_nothing=False, idempotency_key="sweep")
    assert first[1].job is None
    cast.queues["vision"].local_queues.create(slug="research", name="Research")
    again = _submit(cast, *bodies, all_or_nothing=False, idempotency_key="sweep")
    assert again[0].job == first[0].job and again[1].job is not None
    assert Job.objects.count() == 2


def test_everybodys_maximum_holds_for_each_job(cast: Cast) -> None:
    error = refused(lambda: _submit(cast, _body(priority="high"), _body(priority="urgent", priority_reason="x")))
    assert _problems(error) == [("jobs.0.priority", "above_maximum"), ("jobs.1.priority", "above_maximum")]
    assert _submit(cast, _body(priority="high"), username="lead-vision")[0].job is not None


# --------------------------------------------------------------------------- operate


def _operate(cast: Cast, operation: Operation, *ids: str, username: str = OWNER, **data: Any) -> list[Result]:
    return jobs_operate(actor=cast.actor(username), operation=operation, ids=list(ids), data=data)


def _told(results: list[Result]) -> list[tuple[str, str]]:
    return [(result.outcome.value, result.error.code if result.error else "") for result in results]


MISSING = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def test_each_id_has_its_result_in_order_and_one_refusal_stops_no_other(cast: Cast) -> None:
    with Stage(cast) as stage:
        mine, held = stage.submit(cards=32), stage.submit(cards=32)
        teammates, foreign = stage.submit("eng-vision-2"), stage.submit("eng-language-1")
        ended = until_state(stage, stage.submit(cards=1, command="sleep 1; exit 0"), "succeeded")
        job_operate(actor=cast.actor(OWNER), job=held, operation=Operation.HOLD)
        ids = [job.public_id for job in (mine, held, teammates, ended, foreign)]
        results = _operate(cast, Operation.HOLD, *ids, MISSING, "x", mine.public_id)
        assert _told(results) == [
            ("done", ""),
            ("unchanged", ""),
            ("refused", "not_allowed"),
            ("refused", "already_ended"),
            ("refused", "not_found"),
            ("refused", "not_found"),
            ("refused", "not_found"),
            ("done", ""),
        ]
        foreign_error, missing_error = results[4].error, results[5].error
        assert foreign_error is not None and missing_error is not None
        assert (str(foreign_error.message), foreign_error.status) == (str(missing_error.message), missing_error.status)
        assert results[4].job is None
        assert stage.job(mine).held and not stage.job(teammates).held and not stage.job(foreign).held
        assert AuditEvent.objects.filter(action="job.hold", target_id=mine.public_id).count() == 1


@pytest.mark.parametrize("operation", [Operation.CANCEL, Operation.HOLD, Operation.REQUEUE, Operation.PRIORITY])
def test_two_hundred_jobs_take_as_many_statements_as_one(cast: Cast, operation: Operation) -> None:
    entries = [entry for _ in range(2) for entry in _submit(cast, *[_body(cards=1) for _ in range(BULK_MAX)])]
    ids = [entry.job.public_id for entry in entries if entry.job]
    assert len(ids) == OPERATE_MAX
    counts = []
    for chunk in (ids[:1], ids):
        with CaptureQueriesContext(connection) as captured:
            results = _operate(cast, operation, *chunk, priority="low")
        counts.append(len(captured))
        assert {result.outcome for result in results[1:]} <= {Outcome.DONE}
    assert counts[1] <= counts[0] <= 14


def test_what_they_do_is_what_each_would_have_done_alone(cast: Cast) -> None:
    with Stage(cast) as stage:
        jobs = [stage.submit(cards=2, command="sleep 600") for _ in range(3)]
        stage.run(20)
        _operate(cast, Operation.CANCEL, *[job.public_id for job in jobs], username="lead-vision")
        for job in jobs:
            until_state(stage, job, "cancelled")
        assert quota_problems() == []
        again = _operate(cast, Operation.RESTART, *[job.public_id for job in jobs])
        assert {result.outcome for result in again} == {Outcome.DONE}
        for job in jobs:
            assert until_state(stage, job, "running").attempt_no == 2


def test_a_large_job_gets_the_cards_of_several_at_once(cast: Cast) -> None:
    with Stage(cast) as stage:
        victims = [fill(stage, cards=16), fill(stage, cards=16)]
        large = stage.submit(OWNER, card_model="h100", cards=32, command="sleep 600")
        stage.run(4)
        ids = [job.public_id for job in (*victims, large)]
        results = _operate(cast, Operation.PREEMPT, *ids, username="lead-vision", beneficiary=large.public_id)
        assert _told(results) == [("done", ""), ("done", ""), ("refused", "holds_no_cards")]
        until_state(stage, large, "running")
        assert quota_problems() == []


def test_a_priority_that_is_too_high_for_one_team_is_refused_for_its_jobs_only(cast: Cast) -> None:
    with Stage(cast) as stage:
        mine = stage.submit(cards=32)
        results = _operate(cast, Operation.PRIORITY, mine.public_id, MISSING, priority="high")
        assert _told(results) == [("refused", "above_maximum"), ("refused", "not_found")]
        assert results[0].error is not None and results[0].error.status == 400
        results = _operate(cast, Operation.PRIORITY, mine.public_id, username="lead-vision", priority="high")
        assert _told(results) == [("done", "")]
        assert _told(_operate(cast, Operation.PRIORITY, mine.public_id, priority="high")) == [("unchanged", "")]


@pytest.mark.parametrize(
    ("ids", "code"),
    [
        ([], "out_of_range"),
        (["x"] * (OPERATE_MAX + 1), "out_of_range"),
        (None, "not_a_list"),
        ("abc", "not_a_list"),
        ([1], "not_a_list"),
    ],
)
def test_ids_that_are_none_are_refused_as_a_whole(cast: Cast, ids: Any, code: str) -> None:
    error = refused(lambda: jobs_operate(actor=cast.actor(OWNER), operation=Operation.CANCEL, ids=ids))
    assert _problems(error) == [("ids", code)]
