"""Rows that share their related objects are the rows that Django reads."""

from __future__ import annotations

import pytest
from django.core.exceptions import FieldDoesNotExist
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.sharing import read_sharing
from jobs.listing import RELATED, jobs_listed
from jobs.models import Job
from tests.cast import Cast
from tests.pages.crowd import crowd

STATES = ("queued", "running", "failed")
EVERYTHING = {
    name: [field.name for field in Job._meta.get_field(name).related_model._meta.concrete_fields] for name in RELATED
}
OWNERS = ("eng-vision-1", "eng-language-1")


@pytest.fixture
def jobs(cast: Cast) -> None:
    crowd(cast, 6, states=STATES, usernames=OWNERS)
    Job.objects.filter(state="failed").update(group=None, cards=0, cards_per_pod=0)
    Job.objects.filter(state="queued").update(acted_by=cast.users["admin"])


def all_values(job: Job) -> dict[str, object]:
    values: dict[str, object] = {field.attname: getattr(job, field.attname) for field in Job._meta.concrete_fields}
    for name in RELATED:
        related = getattr(job, name)
        values[name] = related and {field.attname: getattr(related, field.attname) for field in related._meta.fields}
    return values


@pytest.mark.usefixtures("jobs")
def test_they_have_the_same_values_by_one_query() -> None:
    rows = Job.objects.order_by("id")
    expected = [all_values(job) for job in rows.select_related(*RELATED)]
    with CaptureQueriesContext(connection) as queries:
        found = [all_values(job) for job in read_sharing(rows, EVERYTHING)]
    assert found == expected
    assert len(queries) == 1
    assert {job.group for job in read_sharing(rows, EVERYTHING)} >= {None}


@pytest.mark.usefixtures("jobs")
def test_rows_of_the_same_team_have_one_team() -> None:
    found = read_sharing(Job.objects.order_by("id"), EVERYTHING)
    assert len({id(job.team) for job in found}) == len({job.team_id for job in found}) == 2
    assert len({id(job.owner) for job in found}) == 2


@pytest.mark.usefixtures("jobs")
def test_what_is_left_out_is_there_for_whoever_asks() -> None:
    first = jobs_listed(Job.objects.order_by("id")[:1])[0]
    whole = Job.objects.select_related(*RELATED).order_by("id")[0]
    assert {"env", "command", "code", "datasets"} <= first.get_deferred_fields()
    assert "credentials" in first.cluster.get_deferred_fields()
    assert all_values(first) == all_values(whole)
    assert first == whole
    assert not first._state.adding


def test_a_field_that_is_not_there_is_a_mistake() -> None:
    with pytest.raises(FieldDoesNotExist, match="nickname"):
        read_sharing(Job.objects.all(), {"owner": ["nickname"]})


@pytest.mark.usefixtures("jobs")
def test_they_come_in_the_order_of_the_query_and_cut_as_it_is() -> None:
    rows = Job.objects.order_by("-owner__username", "-submitted_at", "-id")[2:9]
    assert [job.pk for job in jobs_listed(rows)] == [job.pk for job in rows]
    assert len(rows) == 7


@pytest.mark.usefixtures("jobs")
def test_a_query_that_nothing_can_meet_has_no_rows() -> None:
    assert jobs_listed(Job.objects.none()) == jobs_listed(Job.objects.filter(pk__in=[])) == []
