"""Text of others that shall be kept."""

from __future__ import annotations

import pytest

from common.texts import storable


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("训练 🚀\t\n\x1b[31m", "训练 🚀\t\n\x1b[31m"),
        ("a\x00b", "a\ufffdb"),
        ("\ud83d\ude80", "\ufffd\ufffd"),
        ("\udfff", "\ufffd"),
    ],
)
def test_only_what_cannot_be_stored_is_replaced(text: str, kept: str) -> None:
    assert storable(text) == kept
