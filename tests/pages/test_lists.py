"""The job list of the three consoles."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from common.names import clean_display_name
from jobs import selectors
from jobs.models import Job
from tests.cast import Cast
from tests.pages.crowd import crowd
from tests.pages.visitor import Visitor, html, words
from tests.stage import Stage

Visitors = Callable[[str | None], Visitor]

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</td></table><h1>x",
    '{{7*7}} hx-get="/admin"',
    "\u202etxt.exe",
]


def names_in(text: str) -> list[str]:
    return re.findall(r'<a class="sl-name" id="job-[^"]*" href="[^"]*">([^<]*)</a>', text)


def test_the_whole_page_and_the_fragment_show_the_same_rows(cast: Cast, visitor: Visitors) -> None:
    crowd(cast, 30)
    engineer = visitor("eng-vision-1")
    page, fragment = html(engineer.get("/jobs/")), html(engineer.fragment("/jobs/"))
    assert names_in(page) == names_in(fragment) != []
    assert "<!doctype html>" in page and "<!doctype html>" not in fragment


def test_live_jobs_stand_before_ended_ones_and_the_newest_first(cast: Cast, visitor: Visitors) -> None:
    with Stage(cast) as stage:
        old = stage.submit(name="old and waiting", cards=32)
        stage.run(4)
        stage.submit(name="newer")
        Job.objects.filter(pk=old.pk).update(submitted_at=old.submitted_at - timedelta(days=9))
        crowd(cast, 3, states=["succeeded"])
        listed = names_in(html(visitor("eng-vision-1").get("/jobs/")))
    assert listed[:2] == ["newer", "old and waiting"]
    assert len(listed) == 5


def test_the_filters_narrow_and_are_kept_in_every_link(cast: Cast, visitor: Visitors) -> None:
    crowd(cast, 14)
    engineer = visitor("eng-vision-1")
    failed = engineer.get("/jobs/", state="failed", group="h100")
    assert set(re.findall(r"sl-state-(\w+)", html(failed))) - {"age"} == {"failed"}
    assert 'href="?state=running&amp;group=h100"' in html(failed)
    assert "No job matches" in words(engineer.get("/jobs/", search="no such name"))


def test_a_job_is_found_by_a_part_of_its_name_and_by_its_id(cast: Cast, visitor: Visitors) -> None:
    with Stage(cast) as stage:
        job = stage.submit(name="车道线检测-v7-消融")
        stage.submit(name="other")
        engineer = visitor("eng-vision-1")
        for typed in ("检测-v7", job.public_id, job.public_id.lower()):
            assert names_in(html(engineer.get("/jobs/", search=typed))) == ["车道线检测-v7-消融"], typed


def test_mine_is_the_default_and_the_team_is_one_choice_away(cast: Cast, visitor: Visitors) -> None:
    with Stage(cast) as stage:
        stage.submit("eng-vision-1", name="mine")
        stage.submit("eng-vision-2", name="a teammate's")
        stage.submit("eng-language-1", name="foreign")
        engineer = visitor("eng-vision-1")
        assert names_in(html(engineer.get("/jobs/"))) == ["mine"]
        assert set(names_in(html(engineer.get("/jobs/", whose="team")))) == {"mine", "a teammate&#x27;s"}


@pytest.mark.parametrize("path", ["/jobs/?whose=team", "/jobs/?team=language", "/jobs/?owner=eng-language-1"])
def test_jobs_of_another_team_leak_neither_into_rows_nor_into_counts(cast: Cast, visitor: Visitors, path: str) -> None:
    with Stage(cast) as stage:
        stage.submit("eng-language-1", name="secret")
        answer = visitor("eng-vision-1").get(path)
    assert "secret" not in html(answer)
    assert re.search(r">All <span class=\"sl-num\">0</span>", html(answer))


def test_an_admin_narrows_the_list_to_one_team(cast: Cast, visitor: Visitors) -> None:
    with Stage(cast) as stage:
        stage.submit("eng-vision-1", name="of vision")
        stage.submit("eng-language-1", name="of language")
    admin = visitor("admin")
    assert set(names_in(html(admin.get("/admin/jobs/")))) == {"of vision", "of language"}
    narrowed = html(admin.get("/admin/jobs/", team="language"))
    assert names_in(narrowed) == ["of language"]
    assert '<option value="language" selected>' in narrowed


def test_pages_by_key_show_every_job_once(cast: Cast, visitor: Visitors) -> None:
    crowd(cast, 120, states=["succeeded"])
    engineer = visitor("eng-vision-1")
    path, seen = "/jobs/", []
    while path:
        page = html(engineer.get(path))
        seen += names_in(page)
        older = re.search(r'href="(\?[^"]*)" rel="next"', page)
        path = f"/jobs/{older[1]}" if older else ""
    assert len(seen) == len(set(seen)) == Job.objects.filter(owner=cast.users["eng-vision-1"]).count()


def test_a_cursor_nobody_made_is_refused_in_words(visitor: Visitors) -> None:
    answer = visitor("eng-vision-1").get("/jobs/", cursor="!!")
    assert answer.status_code == 400
    assert "Start at the first page" in words(answer)


def test_the_empty_list_says_the_first_step(visitor: Visitors) -> None:
    answer = visitor("eng-vision-1").get("/jobs/")
    assert "Four facts start one" in words(answer)
    assert 'href="/jobs/new/"' in html(answer)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_inert_in_every_list(cast: Cast, visitor: Visitors, name: str) -> None:
    with Stage(cast) as stage:
        stage.submit("eng-vision-1", name=name, cards=32)
        stage.run(6)
        for who, path in (
            ("eng-vision-1", "/jobs/"),
            ("lead-vision", "/team/vision/"),
            ("lead-vision", "/team/vision/jobs/"),
            ("admin", "/admin/jobs/"),
        ):
            page = visitor(who).get(path)
            assert clean_display_name(name) in words(page), path  # without marks that deceive
            for sign in ("<script>alert", "<img src=x", "</td></table><h1>", '{{7*7}} hx-get="'):
                assert sign not in html(page), path


def test_the_state_counts_are_those_of_the_other_filters(cast: Cast, visitor: Visitors) -> None:
    crowd(cast, 40)
    engineer = visitor("eng-vision-1")
    every = html(engineer.get("/jobs/", state="failed"))
    counts = dict(re.findall(r">(\w+) <span class=\"sl-num\">(\d+)</span>", every))
    mine = Job.objects.filter(owner=cast.users["eng-vision-1"])
    assert int(counts["All"]) == mine.count()
    assert int(counts["Failed"]) == mine.filter(state="failed").count() > 0


def test_ended_jobs_beyond_a_bound_are_not_counted_to_the_last(
    cast: Cast, visitor: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "ENDED_COUNTED", 3)
    crowd(cast, 3, states=["cancelled"])
    crowd(cast, 4, states=["failed"])
    crowd(cast, 5, states=["running"])
    counts = dict(
        re.findall(r">(\w+) <span class=\"sl-num\">(\d+\+?)</span>", html(visitor("eng-vision-1").get("/jobs/")))
    )
    assert {name: counts[name] for name in ("All", "Running", "Failed", "Cancelled", "Succeeded")} == {
        "All": "11+",
        "Running": "5",
        "Failed": "3+",
        "Cancelled": "3",
        "Succeeded": "0",
    }


def test_an_ended_job_says_how_long_it_ran(cast: Cast, visitor: Visitors) -> None:
    crowd(cast, 1, states=["succeeded"])
    Job.objects.update(started_at=datetime(2026, 3, 1, 8, tzinfo=UTC), ended_at=datetime(2026, 3, 1, 9, 58, tzinfo=UTC))
    assert "ran 1 h 58 min" in words(visitor("eng-vision-1").get("/jobs/"))
