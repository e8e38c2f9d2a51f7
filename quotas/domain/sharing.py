"""What slower cards mean for the run time of work. Pure, integers only."""

from __future__ import annotations

WHOLE_SPEED = 1_000
SLOWDOWN_MIN = WHOLE_SPEED
SLOWDOWN_DEFAULT = 1_300
SLOWDOWN_MAX = 10_000
"""Run time on cut cards, per mille of the run time on whole ones."""


def times_text(slowdown: int) -> str:
    """How many times as long work takes, without needless zeros: 1300 is `1.3`, 2000 is `2`."""
    whole, part = divmod(slowdown, WHOLE_SPEED)
    return f"{whole}.{part:03}".rstrip("0").rstrip(".")
