"""How bodies of the API are read. A module of its own: the framework's settings load it while views are being made."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.parsers import JSONParser

NESTING_MAX = 32


class BodyParser(JSONParser):
    """JSON bodies. What is nested without sense is refused here: nothing behind it has to reckon with it."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            body = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise exceptions.ParseError(_("This body is nested too deeply.")) from error
        if _is_deeper(body, NESTING_MAX):
            raise exceptions.ParseError(_("This body is nested too deeply."))
        return body


def _is_deeper(value: Any, levels: int) -> bool:
    """Are there containers below ``levels`` levels of them? Walks level by level, never by recursion."""
    here = [value]
    for _level in range(levels + 1):
        here = [child for node in here if isinstance(node, (dict, list)) for child in _children(node)]
        if not here:
            return False
    return True


def _children(node: dict[str, Any] | list[Any]) -> Any:
    return node.values() if isinstance(node, dict) else node
