"""The newest objects of one cluster, indexed so that everything of one attempt is found without searching. Pure.

Only objects with the label of this installation belong to attempts. Workloads carry none: they are found by the uid
of their owner. Of other people's objects those are kept that hold cards, and what the gate keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.bundle import UNKNOWN_TIME, foremost, own_word
from clusters.backends.kueue_volcano.conditions import changed_at, find, moment
from clusters.backends.kueue_volcano.marks import Marks
from clusters.backends.kueue_volcano.pods import is_over
from clusters.backends.kueue_volcano.quantities import number
from clusters.backends.kueue_volcano.wire import (
    Asks,
    ClusterQueue,
    Deployment,
    Job,
    LocalQueue,
    Meta,
    Pod,
    PodGroup,
    Workload,
)
from clusters.backends.kueue_volcano.wire_nodes import Node

Key = tuple[str, int]
"""An attempt: ULID of the job, number of the attempt."""

Place = tuple[str, str]
"""Where jobs queue: space, and name of the LocalQueue."""

Shape = tuple[str, str, int | None, tuple[tuple[int, str, Asks], ...]]
"""All that the gate compares two waiting Workloads by: space, queue, priority, and what each kind of pod asks for."""


@dataclass(slots=True)
class Home:
    """What lives and dies together: a Job and its pods, or all Deployments and pods with the marks of one attempt.

    ``id`` is the uid of the Job, also when only its pods are left.
    """

    id: str
    key: Key
    owners: dict[str, Job | Deployment] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)

    @property
    def owner(self) -> Job | Deployment | None:
        return foremost(self.owners.values(), key=_standing)


def _standing(owner: Job | Deployment) -> tuple[bool, datetime, str]:
    meta = owner.metadata
    return meta.deletion_timestamp is None, moment(meta.creation_timestamp) or UNKNOWN_TIME, owner.key


class Index:
    """Takes objects in and out; every call returns the attempts that it concerns."""

    def __init__(self, installation: str) -> None:
        self.installation = installation
        self.objects: dict[str, dict[str, Any]] = {plural: {} for plural in _LINKS}  # by kind, then uid
        self.homes: dict[str, Home] = {}
        self.homes_of: dict[Key, dict[str, Home]] = {}
        self.owners_in: dict[Place, dict[str, Key]] = {}  # attempts by uid of their owner
        self.pods_on: dict[str, dict[str, Pod]] = {}  # by node
        self.ending_pods: dict[str, Pod] = {}
        self.workloads_of: dict[str, dict[str, Workload]] = {}  # by uid of the owner
        self.pod_groups_of: dict[str, dict[str, PodGroup]] = {}
        self.cluster_queues: dict[str, ClusterQueue] = {}  # by name
        self.local_queues: dict[Place, LocalQueue] = {}
        self.lost_nodes: dict[str, datetime | None] = {}
        self._peers: dict[Shape, dict[str, Workload]] = {}
        self._speaker: dict[Shape, str] = {}

    # ------------------------------------------------------------------- in and out

    def replace(self, kind: names.Kind, items: Iterable[Any]) -> set[Key]:
        """All objects of a kind, as one list has them."""
        items = {item.key: item for item in items}
        touched: set[Key] = set()
        for key in [key for key in self.objects[kind.plural] if key not in items]:
            touched |= self.drop(kind, key)
        for item in items.values():
            touched |= self.put(kind, item)
        return touched

    def put(self, kind: names.Kind, item: Any) -> set[Key]:
        """One object as it is now. What is known already, or is older than what is known, changes nothing."""
        table, link = self.objects[kind.plural], _LINKS[kind.plural]
        known = table.get(item.key)
        if known is not None and not _is_newer(item.metadata.resource_version, known.metadata.resource_version):
            return set()
        if known is not None and isinstance(item, ClusterQueue | LocalQueue | Node) and _gist(item) == _gist(known):
            table[item.key] = item
            self._place(item, item)  # usage alone: the numbers in reasons follow with the next whole look
            return set()
        before = link(self, known, False) if known is not None else set()
        if not self._is_kept(item):
            table.pop(item.key, None)
            return before
        table[item.key] = item
        return before | link(self, item, True)

    def drop(self, kind: names.Kind, key: str) -> set[Key]:
        known = self.objects[kind.plural].pop(key, None)
        return _LINKS[kind.plural](self, known, False) if known is not None else set()

    def _is_kept(self, item: Any) -> bool:
        if isinstance(item, Job | Deployment | PodGroup):
            return self.key_of(item.metadata.labels) is not None
        if isinstance(item, Pod) and self.key_of(item.metadata.labels) is None:
            return bool(item.spec.asks and item.spec.node_name) and not is_over(item)
        return True

    def key_of(self, marks: Marks) -> Key | None:
        """The attempt that an object with these labels belongs to, if it is this installation's."""
        attempt = number(marks.attempt)
        if marks.installation != self.installation or not marks.job or attempt is None:
            return None
        return marks.job.upper(), attempt

    # ------------------------------------------------------------------- attempts

    def link_owner(self, owner: Job | Deployment, there: bool) -> set[Key]:
        key = self.key_of(owner.metadata.labels)
        if key is None:
            return set()
        home = self._home(owner.key if isinstance(owner, Job) else _marked_home(owner.metadata), key)
        _set(home.owners, owner.key, owner if there else None)
        place = owner.metadata.namespace, owner.metadata.labels.queue
        _set_in(self.owners_in, place, owner.key, key if there else None)
        self._leave_if_empty(home)
        return {key}

    def link_pod(self, pod: Pod, there: bool) -> set[Key]:
        kept = pod if there else None
        node = pod.spec.node_name
        if node:
            _set_in(self.pods_on, node, pod.key, kept)
        if node and pod.metadata.deletion_timestamp is not None:
            _set(self.ending_pods, pod.key, kept)
        key = self.key_of(pod.metadata.labels)
        if key is None:
            return set()
        home = self._home(_home_of_pod(pod), key)
        _set(home.pods, pod.key, kept)
        self._leave_if_empty(home)
        return {key}

    def _home(self, home_id: str, key: Key) -> Home:
        home = self.homes.get(home_id)
        if home is None:
            home = self.homes[home_id] = Home(home_id, key)
            self.homes_of.setdefault(key, {})[home_id] = home
        return home

    def _leave_if_empty(self, home: Home) -> None:
        if not home.owners and not home.pods:
            del self.homes[home.id]
            _set_in(self.homes_of, home.key, home.id, None)

    def key_behind(self, uid: str) -> Key | None:
        """The attempt whose Job or pod has this uid."""
        if uid in self.homes:
            return self.homes[uid].key
        pod = self.objects[names.PODS_KIND.plural].get(uid)
        if pod is not None:
            return self.key_of(pod.metadata.labels)
        return None

    def _keys_behind(self, uid: str) -> set[Key]:
        key = self.key_behind(uid)
        return {key} if key is not None else set()

    # ------------------------------------------------------------------- what the schedulers keep

    def link_workload(self, workload: Workload, there: bool) -> set[Key]:
        owner = owner_uid(workload)
        _set_in(self.workloads_of, owner, workload.key, workload if there else None)
        if own_word(workload) is not None and workload.spec.active:
            self._link_peer(workload, there)
        return self._keys_behind(owner)

    def _link_peer(self, workload: Workload, there: bool) -> None:
        shape = shape_of(workload)
        _set_in(self._peers, shape, workload.key, workload if there else None)
        peers, speaker = self._peers.get(shape), self._speaker.get(shape)
        if peers is None:
            self._speaker.pop(shape, None)
        elif speaker is None or speaker not in peers:
            self._speaker[shape] = min(peers)
        else:
            self._speaker[shape] = min(speaker, workload.key) if there else speaker

    def peer_with_a_word(self, workload: Workload) -> Workload | None:
        """One of those that are equal to the gate and of which it has said why they wait.

        Since 0.18 Kueue looks at one of many equal Workloads and says nothing about the others.
        """
        shape = shape_of(workload)
        speaker = self._speaker.get(shape)
        return self._peers[shape][speaker] if speaker is not None else None

    def link_pod_group(self, pod_group: PodGroup, there: bool) -> set[Key]:
        owner = owner_uid(pod_group)
        _set_in(self.pod_groups_of, owner, pod_group.key, pod_group if there else None)
        return self._keys_behind(owner)

    def link_queue(self, queue: ClusterQueue | LocalQueue, there: bool) -> set[Key]:
        self._place(queue, queue if there else None)
        name = queue.metadata.name
        if isinstance(queue, LocalQueue):
            return self._keys_in((queue.metadata.namespace, name))
        places = (place for place, local in self.local_queues.items() if local.spec.cluster_queue == name)
        return {key for place in places for key in self._keys_in(place)}

    def _keys_in(self, place: Place) -> set[Key]:
        return set(self.owners_in.get(place, {}).values())

    # ------------------------------------------------------------------- nodes

    def link_node(self, node: Node, there: bool) -> set[Key]:
        self._place(node, node if there else None)
        if not _is_lost(node):
            return set()
        keys = (self.key_of(pod.metadata.labels) for pod in self.pods_on.get(node.metadata.name, {}).values())
        return {key for key in keys if key is not None}

    def _place(self, item: ClusterQueue | LocalQueue | Node, kept: ClusterQueue | LocalQueue | Node | None) -> None:
        name = item.metadata.name
        if isinstance(item, LocalQueue):
            _set(self.local_queues, (item.metadata.namespace, name), kept)
        elif isinstance(item, ClusterQueue):
            _set(self.cluster_queues, name, kept)
        elif kept is not None and _is_lost(item):
            self.lost_nodes[name] = _last_word(item)
        else:
            self.lost_nodes.pop(name, None)


_LINKS: dict[str, Callable[[Index, Any, bool], set[Key]]] = {
    names.JOBS.plural: Index.link_owner,
    names.DEPLOYMENTS.plural: Index.link_owner,
    names.PODS_KIND.plural: Index.link_pod,
    names.WORKLOADS.plural: Index.link_workload,
    names.POD_GROUPS.plural: Index.link_pod_group,
    names.LOCAL_QUEUES.plural: Index.link_queue,
    names.CLUSTER_QUEUES.plural: Index.link_queue,
    names.NODES.plural: Index.link_node,
}


def _set(table: dict[Any, Any], key: Any, value: Any) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _set_in(tables: dict[Any, dict[Any, Any]], place: Any, key: str, value: Any) -> None:
    """In a table of tables, of which none stays empty."""
    table = tables.setdefault(place, {})
    _set(table, key, value)
    if not table:
        del tables[place]


def _is_newer(version: str, known: str) -> bool:
    if version == known:
        return not version
    return not (version.isdigit() and known.isdigit()) or int(version) > int(known)


def _gist(item: ClusterQueue | LocalQueue | Node) -> tuple[Any, ...]:
    """What others depend on: whether anything enters a queue, and whether a node is heard of."""
    if isinstance(item, Node):
        return (_last_word(item),) if _is_lost(item) else ()
    active = find(item.status.conditions, "Active") if item.status is not None else None
    said = (active.status, active.reason, active.message) if active is not None else ()
    return item.spec, said, item.status is None


def _is_lost(node: Node) -> bool:
    ready = find(node.status.conditions, "Ready")
    return ready is not None and ready.status == "Unknown"


def _last_word(node: Node) -> datetime | None:
    ready = next((part for part in node.status.conditions if part.type == "Ready"), None)
    return (moment(ready.last_heartbeat_time) or changed_at(ready)) if ready is not None else None


def owner_uid(item: Workload | PodGroup) -> str:
    owner = item.metadata.owner
    return owner.uid if owner is not None else item.metadata.labels.owner_uid


def _home_of_pod(pod: Pod) -> str:
    owner = pod.metadata.owner
    if owner is not None and owner.kind == "Job":
        return owner.uid
    return pod.metadata.labels.controller_uid or _marked_home(pod.metadata)


def _marked_home(meta: Meta) -> str:
    return f"{meta.namespace}/{meta.labels.job}/{meta.labels.attempt}"


def shape_of(workload: Workload) -> Shape:
    spec = workload.spec
    pods = ((part.count, part.template.metadata.labels.group, part.template.spec.asks) for part in spec.pod_sets)
    return workload.metadata.namespace, spec.queue_name, spec.priority, tuple(pods)
