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
    with connection.cursor() as cursor:
        returning = f' RETURNING "{key}", "{model._meta.pk.column}"' if key else ""
        cursor.execute(_statement(model) + returning, [_rows(objects)])
        if key:
            primary = dict(cursor.fetchall())
            for item in objects:
                item.pk = primary[getattr(item, key)]
                item._state.adding = False


def draw_keys(objects: Sequence[Model]) -> None:
    """Give unsaved objects of one model the next keys of their table, so that others can point to them already."""
    if not objects:
        return
    meta = type(objects[0])._meta
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)",
            [f'"{meta.db_table}"', meta.pk.column, len(objects)],
        )
        for item, (key,) in zip(objects, cursor.fetchall(), strict=True):
            item.pk = key


def insert_together(*kinds: Sequence[Model]) -> None:
    """Insert the objects of several models, each as :func:`insert_many` does, in one statement for all of them.

    They may point to each other by keys that were drawn before: such references are checked on commit.
    """
    kinds = tuple(objects for objects in kinds if objects)
    if not kinds:
        return
    *others, last = (_statement(type(objects[0]), with_key=objects[0].pk is not None) for objects in kinds)
    parts = ", ".join(f"part_{number} AS ({statement})" for number, statement in enumerate(others))
    with connection.cursor() as cursor:
        cursor.execute(f"WITH {parts} {last}" if parts else last, [_rows(objects) for objects in kinds])
    for objects in kinds:
        for item in objects:
            item._state.adding = item.pk is None


def _rows(objects: Sequence[Model]) -> str:
    fields = _fields(type(objects[0]), with_key=objects[0].pk is not None)
    return msgspec.json.encode([{field.column: _value(field, item) for field in fields} for item in objects]).decode()


def _value(field: Field[Any, Any], item: Model) -> Any:
    if getattr(field, "auto_now_add", False) or getattr(field, "auto_now", False):
        return field.pre_save(item, add=True)
    return getattr(item, field.attname)


@cache
def _fields(model: type[Model], *, with_key: bool = False) -> tuple[Field[Any, Any], ...]:
    """All, or all but a key that the database counts up."""
    fields = model._meta.concrete_fields
    return tuple(field for field in fields if with_key or not isinstance(field, AutoField | BigAutoField))


@cache
def _statement(model: type[Model], *, with_key: bool = False) -> str:
    fields = _fields(model, with_key=with_key)
    names = ", ".join(f'"{field.column}"' for field in fields)
    typed = ", ".join(f'"{field.column}" {field.db_type(connection)}' for field in fields)
    table = model._meta.db_table
    return f'INSERT INTO "{table}" ({names}) SELECT {names} FROM jsonb_to_recordset(%s::jsonb) AS r({typed})'
