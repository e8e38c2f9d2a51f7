"""One error shape of the API, whatever raised the error (decision 57)."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext_lazy, override
from rest_framework import exceptions, serializers

from common.api import exception_handler
from common.errors import DomainError, FieldProblem, InvalidInput, NotAllowed, NotFound
from common.pages import BadCursor


def answer(error: Exception) -> tuple[int, dict[str, Any]]:
    response = exception_handler(error, {})
    assert response is not None
    return response.status_code, response.data


def flat(detail: Any) -> list[tuple[str | None, str]]:
    status, body = answer(exceptions.ValidationError(detail))
    assert (status, body["type"]) == (400, "validation_error")
    return [(error["attr"], error["code"]) for error in body["errors"]]


def test_every_wrong_field_is_named_with_its_code_and_sentence() -> None:
    status, body = answer(InvalidInput([FieldProblem("cards", "negative", "No."), FieldProblem("image", "blank", "?")]))
    assert status == 400
    assert body == {
        "type": "validation_error",
        "errors": [
            {"code": "negative", "detail": "No.", "attr": "cards"},
            {"code": "blank", "detail": "?", "attr": "image"},
        ],
    }


@pytest.mark.parametrize(
    ("error", "status", "code", "attr"),
    [
        (NotAllowed("not_allowed", "No."), 403, "not_allowed", None),
        (NotFound("not_found", "No."), 404, "not_found", None),
        (DomainError("already_ended", "No."), 409, "already_ended", None),
        (DomainError("key_reused", "No.", status=422, attr="Idempotency-Key"), 422, "key_reused", "Idempotency-Key"),
        (BadCursor("x"), 400, "bad_cursor", "cursor"),
        (Http404(), 404, "not_found", None),
        (PermissionDenied(), 403, "permission_denied", None),
        (exceptions.NotAuthenticated(), 401, "not_authenticated", None),
        (exceptions.ParseError(), 400, "parse_error", None),
        (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed", None),
        (exceptions.Throttled(30), 429, "throttled", None),
    ],
)
def test_each_kind_of_error_has_its_status_code_and_field(
    error: Exception, status: int, code: str, attr: str | None
) -> None:
    got, body = answer(error)
    assert got == status
    assert body["type"] == ("validation_error" if isinstance(error, BadCursor) else "client_error")
    assert [(problem["code"], problem["attr"]) for problem in body["errors"]] == [(code, attr)]
    assert all(isinstance(problem["detail"], str) and problem["detail"] for problem in body["errors"])


def test_an_error_of_the_server_says_so() -> None:
    status, body = answer(exceptions.APIException())
    assert (status, body["type"]) == (500, "server_error")


def test_an_error_nobody_foresaw_is_left_to_become_a_500() -> None:
    assert exception_handler(ZeroDivisionError(), {}) is None


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        pytest.param("no", [(None, "invalid")], id="a sentence"),
        pytest.param(["no", "never"], [(None, "invalid"), (None, "invalid")], id="a list of sentences"),
        pytest.param({"cards": ["no"]}, [("cards", "invalid")], id="one field"),
        pytest.param(
            {"cards": ["no"], "image": ["no", "never"]},
            [("cards", "invalid"), ("image", "invalid"), ("image", "invalid")],
            id="several fields with several problems",
        ),
        pytest.param({"env": {"PATH": ["no"]}}, [("env.PATH", "invalid")], id="a field inside a field"),
        pytest.param(
            {"shares": [{"points": ["no"]}, {}]}, [("shares.points", "invalid")], id="a field inside a list of objects"
        ),
        pytest.param({"shares": {"code": ["no"]}}, [("shares.code", "invalid")], id="a field that is called code"),
    ],
)
def test_nested_details_become_a_flat_list(detail: Any, expected: list[tuple[str | None, str]]) -> None:
    assert flat(detail) == expected


class SharesIn(serializers.Serializer[Any]):
    points = serializers.IntegerField(min_value=0)
    name = serializers.CharField()


def test_the_codes_of_a_serializer_survive() -> None:
    form = SharesIn(data={"points": -1})
    assert not form.is_valid()
    assert flat_of(form) == [("points", "min_value"), ("name", "required")]


def flat_of(form: serializers.Serializer[Any]) -> list[tuple[str | None, str]]:
    with pytest.raises(exceptions.ValidationError) as caught:
        form.is_valid(raise_exception=True)
    _, body = answer(caught.value)
    return [(error["attr"], error["code"]) for error in body["errors"]]


def test_a_sentence_is_rendered_in_the_language_of_the_reader() -> None:
    error = NotAllowed("not_allowed", gettext_lazy("This field is required."))
    with override("zh-hans"):
        chinese = answer(error)[1]["errors"][0]["detail"]
    with override("en"):
        english = answer(error)[1]["errors"][0]["detail"]
    assert english == "This field is required." != chinese
