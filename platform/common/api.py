"""What every API view shares: one error shape and cursor pages (decision 57)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import inline_serializer
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import exception_handler as drf_exception_handler
from rest_framework.views import set_rollback

from common.errors import DomainError, FieldProblem, InvalidInput, error_body
from common.pages import BadCursor, Page
from common.texts import storable


class ErrorOut(serializers.Serializer[Any]):
    """One problem: a stable code, a sentence in the reader's language, and the field it belongs to."""

    code = serializers.CharField()
    detail = serializers.CharField()
    attr = serializers.CharField(allow_null=True)


class ErrorsOut(serializers.Serializer[Any]):
    """The body of every answer from 400 on."""

    type = serializers.ChoiceField(choices=["validation_error", "client_error", "server_error"])
    errors = ErrorOut(many=True)  # type: ignore[assignment] # shadows a property that is not used here


def field_names(serializer: type[serializers.Serializer[Any]]) -> tuple[str, ...]:
    """Names of a serializer's fields, for bodies built from attributes of the same names."""
    return tuple(serializer().fields.keys())


def errors(*statuses: int) -> dict[int, type[ErrorsOut]]:
    """Responses for the OpenAPI document."""
    return dict.fromkeys(statuses, ErrorsOut)


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Every error in the one shape; None lets an unexpected one become a 500."""
    if isinstance(error, DomainError):
        set_rollback()
        return Response(error_body(error), status=error.status)
    if isinstance(error, BadCursor):
        return _one(
            400,
            "validation_error",
            "bad_cursor",
            _("This page address is not valid. Start at the first page."),
            "cursor",
        )
    if isinstance(error, RequestDataTooBig):
        return _one(413, "client_error", "too_large", _("This request is too large. At most 2 MB are read."), None)
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    response = drf_exception_handler(error, context)
    if response is None or not isinstance(error, exceptions.APIException):
        return response
    kind = "server_error" if response.status_code >= 500 else "client_error"
    if isinstance(error, exceptions.ValidationError):
        kind = "validation_error"
    response.data = {"type": kind, "errors": list(_flat(error.get_full_details(), None))}
    return response


def _one(status: int, kind: str, code: str, detail: str, attr: str | None) -> Response:
    return Response({"type": kind, "errors": [{"code": code, "detail": detail, "attr": attr}]}, status=status)


def _flat(details: Any, attr: str | None) -> Any:
    """DRF's nested details as a flat list."""
    if isinstance(details, dict) and "message" in details and "code" in details:
        yield {"code": str(details["code"]), "detail": str(details["message"]), "attr": attr}
    elif isinstance(details, dict):
        for key, value in details.items():
            yield from _flat(value, key if attr is None else f"{attr}.{key}")
    elif isinstance(details, list):
        for value in details:
            yield from _flat(value, attr)


def page_out(request: Request, page: Page[Any], render: Callable[[Sequence[Any]], list[Any]]) -> Response:
    """`{next, previous, results}` with whole addresses; next = older rows."""
    older, newer = page_address(request, page.older), page_address(request, page.newer)
    return Response({"next": older, "previous": newer, "results": render(page.rows)})


def page_address(request: Request, cursor: str | None) -> str | None:
    """The whole address of another page of the same list; None where there is none."""
    if cursor is None:
        return None
    query = {key: value for key, value in request.query_params.items() if key != "cursor"}
    return request.build_absolute_uri(f"{request.path}?{urlencode({**query, 'cursor': cursor})}")


def page_of(name: str, row: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """The schema of such a page."""
    return inline_serializer(
        name,
        {
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": row(many=True),
        },
    )


def known_body(request: Request, known: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The same with the fields of ``known`` alone: where `dry_run` is misspelt, nothing may be changed.

    Raises ParseError, and InvalidInput for every other field.
    """
    body = object_body(request)
    unknown = sorted(set(body) - set(field_names(known)))
    if unknown:
        message = _("This field is not known. Check its spelling.")
        raise InvalidInput([FieldProblem(storable(name), "unknown_field", message) for name in unknown])
    return body


def object_body(request: Request) -> dict[str, Any]:
    """The JSON object of a request. Raises ParseError for a list, a number or nothing."""
    if not isinstance(request.data, dict):
        raise exceptions.ParseError(_("Send a JSON object."))
    return dict(request.data)
