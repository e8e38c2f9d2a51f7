"""Frozen facts ↔ JSON, by their declared types."""

from __future__ import annotations

from typing import Any

import msgspec

from clusters.contract import WorkloadFacts


def facts_to_json(facts: WorkloadFacts) -> dict[str, Any]:
    """Plain JSON values; absent facts are left out, so a row stays small."""
    data: dict[str, Any] = msgspec.to_builtins(facts)
    return {key: value for key, value in data.items() if value not in (None, "", [], ())}


def facts_from_json(data: dict[str, Any]) -> WorkloadFacts:
    """The facts back. Raises msgspec.ValidationError for a row that another version wrote differently."""
    return msgspec.convert(data, WorkloadFacts)
