"""One scene for all questions of a worker; what a question does to it is taken back before the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core import signals
from django.db import close_old_connections, connection, transaction

from tests.fuzz.scene import Scene, build_scene


@pytest.fixture(scope="package")
def _standing_scene(django_db_setup: None, django_db_blocker: Any) -> Iterator[Scene]:
    with django_db_blocker.unblock(), transaction.atomic():
        scene = build_scene()
        connection.check_constraints()  # now, or every test would do it again at its end
        yield scene
        transaction.set_rollback(True)


@pytest.fixture
def scene(_standing_scene: Scene, db: None) -> Iterator[Scene]:
    """The application is asked as a server would, but must not close the connection that holds the transaction."""
    for signal in (signals.request_started, signals.request_finished):
        signal.disconnect(close_old_connections)
    yield _standing_scene
    for signal in (signals.request_started, signals.request_finished):
        signal.connect(close_old_connections)
