"""A person at a browser without scripts, and the same person's htmx."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext


@dataclass
class Visitor:
    client: Client

    def get(self, path: str, **query: Any) -> HttpResponse:
        return self.client.get(path, query)

    def fragment(self, path: str, **query: Any) -> HttpResponse:
        """What htmx would get."""
        return self.client.get(path, query, headers={"HX-Request": "true"})

    def post(self, path: str, **fields: Any) -> HttpResponse:
        return self.client.post(path, fields)

    def count_queries(self, path: str, **query: Any) -> int:
        """Statements of one visit, after a first one that fills caches of the process."""
        self.get(path, **query)
        with CaptureQueriesContext(connection) as captured:
            response = self.get(path, **query)
        assert response.status_code == 200, path
        return len(captured)


def html(response: HttpResponse) -> str:
    return response.content.decode()


def words(response: HttpResponse) -> str:
    """The text of a page without its tags, blanks folded."""
    text = re.sub(r"<(script|style)\b.*?</\1>", "", html(response), flags=re.S)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", text)))


def field_error(response: HttpResponse, name: str) -> str:
    """The problem shown at a field, through the id its control refers to."""
    found = re.search(rf'<div id="id_{name}_error">(.*?)</div>', html(response), flags=re.S)
    if found is None:
        return ""
    described = " ".join(re.findall(r'aria-describedby="([^"]*)"', html(response))).split()
    assert f"id_{name}_error" in described, f"{name} does not refer to its error"
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", found[1]))).strip()
