"""Free cards that are of no use to what waits: examples people would agree on."""

from __future__ import annotations

import time

import pytest

from clusters.domain.packing import Gang, Packing, Unusable, best_packing, unusable


@pytest.mark.parametrize(
    ("free", "waiting", "cards"),
    [
        ([5, 3], [Gang(1, 8)], 8),
        ([5, 3], [], 0),  # nobody asks for them: idle, not unusable
        ([5, 3, 1], [Gang(1, 8, 10)], 9),
        ([8, 5, 3], [Gang(1, 8)], 0),  # what waits can start
        ([5, 3], [Gang(1, 8), Gang(1, 4)], 4),  # the small one starts, the rest stays in pieces
        ([6, 6], [Gang(2, 6)], 0),
        ([6, 5], [Gang(2, 6)], 11),  # a gang starts whole or not at all
        ([6], [Gang(1, 5), Gang(1, 3, 2)], 0),  # 3 + 3 and not 5
        ([4, 4, 4], [Gang(2, 4), Gang(3, 4)], 0),  # the larger of the two
        ([], [Gang(1, 1)], 0),
        ([0, 0], [Gang(1, 1)], 0),
    ],
)
def test_what_is_free_and_of_no_use(free: list[int], waiting: list[Gang], cards: int) -> None:
    assert unusable(free, waiting) == Unusable(cards, exact=True)


def test_a_packing_that_is_too_hard_is_bounded_and_says_so() -> None:
    free = [17] * 100
    waiting = [Gang(7, 6, 40), Gang(5, 5, 40), Gang(3, 7, 40)]
    found = best_packing(free, waiting)
    assert found == Packing(1_700, exact=False)
    assert unusable(free, waiting) == Unusable(0, exact=False)  # at least


def test_five_thousand_nodes_and_ten_thousand_jobs_take_no_time_to_speak_of() -> None:
    free = [number % 9 for number in range(5_000)]
    waiting = [Gang(pods, cards, 500) for pods in (1, 2, 4, 8) for cards in (1, 2, 3, 5, 8)]
    before = time.process_time()
    unusable(free, waiting)
    assert time.process_time() - before < 2
