"""`POST /api/v1/jobs/bulk` and `/jobs/bulk-operate`."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.api.schemas import JobOut
from jobs.models import Job
from tests.api.client import Api, refused
from tests.cast import Cast
from tests.services.support import row_counts
from tests.stage import BODY

MISSING = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


def _body(**changes: Any) -> dict[str, Any]:
    return {**BODY, "cards": 1, **changes}


def test_right_jobs_are_answered_with_201_and_each_job_in_order(cast: Cast) -> None:
    api = Api("eng-vision-1")
    answer = api.call("POST", "jobs/bulk", {"jobs": [_body(name=f"sweep {n}") for n in range(100)]})
    assert answer.status_code == 201
    body = answer.json()
    assert (body["stored"], body["refused"]) == (100, 0)
    assert [entry["job"]["name"] for entry in body["results"]] == [f"sweep {n}" for n in range(100)]
    for entry in body["results"][:3]:
        assert (entry["status"], entry["errors"], set(entry["job"])) == (201, [], set(JobOut().fields))
        listed = api.get(f"jobs/{entry['job']['id']}")
        assert {name: listed[name] for name in entry["job"]} == entry["job"]


def test_one_wrong_job_keeps_all_out_unless_the_others_shall_be_stored(cast: Cast) -> None:
    api = Api("eng-vision-1")
    jobs = [_body(name="a"), _body(cards=-1), _body(name="c")]
    assert refused(api, 400, "POST", "jobs/bulk", {"jobs": jobs}) == [("jobs.1.cards", "cards_negative")]
    answer = api.call("POST", "jobs/bulk", {"jobs": jobs, "all_or_nothing": False})
    assert answer.status_code == 207
    body = answer.json()
    assert (body["stored"], body["refused"]) == (2, 1)
    assert [entry["status"] for entry in body["results"]] == [201, 400, 201]
    wrong = body["results"][1]
    assert wrong["job"] is None
    assert [(error["attr"], error["code"]) for error in wrong["errors"]] == [("jobs.1.cards", "cards_negative")]
    assert wrong["errors"][0]["detail"]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({}, ("jobs", "not_a_list")),
        ({"jobs": []}, ("jobs", "out_of_range")),
        ({"jobs": ["x"]}, ("jobs.0", "not_an_object")),
        ({"jobs": [{}], "dry_run": True}, ("dry_run", "unknown_field")),
        ({"jobs": [BODY], "all_or_nothing": 1}, ("all_or_nothing", "not_a_boolean")),
        ([BODY], (None, "parse_error")),
    ],
)
def test_a_request_that_makes_no_sense_stores_nothing(cast: Cast, body: Any, problem: tuple[str | None, str]) -> None:
    assert refused(Api("eng-vision-1"), 400, "POST", "jobs/bulk", body) == [problem]


def test_the_same_key_gives_the_same_answer_and_another_body_is_refused(cast: Cast) -> None:
    api = Api("eng-vision-1")
    body = {"jobs": [_body(name="a"), _body(name="b")]}
    first, again = (api.call("POST", "jobs/bulk", body, Idempotency_Key="sweep") for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    problems = refused(api, 422, "POST", "jobs/bulk", {"jobs": [_body()]}, Idempotency_Key="sweep")
    assert problems == [("Idempotency-Key", "key_reused")]


def test_an_admin_without_a_team_submits_nothing(cast: Cast) -> None:
    assert refused(Api("admin"), 400, "POST", "jobs/bulk", {"jobs": [_body()]}) == [("jobs.0.team", "no_team")]


def test_each_id_of_an_operation_has_its_own_result(cast: Cast) -> None:
    api = Api("eng-vision-1")
    mine = [api.submit(_body())["id"] for _ in range(2)]
    teammates = Api("eng-vision-2").submit(_body())["id"]
    foreign = Api("eng-language-1").submit(_body())["id"]
    body = {"operation": "cancel", "ids": [*mine, teammates, foreign, MISSING]}
    answer = api.call("POST", "jobs/bulk-operate", body)
    assert answer.status_code == 200
    told = answer.json()
    assert (told["done"], told["unchanged"], told["refused"]) == (2, 0, 3)
    assert [result["id"] for result in told["results"]] == body["ids"]
    assert [result["status"] for result in told["results"]] == [200, 200, 403, 404, 404]
    of_foreign, of_missing = ({**result, "id": ""} for result in told["results"][3:])
    assert of_foreign == of_missing and of_missing["errors"][0]["code"] == "not_found"
    alone = api.call("POST", f"jobs/{foreign}/cancel").json()
    assert alone["errors"] == of_foreign["errors"]
    again = api.call("POST", "jobs/bulk-operate", {"operation": "cancel", "ids": mine}).json()
    assert (again["done"], again["unchanged"]) == (0, 2)
    assert Api("eng-language-1").get(f"jobs/{foreign}")["reason"]["code"] == "submitted"


def test_a_dry_run_says_what_would_become_of_each_and_changes_nothing(cast: Cast) -> None:
    api = Api("eng-vision-1")
    mine, held = (api.submit(_body())["id"] for _ in range(2))
    api.call("POST", f"jobs/{held}/hold")
    teammates = Api("eng-vision-2").submit(_body())["id"]
    before = row_counts()
    body = {"operation": "hold", "ids": [mine, held, teammates, MISSING], "dry_run": True}
    told = api.call("POST", "jobs/bulk-operate", body).json()
    assert told["dry_run"] is True and row_counts() == before
    assert not Job.objects.get(public_id=mine).held
    assert (told["done"], told["unchanged"], told["refused"]) == (1, 1, 2)
    effects = [result["effect"] and (result["effect"]["code"], result["effect"]["place"]) for result in told["results"]]
    assert effects == [("leaves_queue", "kept"), ("no_change", "kept"), None, None]
    assert told["results"][0]["effect"]["text"] == "The job leaves the queue until somebody resumes it."
    done = api.call("POST", "jobs/bulk-operate", {**body, "dry_run": False}).json()
    assert done["dry_run"] is False and done["results"] == told["results"]
    assert Job.objects.get(public_id=mine).held
    assert refused(api, 400, "POST", "jobs/bulk-operate", {**body, "dry_run": "no"}) == [("dry_run", "not_a_boolean")]


def test_a_dry_run_of_a_priority_asks_for_the_same_reason(cast: Cast) -> None:
    lead = Api("lead-vision")
    public_id = Api("eng-vision-1").submit(_body())["id"]
    body = {"operation": "priority", "ids": [public_id], "priority": "urgent", "dry_run": True}
    told = lead.call("POST", "jobs/bulk-operate", body).json()
    assert [error["attr"] for error in told["results"][0]["errors"]] == ["priority_reason"]
    same = lead.call("POST", "jobs/bulk-operate", {**body, "priority": "normal"}).json()
    assert same["results"][0]["effect"]["code"] == "no_change" and same["unchanged"] == 1


def test_a_priority_for_many_needs_its_reason_only_once(cast: Cast) -> None:
    lead = Api("lead-vision")
    ids = [Api("eng-vision-1").submit(_body())["id"] for _ in range(2)]
    body = {"operation": "priority", "ids": ids, "priority": "urgent"}
    told = lead.call("POST", "jobs/bulk-operate", body).json()
    assert [error["attr"] for result in told["results"] for error in result["errors"]] == ["priority_reason"] * 2
    told = lead.call("POST", "jobs/bulk-operate", {**body, "priority_reason": "paper deadline"}).json()
    assert told["done"] == 2
    assert [lead.get(f"jobs/{public_id}")["priority"] for public_id in ids] == ["urgent", "urgent"]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"ids": [MISSING]}, ("operation", "unknown_choice")),
        ({"operation": "explode", "ids": [MISSING]}, ("operation", "unknown_choice")),
        ({"operation": ["cancel"], "ids": [MISSING]}, ("operation", "unknown_choice")),
        ({"operation": "cancel"}, ("ids", "not_a_list")),
        ({"operation": "cancel", "ids": []}, ("ids", "out_of_range")),
        ({"operation": "cancel", "ids": [1]}, ("ids", "not_a_list")),
        ({"operation": "cancel", "ids": ["x"] * 201}, ("ids", "out_of_range")),
        ({"operation": "preempt", "ids": [MISSING]}, ("beneficiary", "required")),
    ],
)
def test_an_operation_that_makes_no_sense_does_nothing(cast: Cast, body: Any, problem: tuple[str, str]) -> None:
    assert refused(Api("lead-vision"), 400, "POST", "jobs/bulk-operate", body) == [problem]
