"""Whatever people type: a name a cluster accepts, a number or a code, and never an error of ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.ids import new_ulid
from common.names import OBJECT_NAME_MAX, clean_display_name, object_name, slug, space_name
from common.pages import BadCursor, Cursor
from common.units import BadQuantity, parse_cards, parse_cpu_millis, parse_memory_bytes
from jobs.domain.images import image_problem
from jobs.labels import IMAGE_PROBLEMS, QUANTITY_PROBLEMS
from jobs.logs import shown

SERVICE_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
typed = st.text() | st.text(alphabet="aB3-_. 训🚀", max_size=60)
numbers = st.text(alphabet="0123456789+-.,eE mMKGTPi８", max_size=20)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=3,
)


@given(typed, st.integers(1, 9_999))
def test_every_object_name_is_a_service_name_of_forty_characters(text: str, attempt: int) -> None:
    name = object_name(slug(text), new_ulid()[-10:], attempt)
    assert SERVICE_NAME.fullmatch(name)
    assert len(name) <= OBJECT_NAME_MAX
    assert "--" not in name


@given(typed)
def test_every_space_is_a_name_of_its_own(text: str) -> None:
    assert SERVICE_NAME.fullmatch(space_name(text, new_ulid()))
    assert len(space_name(text, new_ulid())) <= 63


@given(typed)
def test_cleaning_a_display_name_twice_changes_nothing(text: str) -> None:
    once = clean_display_name(text)
    assert clean_display_name(once) == once
    assert len(once) <= 300


@pytest.mark.parametrize(
    ("field", "parse"), [("cards", parse_cards), ("cpu", parse_cpu_millis), ("memory", parse_memory_bytes)]
)
def test_a_quantity_is_a_number_or_a_code_that_has_a_sentence(field: str, parse: Callable[[object], int]) -> None:
    @given(numbers | anything)
    def check(value: object) -> None:
        try:
            number = parse(value)
        except BadQuantity as error:
            assert (field, error.code) in QUANTITY_PROBLEMS
        else:
            assert isinstance(number, int) and number >= 0

    check()


@given(st.integers(0, 100_000))
def test_every_whole_number_of_cards_survives_the_way_through_text(cards: int) -> None:
    assert parse_cards(cards) == parse_cards(str(cards)) == cards


@given(st.integers(1, 1_024_000))
def test_cpu_survives_in_cores_and_in_thousandths(millis: int) -> None:
    assert parse_cpu_millis(f"{millis}m") == millis
    assert parse_cpu_millis(f"{millis // 1000}.{millis % 1000:03}") == millis


@given(st.integers(1, 2**16), st.sampled_from(["Mi", "Gi", "Ti"]))
def test_a_larger_unit_is_1024_of_the_smaller_one(count: int, unit: str) -> None:
    factor = {"Mi": 2**20, "Gi": 2**30, "Ti": 2**40}[unit]
    try:
        assert parse_memory_bytes(f"{count}{unit}") == count * factor
    except BadQuantity as error:
        assert error.code == "too_large" and count * factor > 64 * 2**40


@given(typed | st.text(alphabet="aA0./:@-_", max_size=510))
def test_an_image_is_one_or_has_a_problem_with_a_sentence(text: str) -> None:
    problem = image_problem(text)
    assert problem is None or problem in IMAGE_PROBLEMS


@given(st.datetimes(timezones=st.just(UTC)), st.integers(0, 2**63 - 1), st.booleans())
def test_a_cursor_comes_back_exactly(at: datetime, pk: int, backwards: bool) -> None:
    cursor = Cursor(at, pk, backwards)
    assert Cursor.decode(cursor.encode()) == cursor


@given(st.text())
def test_any_text_is_a_cursor_or_a_bad_one(text: str) -> None:
    with suppress(BadCursor):
        assert Cursor.decode(text).pk >= 0


@given(st.binary(max_size=300) | st.text(alphabet="\x1b[]0;?m\x07\r\t abé\u202e").map(str.encode))
def test_any_bytes_are_a_line_of_visible_text(data: bytes) -> None:
    text = shown(data)
    assert not re.search(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    assert shown(text.encode()) == text  # nothing is left that would be taken away
