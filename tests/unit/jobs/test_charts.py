"""Attempts on a clock, nodes as squares: the geometry, without a page around it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone, translation

from clusters.selectors import NodeView
from jobs.charts import attempts_chart, draw_blocks, draw_shape, team_letters
from jobs.charts.nodes import Square, _node
from jobs.domain.shape import Shape

START = datetime(2026, 11, 28, 8, 52, tzinfo=UTC)


def minutes(count: float) -> datetime:
    return START + timedelta(minutes=count)


def run(queued: float, admitted: float | None, started: float | None, ended: float | None, cause: str = "") -> Any:
    times = {"queued_at": queued, "admitted_at": admitted, "started_at": started, "ended_at": ended}
    moments = {name: None if at is None else minutes(at) for name, at in times.items()}
    return SimpleNamespace(replica=0, ordinal=1, end_cause=cause, **moments)


def attempt(number: int, runs: Sequence[Any]) -> Any:
    return SimpleNamespace(pk=number, number=number, runs=SimpleNamespace(all=lambda: list(runs)))


def test_a_run_is_a_queued_a_creating_and_a_running_span() -> None:
    chart = attempts_chart([attempt(1, [run(0, 10, 20, 100, "succeeded")])], {}, minutes(500))
    assert chart is not None and chart.now is None
    assert [(span.kind, span.x, span.width, span.text) for span in chart.rows[0].spans] == [
        ("queued", "0", "10", ""),
        ("creating", "10", "10", ""),
        ("running", "20", "80", "1 h 20 min"),
    ]
    assert chart.rows[0].cuts == ()
    assert chart.rows[0].label == "Attempt 1: queued 10 min, creating 10 min, ran 1 h 20 min"


def test_a_run_that_was_taken_away_is_cut_and_the_next_goes_on_to_now() -> None:
    runs = [run(0, 1, 2, 50, "preempted"), run(50, None, None, None)]
    chart = attempts_chart([attempt(1, runs)], {}, minutes(100))
    assert chart is not None
    assert (chart.rows[0].cuts, chart.now) == (("50",), "100")
    assert chart.rows[0].spans[-1].kind == "queued"
    assert chart.rows[0].note == "2 runs"


def test_how_an_attempt_ended_stands_beside_it() -> None:
    attempts = [attempt(1, [run(0, 1, 2, 50, "failed")]), attempt(2, [run(50, None, None, None)])]
    chart = attempts_chart(attempts, {1: "A node stopped answering."}, minutes(60))
    assert chart is not None
    assert [row.note for row in chart.rows] == ["A node stopped answering.", "1 run"]


def test_there_is_no_chart_before_the_first_run() -> None:
    assert attempts_chart([attempt(1, [])], {}, minutes(1)) is None


def test_a_job_of_a_second_still_has_a_clock() -> None:
    chart = attempts_chart([attempt(1, [run(0, 0, 0, 0.01, "succeeded")])], {}, minutes(1))
    assert chart is not None and len(chart.ticks) >= 2


@pytest.mark.parametrize("length", [1, 7, 60, 600, 6_000, 60_000, 600_000])
def test_the_clock_has_a_few_full_steps(length: float) -> None:
    chart = attempts_chart([attempt(1, [run(0, 0, 0, length, "succeeded")])], {}, minutes(length))
    assert chart is not None
    assert 1 <= len(chart.ticks) <= 6
    assert all(0 <= float(tick.x) <= 100 for tick in chart.ticks)


def test_the_clock_is_the_readers() -> None:
    with timezone.override("Asia/Shanghai"), translation.override("en"):
        chart = attempts_chart([attempt(1, [run(0, 1, 2, 240, "succeeded")])], {}, minutes(300))
    assert chart is not None
    assert [tick.text for tick in chart.ticks][:2] == ["17:00", "18:00"]


def test_teams_get_letters_of_their_own() -> None:
    assert team_letters(["Vision", "Voice", "视觉", "Vision"]) == {"Vision": "V", "Voice": "O", "视觉": "视"}


def node(**figures: Any) -> NodeView:
    zero: dict[str, Any] = dict.fromkeys(("used", "reserved", "ending", "outside", "free", "out", "sick"), 0)
    rest = {"name": "n-01", "group_slug": "g", "health": "ready", "installed": 8, "since": None, "holders": ()}
    return NodeView(**{**zero, **rest, **figures})


def holder(cards: int, *, running: bool = True, ending: bool = False) -> dict[str, object]:
    return {"job_ulid": "j", "attempt": 1, "cards": cards, "running": running, "ending": ending}


def test_every_card_of_a_node_is_one_square() -> None:
    drawn = _node(
        node(used=3, reserved=2, ending=1, free=1, out=1, sick=1,
             holders=(holder(2, running=False), holder(3), holder(1, ending=True))),
        {"j": "Vision"}, {"Vision": "V"}, is_sliced=False,
    )  # fmt: skip
    assert [square.kind for square in drawn.squares] == (
        ["used"] * 3 + ["reserved"] * 2 + ["ending"] + ["free"] + ["sick"]
    )
    assert {square.letter for square in drawn.squares[:6]} == {"V"}
    assert (drawn.note, drawn.alarm) == ("1 sick", True)


def test_a_card_that_others_still_leave_is_drawn_once() -> None:
    """Four cards are promised already to the next job, of eight that end."""
    drawn = _node(node(ending=8, holders=(holder(4, running=False), holder(8, ending=True))), {}, {}, is_sliced=False)
    assert [square.kind for square in drawn.squares] == ["ending"] * 8


@pytest.mark.parametrize(
    ("figures", "note", "alarm"),
    [
        ({"health": "down", "out": 8}, "not ready", True),
        ({"health": "cordoned", "out": 8}, "cordoned", True),
        ({"free": 0}, "full", False),
        ({"free": 5}, "5 free", False),
    ],
)
def test_the_corner_of_a_node_says_what_matters_most(figures: dict[str, Any], note: str, alarm: bool) -> None:
    drawn = _node(node(**figures), {}, {}, is_sliced=False)
    assert (drawn.note, drawn.alarm) == (note, alarm)


@pytest.mark.parametrize(("physical", "columns"), [(8, [7] * 8), (2, [28] * 2), (None, [2] * 28)])
def test_slices_stand_in_a_column_for_each_card_where_it_is_known_how_many_there_are(
    physical: int | None, columns: list[int]
) -> None:
    sliced = node(installed=56, used=40, free=16, holders=(holder(40),), physical=physical)
    drawn = _node(sliced, {}, {}, is_sliced=True)
    assert [len(column) for column in drawn.columns] == columns
    assert drawn.squares == ()


def test_a_shape_is_drawn_by_its_first_nodes() -> None:
    nodes = draw_shape(Shape(8, 6), 8)
    assert len(nodes) == 4
    assert nodes[0] == [Square("used")] * 6 + [Square("free")] * 2


def test_blocks_that_no_node_can_have_are_left_out() -> None:
    assert [free for free, _squares in draw_blocks([5, 0, 3, 9], 8)] == [5, 3]
