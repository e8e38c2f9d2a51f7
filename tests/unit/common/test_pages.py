"""The cursor of keyset pages: it survives the way through an address, and nothing else passes for one."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from common.pages import BadCursor, Cursor

EDGE = datetime(2026, 3, 12, 10, 5, 0, 123457, UTC)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_cursor_comes_back_to_the_microsecond(backwards: bool) -> None:
    cursor = Cursor(EDGE, 42, backwards)
    assert Cursor.decode(cursor.encode()) == cursor


def test_a_cursor_needs_no_escaping_in_an_address() -> None:
    text = Cursor(EDGE, 2**40).encode()
    assert text.replace("-", "").replace("_", "").isalnum()


def encoded(raw: str) -> str:
    return base64.urlsafe_b64encode(raw.encode()).decode()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x", id="one character"),
        pytest.param("not a cursor", id="words"),
        pytest.param("é", id="not ASCII"),
        pytest.param("\x00", id="a NUL"),
        pytest.param(encoded(""), id="nothing inside"),
        pytest.param(encoded("5"), id="a number"),
        pytest.param(encoded("null"), id="null"),
        pytest.param(encoded("[1, 2]"), id="a list that is too short"),
        pytest.param(encoded("[1, 2, 3, 4]"), id="a list that is too long"),
        pytest.param(encoded('{"a": 1, "b": 2, "c": 3}'), id="an object"),
        pytest.param(encoded('["x", 1, 0]'), id="a word for the time"),
        pytest.param(encoded("[1e400, 1, 0]"), id="an infinite time"),
        pytest.param(encoded("[NaN, 1, 0]"), id="a time that is no number"),
        pytest.param(encoded("[99999999999999999999, 1, 0]"), id="a time after the last year"),
        pytest.param(encoded("[0, 99999999999999999999, 0]"), id="an id beyond the column"),
        pytest.param(encoded("[0, null, 0]"), id="no id"),
        pytest.param(encoded("[0, -1, 0]"), id="an id below zero"),
        pytest.param(encoded("[null, 1, 0]"), id="no time"),
        pytest.param(encoded("[" * 2_000), id="two thousand brackets"),
    ],
)
def test_anything_else_is_a_bad_cursor(text: str) -> None:
    with pytest.raises(BadCursor):
        Cursor.decode(text)
