"""Errors that reach a person: a stable code, a translated sentence with what to do, and where it belongs.

Services raise them, API and pages only render them. Messages are lazy, so each reader gets their language.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise

Text = str | Promise


class DomainError(Exception):
    """Refused for a reason the person can act on. ``status`` is the HTTP answer that fits."""

    status = 409
    type = "client_error"

    def __init__(self, code: str, message: Text, *, status: int | None = None, attr: str | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.message = message
        self.attr = attr
        if status is not None:
            self.status = status


class NotAllowed(DomainError):
    """The person sees the object but lacks the right (403)."""

    status = 403


class NotFound(DomainError):
    """There is nothing of this name that the person may see (404); foreign and missing look the same."""

    status = 404


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field's problem. ``attr`` is the API's name of the field."""

    attr: str
    code: str
    message: Text


class InvalidInput(DomainError):
    """One or more fields are wrong; nothing was stored (400)."""

    status = 400
    type = "validation_error"

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        super().__init__(first.code, first.message, attr=first.attr)


def error_body(error: DomainError) -> dict[str, Any]:
    """The one error shape of the API: `{type, errors: [{code, detail, attr}]}`."""
    errors: list[dict[str, str | None]]
    if isinstance(error, InvalidInput):
        errors = [{"code": p.code, "detail": str(p.message), "attr": p.attr} for p in error.problems]
    else:
        errors = [{"code": error.code, "detail": str(error.message), "attr": error.attr}]
    return {"type": error.type, "errors": errors}
