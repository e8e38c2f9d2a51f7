"""`POST /api/v1/jobs` and `GET /api/v1/jobs/{id}` as scripts rely on them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest

from jobs.api.schemas import AttemptOut, JobDetailOut, JobOut, RunOut
from jobs.models import Job
from tests.api.client import Api, errors_of, refused
from tests.cast import Cast
from tests.services.jobs.situations import until_state
from tests.services.support import CHINESE, needs_chinese
from tests.services.support import without as _without
from tests.stage import BODY, Stage


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "mindspore", "mpi", "command"])
@pytest.mark.parametrize("priority", ["low", "normal", "high", "urgent"])
def test_four_facts_are_enough(cast: Cast, framework: str, priority: str) -> None:
    body = {"framework": framework, "image": "registry.example/bert:1.0", "cards": 8, "priority": priority}
    if priority == "urgent":
        body["priority_reason"] = "the paper is due"
    job = Api("lead-vision").submit(body)
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", job["id"])
    assert {name: job[name] for name in ("framework", "image", "cards", "priority")} == {
        name: body[name] for name in ("framework", "image", "cards", "priority")
    }
    assert (job["state"], job["flags"], job["attempt"]) == ("queued", [], 1)
    assert Job.objects.get().public_id == job["id"]


def test_the_answer_to_a_submit_is_the_whole_job(cast: Cast) -> None:
    api = Api("eng-vision-1")
    job = api.submit({**BODY, "name": "训练-第3次", "env": {"A": "1"}, "command": "python train.py"})
    assert set(job) == set(JobDetailOut().fields)
    assert set(job["reason"]) == {"code", "text", "facts", "since"}
    assert job["reason"]["code"] == "submitted" and job["reason"]["text"].endswith(".")
    assert datetime.fromisoformat(job["reason"]["since"]).utcoffset() is not None
    (attempt,) = job["attempts"]
    assert set(attempt) == set(AttemptOut().fields)
    assert (attempt["number"], attempt["runs"], attempt["end"], attempt["end_reason"]) == (1, [], "", None)
    assert (job["name"], job["team"], job["owner"], job["cluster"]) == (
        "训练-第3次",
        "vision",
        "eng-vision-1",
        "sandbox",
    )
    assert (job["pods"], job["cards_per_pod"], job["card_model"]) == (1, 8, "h100")
    assert {action["operation"]: action["allowed"] for action in job["actions"]} == {
        "cancel": True,
        "restart": False,
        "hold": True,
        "resume": False,
        "preempt": False,
        "requeue": True,
        "priority": True,
        "scale": False,
    }
    assert api.get(f"jobs/{job['id']}") == job


def test_runs_appear_with_their_times_nodes_and_cards(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(cards=16, command="sleep 20; exit 0"), "succeeded")
        shown = Api("eng-vision-1").get(f"jobs/{job.public_id}")
    (attempt,) = shown["attempts"]
    (run,) = attempt["runs"]
    assert set(run) == set(RunOut().fields)
    times = [run[name] for name in ("queued_at", "admitted_at", "scheduled_at", "started_at", "ended_at")]
    assert times == sorted(times)
    assert (run["cards"], len(run["nodes"]), run["end_cause"]) == (16, 2, "succeeded")
    assert (attempt["end"], attempt["exit_code"], attempt["end_reason"]["code"]) == ("succeeded", 0, "completed")
    assert (shown["state"], shown["reason"]["code"]) == ("succeeded", "completed")


def test_a_row_of_the_list_is_the_same_job(cast: Cast) -> None:
    api = Api("eng-vision-1")
    job = api.submit(BODY)
    (row,) = api.get("jobs")["results"]
    assert set(row) == set(JobOut().fields)
    assert row == {name: job[name] for name in JobOut().fields}


def test_everything_that_is_optional_is_kept(cast: Cast) -> None:
    extra: dict[str, Any] = {
        "name": "nightly",
        "command": "python train.py",
        "kind": "development",
        "card_model": "a100",
        "team": "vision",
        "local_queue": "default",
        "max_run_seconds": 3600,
        "retry_limit": 2,
        "env": {"A": "", "B": "x" * 10_000},
    }
    job = Api("eng-vision-1").submit({**BODY, **extra})
    assert {name: job[name] for name in extra} == extra


def test_cpu_and_memory_are_for_jobs_without_cards(cast: Cast) -> None:
    api = Api("eng-vision-1")
    job = api.submit({**BODY, "cards": 0, "cpu": "500m", "memory": "2Gi"})
    assert (job["cards"], job["card_model"], job["pods"]) == (0, None, 1)
    assert refused(api, 400, "POST", "jobs", {**BODY, "cpu": "1"}) == [("cpu", "follows_from_cards")]


def test_an_empty_body_names_every_fact_that_is_missing(cast: Cast) -> None:
    api = Api("eng-vision-1")
    for body in ({}, None):
        problems = refused(api, 400, "POST", "jobs", body)
        assert {attr for attr, _code in problems} == {"framework", "image", "cards", "priority"}


@pytest.mark.parametrize("name", ["framework", "image", "cards", "priority"])
def test_each_of_the_four_facts_is_needed(cast: Cast, name: str) -> None:
    ((attr, _code),) = refused(Api("eng-vision-1"), 400, "POST", "jobs", _without(BODY, name))
    assert attr == name


def test_an_environment_of_a_megabyte_is_refused_at_its_field(cast: Cast) -> None:
    body = {**BODY, "env": {"BIG": "x" * 2**20}}
    assert refused(Api("eng-vision-1"), 400, "POST", "jobs", body) == [("env", "too_large")]


def test_a_body_beyond_all_measure_is_not_even_read(cast: Cast) -> None:
    body = {**BODY, "env": {"BIG": "x" * 3 * 2**20}}
    assert refused(Api("eng-vision-1"), 413, "POST", "jobs", body) == [(None, "too_large")]


@pytest.mark.parametrize("body", ["{", "nonsense", "[]", '"text"', "7", "null", '{"cards": NaN}', "\ufeff{}"])
def test_a_body_that_is_no_object_is_refused(cast: Cast, body: str) -> None:
    assert refused(Api("eng-vision-1"), 400, "POST", "jobs", body.encode()) == [(None, "parse_error")]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/x-www-form-urlencoded", "framework=pytorch"),
        ("text/plain", "{}"),
        ("application/xml", "<a/>"),
        ("multipart/form-data; boundary=x", "--x--"),
    ],
)
def test_only_json_is_read(cast: Cast, content_type: str, body: str) -> None:
    api = Api("eng-vision-1")
    answer = api._client.generic(
        "POST", "/api/v1/jobs", body, content_type=content_type, headers={"Authorization": f"Token {api.token}"}
    )
    assert errors_of(answer, 415) == [(None, "unsupported_media_type")]


@needs_chinese
def test_reasons_and_problems_follow_the_language_that_is_asked_for(cast: Cast) -> None:
    english, chinese = Api("eng-vision-1", language="en"), Api("eng-vision-1", language=CHINESE)
    job = english.submit(BODY)
    texts = [api.get(f"jobs/{job['id']}")["reason"]["text"] for api in (english, chinese)]
    assert texts[0].isascii() and not texts[1].isascii()
    details = [api.call("POST", "jobs", {**BODY, "cards": 11}).json()["errors"][0] for api in (english, chinese)]
    assert details[0]["code"] == details[1]["code"] == "no_shape"
    assert details[0]["detail"] != details[1]["detail"] and "12" in details[1]["detail"]


@pytest.mark.parametrize("language", ["de", "zh-Hans", "zh-CN", "en-US,en;q=0.9", "*", "x" * 1_000, "zh-hans;q=abc"])
def test_any_language_header_is_answered(cast: Cast, language: str) -> None:
    answer = Api("eng-vision-1", language=language).call("GET", "jobs")
    assert answer.status_code == 200 and answer["Content-Language"] in {"en", "zh-hans"}
    assert "Accept-Language" in answer["Vary"]
