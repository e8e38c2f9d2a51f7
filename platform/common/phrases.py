"""Words and sentences side by side, in the punctuation of the reader's language."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.utils.translation import pgettext

_BLANKS_AFTER_FULL_WIDTH = re.compile(r"(?<=[，。；：！？、）”])\s+")


def listed(words: Iterable[object]) -> str:
    """Words in a row: `Queued, held`."""
    return pgettext("between words in a row", ", ").join(str(word) for word in words)


def close_up(text: str) -> str:
    """``text`` without blanks after full-width punctuation: sentences are joined by blanks, and Chinese sets none."""
    return _BLANKS_AFTER_FULL_WIDTH.sub("", text)
