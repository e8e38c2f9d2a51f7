"""Every field of every form with what a browser would not send: the page says so, and nothing breaks."""

from __future__ import annotations

import re

import pytest
from django.db import transaction
from django.test import Client

from tests.cast import build_cast
from tests.policy.addresses import ACTORS, MATRIX, Row
from tests.policy.test_every_address import Scene

ODD = ("", "a\x00b", "1e30")
FIELD = re.compile(r'<(?:input|select|textarea)\b[^>]*?\bname="([^"]+)"')
FORMS = sorted(name for name, rows in MATRIX.items() if "POST" in rows and not name.startswith("api:"))


@pytest.fixture
def scene(db: None) -> Scene:
    return Scene(build_cast())


def _visitor(scene: Scene, row: Row) -> Client:
    """Somebody who may send the form."""
    rank = {"lead": 0, "owner": 1, "admin": 2}
    may = [actor for actor, status in zip(ACTORS, row.statuses, strict=True) if status not in {401, 403, 404}]
    client = scene.client(min((actor for actor in may if actor in rank), key=rank.__getitem__, default="owner"))
    client.raise_request_exception = False
    return client


def _fields(client: Client, name: str, address: str, row: Row) -> set[str]:
    """What the page of the form asks for, beside what the matrix sends."""
    page = client.get(address) if "GET" in MATRIX[name] else None
    asked = FIELD.findall(page.content.decode()) if page is not None and page.status_code == 200 else []
    return {*asked, *row.body, "next"} - {"csrfmiddlewaretoken"}


def test_no_value_of_a_field_breaks_a_page(scene: Scene) -> None:
    broken, asked = [], 0
    for name in FORMS:
        row, address = MATRIX[name]["POST"], scene.address(name)
        client = _visitor(scene, row)
        for field in sorted(_fields(client, name, address, row)):
            for value in ODD:
                asked += 1
                with transaction.atomic():
                    answer = client.post(address, {**row.body, field: value})
                    transaction.set_rollback(True)
                if answer.status_code >= 500:
                    broken.append((name, field, value, answer.status_code))
    assert broken == []
    assert asked > 300
