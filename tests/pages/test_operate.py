"""Preempt, requeue and change of priority on the page of a job, without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import Job
from tests.cast import Cast
from tests.pages.visitor import Visitor, field_error, html, words
from tests.services.jobs.situations import fill, until
from tests.stage import Stage

Visitors = Callable[[str | None], Visitor]


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def page(job: Job, rest: str = "") -> str:
    return f"/jobs/{job.public_id}/{rest}"


def _options(text: str, name: str) -> dict[str, str]:
    select = re.search(rf'<select name="{name}".*?</select>', text, flags=re.S)
    assert select is not None
    return {value: re.sub(r"\s+", " ", label) for value, label in re.findall(r'value="(.*?)".*?>(.*?)<', select[0])}


def test_a_lead_picks_one_of_the_teams_jobs_that_wait_for_the_same_cards(stage: Stage, visitor: Visitors) -> None:
    victim = fill(stage)
    waits = stage.submit(card_model="h100", cards=16, name="llm 7b")
    stage.submit(card_model="a100", cards=32, name="elsewhere")
    stage.submit("eng-language-1", card_model="h100", name="foreign", cards=32)
    stage.run(6)
    lead = visitor("lead-vision")
    text = html(lead.get(page(victim, "preempt/")))
    options = _options(text, "beneficiary")
    assert options.pop("") and options == {waits.public_id: "llm 7b, 16 cards, eng-vision-1"}
    assert list(_options(text, "minutes")) == ["5", "10", "15"]
    assert "Work since the last checkpoint is lost." in text
    everybody = _options(html(visitor("admin").get(page(victim, "preempt/"))), "beneficiary")
    assert any(label.startswith("foreign,") for label in everybody.values())
    answer = lead.post(page(victim, "preempt/"), beneficiary=waits.public_id, minutes="10", effect="gives_way")
    assert answer.status_code == 302
    now = until(stage, victim, lambda job: job.reason_code == "preempted_by_person")
    assert now.rests_for == waits and now.rests_until is not None
    assert now.rests_until - timezone.now() <= timedelta(minutes=10)
    said = words(lead.get(page(victim)))
    assert "Preempted by lead-vision. It gives way to llm 7b" in said
    text = html(lead.get("/team/vision/"))
    assert "1 held or giving way" in words(lead.get("/team/vision/")) and 'id="act-resume-' in text


def test_an_engineer_is_not_offered_to_preempt(stage: Stage, visitor: Visitors) -> None:
    job = fill(stage, username="eng-vision-1")
    engineer = visitor("eng-vision-1")
    assert 'id="act-preempt"' not in html(engineer.get(page(job)))
    assert engineer.get(page(job, "preempt/")).status_code == 403
    assert engineer.post(page(job, "preempt/"), minutes="5").status_code == 403
    assert 'id="act-preempt"' in html(visitor("lead-vision").get(page(job)))


def test_a_problem_of_a_preemption_stands_at_its_field_and_nothing_happens(stage: Stage, visitor: Visitors) -> None:
    job = fill(stage)
    lead = visitor("lead-vision")
    answer = lead.post(page(job, "preempt/"), beneficiary="01ARZ3NDEKTSV4RRFFQ69G5FAV", minutes="99")
    assert answer.status_code == 422
    assert "no such job" in field_error(answer, "beneficiary")
    assert field_error(answer, "minutes")
    assert stage.job(job).rests_until is None


def test_somebody_whose_job_gives_way_cannot_end_that(stage: Stage, visitor: Visitors) -> None:
    job = fill(stage, username="eng-vision-1")
    visitor("lead-vision").post(page(job, "preempt/"), minutes="15")
    until(stage, job, lambda job: job.reason_code == "preempted_by_person")
    engineer = visitor("eng-vision-1")
    text = html(engineer.get(page(job)))
    assert 'id="act-resume"' not in text and 'id="act-hold"' in text
    assert engineer.post(page(job, "resume/")).status_code == 403
    assert 'id="act-resume"' in html(visitor("lead-vision").get(page(job)))
    assert visitor("lead-vision").post(page(job, "resume/")).status_code == 302
    assert stage.job(job).rests_until is None


def test_a_requeue_says_that_the_place_and_the_work_are_lost(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(command="sleep 600")
    stage.run(30)
    engineer = visitor("eng-vision-1")
    said = words(engineer.get(page(job, "requeue/")))
    for sentence in (
        "The present attempt stops.",
        "It goes to the end of the queue of its priority.",
        "Work since the last checkpoint is lost.",
    ):
        assert sentence in said
    assert engineer.post(page(job, "requeue/"), effect="starts_anew").status_code == 302
    assert stage.job(job).desired == "requeue"
    stage.run(30)
    said = words(engineer.get(page(job)))
    assert "Attempt 2" in said and "Stopped to be requeued" in said


def _asked(text: str) -> dict[str, str]:
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', text))
    return {name: value for name, value in fields.items() if name != "csrfmiddlewaretoken"}


@pytest.mark.parametrize("operation", ["cancel", "requeue"])
def test_a_question_about_a_waiting_job_is_asked_again_once_the_job_runs(
    stage: Stage, visitor: Visitors, operation: str
) -> None:
    """A page left open over night: its yes was to a job that had nothing to lose."""
    blocker = fill(stage)
    job, engineer = stage.submit(card_model="h100", command="sleep 6000"), visitor("eng-vision-1")
    stage.run(4)
    question = html(engineer.get(page(job, f"{operation}/")))
    assert "Work since the last checkpoint is lost." not in question
    visitor("eng-vision-2").post(page(blocker, "cancel/"))
    until(stage, job, lambda now: now.state == "running")
    again = engineer.post(page(job, f"{operation}/"), **_asked(question))
    assert again.status_code == 409 and stage.job(job).desired == "run"
    assert "The job has moved on since you were asked." in words(again)
    assert "Work since the last checkpoint is lost." in words(again)
    assert engineer.post(page(job, f"{operation}/"), **_asked(html(again))).status_code == 302
    second_click = engineer.post(page(job, f"{operation}/"), **_asked(html(again)))
    assert second_click.status_code == 302


def test_a_priority_is_chosen_up_to_ones_maximum(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(cards=32)
    engineer, lead = visitor("eng-vision-1"), visitor("lead-vision")
    text = html(engineer.get(page(job, "priority/")))
    radios = re.findall(r'<input type="radio" name="priority" value="(\w+)"([^>]*)>', text)
    assert {value for value, rest in radios if "disabled" in rest} == {"high", "urgent"}
    assert [value for value, rest in radios if "checked" in rest] == ["normal"]
    answer = engineer.post(page(job, "priority/"), priority="high")
    assert answer.status_code == 422 and "above your maximum" in field_error(answer, "priority")
    answer = lead.post(page(job, "priority/"), priority="urgent", priority_reason="")
    assert answer.status_code == 422 and field_error(answer, "priority_reason")
    answer = lead.post(page(job, "priority/"), priority="urgent", priority_reason="paper deadline")
    assert answer.status_code == 302 and stage.job(job).priority == "urgent"
    said = words(engineer.get(page(job)))
    assert "from normal to urgent. Reason: paper deadline" in said


def test_the_questions_fill_a_dialog_too(stage: Stage, visitor: Visitors) -> None:
    job = fill(stage)
    lead = visitor("lead-vision")
    for operation in ("preempt", "priority", "requeue"):
        part = lead.fragment(page(job, f"{operation}/"))
        assert "<html" not in html(part) and "<h2" in html(part), operation
        assert words(part).strip() in words(lead.get(page(job, f"{operation}/")))


def test_a_service_is_scaled_and_stopped_on_its_page(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(kind="inference", replicas=2, cards=4, command="serve", name="chat")
    until(stage, job, lambda now: now.state == "running")
    owner = visitor("eng-vision-1")
    text = html(owner.get(page(job)))
    assert 'id="act-scale"' in text and "Cancel job" not in text
    question = html(owner.get(page(job, "scale/")))
    assert "Scale chat?" in question and 'name="replicas" value="2"' in question
    assert "The others go on." in question
    wrong = owner.post(page(job, "scale/"), replicas="0", effect="new_size")
    assert wrong.status_code == 422 and "between 1 and 64" in field_error(wrong, "replicas")
    assert owner.post(page(job, "scale/"), replicas="3", effect="new_size").status_code == 302
    until(stage, job, lambda now: now.reason_facts.get("ready") == 3)
    assert "Asked to change the replicas from 2 to 3." in words(owner.get(page(job)))
    assert "Stop chat?" in html(owner.get(page(job, "cancel/")))


def test_a_job_that_is_no_service_is_not_offered_to_scale(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(card_model="h100")
    owner = visitor("eng-vision-1")
    assert 'id="act-scale"' not in html(owner.get(page(job)))
    assert "Only an inference service has replicas." in words(owner.get(page(job, "scale/")))
