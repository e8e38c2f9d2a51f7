"""A quota plan as objects of Kueue: spaces, node groups, team queues, the common pool, priorities. Pure.

- One ClusterQueue per team in one flat cohort; what is left of 100 % is the cohort's own (decision 18).
- One resource group per name of a resource; node groups whose cards have the same name are flavors of one group.
- A job names its node group by the group's labels, so it can only get that group's flavor; searching others is off.
- A job without cards asks for nothing that has quota. Where every flavor of a queue is topology-aware the gate
  would still look for nodes for it and find no flavor to look in, so each queue also has one flavor that is not,
  for a resource nobody asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.manifests import service_manifest
from clusters.backends.kueue_volcano.names import Kind
from clusters.backends.kueue_volcano.shape import ClusterShape, Manifest
from clusters.contract import GroupQuota, QueuePlan, QuotaPlan

Quotas = Mapping[tuple[str, str], int]
"""(flavor, resource) → nominal quota."""
QuotaLimits = Mapping[tuple[str, str], tuple[int | None, int | None]]
"""(flavor, resource) → the most that may be borrowed and lent, where there is a limit."""

_POD_PRIORITY_VALUES = {"slu-training": 1_000, "slu-inference": 2_000}


@dataclass(frozen=True, slots=True)
class QuotaObjects:
    """Everything a plan wants, in the order in which it may be applied.

    ``queues`` and ``cohort`` go through :func:`quota_order.decreases_first`; the rest changes nobody's quota.
    """

    before: tuple[Manifest, ...]  # spaces, their services, topology, flavors, priorities
    queues: tuple[Manifest, ...]
    cohort: Manifest
    after: tuple[Manifest, ...]  # local queues


def quota_objects(plan: QuotaPlan, shape: ClusterShape) -> QuotaObjects:
    """The objects of a plan. Raises Rejected("unknown_node_group") for a group the shape does not have."""
    spaces = sorted({queue.space for queue in plan.queues})
    return QuotaObjects(
        before=(
            *(_space(space, shape) for space in spaces),
            *(service_manifest(space, shape) for space in spaces),
            *((_topology(shape),) if shape.topology_aware else ()),
            *(_flavor(slug, shape) for slug in sorted(shape.groups)),
            _object(names.FLAVORS, names.NO_CARDS_FLAVOR, shape, spec={}),
            *(_priority_class(value, shape) for value in names.PRIORITY_VALUES),
            *(_pod_priority(name, value, shape) for name, value in _POD_PRIORITY_VALUES.items()),
        ),
        queues=tuple(_cluster_queue(queue, shape) for queue in plan.queues),
        cohort=_object(
            names.COHORTS, names.COHORT, shape, spec={"resourceGroups": resource_groups(_quotas(plan.pool, shape))}
        ),
        after=tuple(_local_queue(slug, queue, shape) for queue in plan.queues for slug in queue.local_queues),
    )


def uncounted_resources(shape: ClusterShape) -> frozenset[str]:
    """Resources that our pods ask for and no queue covers: Kueue's configuration must leave them out of quota."""
    return frozenset(
        {"cpu", "memory"} | {group.rdma_resource for group in shape.groups.values() if group.rdma_resource}
    )


def indistinct_groups(shape: ClusterShape) -> tuple[tuple[str, str], ...]:
    """Pairs of node groups that no label tells apart, so that a job of one could get a node of the other."""
    slugs = sorted(shape.groups)
    return tuple(
        (one, other)
        for number, one in enumerate(slugs)
        for other in slugs[number + 1 :]
        if shape.groups[one].resource == shape.groups[other].resource
        and not _are_disjoint(dict(shape.groups[one].selector), dict(shape.groups[other].selector))
    )


def _are_disjoint(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return any(other.get(key, value) != value for key, value in one.items())


def resource_groups(quotas: Quotas, limits: QuotaLimits | None = None) -> list[Manifest]:
    """Kueue's form of quotas: every resource and every flavor in exactly one group.

    A flavor with several resources joins their groups; there each flavor lists all resources, with 0 where it has
    none. Sorted, so that the same quotas are the same text.
    """
    remaining = set(quotas)
    groups: list[Manifest] = []
    while remaining:
        flavors, resources = _connected(min(remaining), remaining)
        remaining = {pair for pair in remaining if pair[0] not in flavors}
        groups.append(
            {
                "coveredResources": sorted(resources),
                "flavors": [
                    {
                        "name": flavor,
                        "resources": [
                            _resource(
                                resource, quotas.get((flavor, resource), 0), (limits or {}).get((flavor, resource))
                            )
                            for resource in sorted(resources)
                        ],
                    }
                    for flavor in sorted(flavors)
                ],
            }
        )
    return sorted(groups, key=lambda group: str(group["coveredResources"][0]))


def _resource(name: str, nominal: int, limits: tuple[int | None, int | None] | None) -> Manifest:
    """Kueue refuses to lend more than there is, so a limit that is above the quota of the moment is cut to it."""
    resource: Manifest = {"name": name, "nominalQuota": str(nominal)}
    borrow, lend = limits or (None, None)
    if borrow is not None:
        resource["borrowingLimit"] = str(borrow)
    if lend is not None:
        resource["lendingLimit"] = str(min(lend, nominal))
    return resource


def _connected(start: tuple[str, str], pairs: Iterable[tuple[str, str]]) -> tuple[set[str], set[str]]:
    """Flavors and resources that hang together with ``start`` over shared names."""
    flavors, resources = {start[0]}, {start[1]}
    size = 0
    while size < len(flavors) + len(resources):
        size = len(flavors) + len(resources)
        for flavor, resource in pairs:
            if flavor in flavors or resource in resources:
                flavors.add(flavor)
                resources.add(resource)
    return flavors, resources


# --------------------------------------------------------------------------- one kind each


def _object(kind: Kind, name: str, shape: ClusterShape, *, namespace: str | None = None, **parts: object) -> Manifest:
    metadata: Manifest = {"name": name, "labels": {names.INSTALLATION: shape.installation}}
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **parts}


def _space(space: str, shape: ClusterShape) -> Manifest:
    """A team's namespace. Pods outside the baseline are refused there, unless a group's RDMA needs more."""
    needs_more = any(group.rdma_resource for group in shape.groups.values())
    manifest = _object(names.NAMESPACES, space, shape)
    manifest["metadata"]["labels"] |= {
        names.SPACE: "true",
        f"{names.POD_SECURITY}{'warn' if needs_more else 'enforce'}": "baseline",
    }
    return manifest


def _topology(shape: ClusterShape) -> Manifest:
    levels = [{"nodeLabel": label} for label in shape.topology_levels]
    return _object(names.TOPOLOGIES, names.TOPOLOGY, shape, spec={"levels": levels})


def _flavor(slug: str, shape: ClusterShape) -> Manifest:
    spec: Manifest = {}
    if shape.groups[slug].selector:
        spec["nodeLabels"] = dict(shape.groups[slug].selector)
    if shape.chooses_nodes(slug):
        spec["topologyName"] = names.TOPOLOGY
    return _object(names.FLAVORS, names.flavor(slug), shape, spec=spec)


def _priority_class(value: int, shape: ClusterShape) -> Manifest:
    return _object(
        names.PRIORITY_CLASSES, names.priority_class(value), shape, value=value, description=f"Sluice: priority {value}"
    )


def _pod_priority(name: str, value: int, shape: ClusterShape) -> Manifest:
    """Orders pods that wait for a scheduler and evicts nobody: whom to interrupt is the gate's decision alone."""
    return _object(
        names.POD_PRIORITY_CLASSES,
        name,
        shape,
        value=value,
        globalDefault=False,
        preemptionPolicy="Never",
        description="Sluice: never evicts other pods",
    )


def _quotas(quotas: Iterable[GroupQuota], shape: ClusterShape) -> dict[tuple[str, str], int]:
    return {(names.flavor(q.node_group), shape.group(q.node_group).resource): q.nominal for q in quotas}


def _limits(quotas: Iterable[GroupQuota], shape: ClusterShape) -> dict[tuple[str, str], tuple[int | None, int | None]]:
    return {
        (names.flavor(quota.node_group), shape.group(quota.node_group).resource): (quota.borrow_limit, quota.lend_limit)
        for quota in quotas
        if (quota.borrow_limit, quota.lend_limit) != (None, None)
    }


def _cluster_queue(queue: QueuePlan, shape: ClusterShape) -> Manifest:
    quotas = _quotas(queue.quotas, shape) | {(names.NO_CARDS_FLAVOR, names.NO_CARDS_RESOURCE): 0}
    spec: Manifest = {
        "cohortName": names.COHORT,
        "namespaceSelector": {
            "matchLabels": {
                names.INSTALLATION: shape.installation,
                names.SPACE: "true",
                names.NAMESPACE_NAME: queue.space,
            }
        },
        "queueingStrategy": "StrictFIFO" if queue.strict else "BestEffortFIFO",
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"},
        "preemption": _preemption(queue),
        "resourceGroups": resource_groups(quotas, _limits(queue.quotas, shape)),
    }
    if queue.weights:
        spec["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    return _object(names.CLUSTER_QUEUES, names.cluster_queue(queue.queue), shape, spec=spec)


def _preemption(queue: QueuePlan) -> Manifest:
    """Decisions 11 and 22. A queue that takes nothing back may not evict while it borrows either."""
    while_borrowing: Manifest = {"policy": "Never"}
    if queue.reclaims and queue.borrow_preempts_up_to is not None:
        while_borrowing = {"policy": "LowerPriority", "maxPriorityThreshold": queue.borrow_preempts_up_to}
    return {
        "reclaimWithinCohort": "Any" if queue.reclaims else "Never",
        "borrowWithinCohort": while_borrowing,
        "withinClusterQueue": "LowerPriority",
    }


def _local_queue(slug: str, queue: QueuePlan, shape: ClusterShape) -> Manifest:
    """Held is `Hold`, never `HoldAndDrain`: that would evict what runs."""
    spec: Manifest = {
        "clusterQueue": names.cluster_queue(queue.queue),
        "stopPolicy": "Hold" if slug in queue.held_local_queues else "None",
    }
    if slug in (weights := dict(queue.weights)):
        spec["fairSharing"] = {"weight": str(weights[slug])}
    return _object(
        names.LOCAL_QUEUES,
        names.local_queue(slug),
        shape,
        namespace=queue.space,
        spec=spec,
    )
