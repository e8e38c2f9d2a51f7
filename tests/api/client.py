"""The API as a script uses it: real tokens over Django's test client, one helper for the error shape."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from django.test import Client

from accounts.actors import actor_of
from accounts.models import User
from accounts.services import token_create
from tests.services.support import row_counts

JSON = "application/json"


class Api:
    """One person's script. ``call`` takes a path below /api/v1/; ``token`` None = without one."""

    def __init__(self, username: str | None, *, language: str | None = None) -> None:
        self._client = Client(raise_request_exception=False)
        self._headers: dict[str, str] = {"Accept-Language": language} if language else {}
        if username is not None:
            user = User.objects.get(username=username)
            self.token = token_create(actor=actor_of(user), name="script")[1]
            self._headers["Authorization"] = f"Token {self.token}"

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        """One request; a body that is not text yet is sent as JSON."""
        address = path if path.startswith(("/", "http")) else f"/api/v1/{path}"
        data = "" if body is None else body if isinstance(body, str | bytes) else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response: HttpResponse = self._client.generic(
            method, address, data, content_type=JSON, headers={**self._headers, **named}
        )
        return response

    def get(self, path: str, **headers: str) -> Any:
        """The body of an answer that must be 200."""
        answer = self.call("GET", path, **headers)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def submit(self, body: dict[str, Any], **headers: str) -> Any:
        """The job of a submit that must be answered 201."""
        answer = self.call("POST", "jobs", body, **headers)
        assert answer.status_code == 201, answer.content
        return answer.json()


def errors_of(answer: HttpResponse, status: int) -> list[tuple[str | None, str]]:
    """(field, code) of each problem of an answer in the one error shape."""
    assert answer.status_code == status, (answer.status_code, answer.content[:300])
    assert answer["Content-Type"] == JSON
    body = answer.json()
    assert set(body) == {"type", "errors"}
    kinds = {400: {"validation_error", "client_error"}}.get(status, {"client_error"})
    assert body["type"] in kinds
    assert body["errors"]
    for error in body["errors"]:
        assert set(error) == {"code", "detail", "attr"}
        assert error["detail"] and error["code"].replace("_", "").isalnum()
    return [(error["attr"], error["code"]) for error in body["errors"]]


def refused(api: Api, status: int, method: str, path: str, body: Any = None, **headers: str) -> list[tuple[Any, str]]:
    """The problems of a request that must be refused, after making sure that no table changed its size."""
    before = row_counts()
    answer = api.call(method, path, body, **headers)
    problems = errors_of(answer, status)
    assert row_counts() == before
    return problems
