"""Every page that anybody may see, full of hostile words, in both languages, both themes and two widths.

Nothing that somebody wrote runs or hides; axe (WCAG 2.2 A and AA, and its best practices) has nothing to say; neither
console nor policy complains; nothing is wider than the screen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Window
from tests.browser.house import SCRIPT, House, build_house
from tests.cast import Cast
from tests.policy.addresses import ACTORS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

Open = Callable[..., Window]

RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
"""All that a theme changes."""
NOT_OURS = {"/api/v1/docs"}
"""Drawn by Swagger's own scripts: only its headers and its width are in our hands."""


def _findings(page: Page, rules: dict[str, Any]) -> list[str]:
    """What axe has to say about the page as it is."""
    answer = Axe().run(page, options={"runOnly": rules})
    return [
        f"{broken['id']}: {node['html'][:150]} {node['failureSummary'][:200]}"
        for broken in answer.response["violations"]
        for node in broken["nodes"][:2]
    ]


@pytest.fixture
def house(cast: Cast) -> House:
    return build_house(cast)


@pytest.mark.parametrize("language", ["en", "zh-CN"])
@pytest.mark.parametrize("actor", ["stranger", "owner", "lead", "admin"])
def test_every_page_is_whole(house: House, open_window: Open, actor: str, language: str) -> None:
    window = open_window(ACTORS[actor], language=language)
    window.expected = ("status of 404", "status of 403")
    page, found = window.page, []
    theme, other = ("dark", "light") if language == "zh-CN" else ("light", "dark")
    for path in house.paths[actor]:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.goto(path)
        found += [f"{path}: {complaint}" for complaint in window.complaints]
        if page.evaluate("document.documentElement.dataset.hit"):
            found.append(f"{path}: something that was written ran")
        if path not in NOT_OURS:
            found += [f"{path}: {finding}" for finding in _findings(page, RULES)]
            page.emulate_media(color_scheme=other)
            found += [f"{path}, {other}: {finding}" for finding in _findings(page, COLOURS)]
        window.complaints.clear()  # axe itself brings styles that the policy refuses
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 860})
            if not window.no_sideways_scroll():
                found.append(f"{path}: wider than {width} pixels")
    assert found == [], "\n".join(found)


def test_what_was_written_can_be_read(house: House, open_window: Open) -> None:
    page = open_window("eng-vision-1").page
    page.goto("/jobs/")
    expect(page.locator("#jobs")).to_contain_text(SCRIPT)
    page.get_by_role("link", name="runs <script>").click()
    log = page.locator("#logs")
    expect(log).to_contain_text(SCRIPT)
    expect(log).to_contain_text("press me red")
    expect(log).to_contain_text("left [U+202E] right")
    expect(log.locator("a[hx-get], img, script")).to_have_count(0)
    page.goto("/jobs/?whose=team")
    expect(page.locator("#jobs")).to_contain_text("safegpj.exe")


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_the_operators_pages_obey_the_policy_too(house: House, open_window: Open, language: str) -> None:
    window = open_window("admin", language=language)
    found = []
    for path in ("/operator/", "/operator/jobs/job/", "/operator/accounts/user/?q=eng"):
        window.page.goto(path)
        assert window.page.evaluate("document.documentElement.dataset.hit") is None
        for theme in ("light", "dark"):
            window.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            found += [f"{path}, {theme}: {finding}" for finding in _findings(window.page, RULES)]
        window.complaints.clear()  # axe itself brings styles that the policy refuses
    assert found == [], "\n".join(found)
    window.page.locator("#result_list tbody th a").first.click()
    expect(window.page.locator("#content h1, #content h2").first).to_be_visible()
