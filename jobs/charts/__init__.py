"""Drawings of jobs: attempts on a clock, nodes as squares. Geometry and words only; the templates hold the markup."""

from __future__ import annotations

from jobs.charts.attempts import AttemptsChart, attempts_chart
from jobs.charts.nodes import GroupDrawing, draw_groups, team_letters
from jobs.charts.shape import draw_blocks, draw_shape

__all__ = [
    "AttemptsChart",
    "GroupDrawing",
    "attempts_chart",
    "draw_blocks",
    "draw_groups",
    "draw_shape",
    "team_letters",
]
