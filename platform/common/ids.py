"""Public ids: ULIDs, sortable by time, outside; bigints inside (decision 47)."""

from __future__ import annotations

import re

from ulid import ULID

ULID_LENGTH = 26
_PATTERN = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


def new_ulid() -> str:
    """A fresh ULID, 26 characters of Crockford's base 32."""
    return str(ULID())


def is_ulid(text: str) -> bool:
    return _PATTERN.fullmatch(text) is not None
