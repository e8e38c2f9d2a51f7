"""Times as the database answers them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import DataError, connection
from psycopg.pq import Format

from common.timestamps import TimestampLoader

pytestmark = pytest.mark.django_db


def read(text: str, zone: str = "UTC") -> object:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('TimeZone', %s, true)", [zone])
        cursor.execute("SELECT %s::timestamptz", [text])
        return cursor.fetchone()[0]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-30 09:31:54.123456+00", datetime(2026, 11, 30, 9, 31, 54, 123_456, tzinfo=UTC)),
        ("2026-11-30 09:31:54.12+00", datetime(2026, 11, 30, 9, 31, 54, 120_000, tzinfo=UTC)),
        ("2026-11-30 09:31:54+00", datetime(2026, 11, 30, 9, 31, 54, tzinfo=UTC)),
        ("0001-01-01 00:00:00+00", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31 23:59:59.999999+00", datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_to_the_microsecond_in_utc(text: str, at: datetime) -> None:
    found = read(text)
    assert found == at
    assert found.tzinfo is UTC  # type: ignore[attr-defined]


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/St_Johns"])
def test_a_session_in_another_zone_gives_the_same_time(zone: str) -> None:
    at = read("2026-11-30 09:31:54.5+00", zone)
    assert at == datetime(2026, 11, 30, 9, 31, 54, 500_000, tzinfo=UTC)
    assert at.tzinfo is UTC  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["infinity", "-infinity", "0044-03-15 12:00:00+00 BC", "12345-01-01 00:00:00+00"])
def test_a_time_that_python_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(DataError):
        read(text)


def test_every_connection_reads_so() -> None:
    connection.ensure_connection()
    assert connection.connection.adapters.get_loader(1184, Format.TEXT) is TimestampLoader
