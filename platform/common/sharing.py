"""Rows with their related objects, each of these made once.

`select_related` makes a new object of every relation for every row: a list of a hundred jobs has six hundred of them,
nearly all alike, and making them is most of what the list costs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from django.core.exceptions import FieldDoesNotExist
from django.db.models import ForeignKey, Model, QuerySet

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class _Part:
    """The columns of one model within a row: of the rows' own model, or of one related by ``link``."""

    model: type[Model]
    link: ForeignKey[Any, Any] | None
    paths: tuple[str, ...]  # as a query names the columns
    attributes: frozenset[str]

    def made(self, using: str, values: Sequence[Any]) -> Model:
        return self.model.from_db(using, self.attributes, values)


def read_sharing(
    rows: QuerySet[M], related: Mapping[str, Collection[str]], *, without: Collection[str] = ()
) -> list[M]:
    """The rows of a query but for the columns ``without``, and of each ``related`` object these fields; one query.

    Rows that name the same object share it, so nobody may change it. What was not read is read when somebody asks for
    it, once for each object.
    """
    own, *others = _parts(rows.model, tuple((name, frozenset(related[name])) for name in related), frozenset(without))
    places: list[tuple[_Part, Any, slice, dict[Any, Model]]] = []
    end = len(own.paths)
    for part in others:
        places.append((part, part.link, slice(end, end + len(part.paths)), {}))
        end += len(part.paths)
    items: list[Any] = []
    for values in rows.values_list(*own.paths, *(path for part in others for path in part.paths)):
        item: Any = own.made(rows.db, values[: len(own.paths)])
        for part, link, place, known in places:
            key = getattr(item, link.attname)
            if key is not None and key not in known:
                known[key] = part.made(rows.db, values[place])
            link.set_cached_value(item, known.get(key))
        items.append(item)
    return items


@lru_cache(maxsize=32)
def _parts(
    model: type[Model], related: tuple[tuple[str, frozenset[str]], ...], without: frozenset[str]
) -> tuple[_Part, ...]:
    parts = [_part(model, None, "", frozenset(field.name for field in model._meta.concrete_fields) - without)]
    for name, wanted in related:
        link: Any = model._meta.get_field(name)
        parts.append(_part(link.related_model, link, f"{name}__", wanted | {link.related_model._meta.pk.name}))
    return tuple(parts)


def _part(model: type[Model], link: Any, prefix: str, wanted: frozenset[str]) -> _Part:
    unknown = wanted - {field.name for field in model._meta.concrete_fields}
    if unknown:
        raise FieldDoesNotExist(f"{model.__name__} has no {sorted(unknown)}.")
    read = [field.attname for field in model._meta.concrete_fields if field.name in wanted]
    return _Part(model, link, tuple(prefix + name for name in read), frozenset(read))
