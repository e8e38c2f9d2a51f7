"""Why somebody waits, in exact numbers."""

from __future__ import annotations

import pytest

from clusters.contract import Wait, WaitCode
from clusters.domain.shortage import shortage_code
from clusters.simulation.commands import HoldQueue
from clusters.simulation.world import Hold
from tests.unit.clusters.simulation.lab import HIGH, LOW, Lab


@pytest.mark.parametrize(
    ("asked", "nominal", "used", "code"),
    [
        pytest.param(8, 13, 13, WaitCode.QUOTA, id="the own quota is in use"),
        pytest.param(8, 13, 16, WaitCode.QUOTA, id="more than the own quota is in use"),
        pytest.param(2, 2, 0, WaitCode.QUOTA, id="inside the own quota, which others use"),
        pytest.param(8, 13, 8, WaitCode.ABOVE_NOMINAL, id="5 of its own left, 3 to borrow"),
        pytest.param(16, 10, 8, WaitCode.ABOVE_NOMINAL, id="larger than the own quota"),
        pytest.param(16, 10, 10, WaitCode.ABOVE_NOMINAL, id="larger than the own quota, which is in use"),
    ],
)
def test_a_shortage_is_the_teams_own_or_above_its_nominal(asked: int, nominal: int, used: int, code: WaitCode) -> None:
    assert shortage_code(asked, nominal, used) is code


def test_eight_wanted_with_five_and_three_free_is_about_places() -> None:
    lab = Lab({"a": 16}, nodes=(8, 8))
    lab.submit("three", cards=3)
    lab.submit("five", cards=5)
    lab.settle()
    assert lab.nodes_of("three") == lab.nodes_of("five") == ["n1"], "least free capacity keeps a node whole"
    lab.submit("more", cards=5)
    lab.settle()
    lab.submit("eight", cards=8)
    lab.settle()
    wait = lab.wait("eight")
    assert wait is not None
    assert (wait.code, wait.more, wait.used) == (WaitCode.ABOVE_NOMINAL, 5, 13)
    lab.delete("three")
    lab.settle()
    wait = lab.wait("eight")
    assert wait is not None
    assert wait.code is WaitCode.ABOVE_NOMINAL
    lab.set_quotas({"a": 24})
    lab.settle()
    assert lab.wait("eight") == Wait(
        WaitCode.PLACES,
        asked=8,
        more=0,
        maximum=24,
        nominal=24,
        used=10,
        raw="no nodes of h100 for 1 pod(s) of 8",
    )


def test_the_word_of_the_gate_follows_what_happens() -> None:
    lab = Lab({"a": 8}, nodes=(8,))
    lab.submit("low", priority=LOW)
    lab.settle()
    assert lab.wait("low") is None
    lab.submit("high", priority=HIGH)
    assert lab.wait("high") is None, "not looked at yet"
    lab.pass_ms(20)
    assert lab.wait("high") == Wait(
        WaitCode.PREEMPTING, asked=8, victims=1, raw="pending the eviction of 1 workload(s)"
    )
    lab.settle()
    wait = lab.wait("low")
    assert wait is not None
    assert wait.code is WaitCode.QUOTA
    lab.do(HoldQueue(0, "a", Hold.HOLD))
    wait = lab.wait("low")
    assert wait is not None
    assert wait.code is WaitCode.QUEUE_HELD
    lab.hold("low")
    assert lab.wait("low") is None, "a held job does not wait"


def test_the_gate_says_never_only_about_the_whole_cohort() -> None:
    lab = Lab({"a": 8, "b": 8}, pool=8)
    lab.submit("above", "a", pods=3, cards=8)
    lab.submit("never", "a", pods=4, cards=8)
    lab.submit("busy", "b", cards=1)
    lab.settle()
    above, never = lab.wait("above"), lab.wait("never")
    assert "above" in lab.admitted() or above is not None
    assert never is not None
    assert (never.code, never.asked, never.maximum) == (WaitCode.NEVER_FITS, 32, 24)


def test_what_was_said_about_the_last_of_a_shape_is_forgotten_with_it() -> None:
    lab = Lab({"a": 8}, nodes=(8,))
    lab.submit("first", command="sleep 90")
    lab.settle()
    lab.submit("second")
    lab.submit("third")
    lab.pass_ms(20)
    assert lab.wait("third") == lab.wait("second")
    assert lab.wait("third") is not None
    lab.hold("second")
    assert lab.wait("third") is not None
    lab.hold("third")
    lab.submit("fourth")
    assert lab.wait("fourth") is None
