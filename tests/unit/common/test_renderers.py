"""JSON of the API: what the framework's own renderer would have written."""

from __future__ import annotations

import json
import uuid
from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ErrorDetail
from rest_framework.renderers import JSONRenderer

from common.renderers import JsonRenderer

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXT | st.datetimes(timezones=st.just(UTC))
BODIES = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20)


class Word(StrEnum):
    QUEUED = "queued"


@given(BODIES)
def test_any_body_is_the_same_bytes(body: Any) -> None:
    assert JsonRenderer().render(body) == JSONRenderer().render(body)


@pytest.mark.parametrize(
    "value",
    [
        Word.QUEUED,
        gettext_lazy("Queued"),
        mark_safe("<b>"),
        ErrorDetail("blank", code="blank"),
        OrderedDict(b=1, a=(1, 2)),
        uuid.UUID(int=7),
        date(2026, 11, 30),
        datetime(2026, 11, 30, 8, 52, 14, 500_000, tzinfo=timezone(timedelta(hours=8))),
        datetime(2026, 11, 30, 8, 52, 14, tzinfo=UTC),
        'line\u2028and\u2029paragraph 中文 \x00 \\ " </script>',
        None,
    ],
    ids=repr,
)
def test_what_bodies_hold_besides_is_too(value: Any) -> None:
    assert JsonRenderer().render({"value": value}) == JSONRenderer().render({"value": value})


def test_numbers_with_decimals_stay_numbers() -> None:
    assert json.loads(JsonRenderer().render([Decimal("1.50"), 1e-7, 1e22])) == [1.5, 1e-7, 1e22]


def test_an_indent_is_given_to_whoever_asks() -> None:
    asked = "application/json; indent=2"
    assert JsonRenderer().render({"a": [1]}, asked) == JSONRenderer().render({"a": [1]}, asked)


def test_no_body_is_nothing() -> None:
    assert JsonRenderer().render(None) == b""


def test_what_is_no_json_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="object is no JSON"):
        JsonRenderer().render([object()])
