"""What of our queues was set from outside the console, and which queues somebody removed. Pure.

The API server keeps who wrote each field of an object last (`managedFields`). A field that is other than planned and
belongs to us is only an older plan of ours; one that belongs to somebody else was set from outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.quota_order import contains, limits_of, quotas_of
from clusters.backends.kueue_volcano.shape import Manifest
from clusters.contract import DriftField, QuotaChange, QuotaDrift

Object = Mapping[str, Any]
QUOTAS = "resourceGroups"
STATUS = "status"


@dataclass(frozen=True, slots=True)
class Writer:
    """Somebody else who owns fields of an object."""

    name: str
    at: datetime | None
    owns: frozenset[str]  # fields of the spec


def drift_of(current: Iterable[Object], wanted: Sequence[Manifest]) -> QuotaDrift | None:
    """What differs between our queues as they are and as they are planned, because somebody else wrote it."""
    found = {_key(obj): obj for obj in current}
    changes: list[QuotaChange] = []
    writers: list[Writer] = []
    for manifest in wanted:
        obj = found.get(_key(manifest))
        if obj is None:
            continue
        others = _others(obj)
        fields = [field for field in manifest["spec"] if any(field in writer.owns for writer in others)]
        told = [change for field in fields for change in _changes(field, obj, manifest)]
        if told:
            changes += dict.fromkeys(told)
            writers += [writer for writer in others if not writer.owns.isdisjoint(fields)]
    if not changes:
        return None
    times = [writer.at for writer in writers if writer.at is not None]
    return QuotaDrift(
        tuple(changes), by=tuple(sorted({writer.name for writer in writers})), at=max(times, default=None)
    )


def vanished(current: Iterable[Object], wanted: Sequence[Manifest]) -> tuple[str, ...]:
    """Team queues that had been there: a local queue of ours, written after its team queue, still points at them.

    A queue that is on its way out is still there: the gate keeps it until nothing holds quota of it.
    """
    objects = list(current)
    there = {obj["metadata"]["name"] for obj in objects if obj["kind"] == names.CLUSTER_QUEUES.kind}
    meant = {(obj.get("spec") or {}).get("clusterQueue") for obj in objects if obj["kind"] == names.LOCAL_QUEUES.kind}
    return tuple(
        _queue_of(manifest)
        for manifest in wanted
        if (name := manifest["metadata"]["name"]) not in there and name in meant
    )


def _key(obj: Object) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]


def _queue_of(obj: Object) -> str:
    """The team queue's own name; '' for the cohort, whose quota is the common pool."""
    return "" if obj["kind"] == names.COHORTS.kind else _without_prefix(obj["metadata"]["name"])


def _without_prefix(name: str) -> str:
    return name.removeprefix(names.cluster_queue(""))


def _others(obj: Object) -> list[Writer]:
    writers = []
    for entry in obj["metadata"].get("managedFields") or ():
        if entry.get("manager") == names.FIELD_MANAGER or entry.get("subresource") == STATUS:
            continue
        spec = (entry.get("fieldsV1") or {}).get("f:spec") or {}
        owns = frozenset(name.removeprefix("f:") for name in spec if name.startswith("f:"))
        at = datetime.fromisoformat(entry["time"]) if entry.get("time") else None
        writers.append(Writer(str(entry.get("manager", "")), at, owns))
    return writers


def _changes(field: str, obj: Object, wanted: Manifest) -> Iterator[QuotaChange]:
    queue, spec = _queue_of(obj), obj.get("spec") or {}
    if field == QUOTAS:
        yield from _quota_changes(queue, obj, wanted)
    elif field not in spec or not contains(spec[field], wanted["spec"][field]):
        yield QuotaChange(queue, "", DriftField.RULES)


def _quota_changes(queue: str, obj: Object, wanted: Manifest) -> Iterator[QuotaChange]:
    """A resource that is not listed and one with a quota of 0 are the same."""
    planned, found = quotas_of(wanted), quotas_of(obj)
    planned_limits, found_limits = limits_of(wanted), limits_of(obj)
    for pair in sorted({*planned, *found}):
        group = pair[0].removeprefix(names.flavor(""))
        before, after = planned.get(pair, 0), found.get(pair, 0)
        if before != after:
            yield QuotaChange(queue, group, DriftField.NOMINAL, before, after)
        limits = zip(
            (DriftField.BORROW_LIMIT, DriftField.LEND_LIMIT),
            planned_limits.get(pair, (None, None)),
            found_limits.get(pair, (None, None)),
            strict=True,
        )
        yield from (QuotaChange(queue, group, label, *both) for label, *both in limits if both[0] != both[1])
