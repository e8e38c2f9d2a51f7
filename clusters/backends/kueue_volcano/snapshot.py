"""What one cluster looks like now, kept in step by lists and watch events. No clock, no I/O, one thread.

The answer is a function of the newest objects alone: however they arrived, the same objects give the same facts. One
exception: the last word of a Job that was deleted before anybody was told of its end stands until the next list of
Jobs (C-20).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.bundle import (
    UNKNOWN_TIME,
    Bundle,
    Surroundings,
    foremost,
    is_releasing,
    newest,
    own_word,
)
from clusters.backends.kueue_volcano.conditions import NO_GATE, gate_of, moment
from clusters.backends.kueue_volcano.facts import facts_of, revision_of
from clusters.backends.kueue_volcano.index import Home, Index, Key, owner_uid
from clusters.backends.kueue_volcano.kept import Kept
from clusters.backends.kueue_volcano.outcomes import verdict_of
from clusters.backends.kueue_volcano.pods import is_over
from clusters.backends.kueue_volcano.raw import Event
from clusters.backends.kueue_volcano.waits import Queue
from clusters.backends.kueue_volcano.wire import Condition, Deployment, Job, Meta, Pod, PodGroup, Workload
from clusters.backends.kueue_volcano.wire_nodes import Node
from clusters.contract import ObservedObject

_OWNER_KINDS = {"Job": names.JOBS, "Pod": names.PODS_KIND}


@dataclass(frozen=True, slots=True)
class Orphan:
    """An object of ours whose owner is in no list. ``owner``: kind, name and uid of what is missing.

    Lists are of slightly different moments, so the owner may only not have been seen yet.
    """

    kind: names.Kind
    space: str
    name: str
    uid: str
    created_at: datetime
    owner: tuple[names.Kind, str, str]


@dataclass(frozen=True, slots=True)
class Ungathered:
    """A Job of ours that is admitted and has no PodGroup to start its pods together."""

    space: str
    name: str
    uid: str


class Snapshot:
    """One installation's view of one cluster. Kinds that were never given say nothing."""

    def __init__(self, installation: str) -> None:
        self._index = Index(installation)
        self._given: set[str] = set()
        self._last_words: dict[Key, Job] = {}
        self._told_over: set[Key] = set()  # attempts whose end was in what was last observed of them
        self._kept = Kept()

    # ------------------------------------------------------------------- taking in

    def replace(self, kind: names.Kind, items: Iterable[Any]) -> set[Key]:
        """All objects of a kind, as one list has them; returns the attempts concerned, also those that vanished."""
        self._given.add(kind.plural)
        touched = self._index.replace(kind, items)
        if kind is names.JOBS:
            touched |= self._last_words.keys()
            self._last_words.clear()
        self._kept.forget(touched)
        return touched

    def apply(self, kind: names.Kind, event: Event) -> set[Key]:
        """One event of a watch; returns the attempts concerned. What is known already touches nothing."""
        touched = self._applied(kind, event)
        self._kept.forget(touched)
        return touched

    def _applied(self, kind: names.Kind, event: Event) -> set[Key]:
        item = event.object
        if item is None or event.type not in ("ADDED", "MODIFIED", "DELETED"):
            return set()
        if event.type != "DELETED":
            return self._index.put(kind, item)
        touched = self._index.drop(kind, item.key)
        if kind is names.JOBS and verdict_of(item, None, NO_GATE) is not None:
            key = self._index.key_of(item.metadata.labels)
            if key is not None and not self._is_told_to_its_end(key):
                self._last_words[key] = item
                touched.add(key)
        return touched

    def _is_told_to_its_end(self, key: Key) -> bool:
        """Its end was told, and nothing is left of it that would be told instead."""
        homes = self._index.homes_of.get(key, {}).values()
        return key in self._told_over and all(self._bundle(home) is None for home in homes)

    # ------------------------------------------------------------------- attempts

    def observed(
        self, keys: Iterable[Key] | None = None, read_at: datetime | None = None
    ) -> tuple[ObservedObject, ...]:
        """All attempts, or of some those that are there. ``read_at``: no time in the facts is later.

        What waits for cards takes numbers of its queue and of pods that end; these changes touch nothing by
        themselves and are told by a look at all attempts.
        """
        around = self._surroundings(read_at)
        chosen = {*self._index.homes_of, *self._last_words} if keys is None else set(keys)
        rows = self._kept.rows(sorted(chosen), around, self._object)
        over = {(row.job_ulid, row.attempt) for row in rows if row.facts.outcome is not None}
        self._told_over = over if keys is None else (self._told_over - chosen) | over
        return rows

    def _object(self, key: Key, around: Surroundings) -> ObservedObject | None:
        home = foremost(self._index.homes_of.get(key, {}).values(), key=_standing)
        bundle = self._bundle(home) if home is not None else None
        if (bundle is None or bundle.owner is None) and key in self._last_words:
            bundle = self._last_bundle(self._last_words[key], bundle)
        if bundle is None:
            return None
        facts = facts_of(bundle, around)
        return ObservedObject(key[0], key[1], bundle.uid, revision_of(facts), facts)

    def _bundle(self, home: Home) -> Bundle | None:
        """What is at home; None if only pods are left that hold nothing any more."""
        owner, index = home.owner, self._index
        pods = tuple(home.pods.values())
        if owner is None and all(is_over(pod) for pod in pods):
            return None
        owned_by = [pod.key for pod in pods] if isinstance(owner, Deployment) else [home.id]
        workloads = (found for uid in owned_by for found in index.workloads_of.get(uid, {}).values())
        pod_groups = index.pod_groups_of.get(home.id, {})
        pod_group = foremost(pod_groups.values(), key=_age)
        return Bundle(owner.key if owner is not None else home.id, owner, pods, tuple(workloads), pod_group)

    def _last_bundle(self, job: Job, left: Bundle | None) -> Bundle:
        """A Job that is gone, with what is left of it."""
        pods = left.pods if left is not None and left.uid == job.key else ()
        return Bundle(job.key, job, pods, tuple(self._index.workloads_of.get(job.key, {}).values()))

    def _surroundings(self, read_at: datetime | None) -> Surroundings:
        index = self._index
        around = Surroundings(
            read_at=read_at,
            lost=index.lost_nodes,
            queue=self._queue,
            job_of=self._job_of,
            peers_word=self._peers_word,
        )
        ending = [pod for pod in index.ending_pods.values() if is_releasing(pod, around)]
        places = {(pod.metadata.labels.group, resource) for pod in ending for resource, _ in pod.spec.asks}
        return Surroundings(
            read_at=read_at,
            lost=around.lost,
            releasing=frozenset(places),
            queue=around.queue,
            job_of=around.job_of,
            peers_word=around.peers_word,
        )

    def _queue(self, space: str, name: str) -> Queue | None:
        if not {names.LOCAL_QUEUES.plural, names.CLUSTER_QUEUES.plural} <= self._given:
            return None
        local = self._index.local_queues.get((space, name))
        cluster = self._index.cluster_queues.get(local.spec.cluster_queue) if local is not None else None
        return Queue(name, local, cluster)

    def _job_of(self, uid: str) -> str | None:
        """Kueue names the beneficiary by the uid of its Job or pod, else by that of its Workload."""
        workload = self._index.objects[names.WORKLOADS.plural].get(uid)
        key = self._index.key_behind(uid if workload is None else owner_uid(workload))
        return key[0] if key is not None else None

    def _peers_word(self, workload: Workload) -> Condition | None:
        peer = self._index.peer_with_a_word(workload)
        return own_word(peer) if peer is not None else None

    # ------------------------------------------------------------------- the whole cluster

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self._index.objects[names.NODES.plural].values())

    def pods_on(self, node: str) -> tuple[Pod, ...]:
        return tuple(self._index.pods_on.get(node, {}).values())

    def key_of(self, pod: Pod) -> Key | None:
        """The attempt that a pod belongs to; None = somebody else's."""
        return self._index.key_of(pod.metadata.labels)

    def has_freed_quota(self, pod: Pod) -> bool:
        """Its attempt has ended, or the gate took its cards back, and the pod goes on (C-19)."""
        owner = pod.metadata.owner
        uid = pod.key if owner is None or pod.key in self._index.workloads_of else owner.uid
        workload = newest(tuple(self._index.workloads_of.get(uid, {}).values()))
        if workload is None:
            return False
        gate = gate_of(workload)
        job = self._index.objects[names.JOBS.plural].get(uid)
        return gate.reserved_at is None or verdict_of(job, workload, gate) is not None

    def orphans(self) -> tuple[Orphan, ...]:
        """PodGroups and Workloads of ours whose Job or pod is gone."""
        found = (*self._orphaned_pod_groups(), *self._orphaned_workloads())
        return tuple(sorted(found, key=lambda orphan: (orphan.created_at, orphan.uid)))

    def _orphaned_pod_groups(self) -> Iterator[Orphan]:
        for pod_group in self._index.objects[names.POD_GROUPS.plural].values():
            if not self._has_owner(pod_group):
                yield from self._orphan(names.POD_GROUPS, pod_group.metadata)

    def _orphaned_workloads(self) -> Iterator[Orphan]:
        """Those of Jobs repeat our labels in their pod template; those of pods do not, but stand in a queue of ours."""
        for workload in self._index.objects[names.WORKLOADS.plural].values():
            if self._has_owner(workload):
                continue
            owner = workload.metadata.owner
            if owner is not None and owner.kind == "Pod":
                queue = self._index.local_queues.get((workload.metadata.namespace, workload.spec.queue_name))
                ours = queue is not None and queue.metadata.labels.installation == self._index.installation
            else:
                marks = (part.template.metadata.labels for part in workload.spec.pod_sets)
                ours = any(self._index.key_of(labels) is not None for labels in marks)
            if ours:
                yield from self._orphan(names.WORKLOADS, workload.metadata)

    def _has_owner(self, item: Workload | PodGroup) -> bool:
        uid = owner_uid(item)
        return any(uid in self._index.objects[kind.plural] for kind in _OWNER_KINDS.values())

    def _orphan(self, kind: names.Kind, meta: Meta) -> Iterator[Orphan]:
        """Of an object without an owner. Where owners of its kind were never listed, that says nothing."""
        owner, created_at = meta.owner, moment(meta.creation_timestamp)
        if owner is None or created_at is None or meta.deletion_timestamp is not None:
            return
        owner_kind = _OWNER_KINDS.get(owner.kind)
        if owner_kind is None or owner_kind.plural not in self._given:
            return
        yield Orphan(kind, meta.namespace, meta.name, meta.uid, created_at, (owner_kind, owner.name, owner.uid))

    def without_pod_group(self) -> tuple[Ungathered, ...]:
        """Admitted Jobs whose pods would wait for ever without a word (B3)."""
        if names.POD_GROUPS.plural not in self._given:
            return ()
        return tuple(self._ungathered())

    def _ungathered(self) -> Iterator[Ungathered]:
        for uid, job in self._index.objects[names.JOBS.plural].items():
            if uid in self._index.pod_groups_of or job.metadata.deletion_timestamp is not None:
                continue
            workload = newest(tuple(self._index.workloads_of.get(uid, {}).values()))
            gate = gate_of(workload) if workload is not None else NO_GATE
            if gate.admitted_at is not None and not gate.leaving and verdict_of(job, workload, gate) is None:
                yield Ungathered(job.metadata.namespace, job.metadata.name, uid)


def _standing(home: Home) -> tuple[bool, bool, datetime, str]:
    """Of several objects of one attempt, the one that stays, else the newest."""
    owner = home.owner
    if owner is None:
        return False, False, UNKNOWN_TIME, home.id
    made = moment(owner.metadata.creation_timestamp) or UNKNOWN_TIME
    return True, owner.metadata.deletion_timestamp is None, made, home.id


def _age(pod_group: PodGroup) -> tuple[datetime, str]:
    return moment(pod_group.metadata.creation_timestamp) or UNKNOWN_TIME, pod_group.key
