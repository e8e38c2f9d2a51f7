"""What a team's part of a node group means, in words: true at every limit."""

from __future__ import annotations

import pytest

from quotas.domain.plan import CardPart, QueuePart
from quotas.plans.words import part_in_words

ON_IDLE = "A job of more than its 6 starts on what is idle, but takes nothing back."
NEVER = "It borrows nothing: a job of more than its 6 can never start."


@pytest.mark.parametrize(
    ("cards", "said"),
    [
        (CardPart(6), [ON_IDLE]),
        (CardPart(6, borrow_limit=0), [NEVER]),
        (CardPart(6, borrow_limit=2), [ON_IDLE, "It borrows at most 2, so a job of more than 8 can never start."]),
        (CardPart(6, lend_limit=0), [ON_IDLE, "It lends nothing."]),
        (CardPart(6, borrow_limit=0, lend_limit=1), [NEVER, "It lends at most 1."]),
        (CardPart(6, lend_limit=6), [ON_IDLE]),
        (
            CardPart(0),
            ["It has no share here: its jobs run on what is idle only, and any owner may take that back."],
        ),
        (CardPart(0, borrow_limit=0), ["It has no share here and borrows nothing: none of its jobs can start."]),
    ],
)
def test_a_part_says_what_larger_jobs_can_count_on(cards: CardPart, said: list[str]) -> None:
    assert part_in_words(QueuePart(), cards) == said


@pytest.mark.parametrize("queue", [QueuePart(reclaims=False), QueuePart(rank=2), QueuePart()])
def test_no_rule_lets_a_job_start_above_a_share_that_borrows_nothing(queue: QueuePart) -> None:
    assert part_in_words(queue, CardPart(6, borrow_limit=0)) == [NEVER]
