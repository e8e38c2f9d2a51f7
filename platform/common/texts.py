"""Text of others that shall be kept: what PostgreSQL cannot store must not stop what comes with it."""

from __future__ import annotations

import re

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """``text`` with U+FFFD for each NUL and each half of a surrogate pair."""
    return _NOT_STORABLE.sub("\ufffd", text)
