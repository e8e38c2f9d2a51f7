"""Signing in as people do it: at a provider, with a second factor, with and without scripts, at 390 px, for axe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.cache import cache
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.browser.conftest import Window
from tests.browser.test_every_page import RULES
from tests.cast import PASSWORD, Cast
from tests.services.accounts.provider import FakeProvider, running_provider
from tests.services.accounts.test_second_factor import code_now

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib"),  # of the provider, in its thread
]

Open = Callable[..., Window]


@pytest.fixture(autouse=True)
def _nobody_counted_yet() -> Iterator[None]:
    cache.clear()
    yield


@pytest.fixture
def provider(settings: Any) -> Iterator[FakeProvider]:
    with running_provider() as provider:
        settings.OIDC = provider.config()
        yield provider


@pytest.fixture
def door(browser: Browser, live_server: LiveServer, cast: Cast) -> Iterator[Open]:
    """A window of somebody who is not signed in; fails at the end when its console complained."""
    windows: list[Window] = []

    def make(*, width: int = 1280, scripts: bool = True, theme: str = "light") -> Window:
        context = browser.new_context(
            base_url=live_server.url,
            viewport={"width": width, "height": 860},
            locale="en",
            java_script_enabled=scripts,
            color_scheme=theme,  # type: ignore[arg-type]
        )
        context.set_default_timeout(10_000)
        windows.append(Window(context.new_page(), context))
        return windows[-1]

    yield make
    complaints = [complaint for window in windows for complaint in window.complaints]
    for window in windows:
        window.context.close()
    assert complaints == []


def enter(page: Page, username: str) -> None:
    page.goto("/sign-in/")
    page.get_by_label("User name").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def prove(page: Page) -> None:
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_person_comes_in_by_the_provider(cast: Cast, provider: FakeProvider, door: Open, scripts: bool) -> None:
    provider.person("mei", name="Mei Lin", groups=["ml-vision"])
    window = door(scripts=scripts)
    window.expected = ("Failed to load resource",)  # the provider's own pages want more than there is here
    page = window.page
    page.goto("/jobs/new/")
    page.get_by_role("link", name="Sign in with Example ID").click()
    page.locator("input[name=sub]").fill("mei")
    page.locator("button, input[type=submit]").first.click()
    expect(page.get_by_role("heading", level=1, name="Submit a job")).to_be_visible()
    provider.person("mei", groups=[])
    page.goto("/sign-in/provider/")
    page.locator("input[name=sub]").fill("mei")
    page.locator("button, input[type=submit]").first.click()
    expect(page.get_by_text("gives you no team here")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_second_factor_is_set_up_and_asked_for(cast: Cast, door: Open, scripts: bool) -> None:
    page = door(scripts=scripts, width=390).page
    enter(page, "eng-vision-1")
    page.goto("/account/sign-in/")
    page.get_by_role("link", name="Set it up").click()
    prove(page)
    secret = page.locator("#secret").inner_text()
    page.get_by_label("Code from the app").fill(code_now(secret))
    page.get_by_role("button", name="Turn it on").click()
    codes = page.locator("#codes").inner_text().split()
    assert len(codes) == 10
    page.get_by_role("link", name="I have kept them").click()
    expect(page.get_by_text("10 recovery codes left")).to_be_visible()
    page.context.clear_cookies()
    enter(page, "eng-vision-1")
    expect(page.get_by_role("heading", name="One more step")).to_be_visible()
    page.get_by_label("Code").fill(codes[0])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1, name="My jobs")).to_be_visible()
    page.goto("/account/sign-in/")
    expect(page.get_by_text("9 recovery codes left")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_of_signing_in_is_without_a_finding(
    cast: Cast, provider: FakeProvider, door: Open, theme: str, width: int
) -> None:
    window = door(theme=theme, width=width)
    page, found = window.page, []

    def look(name: str) -> None:
        assert window.no_sideways_scroll(), name
        assert window.complaints == []
        answer = Axe().run(page, options={"runOnly": RULES})
        window.complaints.clear()  # axe itself brings styles that the policy refuses
        found.extend(f"{name}: {v['id']}: {v['nodes'][0]['html'][:120]}" for v in answer.response["violations"])

    page.goto("/sign-in/")
    look("sign-in")
    enter(page, "eng-vision-1")
    for name in ("/account/sign-in/", "/account/password/"):
        page.goto(name)
        look(name)
    page.goto("/account/second-factor/set-up/")
    look("confirm by password")
    prove(page)
    look("set up")
    secret = page.locator("#secret").inner_text()
    page.get_by_label("Code from the app").fill("000000")
    page.get_by_role("button", name="Turn it on").click()
    look("set up, wrong code")
    page.get_by_label("Code from the app").fill(code_now(secret))
    page.get_by_role("button", name="Turn it on").click()
    look("codes")
    for name in ("codes/", "codes/new/", "remove/"):
        page.goto(f"/account/second-factor/{name}")
        look(name)
    page.goto("/account/sign-in/")
    look("with a second factor")
    page.goto("/account/confirm/code/")
    look("confirm by code")
    page.context.clear_cookies()
    enter(page, "eng-vision-1")
    look("second step")
    assert found == []


def test_an_operators_question_is_without_a_finding(cast: Cast, open_window: Open) -> None:
    window = open_window("admin")
    window.expected = ("status of 404",)  # Django's admin names no icon, so the browser asks for one
    public_id = User.objects.get(username="eng-vision-1").public_id
    window.page.goto(f"/operator/accounts/user/{public_id}/remedy/end-sessions/")
    expect(window.page.get_by_text("signed out everywhere")).to_be_visible()
    window.page.get_by_label("Why").fill("ticket 4711")
    window.page.get_by_role("button", name="End sessions").click()
    expect(window.page.get_by_text("It stands in the audit trail")).to_be_visible()
