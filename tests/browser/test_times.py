"""Times in the reader's own zone, on the page and in what is brought in later; numbers with their right words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from tests.browser.conftest import Window
from tests.cast import Cast
from tests.stage import Stage

pytestmark = pytest.mark.browser

Open = Callable[..., Window]


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def in_zone(hours: int, minutes: int = 0) -> str:
    """The clock of the stage at this distance from Greenwich."""
    return (timezone.now() + timedelta(hours=hours, minutes=minutes)).strftime("%H:%M")


def next_poll(page: Page) -> None:
    with page.expect_response(lambda response: response.request.headers.get("hx-request") == "true"):
        page.clock.fast_forward(5_000)


@pytest.mark.parametrize(
    ("chosen", "zone", "hours", "minutes"),
    [("", "Asia/Kolkata", 5, 30), ("Asia/Shanghai", "America/Bogota", 8, 0), ("", "UTC", 0, 0)],
    ids=["of the browser", "of the person", "of the site"],
)
def test_a_time_is_the_readers(
    stage: Stage, open_window: Open, chosen: str, zone: str, hours: int, minutes: int
) -> None:
    person = stage.user("eng-vision-1")
    person.time_zone = chosen
    person.save()
    first = stage.submit(name="first")
    expected = in_zone(hours, minutes)
    page = open_window("eng-vision-1", zone=zone).page
    page.clock.install(time=timezone.now())
    page.goto("/jobs/")
    expect(page.locator(f"#row-{first.public_id} time").first).to_have_text(expected)
    second = stage.submit(name="second")
    next_poll(page)
    expect(page.locator(f"#row-{second.public_id} time").first).to_have_text(expected)
    expect(page.locator(f"#row-{first.public_id} time").first).to_have_text(expected)
    page.goto(f"/jobs/{first.public_id}/")
    expect(page.locator("#why time").first).to_have_text(expected)


def test_without_scripts_a_time_is_the_persons(stage: Stage, open_window: Open) -> None:
    person = stage.user("eng-vision-1")
    person.time_zone = "Asia/Shanghai"
    person.save()
    job = stage.submit()
    page = open_window("eng-vision-1", scripts=False, zone="America/Bogota").page
    page.goto("/jobs/")
    expect(page.locator(f"#row-{job.public_id} time").first).to_have_text(in_zone(8))


@pytest.mark.parametrize(
    ("language", "cards", "words"),
    [
        ("en", 1, "You hold 1 card."),
        ("en", 2, "You hold 2 cards."),
        ("en", 0, "You hold 0 cards."),
        ("zh-CN", 1, "您当前已用 1 卡。"),
        ("zh-CN", 2, "您当前已用 2 卡。"),
    ],
)
def test_a_number_has_its_word(stage: Stage, open_window: Open, language: str, cards: int, words: str) -> None:
    if cards:
        stage.submit(cards=cards, command="sleep 900")
    stage.run(30, 5)
    page = open_window("eng-vision-1", language=language).page
    page.goto("/jobs/")
    expect(page.locator("#lede")).to_contain_text(words)
