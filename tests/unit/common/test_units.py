"""Exact quantities typed by people (case C-07): a number or a code, never a guess."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from common.units import BadQuantity, parse_cards, parse_cpu_millis, parse_memory_bytes

GI = 2**30


def refusal(parse: Callable[[object], int], typed: object) -> str:
    with pytest.raises(BadQuantity) as caught:
        parse(typed)
    return caught.value.code


@pytest.mark.parametrize(
    ("typed", "cards"),
    [(0, 0), (8, 8), ("8", 8), (" 8 ", 8), ("+8", 8), ("0008", 8), (100_000, 100_000), ("-0", 0)],
)
def test_whole_numbers_are_cards(typed: object, cards: int) -> None:
    assert parse_cards(typed) == cards


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        pytest.param("0.5", "not_whole", id="half a card"),
        pytest.param("1.0", "not_whole", id="a decimal point is refused, not cut off"),
        pytest.param("2e0", "not_whole", id="an exponent is refused, not cut off"),
        pytest.param("1000m", "not_whole", id="thousandths are refused, not cut off"),
        pytest.param("８", "not_whole", id="a full-width digit"),
        pytest.param("1e9", "not_whole", id="1e9 as text"),
        pytest.param(2.0, "not_whole", id="a float"),
        pytest.param(float("nan"), "not_whole", id="not a number at all"),
        pytest.param(float("inf"), "not_whole", id="infinity"),
        pytest.param("", "not_whole", id="nothing"),
        pytest.param(1_000_000_000, "too_large", id="1e9 as a number"),
        pytest.param("1000000000", "too_large", id="1e9 in digits"),
        pytest.param("9" * 30, "too_large", id="thirty digits"),
        pytest.param("9" * 5_000, "too_large", id="five thousand digits"),
        pytest.param(100_001, "too_large", id="one above the maximum"),
        pytest.param(-1, "negative", id="minus one"),
        pytest.param("-8", "negative", id="minus eight as text"),
        pytest.param("-" + "9" * 30, "negative", id="a large negative number"),
        pytest.param(True, "not_a_number", id="true"),
        pytest.param(None, "not_a_number", id="null"),
        pytest.param([8], "not_a_number", id="a list"),
        pytest.param({"cards": 8}, "not_a_number", id="an object"),
    ],
)
def test_anything_else_is_refused_as_cards(typed: object, code: str) -> None:
    assert refusal(parse_cards, typed) == code


@pytest.mark.parametrize(
    ("typed", "millis"),
    [
        ("250m", 250),
        ("0.5", 500),
        ("4", 4_000),
        (4, 4_000),
        ("1.001", 1_001),
        ("0.2500", 250),
        ("1m", 1),
        (" 2 ", 2_000),
        ("1024", 1_024_000),
        ("2000m", 2_000),
    ],
)
def test_cpu_is_counted_in_thousandths_of_a_core(typed: object, millis: int) -> None:
    assert parse_cpu_millis(typed) == millis


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        pytest.param("100Mi", "byte_unit", id="an amount of memory"),
        pytest.param("10GB", "byte_unit", id="an amount of memory in gigabytes"),
        pytest.param("0", "too_small", id="nothing"),
        pytest.param("-1", "negative", id="less than nothing"),
        pytest.param("-250m", "negative", id="less than nothing in thousandths"),
        pytest.param("1e3", "not_a_number", id="an exponent"),
        pytest.param("1,5", "not_a_number", id="a decimal comma"),
        pytest.param("４", "not_a_number", id="a full-width digit"),
        pytest.param("nan", "not_a_number", id="not a number"),
        pytest.param("inf", "not_a_number", id="infinity"),
        pytest.param("", "not_a_number", id="empty"),
        pytest.param(None, "not_a_number", id="null"),
        pytest.param(0.5, "not_a_number", id="a float"),
        pytest.param(True, "not_a_number", id="true"),
        pytest.param([4], "not_a_number", id="a list"),
        pytest.param("0.5m", "not_whole", id="half a thousandth"),
        pytest.param("0.0005", "not_whole", id="half a thousandth in cores"),
        pytest.param("1024.001", "too_large", id="above the maximum"),
        pytest.param("9" * 30, "too_large", id="thirty digits"),
        pytest.param("9" * 1_500_000, "too_large", id="a megabyte of digits"),
    ],
)
def test_anything_else_is_refused_as_cpu(typed: object, code: str) -> None:
    assert refusal(parse_cpu_millis, typed) == code


@pytest.mark.parametrize(
    ("typed", "size"),
    [
        ("128M", 128_000_000),
        ("128Mi", 128 * 2**20),
        ("1.5Gi", 3 * 2**29),
        ("16Gi", 16 * GI),
        ("64G", 64 * 10**9),
        ("1T", 10**12),
        ("64Ti", 64 * 2**40),
        ("1Mi", 2**20),
        (" 2Gi ", 2 * GI),
        ("0.1Gi", 107_374_182),  # whole bytes, rounded down
    ],
)
def test_memory_with_a_unit_is_exact(typed: str, size: int) -> None:
    assert parse_memory_bytes(typed) == size


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        pytest.param("512m", "unit_unknown", id="half a byte"),
        pytest.param("10GB", "unit_unknown", id="gigabytes in capitals"),
        pytest.param("10gb", "unit_unknown", id="gigabytes in small letters"),
        pytest.param("64", "unit_missing", id="a bare number"),
        pytest.param(64, "unit_missing", id="a bare number that is not text"),
        pytest.param("1e9", "not_a_number", id="an exponent"),
        pytest.param("1,5Gi", "not_a_number", id="a decimal comma"),
        pytest.param("16 Gi", "not_a_number", id="a blank before the unit"),
        pytest.param("Gi", "not_a_number", id="a unit alone"),
        pytest.param("", "not_a_number", id="empty"),
        pytest.param(None, "not_a_number", id="null"),
        pytest.param(True, "not_a_number", id="true"),
        pytest.param(1.5, "not_a_number", id="a float"),
        pytest.param("-1Gi", "negative", id="less than nothing"),
        pytest.param("0Gi", "too_small", id="nothing"),
        pytest.param("1M", "too_small", id="a little less than 1Mi"),
        pytest.param("65Ti", "too_large", id="above the maximum"),
        pytest.param("9" * 40 + "Gi", "too_large", id="forty digits"),
        pytest.param("9" * 1_500_000 + "Gi", "too_large", id="a megabyte of digits"),
    ],
)
def test_anything_else_is_refused_as_memory(typed: object, code: str) -> None:
    assert refusal(parse_memory_bytes, typed) == code
