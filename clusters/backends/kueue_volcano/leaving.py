"""Leaving a cluster: queues of ours that are empty, and the flavors that then nobody names, may go. Nothing else does.

The gate itself keeps a queue until its work is gone, and a flavor until no queue names it; what is removed here is
read once more right before, and a delete names the exact object.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import KubeClient, Missing
from clusters.backends.kueue_volcano.quota_order import used
from clusters.contract import BackendError, Fate, LeftKind, LeftObject, TakenAway

Object = Mapping[str, Any]
Place = tuple[str, str, str]
"""Plural, space and name."""

_KINDS: tuple[tuple[names.Kind, LeftKind], ...] = (
    (names.LOCAL_QUEUES, LeftKind.LOCAL_QUEUE),
    (names.CLUSTER_QUEUES, LeftKind.TEAM_QUEUE),
    (names.FLAVORS, LeftKind.NODE_GROUP),
    (names.COHORTS, LeftKind.POOL),
    (names.TOPOLOGIES, LeftKind.LAYOUT),
    (names.PRIORITY_CLASSES, LeftKind.PRIORITY),
    (names.POD_PRIORITY_CLASSES, LeftKind.PRIORITY),
    (names.SERVICES, LeftKind.SPACE),
    (names.NAMESPACES, LeftKind.SPACE),
)
_REMOVABLE = frozenset({names.LOCAL_QUEUES.plural, names.CLUSTER_QUEUES.plural, names.FLAVORS.plural})
"""The account for quotas may delete these and no other kind."""
_READ_WHOLE = (names.LOCAL_QUEUES, names.CLUSTER_QUEUES, names.FLAVORS, names.COHORTS)
"""Of these, those of others may name ours."""


@dataclass(frozen=True, slots=True)
class _Found:
    """An object of ours, with what the console calls it."""

    kind: names.Kind
    obj: Object
    left: LeftObject

    @property
    def place(self) -> Place:
        return self.kind.plural, self.left.space, self.left.name

    @property
    def path(self) -> str:
        return self.kind.path(self.left.space or None, self.left.name)


@dataclass(frozen=True, slots=True)
class Leaver:
    """At one cluster: ``runtime`` sees the work in queues, ``quota`` everything else, and removes."""

    runtime: KubeClient
    quota: KubeClient
    installation: str

    def left_behind(self) -> tuple[LeftObject, ...]:
        """Everything of ours and what would become of it."""
        return tuple(found.left for found in self._found())

    def take_away(self) -> TakenAway:
        """Local queues first, then team queues, then flavors; each is looked at again before it goes.

        What one that did not go names stays as well.
        """
        removed: list[LeftObject] = []
        failed: list[tuple[str, str]] = []
        stuck: set[Place] = set()
        for left_kind in (LeftKind.LOCAL_QUEUE, LeftKind.TEAM_QUEUE, LeftKind.NODE_GROUP):
            for found in self._found(stuck):
                if found.left.kind is not left_kind or found.left.fate is not Fate.GOES:
                    continue
                try:
                    went = self._removed(found)
                except BackendError as error:
                    failed.append((found.left.name, error.code))
                    went = False
                if went:
                    removed.append(found.left)
                else:
                    stuck.add(found.place)
        return TakenAway(tuple(removed), tuple(failed))

    def _removed(self, found: _Found) -> bool:
        """Whether it is gone by our hand: it was still ours, the same, and empty a moment ago."""
        try:
            now = msgspec.json.decode(self.quota.get(found.path))
            same = now["metadata"]["uid"] == found.obj["metadata"]["uid"]
            if not same or not _is_ours(now, self.installation) or not _is_idle(found.kind, now):
                return False
            self.quota.delete(found.path, uid=now["metadata"]["uid"])
        except Missing:
            return False
        return True

    def _found(self, stuck: Collection[Place] = ()) -> list[_Found]:
        """``stuck``: those that could not go, whatever they look like."""
        objects = {kind.plural: self._items(self.quota, kind, kind in _READ_WHOLE) for kind, _ in _KINDS}
        spaces = {_name(obj)[0] for obj in objects[names.LOCAL_QUEUES.plural] if _is_ours(obj, self.installation)}
        busy = {*stuck, *(place for space in sorted(spaces) for place in self._queues_with_work(space))}
        going: set[Place] = set()
        found = []
        for kind, left_kind in _KINDS:
            for obj in sorted(objects[kind.plural], key=_name):
                if not _is_ours(obj, self.installation):
                    continue
                space, name = _name(obj)
                fate = Fate.IN_USE if (kind.plural, space, name) in busy else _fate(kind, obj, objects, going)
                if fate is Fate.GOES:
                    going.add((kind.plural, space, name))
                found.append(_Found(kind, obj, LeftObject(left_kind, name, space, f"{_resource(kind)}/{name}", fate)))
        return found

    def _items(self, client: KubeClient, kind: names.Kind, whole: bool, space: str | None = None) -> list[Object]:
        """Of everybody, or only ours; nothing of a kind that the cluster does not have."""
        only_ours = {"labelSelector": f"{names.INSTALLATION}={self.installation}"}
        try:
            body = client.get(kind.path(space), {} if whole else only_ours)
        except Missing:
            return []
        items: list[Object] = msgspec.json.decode(body).get("items") or []
        return items

    def _queues_with_work(self, space: str) -> set[Place]:
        """Also of what is held there: a queue does not count it."""
        return {
            (names.LOCAL_QUEUES.plural, space, str((each.get("spec") or {}).get("queueName", "")))
            for each in self._items(self.runtime, names.WORKLOADS, whole=True, space=space)
            if not any(
                told.get("type") == "Finished" and told.get("status") == "True"
                for told in (each.get("status") or {}).get("conditions") or ()
            )
        }


def _fate(kind: names.Kind, obj: Object, objects: Mapping[str, Sequence[Object]], going: Collection[Place]) -> Fate:
    if kind.plural not in _REMOVABLE:
        return Fate.STAYS
    if not _is_idle(kind, obj):
        return Fate.IN_USE
    name = _name(obj)[1]
    staying = [
        each
        for plural in (names.LOCAL_QUEUES.plural, names.CLUSTER_QUEUES.plural, names.COHORTS.plural)
        for each in objects[plural]
        if (plural, *_name(each)) not in going
    ]
    return Fate.NEEDED if name in set(_named(kind, staying)) else Fate.GOES


def _named(kind: names.Kind, staying: Iterable[Object]) -> Iterable[str]:
    """What objects that stay name: queues by the way to them, flavors by quotas. A local queue is named by nobody."""
    for each in staying:
        spec = each.get("spec") or {}
        if kind is names.CLUSTER_QUEUES:
            yield str(spec.get("clusterQueue", ""))
        elif kind is names.FLAVORS:
            for group in spec.get("resourceGroups") or ():
                yield from (str(flavor.get("name", "")) for flavor in group.get("flavors") or ())


def _is_idle(kind: names.Kind, obj: Object) -> bool:
    """A queue of which the gate has said that nothing waits or holds anything in it; a flavor always is."""
    if kind is names.FLAVORS:
        return True
    status: Object = obj.get("status") or {}
    counts = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")
    return bool(status) and not any(status.get(count, 0) for count in counts) and not used(obj)


def _is_ours(obj: Object, installation: str) -> bool:
    return bool((obj["metadata"].get("labels") or {}).get(names.INSTALLATION) == installation)


def _name(obj: Object) -> tuple[str, str]:
    return str(obj["metadata"].get("namespace", "")), str(obj["metadata"]["name"])


def _resource(kind: names.Kind) -> str:
    """As `kubectl` takes it."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural
