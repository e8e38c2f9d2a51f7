"""When failures speak against a node."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from clusters.domain.suspicion import FailedThere, avoidable, evidence

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def failed(owner: int, hours: float, code: str = "app_exit", job: str = "") -> FailedThere:
    return FailedThere(job or f"job-{owner}-{hours}", 1, owner, code, NOON + timedelta(hours=hours))


@pytest.mark.parametrize(
    ("failures", "suspected"),
    [
        pytest.param([failed(1, 0), failed(2, 1), failed(3, 2)], True, id="three people within a day"),
        pytest.param([failed(1, 0), failed(2, 1)], False, id="two people"),
        pytest.param([failed(1, hour) for hour in range(9)], False, id="one person nine times"),
        pytest.param([failed(1, 0), failed(2, 1), failed(3, 24)], False, id="the first was a day before the last"),
        pytest.param([failed(1, 0), failed(2, 1), failed(3, 23.9)], True, id="a little less than a day"),
        pytest.param(
            [failed(1, 0), failed(2, 1), failed(1, 23), failed(3, 24.5)], True, id="somebody failed there again"
        ),
        pytest.param(
            [failed(1, 0), failed(2, 1), failed(3, 2, "image_not_found")], False, id="a missing image is no node's"
        ),
        pytest.param(
            [failed(1, 0), failed(2, 1), failed(3, 2, "time_limit")], False, id="nor is the end of a time limit"
        ),
        pytest.param([failed(1, 0, "node_lost"), failed(2, 1), failed(3, 2)], True, id="a lost node counts"),
        pytest.param([], False, id="nothing failed"),
    ],
)
def test_a_node_is_suspected_when_jobs_of_three_people_failed_there_within_a_day(
    failures: list[FailedThere], suspected: bool
) -> None:
    assert bool(evidence(failures)) is suspected
    assert evidence(reversed(failures)) == evidence(failures)


def test_the_evidence_is_one_failure_of_each_owner_oldest_first() -> None:
    failures = [failed(1, 0), failed(1, 3), failed(2, 1), failed(3, 2)]
    assert [(each.owner_id, each.at.hour) for each in evidence(failures)] == [(2, 13), (3, 14), (1, 15)]


def test_what_an_admin_has_looked_at_does_not_count_again() -> None:
    failures = [failed(1, 0), failed(2, 1), failed(3, 2), failed(1, 4), failed(2, 5)]
    assert evidence(failures, cleared_at=NOON + timedelta(hours=2)) == ()
    again = [*failures, failed(3, 6)]
    assert {each.owner_id for each in evidence(again, cleared_at=NOON + timedelta(hours=2))} == {1, 2, 3}


@pytest.mark.parametrize(
    ("pods", "per_pod", "avoided"),
    [(1, 8, ("a",)), (2, 8, ("a",)), (3, 8, ()), (2, 4, ("a",)), (5, 4, ())],
    ids=["fits elsewhere", "just fits elsewhere", "needs all nodes", "half nodes", "more halves than there are"],
)
def test_suspected_nodes_are_avoided_where_there_is_room_without_them(
    pods: int, per_pod: int, avoided: tuple[str, ...]
) -> None:
    rooms = {"a": 8, "b": 8, "c": 8}
    assert avoidable({"a", "of another group"}, rooms, pods, per_pod) == avoided
