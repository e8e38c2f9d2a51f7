from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from tests.cast import Cast, build_cast


@pytest.fixture
def cast(db: None) -> Cast:
    return build_cast()


@pytest.fixture(scope="module")
def _cast_of_module(django_db_setup: None, django_db_blocker: Any) -> Iterator[Cast]:
    with django_db_blocker.unblock(), transaction.atomic():
        cast = build_cast()
        connection.check_constraints()  # now, or every test would do it again at its end
        yield cast
        transaction.set_rollback(True)


@pytest.fixture
def standing_cast(_cast_of_module: Cast, db: None) -> Cast:
    """The cast built once per module; what a test does to it is rolled back. For long tables of small tests."""
    return _cast_of_module
