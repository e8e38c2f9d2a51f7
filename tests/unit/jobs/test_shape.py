"""Cards → pods (decision 12)."""

from __future__ import annotations

import pytest

from jobs.domain.shape import NoShape, Shape, per_pod_sizes, shape_of


@pytest.mark.parametrize(
    ("cards", "cards_per_node", "expected"),
    [
        pytest.param(1, 8, (1, 1), id="one card is one pod"),
        pytest.param(3, 8, (1, 3), id="less than half a node is still one pod"),
        pytest.param(8, 8, (1, 8), id="a whole node"),
        pytest.param(16, 8, (2, 8), id="two whole nodes"),
        pytest.param(12, 8, (2, 6), id="twelve are two times six, not three times four"),
        pytest.param(10, 8, (2, 5), id="ten are two times five"),
        pytest.param(14, 8, (2, 7), id="fourteen are two times seven"),
        pytest.param(20, 8, (4, 5), id="twenty are four times five"),
        pytest.param(28, 8, (4, 7), id="twenty-eight are four times seven"),
        pytest.param(8, 4, (2, 4), id="eight on nodes of four"),
        pytest.param(6, 4, (2, 3), id="six on nodes of four"),
        pytest.param(9, 1, (9, 1), id="nodes of one card"),
        pytest.param(99_992, 8, (12_499, 8), id="as many as exist anywhere"),
    ],
)
def test_the_fewest_equal_pods_of_at_least_half_a_node(
    cards: int, cards_per_node: int, expected: tuple[int, int]
) -> None:
    shape = shape_of(cards, cards_per_node=cards_per_node)
    assert (shape.pods, shape.cards_per_pod) == expected
    assert shape.cards == cards


@pytest.mark.parametrize(
    ("cards", "nearest"),
    [
        pytest.param(11, (10, 12), id="eleven: ten or twelve"),
        pytest.param(9, (8, 10), id="nine: eight or ten"),
        pytest.param(13, (12, 14), id="thirteen: twelve or fourteen"),
        pytest.param(17, (16, 18), id="seventeen: sixteen or eighteen"),
        pytest.param(97, (96, 98), id="a large prime"),
    ],
)
def test_without_an_equal_split_the_two_nearest_good_counts_are_offered(cards: int, nearest: tuple[int, int]) -> None:
    with pytest.raises(NoShape) as caught:
        shape_of(cards, cards_per_node=8)
    assert caught.value.nearest == nearest
    assert caught.value.cards == cards


def test_no_cards_are_one_pod_without_cards() -> None:
    assert shape_of(0, cards_per_node=8) == Shape(pods=1, cards_per_pod=0)


@pytest.mark.parametrize(
    ("cards_per_node", "sizes"),
    [
        (8, (1, 2, 4, 8)),
        (16, (1, 2, 4, 8, 16)),
        (4, (1, 2, 4)),
        (6, (1, 2, 4, 6)),
        (32, (1, 2, 4, 8, 32)),
    ],
)
def test_ascend_takes_one_two_four_eight_or_a_whole_node(cards_per_node: int, sizes: tuple[int, ...]) -> None:
    assert per_pod_sizes(cards_per_node, "ascend") == sizes


@pytest.mark.parametrize(
    ("cards", "cards_per_node", "expected"),
    [
        pytest.param(2, 8, (1, 2), id="two"),
        pytest.param(4, 8, (1, 4), id="four"),
        pytest.param(8, 8, (1, 8), id="a whole node"),
        pytest.param(16, 8, (2, 8), id="two whole nodes"),
        pytest.param(16, 16, (1, 16), id="a node of sixteen"),
        pytest.param(12, 6, (2, 6), id="whole nodes of an odd size"),
    ],
)
def test_several_ascend_pods_are_whole_nodes(cards: int, cards_per_node: int, expected: tuple[int, int]) -> None:
    shape = shape_of(cards, cards_per_node=cards_per_node, vendor="ascend")
    assert (shape.pods, shape.cards_per_pod) == expected


@pytest.mark.parametrize(
    ("cards", "nearest"),
    [
        pytest.param(3, (2, 4), id="three: two or four"),
        pytest.param(6, (4, 8), id="six: four or eight"),
        pytest.param(12, (8, 16), id="twelve: one node or two"),
    ],
)
def test_other_ascend_counts_are_refused_with_the_nearest_steps(cards: int, nearest: tuple[int, int]) -> None:
    with pytest.raises(NoShape) as caught:
        shape_of(cards, cards_per_node=8, vendor="ascend")
    assert caught.value.nearest == nearest
