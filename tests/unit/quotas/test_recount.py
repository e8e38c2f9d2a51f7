"""Which cards are divided while nodes come, go and fall sick."""

from __future__ import annotations

from datetime import timedelta

import pytest

from clusters.contract import NodeHealth
from quotas.domain.recount import NodeCards, fit_cards, waits_for_a_person
from tests.builders import at

NOW = at(12)


@pytest.mark.parametrize(
    ("health", "minutes", "cards"),
    [
        (NodeHealth.READY, 0, 8),
        (NodeHealth.CORDONED, 9, 8),
        (NodeHealth.CORDONED, 10, 0),
        (NodeHealth.DOWN, 29, 8),
        (NodeHealth.DOWN, 30, 0),
        (NodeHealth.DEGRADED, 29, 8),
        (NodeHealth.DEGRADED, 30, 6),
        (NodeHealth.DOWN, -600, 8),  # the clock was put back
    ],
)
def test_a_node_that_is_out_is_divided_until_its_grace_is_over(health: NodeHealth, minutes: int, cards: int) -> None:
    sick = 2 if health is NodeHealth.DEGRADED else 0
    assert fit_cards([NodeCards(health, 8, sick, NOW - timedelta(minutes=minutes))], NOW) == cards


def test_a_node_that_is_out_since_nobody_knows_when_stays_divided() -> None:
    assert fit_cards([NodeCards(NodeHealth.DOWN, 8), NodeCards(NodeHealth.READY, 8)], NOW) == 16


@pytest.mark.parametrize(
    ("divided", "fit", "waits"),
    [(80, 72, False), (80, 71, True), (80, 88, False), (80, 89, True), (80, 0, True), (0, 800, False), (8, 8, False)],
)
def test_a_change_of_more_than_a_tenth_waits_for_a_person(divided: int, fit: int, waits: bool) -> None:
    assert waits_for_a_person(divided, fit) is waits
