"""The pages about signing in: reachable, in the reader's language, with their problems at their fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import cache

from accounts.oidc.config import OidcConfig
from tests.cast import PASSWORD, Cast
from tests.pages.visitor import Visitor, html, words

Visit = Callable[[str | None], Visitor]


@pytest.fixture(autouse=True)
def _nobody_counted_yet() -> Iterator[None]:
    cache.clear()
    yield


@pytest.mark.parametrize("username", ["eng-vision-1", "lead-vision", "admin"])
def test_everybody_finds_the_page_in_the_side_bar(visitor: Visit, username: str) -> None:
    page = visitor(username).get("/account/sign-in/")
    assert '<a href="/account/sign-in/" aria-current="page">' in html(page)
    assert "Where you are signed in" in words(page)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("address", ["/account/sign-in/", "/account/password/", "/account/second-factor/set-up/"])
def test_every_page_is_in_the_readers_language(visitor: Visit, address: str, language: str) -> None:
    someone = visitor("eng-vision-1")
    someone.post("/account/language/", language=language)
    someone.post("/account/confirm/", password=PASSWORD)
    page = someone.get(address)
    assert page.status_code == 200
    assert f'<html lang="{"zh-Hans" if language == "zh-hans" else "en"}"' in html(page)


def test_a_wrong_password_is_said_at_its_field(visitor: Visit) -> None:
    fields = {"oldpassword": "not it", "password1": "a whole new battery", "password2": "another battery"}
    page = html(visitor("eng-vision-1").post("/account/password/", **fields))
    for field in ("oldpassword", "password2"):
        assert (
            f'id="id_{field}_error"' in page and f"id_{field}_error" in page.split(f'name="{field}"')[1].split(">")[0]
        )


def test_the_secret_is_a_picture_inside_the_page(visitor: Visit) -> None:
    someone = visitor("eng-vision-1")
    someone.post("/account/confirm/", password=PASSWORD)
    page = html(someone.get("/account/second-factor/set-up/"))
    assert 'src="data:image/svg+xml;base64,' in page and "http:" not in page.replace("http://www.w3.org", "")


def test_the_sign_in_page_keeps_the_way_back_through_the_provider(cast: Cast, visitor: Visit, settings: Any) -> None:
    settings.OIDC = OidcConfig("https://id.example", "sluice", "not told", name="<b>Lab</b> account")
    page = html(visitor(None).get("/sign-in/", next="/jobs/?state=queued&whose=team"))
    assert 'href="/sign-in/provider/?next=%2Fjobs%2F%3Fstate%3Dqueued%26whose%3Dteam"' in page
    assert "Sign in with &lt;b&gt;Lab&lt;/b&gt; account" in page and "not told" not in page


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example"])
def test_and_no_other_way(cast: Cast, visitor: Visit, settings: Any, target: str) -> None:
    settings.OIDC = OidcConfig("https://id.example", "sluice", "not told")
    assert 'href="/sign-in/provider/"' in html(visitor(None).get("/sign-in/", next=target))
