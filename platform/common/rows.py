"""Many new rows of one model in one cheap statement.

`bulk_create` converts and quotes each value on its own, which is most of the cost of storing a hundred jobs. Here
all rows travel as one JSON document that PostgreSQL takes apart by the columns' own types.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

import msgspec
from django.db import connection
from django.db.models import AutoField, BigAutoField, Field, Model

M = TypeVar("M", bound=Model)


def insert_many(objects: Sequence[M], *, key: str = "") -> None:
    """Insert unsaved objects of one model; in the caller's transaction.

    For values that JSON knows (numbers, text, booleans, times, JSON itself); no signals. With ``key``, the name of a
    unique column, the objects get their primary keys. Raises what an INSERT raises.
    """
    if not objects:
        return
    model = type(objects[0])
    rows = [{field.column: _value(field, item) for field in _fields(model)} for item in objects]
    with connection.cursor() as cursor:
        returning = f' RETURNING "{key}", "{model._meta.pk.column}"' if key else ""
        cursor.execute(_statement(model) + returning, [msgspec.json.encode(rows).decode()])
        if key:
            primary = dict(cursor.fetchall())
            for item in objects:
                item.pk = primary[getattr(item, key)]
                item._state.adding = False


def _value(field: Field[Any, Any], item: Model) -> Any:
    if getattr(field, "auto_now_add", False) or getattr(field, "auto_now", False):
        return field.pre_save(item, add=True)
    return getattr(item, field.attname)


@cache
def _fields(model: type[Model]) -> tuple[Field[Any, Any], ...]:
    """All but a key that the database counts up."""
    fields = model._meta.concrete_fields
    return tuple(field for field in fields if not isinstance(field, AutoField | BigAutoField))


@cache
def _statement(model: type[Model]) -> str:
    names = ", ".join(f'"{field.column}"' for field in _fields(model))
    typed = ", ".join(f'"{field.column}" {field.db_type(connection)}' for field in _fields(model))
    table = model._meta.db_table
    return f'INSERT INTO "{table}" ({names}) SELECT {names} FROM jsonb_to_recordset(%s::jsonb) AS r({typed})'
