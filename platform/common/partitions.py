"""Tables that PostgreSQL keeps in one part per month, so that old rows go by dropping a part and not row by row.

The table itself is made by a migration (`PARTITION BY RANGE` of a time); its parts are named `<table>_<year>_<month>`
and bounded by months of UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from django.db import connection, transaction

from common.locks import LockSpace, transaction_lock

_PART = re.compile(r"_(\d{4})_(\d{2})")


def month_of(at: datetime) -> datetime:
    """The first moment of the month in UTC."""
    return at.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def month_after(month: datetime) -> datetime:
    return month.replace(year=month.year + month.month // 12, month=month.month % 12 + 1)


def months_ensure(table: str, at: datetime, *, ahead: int = 1) -> list[str]:
    """Make the parts for the month of ``at`` and for ``ahead`` more; returns the names of those that were not there."""
    months = [month_of(at)]
    for _ in range(ahead):
        months.append(month_after(months[-1]))
    missing = [month for month in months if _name(table, month) not in set(parts_of(table))]
    made = []
    for month in missing:
        with transaction.atomic():
            transaction_lock(LockSpace.PARTITIONS, 0)  # two processes may find the same one missing
            if _name(table, month) in parts_of(table):
                continue
            with connection.cursor() as cursor:
                cursor.execute(
                    f'CREATE TABLE "{_name(table, month)}" PARTITION OF "{table}"'
                    f" FOR VALUES FROM ('{month.isoformat()}') TO ('{month_after(month).isoformat()}')"
                )
            made.append(_name(table, month))
    return made


def months_drop(table: str, before: datetime) -> list[str]:
    """Drop every part that ended at ``before`` or earlier; returns their names."""
    dropped = []
    for name in parts_of(table):
        month = _month(table, name)
        if month is not None and month_after(month) <= before:
            with connection.cursor() as cursor:
                cursor.execute(f'DROP TABLE IF EXISTS "{name}"')
            dropped.append(name)
    return dropped


def parts_of(table: str) -> list[str]:
    """Names of the parts that are there, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", [table])
        return sorted(str(row[0]) for row in cursor.fetchall())


def _name(table: str, month: datetime) -> str:
    return f"{table}_{month:%Y_%m}"


def _month(table: str, name: str) -> datetime | None:
    found = _PART.fullmatch(name.removeprefix(table))
    return datetime(int(found[1]), int(found[2]), 1, tzinfo=UTC) if found else None
