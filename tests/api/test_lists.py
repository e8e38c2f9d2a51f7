"""Lists: pages that stay put while rows arrive, filters on the server, odd cursors and addresses (case C-87)."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import urlencode

import pytest

from jobs.models import Job
from tests.api.client import Api, refused
from tests.cast import Cast
from tests.services.many import many_jobs
from tests.stage import BODY


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


def _walk(api: Api, address: str | None, key: str = "next") -> list[str]:
    """Ids of all pages from this one on."""
    found: list[str] = []
    while address is not None:
        page = api.get(address)
        found += [row["id"] for row in page["results"]]
        address = page[key]
    return found


def test_pages_have_fifty_rows_newest_first_and_lead_there_and_back(cast: Cast) -> None:
    ulids = many_jobs(cast, 129)
    api = Api("eng-vision-1")
    first = api.get("jobs")
    assert set(first) == {"next", "previous", "results"}
    assert (len(first["results"]), first["previous"]) == (50, None)
    assert _walk(api, "jobs") == ulids
    second = api.get(first["next"])
    third = api.get(second["next"])
    assert (len(third["results"]), third["next"]) == (30, None)
    back = api.get(third["previous"])
    assert [row["id"] for row in back["results"]] == [row["id"] for row in second["results"]]
    assert [row["id"] for row in api.get(back["previous"])["results"]] == ulids[:50]


def test_rows_that_arrive_while_paging_make_no_doubles_and_no_holes(cast: Cast) -> None:
    ulids = many_jobs(cast, 130)
    api = Api("eng-vision-1")
    page, seen, fresh = api.get("jobs"), [], []
    while True:
        seen += [row["id"] for row in page["results"]]
        fresh += [api.submit(BODY)["id"] for _ in range(3)]
        if page["next"] is None:
            break
        page = api.get(page["next"])
    assert seen == ulids
    assert {row["id"] for row in api.get("jobs")["results"][: len(fresh)]} == set(fresh)


def test_jobs_of_one_moment_keep_their_order(cast: Cast) -> None:
    many_jobs(cast, 119)
    Job.objects.update(submitted_at=Job.objects.earliest("submitted_at").submitted_at)
    walked = _walk(Api("eng-vision-1"), "jobs")
    assert walked == list(Job.objects.order_by("-id").values_list("public_id", flat=True))


def test_filters_hold_over_all_pages(cast: Cast) -> None:
    many_jobs(cast, 800)
    api = Api("eng-vision-1")
    failed = _walk(api, "jobs?state=failed&search=JOB+")
    expected = Job.objects.filter(state="failed", display_name__icontains="job ").order_by("-submitted_at", "-id")
    assert failed == list(expected.values_list("public_id", flat=True)) and len(failed) > 50


FILTERS: list[tuple[dict[str, str], int]] = [
    ({}, 5),
    ({"owner": "me"}, 2),
    ({"owner": "eng-vision-2"}, 2),
    ({"owner": "eng-language-1"}, 0),
    ({"team": "vision"}, 5),
    ({"team": "language"}, 0),
    ({"state": "queued"}, 5),
    ({"state": "live"}, 5),
    ({"state": "running"}, 0),
    ({"state": "nonsense"}, 0),
    ({"group": "a100"}, 1),
    ({"priority": "high"}, 1),
    ({"kind": "development"}, 1),
    ({"search": "night"}, 1),
    ({"search": "NIGHT%"}, 0),
    ({"search": "_"}, 0),
    ({"search": "%"}, 0),
    ({"search": "'; DROP TABLE jobs_job; --"}, 0),
    ({"owner": "me", "kind": "development", "group": "a100"}, 1),
]


def test_each_filter_narrows_what_one_may_see(cast: Cast) -> None:
    api = Api("eng-vision-1")
    api.submit({**BODY, "name": "nightly", "card_model": "a100", "kind": "development"})
    api.submit({**BODY, "card_model": "h100"})
    for username, body in (("eng-vision-2", BODY), ("eng-vision-2", BODY), ("eng-language-1", BODY)):
        Api(username).submit({**body, "card_model": "h100"})
    Api("lead-vision").submit({**BODY, "priority": "high", "card_model": "h100"})
    found = [(query, len(api.get(f"jobs?{urlencode(query)}")["results"])) for query, _count in FILTERS]
    assert found == FILTERS


def test_search_finds_a_job_by_its_id(cast: Cast) -> None:
    api = Api("eng-vision-1")
    job = api.submit(BODY)
    api.submit(BODY)
    for text in (job["id"], job["id"].lower()):
        assert [row["id"] for row in api.get(f"jobs?search={text}")["results"]] == [job["id"]]


def test_a_filter_is_kept_in_the_addresses_of_the_next_pages(cast: Cast) -> None:
    many_jobs(cast, 400)
    page = Api("eng-vision-1").get("jobs?state=failed&search=job")
    assert "state=failed" in page["next"] and "search=job" in page["next"]


def _cursor(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "%00",
        "AAAA",
        "é",
        _cursor([]),
        _cursor({}),
        _cursor([1]),
        _cursor([1, 2, 3, 4]),
        _cursor(["a", "b", "c"]),
        _cursor([None, None, None]),
        _cursor([[1], {}, 0]),
        _cursor([10**30, 1, 0]),
        _cursor([1e308, 1, 0]),
        "A" * 4_000,
        base64.urlsafe_b64encode(b"[" * 3_000).decode(),
    ],
    ids=range(15),
)
def test_a_cursor_that_is_not_ours_is_a_clear_refusal(cast: Cast, cursor: str) -> None:
    assert refused(Api("eng-vision-1"), 400, "GET", f"jobs?cursor={cursor}") == [("cursor", "bad_cursor")]


@pytest.mark.parametrize("values", [[0, 0, 0], [1, 10**18, 0], [1, 10**30, 1], [-1, -1, 1], [10**15, 5, 1]])
def test_a_cursor_of_odd_numbers_is_answered(cast: Cast, values: list[int]) -> None:
    answer = Api("eng-vision-1").call("GET", f"jobs?cursor={_cursor(values)}")
    assert answer.status_code in {200, 400}


@pytest.mark.parametrize("path", ["jobs/", "nothing", "jobs/x/y/z", "", "jobs/01ARZ3NDEKTSV4RRFFQ69G5FAV/explode"])
def test_an_address_that_does_not_exist_is_a_404_in_the_one_shape(cast: Cast, path: str) -> None:
    assert refused(Api("eng-vision-1"), 404, "GET", path)[0][0] is None


@pytest.mark.parametrize(
    ("method", "path"), [("DELETE", "jobs"), ("PUT", "jobs"), ("POST", "quotas"), ("PATCH", "teams")]
)
def test_a_method_that_is_not_offered_is_a_405_in_the_one_shape(cast: Cast, method: str, path: str) -> None:
    assert refused(Api("admin"), 405, method, path, {}) == [(None, "method_not_allowed")]
