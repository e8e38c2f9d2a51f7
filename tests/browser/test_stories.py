"""One story for each role in both languages, and one without scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from jobs.models import Job
from quotas.models import Share
from tests.browser.conftest import Window
from tests.cast import PASSWORD, Cast
from tests.stage import Stage

pytestmark = pytest.mark.browser

Open = Callable[..., Window]


@dataclass(frozen=True)
class Words:
    """What a person reads on the buttons and badges of the stories."""

    submit: str
    starts_now: str
    queued: str
    running: str
    cancelled: str
    cancel: str
    do_cancel: str
    keep: str
    hold: str
    do_hold: str
    held: str
    saved: str


EN = Words(
    submit="Submit job",
    starts_now="starts now",
    queued="Queued",
    running="Running",
    cancelled="Cancelled",
    cancel="Cancel job",
    do_cancel="Cancel the job",
    keep="Keep the job",
    hold="Hold",
    do_hold="Hold the job",
    held="held",
    saved="are saved",
)
ZH = Words(
    submit="提交任务",
    starts_now="立即开始",
    queued="排队",
    running="运行中",
    cancelled="已取消",
    cancel="取消任务",
    do_cancel="取消任务",
    keep="保留任务",
    hold="暂停",
    do_hold="暂停任务",
    held="已暂停",
    saved="已保存",
)
LANGUAGES = pytest.mark.parametrize(("language", "words"), [("en", EN), ("zh-CN", ZH)], ids=["en", "zh"])


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def next_poll(page: Page) -> None:
    """Let five seconds pass on the page's own clock."""
    with page.expect_response(lambda response: response.request.headers.get("hx-request") == "true"):
        page.clock.fast_forward(5_000)


@LANGUAGES
def test_an_engineer_submits_watches_and_cancels(stage: Stage, open_window: Open, language: str, words: Words) -> None:
    window = open_window("eng-vision-1", language=language)
    window.expected = ("htmx:afterRequest", "htmx:sendAbort")  # an answer to older typing is not waited for
    page = window.page
    page.clock.install()
    page.goto("/jobs/new/")
    page.locator("label[for=id_framework_0]").click()
    page.locator("[name=image]").fill("registry.example/bert:1.0")
    page.locator("label", has_text="16").click()
    expect(page.locator("#answer")).to_contain_text(words.starts_now)
    expect(page.locator("#shape")).to_contain_text("2 × 8")
    expect(page.locator("#curl")).to_contain_text('"cards": 16')
    page.get_by_role("button", name=words.submit, exact=True).click()
    page.wait_for_url("**/jobs/0*/")
    expect(page.locator("#why .sl-state")).to_have_text(words.queued)

    stage.run(30)
    page.locator("#runs > summary").click()
    next_poll(page)
    expect(page.locator("#why .sl-state")).to_have_text(words.running)
    assert page.locator("#runs").get_attribute("open") is not None, "what was opened stays open"
    page.clock.fast_forward(3_000)
    expect(page.locator("#logs ol")).to_contain_text("registry.example/bert:1.0")

    page.locator("#act-cancel").click()
    dialog = page.locator("dialog#confirm")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("link", name=words.keep)).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert Job.objects.get().desired == "run"
    page.locator("#act-cancel").click()
    dialog.get_by_role("button", name=words.do_cancel).click()
    expect(page.locator("[role=status]")).to_be_visible()
    stage.run(200, 10)
    next_poll(page)
    expect(page.locator("#why .sl-state")).to_have_text(words.cancelled)
    expect(page.locator("[data-live]")).to_have_count(0)


@LANGUAGES
def test_a_lead_sees_the_share_and_holds_a_job(stage: Stage, open_window: Open, language: str, words: Words) -> None:
    stage.submit("eng-vision-1", name="on the cards", cards=16, card_model="h100", command="sleep 900")
    job = stage.submit("eng-vision-2", name="in the queue", cards=32, card_model="h100")
    stage.run(30)
    page = open_window("lead-vision", language=language).page
    page.goto("/team/vision/")
    expect(page.locator("#share [role=img]")).to_have_count(3)
    expect(page.locator("#queue")).to_contain_text("in the queue")
    page.locator(f"#act-hold-{job.public_id}").click()
    page.locator("dialog#confirm").get_by_role("button", name=words.do_hold).click()
    page.wait_for_url(f"**/jobs/{job.public_id}/")
    stage.run(10)
    page.goto("/team/vision/")
    expect(page.locator(f"#row-{job.public_id} .sl-flag")).to_have_text(words.held)


@LANGUAGES
def test_an_admin_looks_at_a_node_and_changes_a_share(
    stage: Stage, open_window: Open, language: str, words: Words
) -> None:
    stage.submit("eng-vision-1", name="who is there", cards=8, card_model="h100", command="sleep 900")
    stage.run(30)
    page = open_window("admin", language=language).page
    page.goto("/")
    page.wait_for_url("**/admin/nodes/")
    page.locator("a.sl-node", has_text="h100-01").click()
    expect(page.locator("#detail")).to_contain_text("who is there")
    page.goto("/admin/quotas/")
    page.locator("a.btn[href*='group=h100']").click()
    page.locator("[name='percent.h100.vision']").fill("30")
    expect(page.locator("#foretold table").first).to_contain_text("Vision")
    page.locator("[name=act][value=save]").click()
    expect(page.locator("[role=status]")).to_contain_text(words.saved)
    assert Share.objects.filter(group__slug="h100", basis_points=3_000).exists()


def test_everything_can_be_done_without_scripts(stage: Stage, open_window: Open, cast: Cast) -> None:
    window = open_window("eng-vision-1", scripts=False)
    window.expected = ("status of 422",)
    page = window.page
    page.context.clear_cookies()
    page.goto("/jobs/new/")
    page.locator("[name=login]").fill("eng-vision-1")
    page.locator("[name=password]").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/jobs/new/")
    page.locator("[name=cards]").fill("11")
    page.locator("[name=image]").fill("registry.example/bert:1.0")
    page.get_by_role("button", name="Submit job").click()
    expect(page.locator("#id_cards_error")).to_contain_text("Take 10 or 12")
    page.locator("[name=cards]").fill("12")
    page.get_by_role("button", name="Submit job").click()
    page.wait_for_url("**/jobs/0*/")
    job = Job.objects.get()
    stage.run(30)
    page.reload()
    expect(page.locator("#why .sl-state")).to_have_text("Running")
    page.get_by_role("link", name="Hold").click()
    page.wait_for_url("**/hold/")
    page.get_by_role("button", name="Hold the job").click()
    page.wait_for_url(f"**/jobs/{job.public_id}/")
    assert Job.objects.get().held
    page.goto("/jobs/")
    page.locator("[name=search]").fill("no such job")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#jobs")).to_contain_text("No job matches")
    page.get_by_role("button", name="切换到简体中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    page.locator(".sl-side-foot form[action='/sign-out/'] button").click()
    page.wait_for_url("**/sign-in/")


def test_a_lead_does_without_scripts(stage: Stage, open_window: Open) -> None:
    stage.submit("eng-vision-1", name="on the cards", cards=16, card_model="h100", command="sleep 900")
    job = stage.submit("eng-vision-2", name="in the queue", cards=32, card_model="h100")
    stage.run(30)
    page = open_window("lead-vision", scripts=False).page
    page.emulate_media(color_scheme="dark")
    page.goto("/team/vision/")
    expect(page.locator("html")).to_have_css("color-scheme", "dark")
    expect(page.locator("[data-theme-switch]")).to_have_count(1)
    expect(page.locator("[data-theme-switch], [data-live], [data-copy]").filter(visible=True)).to_have_count(0)
    page.locator(f"#act-hold-{job.public_id}").click()
    page.wait_for_url("**/hold/")
    page.get_by_role("button", name="Hold the job").click()
    page.wait_for_url(f"**/jobs/{job.public_id}/")
    assert Job.objects.get(pk=job.pk).held
    page.goto("/team/vision/jobs/?search=queue")
    expect(page.locator("#jobs")).to_contain_text("in the queue")
    expect(page.locator("#jobs")).not_to_contain_text("on the cards")


def test_an_admin_does_without_scripts(stage: Stage, open_window: Open) -> None:
    stage.submit("eng-vision-1", name="who is there", cards=8, card_model="h100", command="sleep 900")
    stage.run(30)
    page = open_window("admin", scripts=False).page
    page.goto("/admin/nodes/")
    page.locator("a.sl-node", has_text="h100-01").click()
    expect(page.locator("#detail")).to_contain_text("who is there")
    page.goto("/admin/quotas/")
    page.locator("a.btn[href*='group=h100']").click()
    page.locator("[name='percent.h100.vision']").fill("30")
    page.locator(".btn[name=act][value=preview]").click()
    expect(page.locator("#foretold table").first).to_contain_text("Vision")
    page.locator("[name=act][value=save]").click()
    expect(page.locator("[role=status]")).to_contain_text("are saved")
    page.goto("/admin/setup/")
    page.locator("[name=person-username]").fill("newcomer")
    page.locator("[name=person-team]").select_option("vision")
    page.locator("form", has=page.locator("[name=person-username]")).get_by_role("button").click()
    expect(page.locator("#password")).to_be_visible()


def test_a_console_that_gets_no_answer_says_so_and_keeps_what_it_shows(stage: Stage, open_window: Open) -> None:
    stage.submit(name="still here")
    window = open_window("eng-vision-1")
    window.expected = ("net::ERR_FAILED", "htmx:afterRequest", "htmx:sendError")
    page = window.page
    page.clock.install()
    page.goto("/jobs/")
    page.route("**/jobs/", lambda route: route.abort())
    for _ in range(3):
        with page.expect_event("requestfailed"):
            page.clock.fast_forward(5_000)
    expect(page.locator("[data-live]")).to_have_text("Not updating")
    expect(page.locator("#jobs")).to_contain_text("still here")
    page.unroute("**/jobs/")
    next_poll(page)
    expect(page.locator("[data-live]")).to_have_text("Live")


def test_the_theme_is_remembered_and_a_hidden_page_asks_nothing(stage: Stage, open_window: Open) -> None:
    page = open_window("eng-vision-1").page
    page.clock.install()
    page.goto("/jobs/")
    expect(page.locator("html")).to_have_css("color-scheme", "light")
    page.locator("[data-theme-switch]").click()
    page.reload()
    expect(page.locator("html")).to_have_css("color-scheme", "dark")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.clock.fast_forward(5_000)
    page.clock.fast_forward(5_000)
    assert asked == []


@pytest.mark.parametrize(
    ("username", "path"),
    [
        ("eng-vision-1", "/jobs/"),
        ("eng-vision-1", "/jobs/new/"),
        ("eng-vision-1", "/jobs/{job}/"),
        ("eng-vision-1", "/account/tokens/"),
        ("lead-vision", "/team/vision/"),
        ("admin", "/admin/nodes/"),
        ("admin", "/admin/quotas/"),
        ("admin", "/admin/setup/"),
        ("admin", "/admin/audit/"),
    ],
)
def test_a_narrow_screen_never_scrolls_sideways(stage: Stage, open_window: Open, username: str, path: str) -> None:
    job = stage.submit(name="a-name-without-any-place-to-break-" + "x" * 120, command="python " + "y" * 300)
    stage.run(30)
    window = open_window(username, width=390)
    window.page.goto(path.format(job=job.public_id))
    assert window.no_sideways_scroll()
    window.page.locator("[popovertarget=menu]").first.click()
    expect(window.page.locator(".sl-nav")).to_be_visible()
