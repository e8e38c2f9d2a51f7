"""Percent → cards (decisions 21 and 55)."""

from __future__ import annotations

import pytest

from quotas.domain.shares import Apportioned, SharesExceedWhole, apportion, capped_split, largest_remainder


@pytest.mark.parametrize(
    ("cards", "shares", "nominal", "pool"),
    [
        pytest.param(7, (4_000, 3_000, 3_000), (3, 2, 2), 0, id="seven cards by 40, 30 and 30 percent"),
        pytest.param(32, (4_000, 4_000, 2_000), (13, 13, 6), 0, id="thirty-two by 40, 40 and 20"),
        pytest.param(16, (4_000, 4_000, 2_000), (7, 6, 3), 0, id="sixteen: equal claims go by name"),
        pytest.param(8, (5_000, 2_500), (4, 2), 2, id="what nobody has is the common pool"),
        pytest.param(10, (3_333, 3_333, 3_334), (3, 3, 4), 0, id="thirds"),
        pytest.param(1, (5_000, 5_000), (1, 0), 0, id="one card for two equals"),
        pytest.param(1, (5_000,), (1,), 0, id="of equal claims the team's comes before the pool's"),
        pytest.param(0, (5_000, 5_000), (0, 0), 0, id="no cards"),
        pytest.param(8, (), (), 8, id="no team"),
        pytest.param(8, (0, 0), (0, 0), 8, id="teams without a share"),
        pytest.param(8, (10_000, 0), (8, 0), 0, id="everything to one"),
        pytest.param(3, (10,), (0,), 3, id="a tenth of a percent of three cards is none"),
        pytest.param(1_000, (10,), (1,), 999, id="a tenth of a percent of a thousand is one"),
    ],
)
def test_cards_by_largest_remainder(cards: int, shares: tuple[int, ...], nominal: tuple[int, ...], pool: int) -> None:
    names = "abcdef"[: len(shares)]
    parts = apportion(cards, dict(zip(names, shares, strict=True)))
    assert parts == Apportioned(dict(zip(names, nominal, strict=True)), pool)


def test_more_than_the_whole_is_an_error() -> None:
    with pytest.raises(SharesExceedWhole):
        apportion(8, {"a": 5_000, "b": 5_001})


def test_ties_go_by_remainder_then_weight_then_name() -> None:
    assert largest_remainder(1, {"b": 1, "a": 1}) == {"a": 1, "b": 0}
    assert largest_remainder(2, {"small": 1, "large": 3}) == {"small": 0, "large": 2}  # both claim a half
    assert largest_remainder(5, {"z": 2, "y": 2, "x": 1}) == {"x": 1, "y": 2, "z": 2}


def test_nothing_is_split_by_weights_of_nothing() -> None:
    assert largest_remainder(5, {"a": 0, "b": 0}) == {"a": 0, "b": 0}
    assert largest_remainder(5, {}) == {}


@pytest.mark.parametrize(
    ("total", "weights", "caps", "parts"),
    [
        pytest.param(4, (2, 2), (9, 9), (2, 2), id="no cap is reached"),
        pytest.param(4, (2, 2), (1, 9), (1, 3), id="what a cap cuts off goes to the others"),
        pytest.param(9, (2, 2), (1, 2), (1, 2), id="never more than all caps together"),
        pytest.param(3, (1, 0), (1, 5), (1, 2), id="at last also those without weight"),
        pytest.param(0, (1, 1), (5, 5), (0, 0), id="nothing to split"),
        pytest.param(5, (1, 1), (0, 0), (0, 0), id="nobody may take any"),
    ],
)
def test_a_split_with_caps(total: int, weights: tuple[int, int], caps: tuple[int, int], parts: tuple[int, int]) -> None:
    names = ("a", "b")
    found = capped_split(total, dict(zip(names, weights, strict=True)), dict(zip(names, caps, strict=True)))
    assert found == dict(zip(names, parts, strict=True))
