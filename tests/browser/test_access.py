"""Every page passes axe (WCAG 2.2 A and AA, and its best practices), in both themes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Window
from tests.cast import Cast
from tests.pages.crowd import crowd

pytestmark = pytest.mark.browser

Open = Callable[..., Window]

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PAGES = {
    "eng-vision-1": ["/jobs/", "/jobs/new/", "/jobs/{job}/", "/jobs/{job}/cancel/", "/account/tokens/", "/nowhere/"],
    "lead-vision": ["/team/vision/"],
    "admin": ["/admin/nodes/?node=h100-01", "/admin/quotas/", "/admin/setup/", "/admin/audit/"],
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("username", list(PAGES))
def test_every_page_is_without_a_finding(cast: Cast, open_window: Open, username: str, theme: str) -> None:
    job = crowd(cast, 14)[0]
    window = open_window(username)
    window.expected = ("status of 404",)
    window.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    found = []
    for path in PAGES[username]:
        window.page.goto(path.format(job=job.public_id))
        assert window.complaints == []
        answer = Axe().run(window.page, options={"runOnly": RULES})
        window.complaints.clear()  # axe itself brings styles that the policy refuses
        found += [f"{path}: {v['id']}: {v['nodes'][0]['html'][:120]}" for v in answer.response["violations"]]
    assert found == []
