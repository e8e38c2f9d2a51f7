"""What holds for every tier of tests."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def find_browser() -> str | None:
    """The path of a Chromium: SLUICE_CHROMIUM, else the first that is installed."""
    return next(
        (path for name in (os.environ.get("SLUICE_CHROMIUM"), *BROWSERS) if name and (path := shutil.which(name))), None
    )


def missing_for_browser_tests() -> str | None:
    """Why the browser tests cannot run here, None when they can."""
    if find_browser() is None:
        return "there is no Chromium here: install it, or name it in SLUICE_CHROMIUM"
    fonts = shutil.which("fc-list")
    if fonts is None or not subprocess.run([fonts, ":lang=zh"], capture_output=True, check=False).stdout:
        return "there is no font with Chinese characters here: install fonts-noto-cjk"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the browser tests, with the reason, where no browser is; SLUICE_REQUIRE_BROWSER=1 makes that an error."""
    browser_tests = [item for item in items if item.get_closest_marker("browser")]
    reason = missing_for_browser_tests() if browser_tests else None
    if reason is None:
        return
    if os.environ.get("SLUICE_REQUIRE_BROWSER") == "1":
        raise pytest.UsageError(f"The browser tests cannot run: {reason}")
    for item in browser_tests:
        item.add_marker(pytest.mark.skip(reason=reason))
