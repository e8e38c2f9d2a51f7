"""Every operation of the API, a hundred requests, each asked by everybody: no answer departs from the description."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from django.test import Client
from rest_framework.request import Request
from rest_framework.response import Response as DRFResponse
from schemathesis import Case
from schemathesis.core.failures import FailureGroup, ServerError
from schemathesis.openapi.checks import JsonSchemaError, UndefinedStatusCode

from accounts.api.views import MeView
from tests.fuzz.examples import EXAMPLES, answers, examine, keeps_to_the_description, operations, written_operations
from tests.fuzz.scene import ROLES, Scene

NEED_MORE = {"clusters_connect", "clusters_credentials", "found_queues_look", "found_queues_adopt", "archives_upload"}
"""Succeed only with an API server or a storage, which tests/api brings."""


def test_what_is_examined_is_what_is_served(scene: Scene) -> None:
    assert sorted(operations()) == written_operations()


@pytest.mark.parametrize("name", written_operations())
def test_no_answer_departs_from_the_description(scene: Scene, name: str) -> None:
    asked: Counter[str] = Counter()
    welcome = set()

    def ask(case: Case) -> None:
        for role, response in answers(case, scene).items():
            keeps_to_the_description(case, response)
            asked[role] += 1
            if response.status_code < 300:
                welcome.add(role)

    examine(name, scene, ask)
    assert all(asked[role] >= EXAMPLES for role in ROLES)
    assert "anonymous" not in welcome
    assert welcome or name in NEED_MORE, "whatever is wrong behind a refusal was never seen"


def test_an_answer_that_breaks_or_was_not_described_is_found(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fuzz fails for a 500, for a status that no document names, and for a body of another shape."""

    def broken(request: Request) -> DRFResponse:
        raise RuntimeError("broken")

    found = []
    for get in (
        lambda view, request: broken(request),
        lambda view, request: DRFResponse({}, status=418),
        lambda view, request: DRFResponse({"username": 7}),
    ):
        monkeypatch.setattr(MeView, "get", get)
        with pytest.raises(FailureGroup) as caught:
            examine("me_read", scene, lambda case: _judge(case, scene), count=5)
        found.append({type(each) for each in caught.value.exceptions})
    for wanted, told in zip((ServerError, UndefinedStatusCode, JsonSchemaError), found, strict=True):
        assert wanted in told


def _judge(case: Case, scene: Scene) -> None:
    for response in answers(case, scene).values():
        keeps_to_the_description(case, response)


@pytest.mark.parametrize("name", written_operations())
def test_another_method_is_refused_and_the_right_ones_are_named(scene: Scene, name: str) -> None:
    operation = operations()[name]
    path = operation.path
    for field in re.findall(r"{(\w+)}", path):
        path = path.replace(f"{{{field}}}", str(scene.known[field][0]))
    allowed = {other.method.upper() for other in operations().values() if other.path == operation.path}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - allowed:
        response = Client(headers=scene.headers["admin"]).generic(method, path)
        assert response.status_code == 405, method
        assert set(response["Allow"].split(", ")) - {"HEAD", "OPTIONS"} == allowed
        assert response.json()["errors"][0]["code"] == "method_not_allowed"
