"""Widgets without templates write what Django's own write."""

from __future__ import annotations

import pytest
from django import forms
from django.test.html import parse_html

from common.plain_widgets import PlainCheckboxInput, PlainSelect, PlainTextInput

CHOICES = ((0, "none"), (1, "low & <b>"), (2, 'up to "normal"'))
ATTRS = {"id": "id_x", "required": True, "disabled": False, "aria-describedby": 'a"b<c', "size": 6}
PAIRS = (
    (PlainTextInput(), forms.TextInput(), (None, "", "12.5", '"><script>', 0)),
    (PlainCheckboxInput(), forms.CheckboxInput(), (None, True, False, "on", "<")),
    (PlainSelect(choices=CHOICES), forms.Select(choices=CHOICES), (None, 1, "2", "?")),
)


@pytest.mark.parametrize(
    ("plain", "usual", "value"), [(plain, usual, value) for plain, usual, values in PAIRS for value in values]
)
@pytest.mark.parametrize("attrs", [None, ATTRS], ids=["bare", "with attributes"])
def test_a_plain_widget_writes_what_the_usual_one_writes(
    plain: forms.Widget, usual: forms.Widget, value: object, attrs: dict[str, object] | None
) -> None:
    name = 'percent.h100.a"&b'
    assert parse_html(plain.render(name, value, attrs)) == parse_html(usual.render(name, value, attrs))
