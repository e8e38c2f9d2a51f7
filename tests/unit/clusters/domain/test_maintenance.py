"""Where jobs may be placed when maintenance is planned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from clusters.domain.maintenance import Placement, Window, placement

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ROOMS = {"a": 8, "b": 8, "c": 8}


def window(nodes: str, starts: float = 4, ends: float = 8) -> Window:
    return Window(frozenset(nodes), NOW + starts * HOUR, NOW + ends * HOUR)


@pytest.mark.parametrize(
    ("windows", "limit", "pods", "expected"),
    [
        pytest.param([], None, 1, Placement(), id="nothing is planned"),
        pytest.param([window("a")], 4 * HOUR, 1, Placement(), id="it ends just before"),
        pytest.param([window("a")], 4.1 * HOUR, 1, Placement(("a",)), id="it would not end before"),
        pytest.param([window("a")], None, 1, Placement(("a",)), id="one without a limit would not end"),
        pytest.param([window("a", 4, 8), window("b", 2, 3)], 3 * HOUR, 1, Placement(("b",)), id="only the nearer one"),
        pytest.param([window("a")], None, 2, Placement(("a",)), id="the others just hold it"),
        pytest.param([window("a")], None, 3, Placement(wait_until=NOW + 4 * HOUR), id="no others hold it"),
        pytest.param(
            [window("abc", -1, 2)], HOUR, 1, Placement(wait_until=NOW + 2 * HOUR), id="all, and it is under way"
        ),
        pytest.param([window("abc", -3, -1)], None, 3, Placement(), id="it is over"),
        pytest.param([window("xyz")], None, 3, Placement(), id="nodes of another group"),
        pytest.param([window("a")], None, 4, Placement(("a",)), id="it would not fit without maintenance either"),
    ],
)
def test_a_job_is_not_placed_where_it_would_not_end_before(
    windows: list[Window], limit: timedelta | None, pods: int, expected: Placement
) -> None:
    assert placement(windows, ROOMS, NOW, limit, pods, 8) == expected
