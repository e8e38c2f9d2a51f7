"""What service and API tests ask of an error and of the tables behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import translation

from common.errors import DomainError, FieldProblem, InvalidInput

CHINESE = "zh-hans"
HAS_CHINESE = any((Path(folder) / "zh_Hans/LC_MESSAGES/django.mo").exists() for folder in settings.LOCALE_PATHS)
needs_chinese = pytest.mark.skipif(not HAS_CHINESE, reason="the Chinese catalogue is not compiled")


def row_counts() -> dict[str, int]:
    """How many rows each table has, in one query."""
    tables = sorted(connection.introspection.django_table_names(only_existing=True))
    parts = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM \"{name}\"" for name in tables)
    with connection.cursor() as cursor:
        cursor.execute(parts)
        return dict(cursor.fetchall())


def refused(call: Callable[[], Any], kind: type[DomainError] = DomainError) -> DomainError:
    """The error of a call that must be refused, after making sure that no table gained or lost a row."""
    before = row_counts()
    with pytest.raises(kind) as caught:
        call()
    assert row_counts() == before
    return caught.value


def problems_of(call: Callable[[], Any]) -> dict[str, FieldProblem]:
    """The refused fields of a call, by their names; every field is named once, in clear words."""
    error = refused(call, InvalidInput)
    assert isinstance(error, InvalidInput)
    assert error.status == 400
    found = {problem.attr: problem for problem in error.problems}
    assert len(found) == len(error.problems)
    for text in texts_of(call).values():
        assert re.fullmatch(r"[A-Z0-9][ -~]*[.?]", text), text
    if HAS_CHINESE:
        for attr, text in texts_of(call, CHINESE).items():
            assert re.search(r"[\u4e00-\u9fff]", text), f"{attr}: {text}"
    return found


def texts_of(call: Callable[[], Any], language: str = "en") -> dict[str, str]:
    """The sentence at each refused field, as a reader of this language gets it."""
    with translation.override(language):
        with pytest.raises(InvalidInput) as caught:
            call()
        return {problem.attr: str(problem.message) for problem in caught.value.problems}


def without(body: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in names}
