"""Which cards of an attempt count as used, reserved and releasing (decision 19)."""

from __future__ import annotations

import pytest

from clusters.contract import EvictionCause, PodPhase, WaitCode, WorkloadFacts
from clusters.observed import held_cards
from tests.builders import ADMITTED, admitted, at, deleted, evicted, failed, queued, running, service, succeeded

WAITING, PULLING, RUNNING = PodPhase.WAITING, PodPhase.PULLING, PodPhase.RUNNING
SUCCEEDED, FAILED, ENDING = PodPhase.SUCCEEDED, PodPhase.FAILED, PodPhase.ENDING


@pytest.mark.parametrize(
    ("facts", "running_held_ending"),
    [
        pytest.param(queued(WaitCode.QUOTA), (0, 0, 0), id="a waiting job holds nothing"),
        pytest.param(queued(active=False), (0, 0, 0), id="a held job holds nothing"),
        pytest.param(queued(reserved_at=ADMITTED), (0, 8, 0), id="reserved quota is held before the last check"),
        pytest.param(admitted(), (0, 8, 0), id="an admitted job holds its quota without a pod"),
        pytest.param(admitted(phases=(PULLING, PULLING)), (0, 16, 0), id="while images are pulled"),
        pytest.param(running(phases=(RUNNING, PULLING)), (8, 16, 0), id="cards are used as pods start"),
        pytest.param(running(count=2), (16, 16, 0), id="a whole gang runs"),
        pytest.param(running(cards=9), (8, 9, 0), id="what was admitted counts, not what was asked for"),
        pytest.param(running(cards=5, count=1), (8, 8, 0), id="more that runs than was admitted is held as well"),
        pytest.param(evicted(at(10, 20)), (0, 0, 0), id="an evicted job holds nothing"),
        pytest.param(
            evicted(at(10, 20), EvictionCause.HELD, phases=(ENDING,), ending=True),
            (0, 0, 8),
            id="pods of an evicted job that still end are releasing",
        ),
        pytest.param(
            evicted(at(10, 20), admitted_at=at(10, 40), phases=(RUNNING,)), (8, 8, 0), id="admitted again after it"
        ),
        pytest.param(deleted(at(10, 20)), (0, 0, 8), id="an object that is being deleted is releasing"),
        pytest.param(succeeded(), (0, 0, 0), id="an ended job holds nothing"),
        pytest.param(
            failed(phases=(FAILED, RUNNING), ending=True), (0, 0, 8), id="C-19: a failed job whose other pod runs on"
        ),
        pytest.param(failed(phases=(FAILED, ENDING, WAITING), ending=True), (0, 0, 8), id="a waiting pod has no card"),
        pytest.param(service(RUNNING, wanted=3), (8, 8, 0), id="a service holds cards for its admitted replicas"),
        pytest.param(service(wanted=3), (0, 0, 0), id="a service whose replicas all wait holds nothing"),
        pytest.param(running(cards=0, pods=()), (0, 0, 0), id="a job without cards"),
    ],
)
def test_held_cards(facts: WorkloadFacts, running_held_ending: tuple[int, int, int]) -> None:
    assert held_cards(facts) == running_held_ending
