"""Keyset pages over (time, id), newest first: stable while rows arrive, and as fast on page 200 as on page 1.

Lists that are no longer than a cluster is large, in an order of their own, are cut by place instead.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

PAGE_SIZE = 50
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PK_MAX = 2**63 - 1
M = TypeVar("M", bound=Model)


class BadCursor(ValueError):
    """The cursor was not made by us."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The edge row and the direction in which to go on from it."""

    at: datetime
    pk: int
    backwards: bool = False

    def encode(self) -> str:
        micros = (self.at - _EPOCH) // timedelta(microseconds=1)  # a float would lose the last digit, and rows with it
        raw = json.dumps([micros, self.pk, int(self.backwards)])
        return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> Cursor:
        try:
            raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            micros, pk, backwards = json.loads(raw)
            at = _EPOCH + timedelta(microseconds=micros)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise BadCursor(text) from error
        if not isinstance(pk, int) or not 0 <= pk <= _PK_MAX:
            raise BadCursor(text)
        return cls(at, pk, bool(backwards))


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """Rows newest first; ``older`` and ``newer`` are cursors or None."""

    rows: list[M]
    older: str | None
    newer: str | None


def keyset_page(
    rows: QuerySet[M],
    cursor_text: str | None,
    *,
    field: str = "submitted_at",
    size: int = PAGE_SIZE,
    read: Callable[[QuerySet[M]], list[M]] = list,
) -> Page[M]:
    """One page of ``rows`` by (field, id) descending; ``read`` runs the query. Raises BadCursor."""
    cursor = Cursor.decode(cursor_text) if cursor_text else None
    if cursor is not None:
        op = "gt" if cursor.backwards else "lt"
        rows = rows.filter(**{f"{field}__{op}e": cursor.at})  # says no more than the next, but an index can use it
        rows = rows.filter(Q(**{f"{field}__{op}": cursor.at}) | Q(**{field: cursor.at, f"id__{op}": cursor.pk}))
    backwards = cursor is not None and cursor.backwards
    order = (field, "id") if backwards else (f"-{field}", "-id")
    found = read(rows.order_by(*order)[: size + 1])
    more = len(found) > size
    found = found[:size]
    if backwards:
        found.reverse()
    has_older = backwards or more
    has_newer = more if backwards else cursor is not None

    def edge(row: Any, back: bool) -> str:
        return Cursor(getattr(row, field), row.pk, back).encode()

    return Page(
        rows=found,
        older=edge(found[-1], False) if found and has_older else None,
        newer=edge(found[0], True) if found and has_newer else None,
    )


# --------------------------------------------------------------------------- by place

_PLACE_MAX = 1_000_000


def place_of(cursor: str | None) -> int:
    """Where a page of an ordered list begins. Raises BadCursor."""
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 8) or int(cursor) > _PLACE_MAX:
        raise BadCursor(cursor)
    return int(cursor)


def places_around(begin: int, size: int, *, more: bool) -> tuple[str | None, str | None]:
    """The cursors of the page after the one that begins there, and of the one before it."""
    return str(begin + size) if more else None, str(max(0, begin - size)) if begin else None


def place_page(rows: QuerySet[M], cursor: str | None, *, size: int = PAGE_SIZE) -> Page[M]:
    """One page of rows in their own order; ``older`` is what comes after it. One query. Raises BadCursor."""
    begin = place_of(cursor)
    found = list(rows[begin : begin + size + 1])
    after, before = places_around(begin, size, more=len(found) > size)
    return Page(found[:size], after, before)
