"""Times that PostgreSQL answers, read by the interpreter's own parser.

The loader that Django registers takes each apart by a regular expression: of a list of jobs, which has eight times a
row, that is a tenth.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db.backends.postgresql.psycopg_any import BaseTzLoader
from django.db.backends.signals import connection_created


class TimestampLoader(BaseTzLoader):
    """A `timestamptz` as a datetime in UTC."""

    timezone = UTC  # Django compares it with its own before each query

    def load(self, data: Any) -> datetime:
        """Raises DataError for a time that Python cannot hold."""
        try:
            at = datetime.fromisoformat(str(data, "ascii"))
        except ValueError:
            return super().load(data)  # infinity, or before the year 1: refused in words
        return at if at.tzinfo is UTC else at.astimezone(UTC)


def read_timestamps_quickly() -> None:
    """Every connection of this process from now on."""
    connection_created.connect(_register, dispatch_uid="common.timestamps")


def _register(connection: Any, **_facts: Any) -> None:
    connection.connection.adapters.register_loader("timestamptz", TimestampLoader)
