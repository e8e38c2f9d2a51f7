"""Ticking jobs in a list that keeps itself up to date, and preempting one in a dialog."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Job
from tests.browser.conftest import Window
from tests.cast import Cast
from tests.services.jobs.situations import fill
from tests.stage import Stage

pytestmark = pytest.mark.browser

Open = Callable[..., Window]


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def _tick(page: Page, job: Job) -> None:
    page.locator(f"#tick-{job.public_id}").check()


@pytest.mark.parametrize("scripts", [True, False], ids=["", "without scripts"])
def test_ticked_jobs_are_cancelled_after_a_question(open_window: Open, stage: Stage, scripts: bool) -> None:
    jobs = [stage.submit(name=f"sweep {n}", card_model="h100", cards=32) for n in range(3)]
    window = open_window("eng-vision-1", scripts=scripts)
    page = window.page
    page.goto("/jobs/")
    for job in jobs[:2]:
        _tick(page, job)
    page.locator("#bulk-operation").select_option("cancel")
    page.get_by_role("button", name="Go on…").click()
    expect(page.get_by_role("heading", name="Cancel these jobs?")).to_be_visible()
    expect(page.locator("#bulk-table")).to_contain_text("The job stops and everything it holds is given back.")
    page.get_by_role("button", name="Cancel the jobs").click()
    expect(page).to_have_url(re.compile(r"/jobs/$"))
    expect(page.get_by_role("status")).to_contain_text("It is asked for 2 jobs.")
    assert [stage.job(job).desired for job in jobs] == ["cancel", "cancel", "run"]
    assert window.no_sideways_scroll()


def test_a_tick_stays_when_the_list_is_brought_up_to_date(open_window: Open, stage: Stage) -> None:
    first, second = (stage.submit(name=name) for name in ("first", "second"))
    page = open_window("eng-vision-1").page
    page.goto("/jobs/")
    _tick(page, first)
    with page.expect_response(lambda response: response.request.headers.get("hx-request") == "true"):
        stage.run(30)
    expect(page.locator(f"#row-{second.public_id}")).to_contain_text("Running")
    expect(page.locator(f"#tick-{first.public_id}")).to_be_checked()
    expect(page.locator(f"#tick-{second.public_id}")).not_to_be_checked()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_lead_preempts_a_job_in_a_dialog(open_window: Open, stage: Stage, width: int) -> None:
    victim = fill(stage)
    large = stage.submit(card_model="h100", cards=32, name="large")
    stage.run(4)
    window = open_window("lead-vision", width=width)
    page = window.page
    page.goto(f"/jobs/{victim.public_id}/")
    page.locator("#act-preempt").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Work since the last checkpoint is lost.")
    dialog.get_by_label("The job that gets the cards").select_option(large.public_id)
    dialog.get_by_role("button", name="Preempt the job").click()
    expect(page.get_by_role("status")).to_contain_text("The job gives way and comes back by itself.")
    assert stage.job(victim).rests_for == large
    stage.run(20)
    page.reload()
    expect(page.locator("#story")).to_contain_text("Asked to give way to large until")
    assert stage.job(large).state in {"creating", "running"}
    assert window.no_sideways_scroll()
