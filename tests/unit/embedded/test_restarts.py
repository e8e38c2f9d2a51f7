from __future__ import annotations

import pytest

from console.embedded.restarts import DELAYS, STEADY_SECONDS, RestartPolicy


def test_a_child_that_ran_steadily_is_restarted_at_once() -> None:
    policy = RestartPolicy()
    policy.ended(started_at=0.0, now=STEADY_SECONDS)
    assert policy.is_due(STEADY_SECONDS)


def test_a_child_that_runs_is_never_due() -> None:
    policy = RestartPolicy()
    assert not policy.is_due(1e9)
    policy.ended(started_at=0.0, now=1.0)
    policy.started()
    assert not policy.is_due(1e9)


def test_quick_failures_in_a_row_wait_longer_and_longer_up_to_five_seconds() -> None:
    policy = RestartPolicy()
    waits = []
    for failure in range(10):
        now = failure * 100.0
        policy.ended(started_at=now - 1.0, now=now)
        assert policy.due_at is not None
        waits.append(policy.due_at - now)
        policy.started()
    assert waits == sorted(waits)
    assert waits[0] == pytest.approx(0.5)
    assert waits[-1] == DELAYS[-1] == 5.0
    assert policy.quick_failures == 10


def test_a_steady_run_forgets_earlier_failures() -> None:
    policy = RestartPolicy()
    for _ in range(5):
        policy.ended(started_at=0.0, now=1.0)
    policy.ended(started_at=10.0, now=10.0 + STEADY_SECONDS)
    assert policy.quick_failures == 0
