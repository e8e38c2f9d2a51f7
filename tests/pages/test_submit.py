"""The form of a new job, as it works without a script, and the answer while typing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import AuditEvent, Membership, Role
from jobs.models import Attempt, Job, JobEvent
from quotas.models import Demand
from tests.cast import Cast
from tests.pages.visitor import Visitor, field_error, html, words
from tests.stage import Stage

Visitors = Callable[[str | None], Visitor]
FACTS: dict[str, Any] = {
    "framework": "pytorch",
    "image": "registry.example/bert:1.0",
    "cards": "8",
    "priority": "normal",
    "kind": "training",
    "run_unit": "3600",
}


def rows() -> list[int]:
    return [model.objects.count() for model in (Job, Attempt, Demand, JobEvent, AuditEvent)]  # type: ignore[attr-defined]


def test_four_facts_make_a_job_and_lead_to_its_page(visitor: Visitors) -> None:
    answer = visitor("eng-vision-1").post("/jobs/new/", **FACTS)
    job = Job.objects.get()
    assert answer.status_code == 302 and answer["Location"] == f"/jobs/{job.public_id}/"
    assert (job.framework, job.image, job.cards, job.priority) == (
        "pytorch", "registry.example/bert:1.0", 8, "normal",
    )  # fmt: skip
    assert job.owner.username == "eng-vision-1"


def test_the_chosen_count_is_taken_when_no_other_is_typed(visitor: Visitors) -> None:
    visitor("eng-vision-1").post("/jobs/new/", **FACTS | {"cards": "", "cards_pick": "16"})
    assert Job.objects.get().cards == 16


def test_everything_optional_arrives(visitor: Visitors) -> None:
    visitor("eng-vision-1").post(
        "/jobs/new/",
        **FACTS
        | {
            "name": "车道线检测-v7",
            "command": "python train.py\r\n--night",
            "card_model": "a100",
            "run_amount": "90",
            "run_unit": "60",
            "retry_limit": "2",
            "env": "A=1\n\nB=x=y\n",
        },
    )
    job = Job.objects.get()
    assert job.display_name == "车道线检测-v7"
    assert job.command == "python train.py\n--night"
    assert job.group is not None and job.group.slug == "a100"
    assert (job.max_run_seconds, job.retry_limit) == (5400, 2)
    assert job.env == {"A": "1", "B": "x=y"}


@pytest.mark.parametrize(
    ("field", "typed", "says"),
    [
        ("name", "   ", "Give the job a name"),
        ("name", "a" * 301, "at most 300"),
        ("cards", "-1", "cannot be negative"),
        ("cards", "1e9", "whole number"),
        ("cards", "999999999", "more cards than any cluster"),
        ("cards", "１２", "plain digits"),
        ("cards", "11", "Take 10 or 12"),
        ("image", "", "Name the container image"),
        ("image", "https://registry.example/x", "Leave out https://"),
        ("image", "registry.example/Team/BERT", "no capital letters"),
        ("priority", "urgent", "given by your team lead"),
        ("kind", "serving", "Choose training, development or inference"),
        ("framework", "caffe", "Choose PyTorch"),
        ("card_model", "b200", "no card model of this name"),
        ("run_amount", "ten", "between 1 minute and 30 days"),
        ("run_amount", "0", "between 1 minute and 30 days"),
        ("retry_limit", "99", "between 0 and 10"),
        ("env", "A=1\nno sign", "Line 2 has no = sign"),
        ("env", "1A=1", "no digit first"),
        ("env", "SLUICE_JOB=1", "set by the platform"),
        ("env", "A=" + "x" * 1_000_000, "64 KB together"),
        ("command", "x" * 20_000, "at most 16 KB"),
        ("cpu", "4", "follow from the cards"),
    ],
)
def test_a_problem_comes_back_at_its_field_and_nothing_is_stored(
    visitor: Visitors, field: str, typed: str, says: str
) -> None:
    before = rows()
    answer = visitor("eng-vision-1").post("/jobs/new/", **FACTS | {"name": "kept", field: typed})
    assert answer.status_code == 422
    assert says in field_error(answer, field)
    assert rows() == before
    page = html(answer)
    assert 'value="kept"' in page or field == "name", "what was typed elsewhere is kept"
    assert 'id="id_token"' in page


def test_a_service_is_submitted_with_its_replicas_which_no_other_kind_has(visitor: Visitors) -> None:
    engineer = visitor("eng-vision-1")
    page = html(engineer.get("/jobs/new/"))
    assert (
        'name="replicas" value="1"' in page
        and "disabled" not in re.findall(r'<input[^>]*value="inference"[^>]*>', page)[0]
    )
    facts = FACTS | {"kind": "inference", "cards": "4", "replicas": "3"}
    engineer.post("/jobs/new/", **facts)
    job = Job.objects.get()
    assert (job.kind, job.pods, job.cards_per_pod, job.cards) == ("inference", 3, 4, 12)
    refused = engineer.post("/jobs/new/", **facts | {"replicas": "65"})
    assert "between 1 and 64 replicas" in field_error(refused, "replicas")
    engineer.post("/jobs/new/", **FACTS | {"replicas": "3"})  # what the form shows for another kind means nothing
    assert Job.objects.exclude(pk=job.pk).get().pods == 1


def test_the_answer_while_typing_counts_the_replicas(visitor: Visitors) -> None:
    engineer = visitor("eng-vision-1")
    ask = FACTS | {"kind": "inference", "cards": "8", "card_model": "h100"}
    said = words(engineer.get("/jobs/new/preview/", **ask | {"replicas": "2"}))
    assert "2 replicas, 16 cards together" in said and "starts now" in said
    assert "40 can never start" in words(engineer.get("/jobs/new/preview/", **ask | {"replicas": "5"}))


def test_a_problem_under_the_fold_opens_it(visitor: Visitors) -> None:
    folded = html(visitor("eng-vision-1").post("/jobs/new/", **FACTS | {"image": ""}))
    opened = html(visitor("eng-vision-1").post("/jobs/new/", **FACTS | {"env": "x"}))
    assert '<details class="sl-fold">' in folded
    assert '<details class="sl-fold" open>' in opened


def test_all_problems_are_shown_at_once(visitor: Visitors) -> None:
    answer = visitor("eng-vision-1").post("/jobs/new/", **FACTS | {"image": "", "cards": "-1", "retry_limit": "x"})
    assert all(field_error(answer, name) for name in ("image", "cards", "retry_limit"))


def test_problems_speak_the_readers_language(cast: Cast, visitor: Visitors) -> None:
    cast.users["eng-vision-1"].language = "zh-hans"
    cast.users["eng-vision-1"].save()
    answer = visitor("eng-vision-1").post("/jobs/new/", **FACTS | {"cards": "-1"})
    assert answer.status_code == 422
    assert re.search(r'<html lang="zh-Hans"', html(answer))


def test_a_double_click_makes_one_job(visitor: Visitors) -> None:
    engineer = visitor("eng-vision-1")
    token = re.search(r'name="token" value="(\w+)"', html(engineer.get("/jobs/new/")))
    assert token is not None
    first, second = (engineer.post("/jobs/new/", **FACTS | {"token": token[1]}) for _ in range(2))
    assert first["Location"] == second["Location"]
    assert Job.objects.count() == 1
    assert "sent before" in words(engineer.get(second["Location"]))


def test_a_form_sent_again_with_other_facts_is_refused_in_words(visitor: Visitors) -> None:
    engineer = visitor("eng-vision-1")
    engineer.post("/jobs/new/", **FACTS | {"token": "once"})
    answer = engineer.post("/jobs/new/", **FACTS | {"token": "once", "cards": "4"})
    assert answer.status_code == 422
    assert "was used with another job" in words(answer)
    assert 'value="once"' not in html(answer), "the form comes back with a token of its own"
    assert Job.objects.count() == 1


def test_a_copy_begins_with_the_facts_of_the_job(cast: Cast, visitor: Visitors) -> None:
    with Stage(cast) as stage:
        job = stage.submit(name="first try", cards=12, env={"SECRET": "hush"}, max_run_seconds=7200, command="run me")
    page = html(visitor("eng-vision-1").get("/jobs/new/", like=job.public_id))
    for typed in ('value="first try"', 'value="12"', "SECRET=hush", "run me", 'value="2"'):
        assert typed in page, typed
    teammate = html(visitor("eng-vision-2").get("/jobs/new/", like=job.public_id))
    assert "first try" in teammate and "hush" not in teammate
    assert "first try" not in html(visitor("eng-language-1").get("/jobs/new/", like=job.public_id))


def test_high_and_urgent_are_closed_for_engineers_and_open_for_leads(visitor: Visitors) -> None:
    def closed(username: str) -> set[str]:
        page = html(visitor(username).get("/jobs/new/"))
        return set(re.findall(r'name="priority" value="(\w+)"[^>]*disabled', page))

    assert closed("eng-vision-1") == {"high", "urgent"}
    assert closed("lead-vision") == set()
    reason = "High and urgent are for team leads"
    assert reason in words(visitor("eng-vision-1").get("/jobs/new/"))
    assert reason not in words(visitor("lead-vision").get("/jobs/new/"))


def test_somebody_in_two_teams_says_which(cast: Cast, visitor: Visitors) -> None:
    Membership.objects.create(user=cast.users["eng-vision-1"], team=cast.teams["language"], role=Role.ENGINEER)
    engineer = visitor("eng-vision-1")
    page = html(engineer.get("/jobs/new/"))
    assert 'value="vision/default"' in page and 'value="language/default"' in page
    assert "which one this job belongs to" in field_error(engineer.post("/jobs/new/", **FACTS), "place")
    engineer.post("/jobs/new/", **FACTS | {"place": "language/default"})
    assert Job.objects.get().team == cast.teams["language"]


def test_somebody_in_no_team_is_told_before_they_type(visitor: Visitors) -> None:
    assert "You are in no team" in words(visitor("admin").get("/jobs/new/"))


# --------------------------------------------------------------------------- the answer while typing


def preview(visitor: Visitors, **typed: Any) -> str:
    return words(visitor("eng-vision-1").fragment("/jobs/new/preview/", **{"framework": "pytorch", **typed}))


def test_the_answer_says_that_it_starts_now(visitor: Visitors) -> None:
    said = preview(visitor, cards="16", card_model="h100")
    assert "starts now" in said
    assert "2 × 8 on H100 NVLink" in said
    assert "3 cards would be borrowed" in said  # the share of 40 % of 32 is 13


def test_the_answer_says_what_it_would_wait_for(cast: Cast, visitor: Visitors) -> None:
    with Stage(cast) as stage:
        for _ in range(4):
            stage.submit("eng-language-1", cards=5, card_model="h100")
        stage.run(20)
        said = preview(visitor, cards="8", card_model="h100")
    assert "waits for H100 NVLink" in said
    assert "Needs 8 free cards on one node. Free now, node by node: 3 + 3 + 3 + 3." in said


def test_the_answer_says_why_never(visitor: Visitors) -> None:
    assert "Take 10 or 12" in preview(visitor, cards="11", card_model="h100")
    assert "can never start" in preview(visitor, cards="64", card_model="h100")


def test_the_answer_waits_for_more_facts_without_a_scolding(visitor: Visitors) -> None:
    said = preview(visitor, cards="")
    assert "the answer stands here" in said
    assert "Say how many cards" not in said


def test_the_answer_stores_nothing(visitor: Visitors) -> None:
    before = rows()
    preview(visitor, cards="8")
    assert rows() == before


def test_the_command_for_a_terminal_has_the_facts_and_no_token(visitor: Visitors) -> None:
    said = preview(visitor, cards="8", image="registry.example/it's:1", priority="low")
    assert '"cards": 8' in said and "$SLUICE_TOKEN" in said
    assert "registry.example/it'\"'\"'s:1" in said, "the shell reads it as one word"


def test_the_environment_never_goes_into_an_address(visitor: Visitors) -> None:
    page = html(visitor("eng-vision-1").get("/jobs/new/"))
    sent = re.search(r'hx-params="([^"]*)"', page)
    assert sent is not None
    assert not {"env", "command", "csrfmiddlewaretoken"} & set(sent[1].split(","))
