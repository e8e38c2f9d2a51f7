"""Models out of SELECTs that are written by hand.

The ORM writes the SQL of a query anew each time, which costs more than the query itself. A statement that every
request sends is written once, here with the columns of the models, so that it follows them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model
from django.db.models.base import ModelState

M = TypeVar("M", bound=Model)


class Part(Generic[M]):
    """The columns of one model within a SELECT, of the table that is called ``alias`` there.

    Fields ``without`` are read when somebody asks for them.
    """

    def __init__(self, model: type[M], alias: str, *, without: Collection[str] = ()) -> None:
        fields = [field for field in model._meta.concrete_fields if field.name not in without]
        self.columns = ", ".join(f'{alias}."{field.column}"' for field in fields)
        self.width = len(fields)
        self._model = model
        self._names = [field.attname for field in fields]
        self._readers: dict[int, Callable[..., Any]] = {
            place: field.from_db_value for place, field in enumerate(fields) if hasattr(field, "from_db_value")
        }

    def made(self, values: Sequence[Any]) -> M:
        """The object of these columns, as `Model.from_db` makes it, for less.

        Django goes through every field of the model for every object, which is most of what a list of them costs. For
        models without signals of their making and without fields that keep their value elsewhere.
        """
        if self._readers:
            values = list(values)
            for place, reader in self._readers.items():
                values[place] = reader(values[place], None, connection)
        thing = self._model.__new__(self._model)
        thing.__dict__.update(zip(self._names, values, strict=True))
        thing._state = ModelState()
        thing._state.adding, thing._state.db = False, DEFAULT_DB_ALIAS
        return thing


def read_parts(
    statement: str, parameters: Sequence[Any] | Mapping[str, Any], *parts: Part[Any]
) -> Iterator[tuple[Any, ...]]:
    """For each row the objects of the ``parts``, whose columns come first, and then what else it has."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows = cursor.fetchall()
    for row in rows:
        made, start = [], 0
        for part in parts:
            made.append(part.made(row[start : start + part.width]))
            start += part.width
        yield (*made, *row[start:])
