"""`POST /api/v1/jobs/{id}/cancel|restart|hold|resume|preempt|requeue|priority`, `/timeline` and `/logs`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from jobs.api.schemas import JobDetailOut, TimelineOut
from tests.api.client import Api, refused
from tests.cast import Cast
from tests.services.jobs.situations import until, until_state
from tests.stage import BODY, Stage

OPERATIONS = ("cancel", "restart", "hold", "resume", "requeue", "priority")
BODIES: dict[str, Any] = {"priority": {"priority": "low"}}
MISSING = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


def test_an_operation_answers_with_the_job_as_it_now_stands(cast: Cast) -> None:
    api = Api("eng-vision-1")
    job = api.submit(BODY)
    for operation, possible in (("hold", "resume"), ("resume", "hold"), ("cancel", "cancel")):
        answer = api.call("POST", f"jobs/{job['id']}/{operation}")
        assert answer.status_code == 200
        body = answer.json()
        assert set(body) == set(JobDetailOut().fields) and body["id"] == job["id"]
        allowed = {action["operation"] for action in body["actions"] if action["allowed"]}
        assert possible in allowed


def test_asking_twice_is_fine_where_it_changes_nothing(cast: Cast) -> None:
    api = Api("eng-vision-1")
    job = api.submit(BODY)
    for operation in ("requeue", "cancel"):
        answers = [api.call("POST", f"jobs/{job['id']}/{operation}") for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200]


def test_a_service_is_scaled_by_its_number_of_replicas(cast: Cast) -> None:
    api = Api("eng-vision-1")
    job = api.submit({**BODY, "kind": "inference", "cards": 4, "replicas": 2})
    assert (job["pods"], job["cards_per_pod"], job["cards"]) == (2, 4, 8)
    scaled = api.call("POST", f"jobs/{job['id']}/scale", {"replicas": 3})
    assert scaled.status_code == 200 and (scaled.json()["pods"], scaled.json()["cards"]) == (3, 12)
    assert refused(api, 400, "POST", f"jobs/{job['id']}/scale", {"replicas": 65}) == [("replicas", "out_of_range")]
    training = api.submit(BODY)
    assert api.call("POST", f"jobs/{training['id']}/scale", {"replicas": 2}).status_code == 409


@pytest.mark.parametrize(
    ("before", "operation", "code"),
    [
        ((), "restart", "still_active"),
        ((), "resume", "not_held"),
        (("hold",), "requeue", "is_held"),
        (("requeue",), "hold", "being_requeued"),
        (("cancel",), "requeue", "being_cancelled"),
        (("cancel",), "priority", "being_cancelled"),
        (("cancel",), "hold", "being_cancelled"),
        (("cancel",), "resume", "being_cancelled"),
    ],
)
def test_what_does_not_fit_is_a_409_with_its_reason(
    cast: Cast, before: tuple[str, ...], operation: str, code: str
) -> None:
    api = Api("eng-vision-1")
    job = api.submit(BODY)
    for earlier in before:
        assert api.call("POST", f"jobs/{job['id']}/{earlier}").status_code == 200
    assert refused(api, 409, "POST", f"jobs/{job['id']}/{operation}", BODIES.get(operation)) == [(None, code)]


def test_an_ended_job_can_only_be_restarted(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 1; exit 0"), "succeeded")
        api = Api("eng-vision-1")
        for operation in ("cancel", "hold", "resume", "requeue", "priority"):
            path = f"jobs/{job.public_id}/{operation}"
            assert refused(api, 409, "POST", path, BODIES.get(operation)) == [(None, "already_ended")]
        again = api.call("POST", f"jobs/{job.public_id}/restart").json()
    assert (again["state"], again["attempt"], again["ended_at"]) == ("queued", 2, None)
    assert [attempt["number"] for attempt in again["attempts"]] == [1, 2]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_who_may_see_but_not_act_gets_a_403_and_a_stranger_a_404(cast: Cast, operation: str) -> None:
    job = Api("eng-vision-1").submit(BODY)
    path = f"jobs/{job['id']}/{operation}"
    body = BODIES.get(operation)
    assert refused(Api("eng-vision-2"), 403, "POST", path, body) == [(None, "not_allowed")]
    for username in ("eng-language-1", "lead-language"):
        foreign = Api(username).call("POST", path, body)
        missing = Api(username).call("POST", f"jobs/{MISSING}/{operation}", body)
        assert (foreign.status_code, foreign.content) == (missing.status_code, missing.content)
        assert foreign.status_code == 404
    assert Api("eng-vision-1").get(f"jobs/{job['id']}")["state"] == "queued"


@pytest.mark.parametrize("public_id", ["x", "0" * 26, "../me", "01arz3ndektsv4rrffq69g5fav", "%00", "1" * 200])
def test_an_id_that_cannot_be_is_a_404(cast: Cast, public_id: str) -> None:
    for method, tail in (("GET", ""), ("GET", "/logs"), ("GET", "/timeline"), ("POST", "/cancel")):
        assert refused(Api("admin"), 404, method, f"jobs/{public_id}{tail}")[0][0] is None


def test_a_body_beside_an_operation_is_ignored(cast: Cast) -> None:
    api = Api("eng-vision-1")
    job = api.submit(BODY)
    assert api.call("POST", f"jobs/{job['id']}/hold", {"state": "succeeded", "owner": "admin"}).status_code == 200
    now = api.get(f"jobs/{job['id']}")
    assert (now["state"], now["owner"]) == ("queued", "eng-vision-1")


# --------------------------------------------------------------------------- preempt and priority


def test_preempt_is_for_leads_and_admins_and_names_a_job_that_waits(cast: Cast) -> None:
    with Stage(cast) as stage:
        victim = until_state(stage, stage.submit(command="sleep 600", card_model="h100", cards=32), "running")
        waits = stage.submit(card_model="h100", cards=32)
        stage.run(4)
        path, body = f"jobs/{victim.public_id}/preempt", {"beneficiary": waits.public_id}
        assert refused(Api("eng-vision-1"), 403, "POST", path, body) == [(None, "not_allowed")]
        assert refused(Api("lead-language"), 404, "POST", path, body) == [(None, "not_found")]
        lead = Api("lead-vision")
        assert refused(lead, 400, "POST", path, {}) == [("beneficiary", "required")]
        assert refused(lead, 400, "POST", path, {"beneficiary": MISSING}) == [("beneficiary", "unknown_job")]
        assert refused(lead, 400, "POST", path, []) == [(None, "parse_error")]
        now = lead.call("POST", path, body).json()
        assert now["gives_way_until"] and now["flags"] == []
        assert refused(lead, 409, "POST", path, body) == [(None, "gives_way")]
        until(stage, victim, lambda job: job.reason_code == "preempted_by_person")
        now = lead.get(f"jobs/{victim.public_id}")
        assert (now["state"], now["reason"]["facts"]["by"]) == ("queued", waits.public_id)
        assert waits.display_name in now["reason"]["text"] and "lead-vision" in now["reason"]["text"]
        allowed = {action["operation"] for action in now["actions"] if action["allowed"]}
        assert allowed == {"cancel", "hold", "resume", "priority"}
        engineer = Api("eng-vision-1").get(f"jobs/{victim.public_id}")["actions"]
        assert {action["operation"] for action in engineer if action["allowed"]} == {"cancel", "hold", "priority"}
        assert refused(Api("eng-vision-1"), 403, "POST", f"jobs/{victim.public_id}/resume") == [(None, "not_allowed")]


def test_a_priority_above_ones_maximum_is_refused_at_its_field(cast: Cast) -> None:
    api = Api("eng-vision-1")
    job = api.submit(BODY)
    path = f"jobs/{job['id']}/priority"
    assert refused(api, 400, "POST", path, {"priority": "high"}) == [("priority", "above_maximum")]
    assert refused(api, 400, "POST", path, {}) == [("priority", "required")]
    assert refused(api, 400, "POST", path, {"priority": 7}) == [("priority", "unknown_choice")]
    lead = Api("lead-vision")
    assert refused(lead, 400, "POST", path, {"priority": "urgent"}) == [("priority_reason", "required")]
    body = {"priority": "urgent", "priority_reason": "paper deadline"}
    assert lead.call("POST", path, body).json()["priority"] == "urgent"
    told = [entry for entry in api.get(f"jobs/{job['id']}/timeline") if entry["code"] == "asked_priority"]
    assert [(entry["actor"], entry["facts"]["reason"]) for entry in told] == [("lead-vision", "paper deadline")]
    assert api.call("POST", path, {"priority": "low"}).json()["priority"] == "low"


# --------------------------------------------------------------------------- timeline


def test_the_timeline_tells_acts_and_what_was_seen_in_order(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, stage.submit(command="sleep 30; exit 3"), "running")
        Api("lead-vision").call("POST", f"jobs/{job.public_id}/hold")
        stage.run(6)
        Api("eng-vision-1").call("POST", f"jobs/{job.public_id}/resume")
        until_state(stage, job, "failed")
        entries = Api("eng-vision-1").get(f"jobs/{job.public_id}/timeline")
    assert all(set(entry) == set(TimelineOut().fields) for entry in entries)
    assert [entry["at"] for entry in entries] == sorted(entry["at"] for entry in entries)
    assert all(entry["text"] and entry["at"] <= entry["recorded_at"] for entry in entries)
    acts = [(entry["code"], entry["actor"]) for entry in entries if entry["actor"]]
    assert acts == [("submitted", "eng-vision-1"), ("asked_hold", "lead-vision"), ("asked_resume", "eng-vision-1")]
    seen = [entry["code"] for entry in entries if not entry["actor"]]
    assert seen.count("running") == 2 and seen.count("held") == 1 and seen[-1] == "app_exit"
    assert entries[-1]["facts"]["exit_code"] == 3 and "3" in entries[-1]["text"]
    runs = [entry["run"] for entry in entries if entry["code"] == "running"]
    assert runs == [1, 2]


# --------------------------------------------------------------------------- logs


def _all_lines(api: Api, path: str) -> list[dict[str, Any]]:
    page = api.get(path)
    found = page["lines"]
    while not page["complete"] or page["lines"]:
        separator = "&" if "?" in path else "?"
        page = api.get(f"{path}{separator}cursor={page['next']}")
        if not page["lines"] and not page["complete"]:
            break
        found = found + page["lines"]
    return found


def test_logs_are_read_to_the_end_with_a_cursor(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(cards=16, command="sleep 90; exit 0")
        until_state(stage, job, "succeeded", seconds=300, step=10)
        until(stage, job, lambda now: bool(now.attempts.get().log_complete))
        api = Api("eng-vision-2")
        path = f"jobs/{job.public_id}/logs"
        page = api.get(path)
    assert set(page) == {"lines", "next", "complete"} and page["complete"] is True
    assert all(set(line) == {"seq", "at", "pod", "text"} for line in page["lines"])
    assert page["next"] == str(page["lines"][-1]["seq"])
    assert all(a["seq"] < b["seq"] for a, b in pairwise(page["lines"]))
    assert _all_lines(api, path) == page["lines"]
    pods = {line["pod"] for line in page["lines"]}
    assert len(pods) == 2
    for pod in pods:
        for name in (pod, pod.rsplit("-", 1)[-1]):
            alone = api.get(f"{path}?pod={name}")["lines"]
            assert alone == [line for line in page["lines"] if line["pod"] == pod]
    raw = api.call("GET", f"jobs/{job.public_id}/log")
    text = b"".join(raw.streaming_content).decode()  # type: ignore[attr-defined]
    assert text.splitlines() == [line["text"] for line in page["lines"]]
    assert raw["Content-Type"] == "application/octet-stream" and "attachment" in raw["Content-Disposition"]
    assert raw["X-Content-Type-Options"] == "nosniff"


def test_a_job_that_has_not_run_has_an_empty_log_that_is_not_complete(cast: Cast) -> None:
    api = Api("eng-vision-1")
    job = api.submit(BODY)
    assert api.get(f"jobs/{job['id']}/logs") == {"lines": [], "next": "-1", "complete": False}


@pytest.mark.parametrize(
    ("query", "status", "problem"),
    [
        ("cursor=x", 400, ("cursor", "not_a_number")),
        ("cursor=1e3", 400, ("cursor", "not_a_number")),
        ("cursor=" + "9" * 30, 400, ("cursor", "not_a_number")),
        ("cursor=%D9%A1", 400, ("cursor", "not_a_number")),
        ("pod=worker", 400, ("pod", "not_a_number")),
        ("pod=%00", 400, ("pod", "not_a_number")),
        ("attempt=x", 400, ("attempt", "not_a_number")),
        ("attempt=2", 404, (None, "not_found")),
        ("attempt=0", 404, (None, "not_found")),
        ("attempt=-1", 404, (None, "not_found")),
        ("attempt=" + "9" * 18, 404, (None, "not_found")),
    ],
)
def test_odd_questions_about_logs_are_clear_refusals(
    cast: Cast, query: str, status: int, problem: tuple[str | None, str]
) -> None:
    api = Api("eng-vision-1")
    job = api.submit(BODY)
    assert refused(api, status, "GET", f"jobs/{job['id']}/logs?{query}") == [problem]


@pytest.mark.parametrize("query", ["cursor=-5", "cursor=" + "9" * 18, "pod=7", "pod=-1", "attempt=", "cursor="])
def test_harmless_questions_about_logs_are_answered(cast: Cast, query: str) -> None:
    api = Api("eng-vision-1")
    job = api.submit(BODY)
    assert api.get(f"jobs/{job['id']}/logs?{query}")["lines"] == []
