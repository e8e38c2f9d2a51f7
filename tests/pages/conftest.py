"""The cast on stage, and people who open pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from django.test import Client

from tests.api_server import server  # noqa: F401 - a fixture
from tests.cast import Cast, build_cast
from tests.pages.visitor import Visitor


@pytest.fixture
def cast(db: None) -> Cast:
    return build_cast()


@pytest.fixture
def visitor(cast: Cast) -> Callable[[str | None], Visitor]:
    """Somebody at a browser: a name of the cast, or None for a stranger."""

    return partial(visitor_of, cast)


def visitor_of(cast: Cast, username: str | None) -> Visitor:
    client = Client(headers={"accept-language": "en"})
    if username is not None:
        client.force_login(cast.users[username], backend="allauth.account.auth_backends.AuthenticationBackend")
    return Visitor(client)
