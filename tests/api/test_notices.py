"""`GET /api/v1/notices`: which notices there are to read, a page at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from clusters.models import Notice
from tests.api.client import Api, errors_of
from tests.cast import Cast, build_cast

NOTICES = "/api/v1/notices"
LOOP = {"count": 3, "times": [], "jobs": []}


@pytest.fixture
def cast(db: None) -> Cast:
    return build_cast()


def notice(cast: Cast, number: int, **more: Any) -> Notice:
    at = timezone.now() - timedelta(minutes=number)
    values = {"source": "loop", "subject": f"a:{number}", "facts": LOOP, "opened_at": at}
    return Notice.objects.create(cluster=cast.cluster, **{**values, **more})


@pytest.fixture
def kinds(cast: Cast) -> None:
    now = timezone.now()
    notice(cast, 1)
    notice(cast, 2, seen_at=now, seen_by=cast.users["admin"])
    notice(cast, 3, closed_at=now)
    notice(cast, 4, closed_at=now, seen_at=now)
    notice(
        cast, 5, source="two_schedulers", subject="h100", facts={"group": "H100", "cards": 3, "count": 1, "nodes": []}
    )


def subjects(page: dict[str, Any]) -> list[str]:
    return [row["subject"] for row in page["results"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["a:1", "h100"]),
        ("?state=open", ["a:1", "h100"]),
        ("?state=seen", ["a:2"]),
        ("?state=ended", ["a:3", "a:4"]),
        ("?state=all", ["a:1", "a:2", "a:3", "a:4", "h100"]),
        ("?state=all&source=two_schedulers", ["h100"]),
        ("?state=all&cluster=sandbox&source=loop", ["a:1", "a:2", "a:3", "a:4"]),
        ("?state=all&cluster=elsewhere", []),
    ],
)
def test_notices_are_read_by_what_has_become_of_them(cast: Cast, kinds: None, query: str, found: list[str]) -> None:
    assert subjects(Api("admin").get(f"{NOTICES}{query}")) == found


def test_a_notice_says_who_has_seen_it_and_when_it_was_over(cast: Cast, kinds: None) -> None:
    (seen,) = Api("admin").get(f"{NOTICES}?state=seen")["results"]
    assert seen["seen_by"] == "admin" and seen["seen_at"] and seen["closed_at"] is None
    assert seen["text"] == "Two jobs have interrupted each other 3 times within 30 minutes."


def test_they_come_in_pages_that_lead_on_and_back(cast: Cast, django_assert_max_num_queries: Any) -> None:
    for number in range(120):
        notice(cast, number, closed_at=timezone.now())
    api = Api("admin")
    with django_assert_max_num_queries(4):
        first = api.get(f"{NOTICES}?state=ended")
    second = api.get(first["next"])
    third = api.get(second["next"])
    assert [len(page["results"]) for page in (first, second, third)] == [50, 50, 20]
    assert subjects(first) + subjects(second) + subjects(third) == [f"a:{number}" for number in range(120)]
    assert (first["previous"], third["next"]) == (None, None)
    assert subjects(api.get(third["previous"])) == subjects(second)


@pytest.mark.parametrize(
    ("query", "attr"), [("state=new", "state"), ("state=all&source=x", "source"), ("cursor=%00", "cursor")]
)
def test_what_cannot_be_asked_is_refused(cast: Cast, query: str, attr: str) -> None:
    answer = Api("admin").call("GET", f"{NOTICES}?{query}")
    assert [attr for attr, _code in errors_of(answer, 400)] == [attr]
