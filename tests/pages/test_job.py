"""The page of one job: why, attempts and runs, logs, operations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.utils import timezone

from accounts.models import AuditEvent
from clusters.contract import LogLine
from jobs.models import Attempt, Job, LogChunk
from tests.cast import Cast
from tests.pages.crowd import crowd
from tests.pages.visitor import Visitor, html, words
from tests.stage import Stage

Visitors = Callable[[str | None], Visitor]


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def page(job: Job, rest: str = "") -> str:
    return f"/jobs/{job.public_id}/{rest}"


def write_log(job: Job, *lines: bytes, complete: bool = False) -> Attempt:
    """Lines of pods in turn, as the collector stores them."""
    attempt = job.attempts.get(number=job.attempt_no)
    written = [LogLine(seq, timezone.now(), f"pod-{seq % 2}", seq % 2, data) for seq, data in enumerate(lines)]
    LogChunk.objects.create(
        attempt=attempt,
        first_seq=0,
        last_seq=len(lines) - 1,
        index=[[line.seq, int(line.at.timestamp() * 1000), line.rank] for line in written],
        payload=b"\n".join(line.data for line in written),
    )
    Attempt.objects.filter(pk=attempt.pk).update(log_complete=complete)
    return attempt


# --------------------------------------------------------------------------- why, and how it goes


def test_a_running_job_shows_its_state_its_runs_and_where(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(command="sleep 600; exit 0")
    stage.run(30)
    answer = visitor("eng-vision-1").get(page(job))
    said = words(answer)
    assert "Running for" in said and "All pods run." in said
    assert "Attempt 1" in said
    nodes = job.attempts.get().runs.get().nodes
    assert nodes and nodes[0] in said
    assert 'aria-label="Attempt 1: queued' in html(answer) or 'aria-label="Attempt 1: creating' in html(answer)


def test_a_job_that_waits_for_a_whole_node_shows_the_free_blocks(cast: Cast, visitor: Visitors) -> None:
    job = crowd(cast, 1, states=["queued"])[0]
    text = html(visitor("eng-vision-1").get(page(job)))
    assert "Needs 8 cards on one node. H100 NVLink has 8 free, split 5 + 3." in text
    drawn = re.findall(r'<span>(\d) free</span><span class="sl-squares" aria-hidden="true">(.*?)</span>', text)
    assert [(free, squares.count("sl-sq-free"), squares.count("<i")) for free, squares in drawn] == [
        ("5", 5, 8),
        ("3", 3, 8),
    ]


def test_the_fragment_has_the_same_why_and_story_and_not_the_log(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit()
    stage.run(10)
    engineer = visitor("eng-vision-1")
    whole, part = html(engineer.get(page(job))), html(engineer.fragment(page(job)))
    why = re.compile(r'<p class="sl-why-text">(.*?)</p>')
    assert why.findall(whole) == why.findall(part) != []
    assert 'id="story"' in part and 'id="logs"' not in part


def test_a_page_polls_until_the_job_has_ended(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(command="sleep 10; exit 0")
    engineer = visitor("eng-vision-1")
    assert 'hx-trigger="every 5s"' in html(engineer.get(page(job)))
    stage.run(90)
    ended = html(engineer.get(page(job)))
    assert stage.job(job).state == "succeeded"
    assert 'hx-trigger="every 5s"' not in ended


def test_a_failed_job_says_its_exit_code(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(command="sleep 5; exit 3")
    stage.run(90)
    said = words(visitor("eng-vision-1").get(page(job)))
    assert "ended with exit code 3" in said


def test_environment_values_are_for_their_owner_only(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(env={"WANDB_KEY": "hush"})
    assert "hush" in words(visitor("eng-vision-1").get(page(job)))
    for other in ("eng-vision-2", "lead-vision", "admin"):
        said = words(visitor(other).get(page(job)))
        assert "WANDB_KEY" in said and "hush" not in said, other


@pytest.mark.parametrize("rest", ["", "logs/", "log-file/", "cancel/", "hold/"])
def test_a_foreign_job_does_not_exist(stage: Stage, visitor: Visitors, rest: str) -> None:
    job = stage.submit("eng-language-1", name="secret")
    answer = visitor("eng-vision-1").get(page(job, rest))
    assert answer.status_code == 404
    assert "secret" not in html(answer)


def test_hostile_facts_are_inert(stage: Stage, visitor: Visitors) -> None:
    hostile = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'
    job = stage.submit(name=hostile, command=hostile, env={"A": hostile})
    for rest in ("", "cancel/"):
        text = html(visitor("eng-vision-1").get(page(job, rest)))
        assert "<script>alert" not in text and "<img src=x" not in text, rest
        assert hostile in words(visitor("eng-vision-1").get(page(job, rest))), rest


# --------------------------------------------------------------------------- logs


def test_log_lines_are_inert_text(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit()
    write_log(
        job,
        b"<script>alert(1)</script>",
        b"\x1b[31mred\x1b[0m",
        b"\x1b]8;;javascript:alert(1)\x1b\\click\x1b]8;;\x1b\\",
        b'hx-get="/admin"',
        b"epoch 1\xe4\xf6 done",
        b"  0%\r 33%\r100%|###| 3/3",
    )
    answer = visitor("eng-vision-1").get(page(job))
    text = html(answer)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text and "<script>alert" not in text
    assert "javascript:alert" not in text and "\x1b" not in text
    assert "hx-get=&quot;/admin&quot;" in text
    said = words(answer)
    for shown in ("red", "click", "epoch 1\ufffd\ufffd done", "100%|###| 3/3"):
        assert shown in said, shown
    assert "33%" not in said


def test_the_page_shows_the_last_lines_and_the_cursor_brings_the_next(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit()
    attempt = write_log(job, *(b"line %d" % n for n in range(300)))
    engineer = visitor("eng-vision-1")
    text = html(engineer.get(page(job)))
    assert "line 299<" in text and "line 99<" not in text and "line 100<" in text
    next_url = re.search(r'hx-get="([^"]*logs/[^"]*)"', text)
    assert next_url is not None
    nothing = html(engineer.fragment(next_url[1].replace("&amp;", "&")))
    assert "line" not in words(engineer.fragment(next_url[1].replace("&amp;", "&")))
    LogChunk.objects.create(attempt=attempt, first_seq=300, last_seq=300, index=[[300, 0, 0]], payload=b"new")
    more = html(engineer.fragment(next_url[1].replace("&amp;", "&")))
    assert more.count("<li") == nothing.count("<li") + 1 and ">new<" in more
    Attempt.objects.update(log_complete=True)
    last = re.search(r'hx-get="([^"]*)"', more)
    assert last is not None
    assert "hx-get" not in html(engineer.fragment(last[1].replace("&amp;", "&"))), "nothing more is asked for"


def test_one_pods_lines_are_shown_alone(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(cards=16)
    write_log(job, b"of zero", b"of one", complete=True)
    said = words(visitor("eng-vision-1").get(page(job), pod="1"))
    assert "of one" in said and "of zero" not in said


@pytest.mark.parametrize("query", [{"attempt": "9"}, {"pod": "7"}, {"pod": "-1"}, {"pod": "x" * 50}, {"attempt": "１"}])
def test_an_attempt_or_pod_that_is_not_there_is_not_found(
    stage: Stage, visitor: Visitors, query: dict[str, str]
) -> None:
    job = stage.submit()
    assert visitor("eng-vision-1").get(page(job), **query).status_code == 404


def test_the_file_is_the_log_as_written(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit()
    attempt = write_log(job, b"\xe4\xf6 raw", b"\x1b[31mred\x1b[0m")
    answer = visitor("eng-vision-1").get(page(job, "log-file/"))
    assert b"".join(answer.streaming_content) == b"\xe4\xf6 raw\n\x1b[31mred\x1b[0m\n"  # type: ignore[attr-defined]
    assert f'filename="{attempt.object_name}.log"' in answer["Content-Disposition"]


# --------------------------------------------------------------------------- operations


def test_the_question_says_what_happens_before_it_happens(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(command="sleep 600")
    stage.run(30)
    said = words(visitor("eng-vision-1").get(page(job, "hold/")))
    assert "gives its cards back at once" in said
    assert "It keeps its place in the queue." in said
    assert "Work since the last checkpoint is lost." in said
    assert not stage.job(job).held


def test_the_question_fills_a_dialog_with_the_same_words(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(name="mine")
    engineer = visitor("eng-vision-1")
    whole, part = engineer.get(page(job, "cancel/")), engineer.fragment(page(job, "cancel/"))
    assert "<h1" in html(whole) and "<h2" in html(part) and "<html" not in html(part)
    assert words(part).strip() in words(whole)
    assert "Cancel mine?" in words(part)


@pytest.mark.parametrize(
    ("operation", "before", "after"),
    [
        ("cancel", {}, {"desired": "cancel"}),
        ("hold", {}, {"held": True}),
        ("resume", {"held": True}, {"held": False}),
    ],
)
def test_an_operation_is_done_by_its_button_and_leads_back(
    stage: Stage, visitor: Visitors, operation: str, before: dict[str, object], after: dict[str, object]
) -> None:
    job = stage.submit(cards=32)
    Job.objects.update(**before)
    engineer = visitor("eng-vision-1")
    effect = re.search(r'name="effect" value="(\w+)"', html(engineer.get(page(job, f"{operation}/"))))
    assert effect is not None
    answer = engineer.post(page(job, f"{operation}/"), effect=effect[1])
    assert answer.status_code == 302 and answer["Location"] == page(job)
    changed = stage.job(job)
    assert {name: getattr(changed, name) for name in after} == after
    assert AuditEvent.objects.filter(action=f"job.{operation}", target_id=job.public_id).exists()
    assert 'role="status"' in html(engineer.get(page(job)))


def test_an_ended_job_is_restarted(cast: Cast, visitor: Visitors) -> None:
    job = crowd(cast, 1, states=["failed"])[0]
    visitor("eng-vision-1").post(page(job, "restart/"))
    job.refresh_from_db()
    assert (job.attempt_no, job.state) == (2, "queued")


def test_a_job_that_moved_on_is_asked_about_again(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(command="sleep 600")
    stage.run(30)
    answer = visitor("eng-vision-1").post(page(job, "hold/"), effect="leaves_queue")
    assert answer.status_code == 409
    assert "has moved on since you were asked" in words(answer)
    assert not stage.job(job).held


def test_what_cannot_be_done_is_refused_in_words(cast: Cast, visitor: Visitors) -> None:
    job = crowd(cast, 1, states=["succeeded"])[0]
    engineer = visitor("eng-vision-1")
    answer = engineer.post(page(job, "cancel/"))
    assert answer.status_code == 409
    assert "has already ended" in words(answer)
    assert '<button class="btn sl-btn-end"' not in html(answer)


def test_a_teammates_job_can_be_seen_but_its_buttons_are_closed_and_say_why(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit("eng-vision-1")
    teammate = visitor("eng-vision-2")
    text = html(teammate.get(page(job)))
    closed = re.findall(r'id="act-(\w+)" type="button" aria-disabled="true" aria-describedby="why-not-\w+"', text)
    assert set(closed) == {"cancel", "restart", "hold", "requeue", "priority"}
    assert "Only its owner, a lead of the team or an admin may do this." in words(teammate.get(page(job)))
    assert teammate.get(page(job, "cancel/")).status_code == 403
    assert teammate.post(page(job, "cancel/")).status_code == 403
    assert stage.job(job).desired == "run"


@pytest.mark.parametrize("username", ["lead-vision", "admin"])
def test_leads_and_admins_operate_on_the_jobs_of_others(stage: Stage, visitor: Visitors, username: str) -> None:
    job = stage.submit("eng-vision-1", cards=32)
    assert visitor(username).post(page(job, "cancel/")).status_code == 302
    assert stage.job(job).desired == "cancel"


def test_a_held_job_offers_resume_and_no_second_hold(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit(cards=32)
    engineer = visitor("eng-vision-1")
    engineer.post(page(job, "hold/"))
    text = html(engineer.get(page(job)))
    assert 'id="act-resume"' in text and 'id="act-hold"' not in text


def test_an_operation_nobody_knows_is_no_address(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit()
    assert visitor("eng-vision-1").get(page(job, "explode/")).status_code == 404
