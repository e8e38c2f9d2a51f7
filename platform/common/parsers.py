"""How bodies of the API are read. A module of its own: the framework's settings load it while views are being made."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.parsers import JSONParser

NESTING_MAX = 32


class BodyTooLarge(exceptions.APIException):
    status_code = 413
    default_code = "too_large"


class BodyParser(JSONParser):
    """JSON bodies of at most DATA_UPLOAD_MAX_MEMORY_SIZE bytes that are not nested without sense.

    Nothing behind it has to reckon with anything else.
    """

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        raw = stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        if len(raw) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise BodyTooLarge(_("This body is too large."))
        try:
            body = super().parse(BytesIO(raw), media_type, parser_context)
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
