"""Form widgets written without a template, for pages with hundreds of fields: rendering Django's own templates is most
of what such a page costs. What they write is what Django's widgets of the same kind write.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from django import forms
from django.utils.safestring import SafeString


def _attributes(attrs: Mapping[str, Any]) -> str:
    """Each with a space before it; True is the name alone, and of False there is nothing."""
    return "".join(
        f" {escape(name)}" if value is True else f' {escape(name)}="{escape(str(value))}"'
        for name, value in attrs.items()
        if value is not False
    )


def _input(widget: Mapping[str, Any]) -> SafeString:
    named = {"type": widget["type"], "name": widget["name"]}
    if widget["value"] is not None:
        named["value"] = widget["value"]
    return SafeString(f"<input{_attributes(named)}{_attributes(widget['attrs'])}>")


class PlainTextInput(forms.TextInput):
    def _render(self, _template_name: str, context: Mapping[str, Any], _renderer: object = None) -> SafeString:
        return _input(context["widget"])


class PlainCheckboxInput(forms.CheckboxInput):
    def _render(self, _template_name: str, context: Mapping[str, Any], _renderer: object = None) -> SafeString:
        return _input(context["widget"])


class PlainSelect(forms.Select):
    """Its choices have no groups."""

    def _render(self, _template_name: str, context: Mapping[str, Any], _renderer: object = None) -> SafeString:
        widget = context["widget"]
        options = "".join(_option(option) for _group, found, _number in widget["optgroups"] for option in found)
        named = {"name": widget["name"], **widget["attrs"]}
        return SafeString(f"<select{_attributes(named)}>{options}</select>")


def _option(option: Mapping[str, Any]) -> str:
    named = {"value": option["value"], **option["attrs"]}
    return f"<option{_attributes(named)}>{escape(str(option['label']))}</option>"
