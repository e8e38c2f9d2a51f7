"""Lengths of time in words: two units at most, never a false precision."""

from __future__ import annotations

from datetime import timedelta

import pytest

from common.durations import duration_words


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(seconds=-5), "0 s"),
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3_599, "59 min"),
        (3_600, "1 h"),
        (timedelta(hours=1, minutes=58), "1 h 58 min"),
        (timedelta(hours=47, minutes=59), "47 h 59 min"),
        (timedelta(hours=48), "2 days"),
        (timedelta(days=3, hours=23), "3 days"),
    ],
)
def test_a_length_in_words(length: timedelta | float, words: str) -> None:
    assert duration_words(length) == words
