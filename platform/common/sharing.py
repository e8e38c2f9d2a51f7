"""Rows with their related objects, each of these made once.

`select_related` makes a new object of every relation for every row: a list of a hundred jobs has six hundred of them,
nearly all alike, and making them is most of what the list costs. And it leaves the order of all joins to the database,
which then thinks for longer than it reads: here rows are found first, and what they belong to is joined to these few.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from django.core.exceptions import EmptyResultSet, FieldDoesNotExist
from django.db import connections
from django.db.models import ForeignKey, Model, QuerySet

from common.parts import Part

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class _Link:
    """What the rows name by one of their columns: where its columns are within a row of the answer."""

    field: ForeignKey[Any, Any]
    part: Part[Any]
    place: slice


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is read of the rows and of what they belong to; ``before`` and ``after`` stand around the rows' query."""

    own: Part[Any]
    names: tuple[str, ...]
    links: tuple[_Link, ...]
    before: str
    after: str


def read_sharing(
    rows: QuerySet[M], related: Mapping[str, Collection[str]], *, without: Collection[str] = ()
) -> list[M]:
    """The rows of a query but for the columns ``without``, and of each ``related`` object these fields; one query.

    Rows that name the same object share it, so nobody may change it. What was not read is read when somebody asks for
    it, once for each object.
    """
    shape = _shape(rows.model, tuple((name, frozenset(related[name])) for name in related), frozenset(without))
    try:
        found, parameters = rows.values_list(*shape.names).query.sql_with_params()
    except EmptyResultSet:  # no row can be meant
        return []
    with connections[rows.db].cursor() as cursor:
        cursor.execute(shape.before + found + shape.after, parameters)
        answer = cursor.fetchall()
    known: list[dict[Any, Model]] = [{} for _ in shape.links]
    items: list[Any] = []
    for values in answer:
        item: Any = shape.own.made(values[: shape.own.width])
        for link, seen in zip(shape.links, known, strict=True):
            key = getattr(item, link.field.attname)
            if key is not None and key not in seen:
                seen[key] = link.part.made(values[link.place])
            link.field.set_cached_value(item, seen.get(key))
        items.append(item)
    return items


@lru_cache(maxsize=32)
def _shape(model: type[Model], related: tuple[tuple[str, frozenset[str]], ...], without: frozenset[str]) -> _Shape:
    own = Part(model, "found", without=without)
    columns, joins, links, end = [own.columns], [], [], own.width
    for number, (name, wanted) in enumerate(related):
        field: Any = model._meta.get_field(name)
        other, alias = field.related_model._meta, f"r{number}"
        part = Part(field.related_model, alias, without=_others(field.related_model, wanted))
        columns.append(part.columns)
        joins.append(f'LEFT JOIN "{other.db_table}" {alias} ON {alias}."{other.pk.column}" = found."{field.column}"')
        links.append(_Link(field, part, slice(end, end + part.width)))
        end += part.width
    return _Shape(
        own=own,
        names=tuple(field.attname for field in model._meta.concrete_fields if field.name not in without),
        links=tuple(links),
        before=f"SELECT {', '.join(columns)} FROM (SELECT *, ROW_NUMBER() OVER () AS place FROM (",
        after=f") AS ordered) AS found {' '.join(joins)} ORDER BY found.place",
    )


def _others(model: type[Model], wanted: frozenset[str]) -> frozenset[str]:
    """The fields of ``model`` that nobody wants; its key is always read. Raises FieldDoesNotExist."""
    names = {field.name for field in model._meta.concrete_fields}
    if unknown := wanted - names:
        raise FieldDoesNotExist(f"{model.__name__} has no {sorted(unknown)}.")
    return frozenset(names - wanted - {model._meta.pk.name})
