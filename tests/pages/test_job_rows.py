"""The text of a row is kept by its facts: whatever differs for a reader, or changes, makes another one."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.template.loader import get_template
from django.utils import timezone

from jobs.models import Job
from jobs.templatetags import job_rows
from tests.cast import Cast
from tests.pages.crowd import crowd
from tests.pages.visitor import Visitor, html

Visitors = Callable[[str | None], Visitor]
LIST = "/jobs/?whose=team"


@pytest.fixture
def job(cast: Cast) -> Job:
    job_rows._text.cache_clear()
    return crowd(cast, 1, states=("running",), usernames=("eng-vision-1",))[0]


def row_in(page: str, job: Job) -> str:
    found = re.search(rf'<tr role="row" id="row-{job.public_id}">.*?</tr>', page, flags=re.S)
    assert found is not None
    return found[0]


def test_a_second_look_makes_no_row_anew(job: Job, visitor: Visitors) -> None:
    engineer = visitor("eng-vision-1")
    first = row_in(html(engineer.get(LIST)), job)
    made = job_rows._text.cache_info().misses
    assert row_in(html(engineer.fragment(LIST)), job) == first
    assert job_rows._text.cache_info().misses == made > 0


def test_who_may_not_tick_a_row_never_gets_that_of_who_may(job: Job, visitor: Visitors) -> None:
    owner, colleague = (row_in(html(visitor(name).get(LIST)), job) for name in ("eng-vision-1", "eng-vision-2"))
    assert 'type="checkbox"' in owner
    assert 'type="checkbox"' not in colleague
    assert row_in(html(visitor("eng-vision-1").get(LIST)), job) == owner


def test_each_reader_has_it_in_their_language_and_zone(job: Job, cast: Cast, visitor: Visitors) -> None:
    Job.objects.filter(pk=job.pk).update(started_at=timezone.now().replace(hour=20, minute=30))
    owner = visitor("eng-vision-1")
    english = row_in(html(owner.get(LIST)), job)
    assert ">20:30<" in english and "Running" in english
    cast.users["eng-vision-2"].language, cast.users["eng-vision-2"].time_zone = "zh-hans", "Asia/Kolkata"
    cast.users["eng-vision-2"].save()
    chinese = row_in(html(visitor("eng-vision-2").get(LIST)), job)
    assert ">02:00<" in chinese and "Running" not in chinese
    assert row_in(html(owner.get(LIST)), job) == english


@pytest.mark.parametrize(
    "change",
    [
        {"display_name": "another name"},
        {"state": "retrying"},
        {"is_degraded": True},
        {"priority": "low"},
        {"attempt_no": 7},
        {"reason_code": "finishing"},
        {"is_demo": True},
        {"started_at": timezone.now() - timedelta(days=3)},
        {"state_since": timezone.now() - timedelta(days=3)},
        {"ended_at": timezone.now(), "state": "succeeded"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_change_of_the_job_shows_at_the_next_look(job: Job, visitor: Visitors, change: dict[str, object]) -> None:
    engineer = visitor("eng-vision-1")
    before = row_in(html(engineer.get(LIST)), job)
    Job.objects.filter(pk=job.pk).update(**change)
    assert row_in(html(engineer.get(LIST)), job) != before


def test_a_new_name_of_owner_and_group_shows_at_the_next_look(job: Job, cast: Cast, visitor: Visitors) -> None:
    engineer = visitor("eng-vision-1")
    engineer.get(LIST)
    owner, group = cast.users["eng-vision-1"], job.group
    owner.first_name, owner.last_name = "Ada", "Lovelace"
    owner.save()
    assert group is not None
    group.title = "Big ones"
    group.save()
    row = row_in(html(engineer.get(LIST)), job)
    assert "Ada Lovelace" in row and "Big ones" in row


def test_a_template_of_a_row_is_given_nothing_but_the_facts() -> None:
    for name in ("row", "queue_row"):
        text = get_template(f"jobs/{name}.html").template.source
        named = set(re.findall(r"\{\{ ?(\w+)", text)) | set(re.findall(r"\{% if (\w+)", text))
        assert named <= {"row", "framework", "kind", "number"}
