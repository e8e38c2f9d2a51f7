"""What one may know of others (decision 36, case C-64): foreign jobs, names, facts and environments stay foreign."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobs.models import Job
from tests.api.client import Api
from tests.cast import Cast
from tests.services.jobs.situations import fill, until_state
from tests.stage import BODY, Stage

SECRET_NAME = "project-zeppelin"


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


def _everything_about(api: Api, public_id: str) -> str:
    parts = [api.get(f"jobs/{public_id}"), api.get(f"jobs/{public_id}/timeline"), api.get("jobs"), api.get("quotas")]
    return json.dumps(parts)


def _reclaimed(stage: Stage) -> tuple[Job, Job]:
    """A job of language that lost borrowed cards, and the job of vision that took them."""
    victim = fill(stage, "h100", 32, "eng-language-1")
    winner = stage.submit(card_model="h100", cards=8, name=SECRET_NAME, command="sleep 600", env={"KEY": "s3cret"})
    until_state(stage, winner, "running")
    return stage.job(victim), stage.job(winner)


def test_the_job_that_took_ones_cards_is_not_named_to_another_team(cast: Cast) -> None:
    with Stage(cast) as stage:
        victim, winner = _reclaimed(stage)
        assert (victim.reason_code, victim.reason_facts["by"]) == ("preempted_quota_reclaimed", winner.public_id)
        for username in ("eng-language-1", "lead-language"):
            api = Api(username)
            told = _everything_about(api, victim.public_id)
            for secret in (SECRET_NAME, winner.public_id, "eng-vision-1", "s3cret", "vision"):
                assert secret not in told, f"{username} reads {secret}"
            reason = api.get(f"jobs/{victim.public_id}")["reason"]
            assert reason["facts"]["evictions"] == 1 and "by" not in reason["facts"]


def test_who_may_see_both_jobs_is_told_which_one_took_the_cards(cast: Cast) -> None:
    with Stage(cast) as stage:
        victim, winner = _reclaimed(stage)
        reason = Api("admin").get(f"jobs/{victim.public_id}")["reason"]
        assert (reason["facts"]["by"], reason["facts"]["by_name"]) == (winner.public_id, SECRET_NAME)
        assert SECRET_NAME in reason["text"]


def test_inside_a_team_the_winner_is_named(cast: Cast) -> None:
    with Stage(cast) as stage:
        loser = fill(stage, "h100", 32)
        winner = stage.submit("lead-vision", card_model="h100", priority="high", name=SECRET_NAME, command="sleep 600")
        until_state(stage, winner, "running")
        reason = Api("eng-vision-2").get(f"jobs/{loser.public_id}")["reason"]
        assert reason["code"] == "preempted_higher_priority" and SECRET_NAME in reason["text"]


def test_words_of_the_cluster_about_other_jobs_are_for_admins_only(cast: Cast) -> None:
    raw = "couldn't assign flavors: preempted by j-zeppelin of eng-vision-1"
    with Stage(cast) as stage:
        job = stage.submit("eng-language-1")
        Job.objects.filter(pk=job.pk).update(reason_code="waiting_for_quota", reason_facts={"raw": raw, "more": 3})
        assert "zeppelin" not in _everything_about(Api("eng-language-1"), job.public_id)
        assert Api("admin").get(f"jobs/{job.public_id}")["reason"]["facts"]["raw"] == raw


def test_environment_values_are_the_owners_alone(cast: Cast) -> None:
    body = {**BODY, "env": {"API_KEY": "s3cret", "EMPTY": ""}}
    job = Api("eng-vision-1").submit(body)
    assert Api("eng-vision-1").get(f"jobs/{job['id']}")["env"] == body["env"]
    for username in ("eng-vision-2", "lead-vision", "admin"):
        api = Api(username)
        assert api.get(f"jobs/{job['id']}")["env"] == {"API_KEY": None, "EMPTY": None}
        assert "s3cret" not in _everything_about(api, job["id"])


@pytest.mark.parametrize("operation", ["hold", "resume", "cancel"])
def test_an_operation_of_somebody_else_answers_without_the_environment(cast: Cast, operation: str) -> None:
    job = Api("eng-vision-1").submit({**BODY, "env": {"API_KEY": "s3cret"}})
    if operation == "resume":
        Api("eng-vision-1").call("POST", f"jobs/{job['id']}/hold")
    answer = Api("lead-vision").call("POST", f"jobs/{job['id']}/{operation}")
    assert answer.status_code == 200 and "s3cret" not in answer.content.decode()


@pytest.mark.parametrize("username", ["eng-language-1", "lead-language", "eng-robotics-1"])
def test_foreign_jobs_are_nowhere(cast: Cast, username: str) -> None:
    job = Api("eng-vision-1").submit({**BODY, "name": SECRET_NAME})
    api = Api(username)
    for path in (
        "jobs",
        "jobs?team=vision",
        "jobs?owner=eng-vision-1",
        f"jobs?search={SECRET_NAME}",
        "jobs?state=live",
    ):
        assert api.get(path)["results"] == []
    assert api.get(f"jobs?search={job['id']}")["results"] == []
    for tail in ("", "/timeline", "/logs", "/log"):
        foreign, missing = (api.call("GET", f"jobs/{id}{tail}") for id in (job["id"], "01ARZ3NDEKTSV4RRFFQ69G5FAV"))
        assert foreign.status_code == missing.status_code == 404
        assert (foreign.content, _headers(foreign)) == (missing.content, _headers(missing))
    assert Api("admin").get(f"jobs/{job['id']}")["name"] == SECRET_NAME


def _headers(answer: Any) -> dict[str, str]:
    return {name: value for name, value in answer.items() if name not in {"Date", "Expires"}}


def test_names_of_people_and_teams_elsewhere_are_in_no_answer_of_an_engineer(cast: Cast) -> None:
    with Stage(cast) as stage:
        _reclaimed(stage)
        stage.submit("eng-robotics-1", card_model="a100", name="robot")
        stage.run(10)
        api = Api("eng-robotics-1")
        told = json.dumps([api.get(path) for path in ("jobs", "quotas", "quotas?level=local", "tokens")])
        for secret in ("vision", "language", SECRET_NAME):
            assert secret not in told
