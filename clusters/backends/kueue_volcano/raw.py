"""Answers of a Kubernetes API server decoded without a client library: lists and the lines of a watch. Pure.

One object that cannot be read never takes its list with it: it is kept by its metadata, with a word about the rest.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec
from msgspec import field

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.wire import (
    ClusterQueue,
    Deployment,
    Job,
    LocalQueue,
    Pod,
    PodGroup,
    Struct,
    Workload,
)
from clusters.backends.kueue_volcano.wire_nodes import Node
from clusters.contract import Retryable

T = TypeVar("T")


class ListMeta(Struct):
    resource_version: str = ""
    continue_: str = field(default="", name="continue")


class _Page(Struct, Generic[T]):
    metadata: ListMeta = field(default_factory=ListMeta)
    items: tuple[T, ...] | None = None


class _Head(Struct):
    metadata: ListMeta = field(default_factory=ListMeta)
    code: int = 0
    reason: str = ""
    message: str = ""


class _Line(Struct, Generic[T]):
    type: str = ""
    object: T | None = None


class _RawLine(Struct):
    type: str = ""
    object: msgspec.Raw = field(default_factory=msgspec.Raw)


class Listed(Struct):
    """One page of a list. ``broken`` names what could not be read as it should; some of it is among the items."""

    items: tuple[Any, ...]
    resource_version: str
    continue_token: str
    broken: tuple[str, ...]


class Event(Struct):
    """One line of a watch. ``object`` is None for a BOOKMARK, an ERROR, and an object without readable metadata.

    ERROR has the code of the server's answer (C-84), or 0 for a line that is no event.
    """

    type: str  # ADDED | MODIFIED | DELETED | BOOKMARK | ERROR
    object: Any = None
    resource_version: str = ""
    code: int = 0
    message: str = ""


class _Decoders(msgspec.Struct, frozen=True):
    item: type[Any]
    one: msgspec.json.Decoder[Any]
    page: msgspec.json.Decoder[_Page[Any]]
    line: msgspec.json.Decoder[_Line[Any]]


def _decoders(item: type[Any]) -> _Decoders:
    return _Decoders(
        item,
        msgspec.json.Decoder(item),
        msgspec.json.Decoder(_Page[item]),  # type: ignore[valid-type]
        msgspec.json.Decoder(_Line[item]),  # type: ignore[valid-type]
    )


_BY_PLURAL = {
    kind.plural: _decoders(item)
    for kind, item in (
        (names.JOBS, Job),
        (names.DEPLOYMENTS, Deployment),
        (names.PODS_KIND, Pod),
        (names.POD_GROUPS, PodGroup),
        (names.WORKLOADS, Workload),
        (names.CLUSTER_QUEUES, ClusterQueue),
        (names.LOCAL_QUEUES, LocalQueue),
        (names.NODES, Node),
    )
}
_RAW_PAGE = msgspec.json.Decoder(_Page[msgspec.Raw])
_RAW_LINE = msgspec.json.Decoder(_RawLine)
_HEAD = msgspec.json.Decoder(_Head)


def decode_list(kind: names.Kind, body: bytes) -> Listed:
    """A page of a list of this kind. Raises Retryable for an answer that is no list, as one that was cut off."""
    decoders = _BY_PLURAL[kind.plural]
    try:
        page = decoders.page.decode(body)
        return Listed(page.items or (), page.metadata.resource_version, page.metadata.continue_, ())
    except msgspec.ValidationError:
        return _one_by_one(kind, decoders, body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Retryable("unreadable_answer", f"{kind.plural}: {error}") from error


def _one_by_one(kind: names.Kind, decoders: _Decoders, body: bytes) -> Listed:
    try:
        page = _RAW_PAGE.decode(body)
    except msgspec.DecodeError as error:
        raise Retryable("unreadable_answer", f"{kind.plural}: {error}") from error
    items, broken = [], []
    for place, part in enumerate(page.items or ()):
        item = _salvaged(decoders, part)
        if item is not None:
            items.append(item)
        if item is None or item.unreadable:
            where = f"{item.metadata.namespace}/{item.metadata.name}" if item is not None else f"item {place}"
            broken.append(f"{where}: {item.unreadable}" if item is not None else where)
    return Listed(tuple(items), page.metadata.resource_version, page.metadata.continue_, tuple(broken))


_CHANGES = frozenset({"ADDED", "MODIFIED", "DELETED"})


def decode_event(kind: names.Kind, line: bytes) -> Event:
    """One line of a watch of this kind. Never raises: what is no event is an ERROR, which costs a new list."""
    decoders = _BY_PLURAL[kind.plural]
    try:
        told = decoders.line.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _odd_event(decoders, line)
    if told.type in _CHANGES and told.object is not None:
        return Event(told.type, told.object, told.object.metadata.resource_version)
    return _odd_event(decoders, line)


def _odd_event(decoders: _Decoders, line: bytes) -> Event:
    """A bookmark, an error, or a change of which not everything can be read."""
    try:
        told = _RAW_LINE.decode(line)
        if told.type in _CHANGES:
            item = _salvaged(decoders, told.object)
            version = item.metadata.resource_version if item is not None else ""
            return Event(told.type, item, version, message=item.unreadable if item is not None else "unreadable")
        head = _HEAD.decode(told.object)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Event("ERROR", message=str(error))
    if told.type == "BOOKMARK":
        return Event("BOOKMARK", None, head.metadata.resource_version)
    return Event("ERROR", None, "", head.code, head.reason or head.message or told.type)


def _salvaged(decoders: _Decoders, part: msgspec.Raw) -> Any | None:
    """The object; or as much of it as can be read; None if not even its metadata can."""
    try:
        return decoders.one.decode(part)
    except msgspec.DecodeError as error:
        reason = str(error)
    try:
        data = _without_nulls(msgspec.json.decode(part))
        try:
            return msgspec.convert(data, decoders.item)
        except msgspec.ValidationError:
            item = msgspec.convert({"metadata": data["metadata"]}, decoders.item)
            item.unreadable = reason
            return item
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
        return None


def _without_nulls(data: Any) -> Any:
    """Go writes null for what it has not; here a field that is absent says the same."""
    if isinstance(data, dict):
        return {key: _without_nulls(value) for key, value in data.items() if value is not None}
    if isinstance(data, list):
        return [_without_nulls(value) for value in data if value is not None]
    return data
