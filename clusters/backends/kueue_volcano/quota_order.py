"""In which order quotas are written: decreases before increases, and nothing in use ever taken away. Pure.

Two facts about Kueue make this necessary. Quota is given to somebody the moment it is written, so an increase before
its decrease lets the sum pass what the nodes have. And a resource that a queue no longer lists is forgotten with all
its usage, so that its cards would be given out twice; it is kept with a quota of 0 until nobody uses it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.quantities import whole
from clusters.backends.kueue_volcano.quota_objects import Quotas, resource_groups
from clusters.backends.kueue_volcano.shape import Manifest


def decreases_first(current: Sequence[Mapping[str, Any]], wanted: Sequence[Manifest]) -> list[Manifest]:
    """The writes that turn ``current`` into ``wanted``, in their order; none for what is already so.

    Both are ClusterQueues and Cohorts; ``current`` as a cluster gives them, status included, and only ours. After
    every write the sum over all of them is, for each flavor and resource, at most the larger of the sums before and
    after, and from the first increase on at most the sum wanted. A queue of ``current`` that is not wanted any more
    keeps what is in use, with nothing of its own: deleting it is the caller's business.
    """
    before = {_key(obj): obj for obj in current}
    finals = {_key(obj): _keeping_used(obj, before.get(_key(obj))) for obj in wanted}
    finals |= {key: _without_quota(obj) for key, obj in before.items() if key not in finals}
    first: list[Manifest] = []
    second: list[Manifest] = []
    for key in sorted(finals):
        final = finals[key]
        old, new = quotas_of(before.get(key, {})), quotas_of(final)
        lowered = {pair: min(amount, old.get(pair, 0)) for pair, amount in new.items()}
        is_lowered = any(lowered.get(pair, 0) < amount for pair, amount in old.items())
        if is_lowered:
            first.append(_with_quotas(final, lowered))
        if lowered != new or not (is_lowered or _is_already(before.get(key), final)):
            second.append(final)
    return first + second


def quotas_of(obj: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    """(flavor, resource) → nominal quota of a ClusterQueue or Cohort."""
    return {
        (flavor["name"], resource["name"]): whole(resource["nominalQuota"])
        for group in obj.get("spec", {}).get("resourceGroups") or ()
        for flavor in group.get("flavors") or ()
        for resource in flavor.get("resources") or ()
    }


def limits_of(obj: Mapping[str, Any]) -> dict[tuple[str, str], tuple[int | None, int | None]]:
    """(flavor, resource) → borrowing and lending limit of a ClusterQueue, where it has one."""
    found = {
        (flavor["name"], resource["name"]): (_limit(resource, "borrowingLimit"), _limit(resource, "lendingLimit"))
        for group in obj.get("spec", {}).get("resourceGroups") or ()
        for flavor in group.get("flavors") or ()
        for resource in flavor.get("resources") or ()
    }
    return {pair: limits for pair, limits in found.items() if limits != (None, None)}


def _limit(resource: Mapping[str, Any], field: str) -> int | None:
    return whole(resource[field]) if resource.get(field) is not None else None


def used(queue: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """(flavor, resource) that admitted jobs of a ClusterQueue hold, running or not."""
    status = queue.get("status") or {}
    return frozenset(
        (flavor["name"], resource["name"])
        for field in ("flavorsReservation", "flavorsUsage")
        for flavor in status.get(field) or ()
        for resource in flavor.get("resources") or ()
        if whole(resource.get("total", 0)) > 0
    )


def _key(obj: Mapping[str, Any]) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]


def _keeping_used(wanted: Manifest, current: Mapping[str, Any] | None) -> Manifest:
    kept = dict.fromkeys(used(current), 0) if current is not None else {}
    return _with_quotas(wanted, kept | quotas_of(wanted)) if kept else wanted


def _without_quota(current: Mapping[str, Any]) -> Manifest:
    """The object as it is, in the form of an apply, with a quota of 0 everywhere."""
    metadata = current["metadata"]
    manifest: Manifest = {
        "apiVersion": current["apiVersion"],
        "kind": current["kind"],
        "metadata": {"name": metadata["name"], "labels": dict(metadata.get("labels") or {})},
        "spec": copy.deepcopy(dict(current.get("spec") or {})),
    }
    return _with_quotas(manifest, dict.fromkeys(quotas_of(current), 0))


def _with_quotas(manifest: Manifest, quotas: Quotas) -> Manifest:
    return {**manifest, "spec": {**manifest["spec"], "resourceGroups": resource_groups(quotas, limits_of(manifest))}}


def _is_already(current: Mapping[str, Any] | None, wanted: Manifest) -> bool:
    if current is None or (quotas_of(current), limits_of(current)) != (quotas_of(wanted), limits_of(wanted)):
        return False
    if leftovers(current, wanted):
        return False
    spec = {name: value for name, value in wanted["spec"].items() if name != "resourceGroups"}
    labels = wanted["metadata"].get("labels", {})
    return contains(current.get("spec") or {}, spec) and contains(current["metadata"].get("labels") or {}, labels)


def leftovers(current: Mapping[str, Any], wanted: Manifest) -> Manifest:
    """Settings of ours for what is switched off, as a merge patch that takes them away; empty where there are none.

    They are switched on for all queues of a kind or for none, and nothing but a null removes them for certain: what
    another manager of the object has set as well stays when ours is no longer applied.
    """
    here = current.get("spec") or {}
    gone = [name for name in _SWITCHED.get(wanted["kind"], ()) if name in here and name not in wanted["spec"]]
    return {"spec": dict.fromkeys(gone)} if gone else {}


_SWITCHED = {names.CLUSTER_QUEUES.kind: ("admissionScope",), names.LOCAL_QUEUES.kind: ("fairSharing",)}
"""Of weights."""


def contains(current: Any, wanted: Any) -> bool:
    """Everything wanted is there; what else there is, the cluster's defaults above all, is not ours."""
    if isinstance(wanted, dict):
        return isinstance(current, Mapping) and all(
            name in current and contains(current[name], value) for name, value in wanted.items()
        )
    return bool(current == wanted)
