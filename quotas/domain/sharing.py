"""What slower cards mean for the run time of work. Pure."""

from __future__ import annotations

WHOLE_SPEED = 1_000
SLOWDOWN_MIN = WHOLE_SPEED
SLOWDOWN_DEFAULT = 1_300
SLOWDOWN_MAX = 10_000
"""Run time on cut cards, per mille of the run time on whole ones."""
