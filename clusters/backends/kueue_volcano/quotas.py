"""Bringing a quota plan to a cluster: only what differs is written, decreases before increases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import KubeClient, Missing
from clusters.backends.kueue_volcano.quota_drift import drift_of, vanished
from clusters.backends.kueue_volcano.quota_objects import QuotaObjects, quota_objects
from clusters.backends.kueue_volcano.quota_order import contains, decreases_first, leftovers
from clusters.backends.kueue_volcano.shape import ClusterShape, Manifest
from clusters.contract import BackendError, QuotaPlan, QuotaSyncReport, Rejected, Retryable

KINDS = {
    kind.kind: kind
    for kind in (
        names.NAMESPACES,
        names.SERVICES,
        names.TOPOLOGIES,
        names.FLAVORS,
        names.PRIORITY_CLASSES,
        names.POD_PRIORITY_CLASSES,
        names.CLUSTER_QUEUES,
        names.COHORTS,
        names.LOCAL_QUEUES,
    )
}
ORDERED = (names.CLUSTER_QUEUES.kind, names.COHORTS.kind)

Object = Mapping[str, Any]
Key = tuple[str, str, str]  # kind, namespace, name


def apply(client: KubeClient, plan: QuotaPlan, shape: ClusterShape) -> QuotaSyncReport:
    """Make the cluster as planned. What cannot be written is in the report; a silent cluster raises.

    A write that fails ends the writes of quotas: increases whose decreases did not happen would give cards twice.
    Where somebody else has set quotas, none are written unless the plan takes over: one that stays as it was found
    and others that follow the plan could together pass what the nodes have. Raises Retryable, Unauthorized,
    Rejected("no_gate") without Kueue.
    """
    wanted = quota_objects(plan, shape)
    writer = _Writer(client, shape.installation, _ours(client, shape.installation))
    found = list(writer.current.values())
    drift = None if plan.takes_over else drift_of(found, [*wanted.queues, wanted.cohort])
    writer.bring(wanted.before)
    if not writer.failed and drift is None:
        writer.bring_all_or_stop(_ordered(found, wanted))
    if not writer.failed:
        writer.bring(wanted.after)
    if not writer.failed and drift is None:
        writer.remove_unwanted(wanted)
    changed = tuple(writer.changed)
    again = tuple(queue for queue in vanished(found, wanted.queues) if names.cluster_queue(queue) in changed)
    return QuotaSyncReport(changed, tuple(writer.failed), drift=drift, vanished=again)


def _ours(client: KubeClient, installation: str) -> dict[Key, Object]:
    """Every object of ours of these kinds, as it is now."""
    found: dict[Key, Object] = {}
    for kind in KINDS.values():
        try:
            body = client.get(kind.path(), {"labelSelector": f"{names.INSTALLATION}={installation}"})
        except Missing as error:
            raise Rejected("no_gate", error.detail) from error
        for item in msgspec.json.decode(body)["items"]:
            item |= {"apiVersion": kind.api_version, "kind": kind.kind}  # lists leave them out
            found[_key(item)] = item
    return found


def _key(obj: Object) -> Key:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _ordered(current: Iterable[Object], wanted: QuotaObjects) -> list[Manifest]:
    mine = [obj for obj in current if obj["kind"] in ORDERED]
    return decreases_first(mine, [*wanted.queues, wanted.cohort])


@dataclass
class _Writer:
    client: KubeClient
    installation: str
    current: dict[Key, Object]
    changed: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)

    def bring(self, objects: Sequence[Manifest]) -> None:
        """Write each that differs; one that is refused does not stop the others."""
        for obj in objects:
            current = self.current.get(_key(obj))
            if current is None or not _stands(current, obj):
                self._write(obj)

    def bring_all_or_stop(self, objects: Sequence[Manifest]) -> None:
        """Write all, in order, up to the first that is refused."""
        for obj in objects:
            if not self._write(obj):
                return

    def _write(self, obj: Manifest) -> bool:
        kind, namespace, name = _key(obj)
        path = KINDS[kind].path(namespace or None, name)
        try:
            current = self.current.get((kind, namespace, name))
            if current is None:
                self._check_free(path, f"{kind} {name}")
            elif _is_fixed(current, obj):
                self._clear_away(path, current)
            self.client.apply(path, obj)
            if current is not None and (patch := leftovers(current, obj)):
                self.client.merge(path, patch)
        except Retryable as error:
            if error.code in ("conflict", "space_ending", "webhook_silent"):
                self.failed.append((name, error.code))
                return False
            raise
        except Rejected as error:
            self.failed.append((name, error.code))
            return False
        self.changed.append(name)
        return True

    def _check_free(self, path: str, what: str) -> None:
        """An object of this name that does not carry our label belongs to somebody else."""
        try:
            found = msgspec.json.decode(self.client.get(path))
        except Missing:
            return
        if (found["metadata"].get("labels") or {}).get(names.INSTALLATION) != self.installation:
            raise Rejected("name_taken", what)

    def _clear_away(self, path: str, flavor: Object) -> None:
        """A flavor of nodes that the gate chooses itself cannot be changed, so it goes and comes back at once.

        The gate keeps one that queues name until they do not; waiting for that would take the quota of everything
        that runs. It counts jobs by the flavor's name, and counts them again for the new one.
        """
        self.client.delete(path, uid=flavor["metadata"]["uid"])
        try:
            self.client.merge(path, {"metadata": {"uid": flavor["metadata"]["uid"], "finalizers": None}})
        except Missing:
            return

    def remove_unwanted(self, wanted: QuotaObjects) -> None:
        """Queues of ours that no plan wants go as soon as nothing waits or runs in them; spaces stay (decision 17).

        So do the flavors of groups that are gone: by now no queue of ours names them.
        """
        keep = {_key(obj) for obj in (*wanted.before, *wanted.queues, *wanted.after)}
        for kind in (names.LOCAL_QUEUES, names.CLUSTER_QUEUES, names.FLAVORS):
            for key, obj in self.current.items():
                if key[0] == kind.kind and key not in keep and _is_empty(obj):
                    self._remove(kind, key, obj)

    def _remove(self, kind: names.Kind, key: Key, obj: Object) -> None:
        _, namespace, name = key
        try:
            self.client.delete(kind.path(namespace or None, name), uid=obj["metadata"]["uid"])
        except Missing:
            return
        except BackendError as error:
            self.failed.append((name, error.code))
        else:
            self.changed.append(name)


def _stands(current: Object, wanted: Manifest) -> bool:
    """Nothing has to be written. The labels of a flavor's nodes are compared whole: one too many is one too narrow."""
    if current["kind"] == names.FLAVORS.kind:
        found = (current.get("spec") or {}).get("nodeLabels") or {}
        if found != (wanted["spec"].get("nodeLabels") or {}):
            return False
    return contains(current, wanted) and not leftovers(current, wanted)


def _is_fixed(current: Object, wanted: Manifest) -> bool:
    """A flavor that the gate does not let anybody change so."""
    spec = current.get("spec") or {}
    if current["kind"] != names.FLAVORS.kind or "topologyName" not in spec:
        return False
    return any(spec.get(name) != wanted["spec"].get(name) for name in ("nodeLabels", "topologyName"))


def _is_empty(queue: Object) -> bool:
    status = queue.get("status") or {}
    return not any(status.get(count, 0) for count in ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads"))
