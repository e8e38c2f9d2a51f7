"""The provider of the tests: one for each module, told anew for each test what there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

from tests.services.accounts.provider import FakeProvider, running_provider


@pytest.fixture(scope="module")
def _running() -> Iterator[FakeProvider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture
def provider(_running: FakeProvider, settings: Any) -> Iterator[FakeProvider]:
    cache.clear()
    settings.OIDC = _running.config()
    yield _running
    _running.change_token = _running.signing_key = None
    _running.answers.clear()
    _running.asked.clear()
