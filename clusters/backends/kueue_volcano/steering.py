"""Nodes on which the pods of an attempt are not placed: as its objects say so, and how those that wait are changed.
Pure.

The cluster lets the affinity of a Job be changed while it is suspended and has not started; the gate copies it into its
Workload only when that is made, so both are changed. The Workload keeps its age, and with it its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from clusters.backends.kueue_volcano import names

Manifest = dict[str, Any]


def elsewhere(nodes: Iterable[str]) -> Manifest:
    """The affinity of pods that go on none of these nodes, by their names: labels of a node may lie."""
    fields = [{"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in nodes]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def avoidance(nodes: Iterable[str]) -> str:
    """What a look reads back, because it skips the templates of pods."""
    return ",".join(nodes)


def avoided(annotation: str) -> tuple[str, ...]:
    """The nodes of :func:`avoidance`."""
    return tuple(annotation.split(",")) if annotation else ()


def job_patch(nodes: tuple[str, ...]) -> Manifest:
    """A merge patch of the Job; the server refuses it once the Job has started."""
    return {
        "metadata": {"annotations": {names.AVOIDS: avoidance(nodes) or None}},
        "spec": {"template": {"spec": {"affinity": elsewhere(nodes) if nodes else None}}},
    }


def workload_patch(body: bytes, nodes: tuple[str, ...]) -> Manifest | None:
    """A merge patch of the Workload as it was read; None where nothing is to change or its quota is reserved already.

    It names the version that was read: one that the gate has changed since is a conflict, and looked at again.
    """
    workload = msgspec.json.decode(body)
    if _is_reserved(workload):
        return None
    pod_sets = workload["spec"]["podSets"]
    wanted = elsewhere(nodes) if nodes else None
    if all(pod_set["template"]["spec"].get("affinity") == wanted for pod_set in pod_sets):
        return None
    for pod_set in pod_sets:
        pod_set["template"]["spec"].pop("affinity", None)
        if wanted is not None:
            pod_set["template"]["spec"]["affinity"] = wanted
    version = workload["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version}, "spec": {"podSets": pod_sets}}


def _is_reserved(workload: Manifest) -> bool:
    conditions = workload.get("status", {}).get("conditions", ())
    return any(each["type"] == "QuotaReserved" and each["status"] == "True" for each in conditions)
