"""A real Chromium against a real server process in this one, and people signed in without typing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer

from tests.cast import Cast, build_cast
from tests.conftest import find_browser

expect.set_options(timeout=10_000)
"""More than two rounds of a page that keeps itself up to date: what comes with the next one is not missed."""

SESSION_BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.fixture(scope="session", autouse=True)
def _database_beside_playwright() -> Iterator[None]:
    """Playwright keeps an event loop in this thread, and Django would refuse the database for it."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    yield
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(autouse=True)
def _no_connection_left_open() -> Iterator[None]:
    """Under Playwright's loop Django keeps a connection of its own, which nobody would close at the end."""
    yield
    connections.close_all()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # no-sandbox: as root, and in containers, Chromium has no user namespace to shut itself in
        chromium = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return build_cast()


@dataclass
class Window:
    """One person's browser window, and everything its console complained about."""

    page: Page
    context: BrowserContext
    complaints: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()  # parts of complaints that belong to the story, such as a status of an answer

    def __post_init__(self) -> None:
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not any(part in message.text for part in self.expected):
            self.complaints.append(message.text)

    def no_sideways_scroll(self) -> bool:
        self.page.wait_for_load_state()
        return bool(self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


Open = Callable[..., Window]


@pytest.fixture
def open_window(browser: Browser, live_server: LiveServer, cast: Cast) -> Iterator[Open]:
    """Open a window for a person of the cast; fails at the end when a console or the policy complained."""
    windows: list[Window] = []

    def make(
        username: str | None, *, language: str = "en", width: int = 1280, scripts: bool = True, zone: str = "UTC"
    ) -> Window:
        context = browser.new_context(
            base_url=live_server.url,
            viewport={"width": width, "height": 860},
            locale=language,
            java_script_enabled=scripts,
            timezone_id=zone,
        )
        if username is not None:
            client = Client()
            client.force_login(cast.users[username], backend=SESSION_BACKEND)
            session = client.cookies[settings.SESSION_COOKIE_NAME].value
            context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
        context.set_default_timeout(10_000)
        window = Window(context.new_page(), context)
        windows.append(window)
        return window

    yield make
    complaints = [complaint for window in windows for complaint in window.complaints]
    for window in windows:
        window.context.close()
    assert complaints == []
