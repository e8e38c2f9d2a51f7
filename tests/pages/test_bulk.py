"""One operation on the jobs that are ticked in a list, without scripts: question, then done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.http import HttpResponse

from accounts.models import AuditEvent
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


def ticks(response: HttpResponse) -> set[str]:
    return set(re.findall(r'<input type="checkbox" name="ids" form="bulk" id="tick-\w+" value="(\w+)"', html(response)))


def offered(response: HttpResponse) -> list[str]:
    select = re.search(r'<select id="bulk-operation".*?</select>', html(response), flags=re.S)
    return re.findall(r'<option value="(\w+)"', select[0]) if select else []


def ask(visitor: Visitor, operation: str, *jobs: Job | str, **more: Any) -> HttpResponse:
    ids = [job if isinstance(job, str) else job.public_id for job in jobs]
    return visitor.post("/jobs/bulk/", operation=operation, ids=ids, **more)


def hidden_ids(response: HttpResponse) -> set[str]:
    return set(re.findall(r'<input type="hidden" name="ids" value="(\w+)"', html(response)))


def test_lists_have_a_tick_for_each_job_one_may_operate_on_and_one_bar(stage: Stage, visitor: Visitors) -> None:
    mine, teammates = stage.submit(), stage.submit("eng-vision-2")
    engineer, lead = visitor("eng-vision-1"), visitor("lead-vision")
    assert ticks(engineer.get("/jobs/")) == {mine.public_id}
    both = engineer.get("/jobs/", whose="team")
    assert ticks(both) == {mine.public_id} and 'id="bulk"' in html(both)
    assert "preempt" not in offered(both) and {"cancel", "hold", "resume", "requeue", "priority"} <= set(offered(both))
    for path in ("/team/vision/", "/team/vision/jobs/"):
        answer = lead.get(path)
        assert ticks(answer) == {mine.public_id, teammates.public_id}, path
        assert "preempt" in offered(answer)
    assert ticks(visitor("admin").get("/admin/jobs/")) == {mine.public_id, teammates.public_id}
    assert ticks(engineer.fragment("/jobs/")) == {mine.public_id}
    assert offered(visitor("eng-robotics-1").get("/jobs/")) == []


def test_the_question_says_what_happens_to_each_and_nothing_has_happened_yet(stage: Stage, visitor: Visitors) -> None:
    runs = stage.submit(name="runs", command="sleep 600")
    stage.run(30)
    waits, held = (stage.submit(name=name, card_model="h100", cards=32) for name in ("waits", "held"))
    stage.run(4)
    Job.objects.filter(pk=held.pk).update(held=True)
    foreign = stage.submit("eng-language-1", name="secret")
    answer = ask(visitor("eng-vision-1"), "hold", runs, waits, held, foreign, next="/jobs/?state=live")
    said = words(answer)
    assert answer.status_code == 200 and "2 jobs change" in said
    for sentence in (
        "gives its cards back at once",
        "Work since the last checkpoint is lost.",
        "The job leaves the queue until somebody resumes it.",
        "Nothing changes: it was asked before.",
        "There is no such job, or you may not see it.",
    ):
        assert sentence in said
    assert "secret" not in said
    assert hidden_ids(answer) == {runs.public_id, waits.public_id}
    assert 'href="/jobs/?state=live"' in html(answer)
    assert not Job.objects.filter(held=True).exclude(pk=held.pk).exists()


def test_what_was_confirmed_is_done_and_leads_back_to_the_list(stage: Stage, visitor: Visitors) -> None:
    jobs = [stage.submit(cards=32) for _ in range(3)]
    engineer = visitor("eng-vision-1")
    answer = ask(engineer, "cancel", *jobs, confirmed="yes", next="/jobs/?state=queued")
    assert answer.status_code == 302 and answer["Location"] == "/jobs/?state=queued"
    assert set(Job.objects.values_list("desired", flat=True)) == {"cancel"}
    assert AuditEvent.objects.filter(action="job.cancel").count() == 3
    assert "It is asked for 3 jobs." in words(engineer.get("/jobs/"))


def test_a_job_that_has_work_to_lose_by_now_is_asked_about_again(stage: Stage, visitor: Visitors) -> None:
    engineer = visitor("eng-vision-1")
    runs = stage.submit(command="sleep 600")
    question = ask(engineer, "cancel", runs)
    asked = re.findall(r'name="loses" value="([^"]*)"', html(question))
    assert asked == [""]
    until(stage, runs, lambda job: job.state == "running")
    again = ask(engineer, "cancel", runs, confirmed="yes", loses=asked[0])
    assert again.status_code == 409 and not Job.objects.filter(desired="cancel").exists()
    assert "Jobs have moved on since you were asked." in words(again)
    assert re.findall(r'name="loses" value="([^"]*)"', html(again)) == [runs.public_id]
    assert ask(engineer, "cancel", runs, confirmed="yes", loses=runs.public_id).status_code == 302
    assert stage.job(runs).desired == "cancel"


def test_those_that_moved_on_meanwhile_are_named_with_the_reason(stage: Stage, visitor: Visitors) -> None:
    ended, mine = stage.submit(name="ended"), stage.submit(cards=32)
    Job.objects.filter(pk=ended.pk).update(state="succeeded")
    engineer = visitor("eng-vision-1")
    ask(engineer, "hold", ended, mine, confirmed="yes")
    said = words(engineer.get("/jobs/"))
    assert "It is asked for 1 job." in said and "ended: The job has already ended." in said
    assert stage.job(mine).held


def test_a_lead_changes_priorities_and_the_problem_stands_at_the_field(stage: Stage, visitor: Visitors) -> None:
    jobs = [stage.submit(cards=32) for _ in range(2)]
    lead = visitor("lead-vision")
    text = html(ask(lead, "priority", *jobs))
    assert 'name="priority"' in text and 'name="priority_reason"' in text
    answer = ask(lead, "priority", *jobs, confirmed="yes", priority="urgent")
    assert answer.status_code == 422 and field_error(answer, "priority_reason")
    assert hidden_ids(answer) == {job.public_id for job in jobs}
    answer = ask(lead, "priority", *jobs, confirmed="yes", priority="urgent", priority_reason="deadline")
    assert answer.status_code == 302
    assert {stage.job(job).priority for job in jobs} == {"urgent"}


def test_a_lead_preempts_several_for_one(stage: Stage, visitor: Visitors) -> None:
    victims = [fill(stage, cards=16), fill(stage, cards=16)]
    large = stage.submit(card_model="h100", cards=32, name="large")
    stage.run(4)
    lead = visitor("lead-vision")
    assert "large, 32 cards" in html(ask(lead, "preempt", *victims))
    answer = ask(lead, "preempt", *victims, confirmed="yes", beneficiary=large.public_id, minutes="15")
    assert answer.status_code == 302
    assert all(stage.job(victim).rests_for == large for victim in victims)


def test_nothing_ticked_is_said_and_an_unknown_operation_is_no_address(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit()
    engineer = visitor("eng-vision-1")
    assert ask(engineer, "cancel").status_code == 302
    assert "Choose at least one job first." in words(engineer.get("/jobs/"))
    assert ask(engineer, "explode", job).status_code == 404
    assert ask(engineer, "", job).status_code == 404
    assert stage.job(job).desired == "run"


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)", ""])
def test_it_never_leads_to_another_host(stage: Stage, visitor: Visitors, target: str) -> None:
    job = stage.submit(cards=32)
    engineer = visitor("eng-vision-1")
    assert "evil" not in html(ask(engineer, "hold", job, next=target))
    assert ask(engineer, "hold", job, next=target, confirmed="yes")["Location"] == "/jobs/"


def test_hostile_names_and_ids_are_inert(stage: Stage, visitor: Visitors) -> None:
    hostile = '<script>alert(1)</script>"><img src=x>'
    job = stage.submit(name=hostile)
    engineer = visitor("eng-vision-1")
    for answer in (ask(engineer, "hold", job, hostile), engineer.get("/jobs/")):
        assert "<script>alert" not in html(answer) and "<img src=x" not in html(answer)
