"""Frozen facts ↔ JSON, by their declared types."""

from __future__ import annotations

from typing import Any

import msgspec

from clusters.contract import WorkloadFacts
from common.texts import storable

_encode = msgspec.json.Encoder().encode
_NUL = rb"\u0000"  # as JSON has it, and as it also has a backslash before "u0000": rare enough to look closer


def facts_to_json(facts: WorkloadFacts) -> dict[str, Any]:
    """Plain JSON values; absent facts are left out, so a row stays small.

    A cluster's own words may hold characters that no JSON column takes. They are replaced, because one such
    object would otherwise keep the whole cluster from being stored.
    """
    data: dict[str, Any] = msgspec.to_builtins(facts)
    if _has_odd_characters(data):
        data = _storable(data)
    return {key: value for key, value in data.items() if value or value == 0}  # 0 and False are facts


def _has_odd_characters(data: dict[str, Any]) -> bool:
    """Found by writing the whole as bytes, which is many times faster than looking at every value."""
    try:
        return _NUL in _encode(data)
    except UnicodeEncodeError:  # half of a surrogate pair
        return True


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {key: _storable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(item) for item in value]
    return value


def facts_from_json(data: dict[str, Any]) -> WorkloadFacts:
    """The facts back. Raises msgspec.ValidationError for a row that another version wrote differently."""
    return msgspec.convert(data, WorkloadFacts)
