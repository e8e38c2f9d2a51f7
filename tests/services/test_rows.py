"""Many rows in one statement: they are what saving each of them would have stored."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import DataError, IntegrityError, connection, transaction
from django.forms.models import model_to_dict
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import AuditEvent
from common.ids import new_ulid
from common.rows import draw_keys, insert_many, insert_together
from jobs.models import Attempt, Job, JobEvent, JobSync
from tests.cast import Cast
from tests.stage import BODY, Stage


def _copy(job: Job, **changes: Any) -> Job:
    values = {
        field.attname: getattr(job, field.attname) for field in Job._meta.concrete_fields if field.attname != "id"
    }
    return Job(**{**values, "public_id": new_ulid(), **changes})


@pytest.fixture
def job(cast: Cast) -> Job:
    with Stage(cast) as stage:
        return stage.submit(**{**BODY, "env": {"A": "1"}})


ODD: dict[str, Any] = {
    "display_name": '实验 "quoted" 100 % \\ \n end 😀',
    "command": "echo 'a' && printf '%s\\t' \"b\"",
    "env": {"UNICODE": "ä\u2028 \\u0041", "EMPTY": "", "PERCENT": "%(x)s %s"},
    "reason_facts": {"blocks": [5, 3], "deep": {"none": None}, "big": 2**53},
    "max_run_seconds": None,
    "memory_bytes": 2**45,
    "held": True,
    "submitted_at": datetime(2026, 3, 12, 10, 15, 0, 123456, tzinfo=UTC),
}


def test_what_is_read_back_is_what_was_given(job: Job) -> None:
    many, one = _copy(job, **ODD), _copy(job, **ODD)
    insert_many([many], key="public_id")
    one.save(force_insert=True)
    stored = [model_to_dict(Job.objects.get(pk=row.pk)) for row in (many, one)]
    for values in stored:
        values.pop("id")
    assert stored[0] == stored[1]
    assert Job.objects.get(pk=many.pk).submitted_at == ODD["submitted_at"]
    assert many.pk is not None and not many._state.adding


def test_keys_belong_to_their_rows_whatever_order_the_database_answers_in(job: Job) -> None:
    rows = [_copy(job, display_name=f"n{number}") for number in range(50)]
    with CaptureQueriesContext(connection) as captured:
        insert_many(rows, key="public_id")
    assert len(captured) == 1
    stored = dict(Job.objects.filter(display_name__startswith="n").values_list("pk", "display_name"))
    assert {row.pk: row.display_name for row in rows} == stored


def test_a_time_of_its_own_is_set_as_on_saving(cast: Cast) -> None:
    before = timezone.now()
    insert_many([AuditEvent(actor_name="a", action="x", target_type="job", target_id="1")])
    assert before <= AuditEvent.objects.get(action="x").at <= timezone.now()


def test_none_of_many_is_stored_when_one_is_refused(job: Job) -> None:
    count = Job.objects.count()
    twice = new_ulid()
    for wrong in ({"public_id": twice}, {"display_name": "x" * 301}, {"display_name": ""}, {"team_id": 0}):
        rows = [_copy(job, public_id=twice), _copy(job, **wrong)]
        with pytest.raises((IntegrityError, DataError)), transaction.atomic():
            insert_many(rows, key="public_id")
            connection.check_constraints()
    assert Job.objects.count() == count


def test_nothing_is_asked_for_no_rows(cast: Cast) -> None:
    with CaptureQueriesContext(connection) as captured:
        insert_many(list[Attempt]())
    assert len(captured) == 0


def test_rows_of_several_models_go_together_and_point_to_each_other(job: Job) -> None:
    jobs = [_copy(job, **ODD), _copy(job, display_name="second")]
    with CaptureQueriesContext(connection) as captured, transaction.atomic():
        draw_keys(jobs)
        events = [
            JobEvent(job=item, at=item.submitted_at, recorded_at=item.submitted_at, code="submitted", attempt_no=1)
            for item in jobs
        ]
        syncs = [JobSync(job=item, job_ulid=item.public_id, due_at=item.submitted_at) for item in jobs]
        insert_together(jobs, events, list[Attempt](), syncs)
        connection.check_constraints()
    assert sum("INSERT" in query["sql"] for query in captured) == 1
    assert len({item.pk for item in jobs}) == 2
    for item, event, sync in zip(jobs, events, syncs, strict=True):
        assert not item._state.adding
        assert model_to_dict(Job.objects.get(pk=item.pk)) == model_to_dict(item)
        assert JobEvent.objects.get(job=item).at == event.at and event.pk is None
        assert model_to_dict(JobSync.objects.get(pk=item.pk)) == model_to_dict(sync)


def test_a_drawn_key_is_given_to_nobody_else(job: Job) -> None:
    drawn, counted = _copy(job), _copy(job)
    draw_keys([drawn])
    insert_many([counted], key="public_id")
    insert_together([drawn])
    assert counted.pk > drawn.pk > job.pk


def test_rows_of_no_model_are_stored_when_those_of_one_are_refused(job: Job) -> None:
    jobs, events = Job.objects.count(), JobEvent.objects.count()
    item = _copy(job)
    draw_keys([item])
    event = JobEvent(job=item, at=item.submitted_at, recorded_at=item.submitted_at, code="x" * 49, attempt_no=1)
    with pytest.raises(DataError), transaction.atomic():
        insert_together([item], [event])
    item.public_id = job.public_id
    event.code = "submitted"
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_together([item], [event])
    assert (Job.objects.count(), JobEvent.objects.count()) == (jobs, events)


def test_nothing_is_asked_for_no_rows_of_any_model(cast: Cast) -> None:
    with CaptureQueriesContext(connection) as captured:
        draw_keys(list[Job]())
        insert_together(list[Job](), list[JobEvent]())
    assert len(captured) == 0
