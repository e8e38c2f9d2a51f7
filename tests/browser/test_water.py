"""The chart of the water level in a real browser, and the table for whoever has no scripts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Window
from tests.cast import Cast
from tests.pages.test_water import written

pytestmark = pytest.mark.browser

Open = Callable[..., Window]


def test_the_chart_is_drawn_in_both_themes_without_a_word_from_the_policy(cast: Cast, open_window: Open) -> None:
    for group in cast.groups.values():
        written(group, 180)
    page = open_window("admin").page
    for period in ("24h", "7d", "30d"):
        page.goto(f"/admin/water/?period={period}")
        expect(page.locator("#chart .barlayer .point").first).to_be_attached()
    word = page.locator("#chart .ytick text").first
    before = word.get_attribute("style") or ""
    page.locator("[data-theme-switch]").first.click()
    expect(word).not_to_have_attribute("style", before)
    box = page.locator("#chart").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 12, box["y"] + box["height"] / 2)
    expect(page.locator("#chart .hoverlayer")).to_contain_text("capacity")


def test_without_scripts_the_table_says_the_same(cast: Cast, open_window: Open) -> None:
    written(cast.groups["h100"], 60)
    page = open_window("admin", scripts=False).page
    page.goto("/admin/water/?group=h100")
    expect(page.locator("#chart")).to_be_hidden()
    page.locator("summary", has_text="Show as table").click()
    expect(page.locator("details table tbody tr").last).to_contain_text("32")
