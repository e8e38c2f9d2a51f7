"""Everything by keyboard alone: the focus is seen, goes where it should, stays in a dialog and comes back from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Job
from tests.browser.conftest import Window
from tests.cast import Cast
from tests.stage import Stage

pytestmark = pytest.mark.browser

Open = Callable[..., Window]
TABS_MAX = 60


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def tab_to(page: Page, selector: str, *, key: str = "Tab") -> None:
    """Go on until the focus is there; everything on the way must show that it has the focus."""
    target = page.locator(selector)
    for _step in range(TABS_MAX):
        page.keyboard.press(key)
        assert page.evaluate(SHOWS_FOCUS), page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        if target.evaluate("element => element === document.activeElement"):
            return
    pytest.fail(f"{selector} cannot be reached")


SHOWS_FOCUS = """() => {
  const element = document.activeElement;
  if (element === document.body) return true;
  const shown = element.matches("input[type=radio]") ? element.nextElementSibling : element;
  const box = shown.getBoundingClientRect();
  const style = getComputedStyle(shown);
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  return box.width > 0 && box.height > 0 && (outlined || style.boxShadow !== "none");
}"""


def test_a_job_is_submitted_found_and_cancelled(stage: Stage, open_window: Open) -> None:
    window = open_window("eng-vision-1")
    window.expected = ("htmx:afterRequest", "htmx:sendAbort")  # an answer to older typing is not waited for
    page = window.page
    page.goto("/jobs/new/")
    page.keyboard.press("Tab")
    expect(page.locator(".sl-skip")).to_be_focused()
    expect(page.locator(".sl-skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()

    tab_to(page, "[name=framework]:checked")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#id_framework_1")).to_be_checked()
    tab_to(page, "[name=image]")
    page.keyboard.type("registry.example/bert:1.0")
    tab_to(page, "[name=cards_pick]:checked")
    page.keyboard.press("ArrowRight")
    tab_to(page, ".sl-fold > summary")
    page.keyboard.press("Enter")
    tab_to(page, "#id_name")
    page.keyboard.type("by keyboard")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/0*/")
    assert Job.objects.get().display_name == "by keyboard"

    page.goto("/jobs/")
    tab_to(page, "[name=search]")
    page.keyboard.type("keyboard")
    page.keyboard.press("Enter")
    page.wait_for_url("**search=keyboard**")
    tab_to(page, "a.sl-name")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/0*/")
    tab_to(page, "#act-cancel")
    page.keyboard.press("Enter")
    dialog = page.locator("dialog#confirm")
    expect(dialog).to_be_visible()
    expect(dialog.locator("[data-close]")).to_be_focused()
    for _step in range(6):
        page.keyboard.press("Tab")
        inside = "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"
        assert page.evaluate(inside), "the focus left the dialog"
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("#act-cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog.locator("[data-close]")).to_be_focused()
    tab_to(page, "dialog#confirm button[type=submit]")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_be_visible()
    assert Job.objects.get().desired == "cancel"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_menus_open_and_close(stage: Stage, open_window: Open, width: int) -> None:
    page = open_window("lead-vision", width=width).page
    page.goto("/team/vision/")
    if width == 390:
        tab_to(page, ".sl-top-bar [popovertarget=menu]")
        page.keyboard.press("Enter")
        expect(page.locator("#menu")).to_be_visible()
    tab_to(page, "details[data-menu] > summary")
    page.keyboard.press("Enter")
    expect(page.locator(".sl-switch-menu")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".sl-switch-menu")).to_be_hidden()
    if width == 1280:
        expect(page.locator("details[data-menu] > summary")).to_be_focused()
