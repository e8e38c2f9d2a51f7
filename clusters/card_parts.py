"""Memory and cores of virtual cards as nodes were seen with them, and their sums: in their own units, never cards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from clusters.contract import CardPart


def parts_of(rows: Iterable[Mapping[str, Any]]) -> tuple[CardPart, ...]:
    """Of one node, as its row keeps them."""
    return tuple(CardPart(**row) for row in rows)


def parts_sum(nodes: int, parts: Iterable[Sequence[CardPart]]) -> tuple[CardPart, ...]:
    """What so many ``nodes`` have together; those without parts may be left out.

    A capacity is known where every node says its own.
    """
    found: dict[str, CardPart] = {}
    telling: Counter[str] = Counter()
    for part in (part for each in parts for part in each):
        before = found.get(part.resource, CardPart(part.resource, part.unit, 0, 0, 0, 0))
        telling[part.resource] += part.capacity is not None
        found[part.resource] = CardPart(
            part.resource,
            part.unit,
            (before.capacity or 0) + (part.capacity or 0),
            before.asked + part.asked,
            before.used + part.used,
            before.unsaid + part.unsaid,
        )
    return tuple(
        part if telling[name] == nodes else replace(part, capacity=None) for name, part in sorted(found.items())
    )
