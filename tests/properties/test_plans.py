"""Plans of any size: cards are neither lost nor doubled, problems are found, and the history reads what it wrote."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from quotas.domain.plan import Division, GroupPart, Plan, QueuePart, diff, divide, problems
from quotas.domain.shares import WHOLE
from quotas.plans.content import content_of, division_from

QUEUES = ("a", "b", "c", "d")
GROUPS = ("h100", "a100", "none")
limits = st.none() | st.integers(0, 1_000).map(lambda steps: steps * 10)


@st.composite
def divisions(draw: st.DrawFn) -> Division:
    """Shares of at most 100 % of each group together, and its cards."""
    parts: dict[str, dict[str, GroupPart]] = {name: {} for name in QUEUES}
    for group in GROUPS:
        left = 1_000
        for name in QUEUES:
            share = draw(st.integers(0, left))
            left -= share
            parts[name][group] = GroupPart(share * 10, draw(limits), draw(limits))
    queues = {
        name: QueuePart(draw(st.integers(0, 3)), draw(st.booleans()), True, groups) for name, groups in parts.items()
    }
    cards = {group: draw(st.integers(0, 5_000)) for group in GROUPS[:2]} | {"none": 0}
    return Division(Plan(queues), cards)


@given(divisions())
def test_a_plan_that_passes_is_exactly_the_cards_of_each_group(division: Division) -> None:
    assert problems(division.plan, Plan({}), queues=QUEUES, groups=GROUPS) == []
    shared_out = divide(division)
    for group, cards in division.cards.items():
        nominals = [shared_out.part(name, group).nominal for name in QUEUES]
        assert sum(nominals) + shared_out.pool[group] == cards
        assert min(nominals) >= 0
        for name in QUEUES:
            part, whole = division.plan.queue(name).part(group), shared_out.part(name, group)
            assert is_limit(whole.borrow_limit, part.borrow_basis_points, cards)
            assert is_limit(whole.lend_limit, part.lend_basis_points, cards)


def is_limit(limit: int | None, points: int | None, cards: int) -> bool:
    """The most whole cards that are not more than so much of the group; none where nothing was said."""
    if points is None or limit is None:
        return points is None and limit is None
    return limit * WHOLE <= cards * points < (limit + 1) * WHOLE


@given(divisions(), st.sampled_from(QUEUES), st.sampled_from(GROUPS), st.integers(-20_000, 20_000))
def test_every_share_that_cannot_be_is_found(division: Division, name: str, group: str, points: int) -> None:
    queue = division.plan.queue(name)
    asked = Plan(
        {
            **division.plan.queues,
            name: QueuePart(queue.rank, queue.strict, queue.reclaims, {**queue.groups, group: GroupPart(points)}),
        }
    )
    total = sum(asked.points(group).values())
    fine = points >= 0 and points % 10 == 0 and total <= WHOLE
    assert (problems(asked, Plan({}), queues=QUEUES, groups=GROUPS) == []) is fine


@given(divisions())
def test_the_history_reads_what_it_wrote(division: Division) -> None:
    assert division_from(json.loads(json.dumps(content_of(division)))) == division
    assert not diff(division, division_from(content_of(division)))


@given(divisions(), divisions())
def test_a_difference_is_there_exactly_where_something_differs_and_turns_around(one: Division, other: Division) -> None:
    there, back = diff(one, other), diff(other, one)
    assert bool(there) is (content_of(one) != content_of(other))
    assert [(c.queue, c.group, c.cards_before, c.cards_after) for c in there.parts] == [
        (c.queue, c.group, c.cards_after, c.cards_before) for c in back.parts
    ]
