"""ClusterQueues and Cohorts that are not ours, in cards of our node groups. Only reads.

A flavor says by labels on which nodes its quota is used; which node group that is follows from the nodes themselves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import KubeClient, Missing
from clusters.backends.kueue_volcano.lists import Followed, list_all
from clusters.backends.kueue_volcano.quantities import whole
from clusters.backends.kueue_volcano.wire_nodes import Node
from clusters.contract import FoundCards, FoundLocalQueue, FoundQueueFacts, FoundQueues, Unauthorized
from common.split import largest_remainder

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """The node group that a node belongs to, by our rows, and the resource that its cards are asked by."""

    group: str
    resource: str


@dataclass(frozen=True, slots=True)
class Finder:
    """Reads one cluster: ``runtime`` sees queues and nodes, ``quota`` (None = no such account) flavors and cohorts."""

    runtime: KubeClient
    quota: KubeClient | None
    installation: str
    places: Mapping[str, Place]  # by node

    def found_queues(self, read_at: datetime) -> FoundQueues:
        queues = [each for each in self._items(self.runtime, names.CLUSTER_QUEUES) if not self._is_ours(each)]
        pools = [each for each in self._by_quota(names.COHORTS) if not self._is_ours(each) and _quotas(each)]
        if not queues and not pools:
            return FoundQueues(read_at, ())
        flavors = {
            str(each["metadata"]["name"]): dict((each.get("spec") or {}).get("nodeLabels") or {})
            for each in self._by_quota(names.FLAVORS)
        }
        nodes = list(list_all(self.runtime, Followed(names.NODES), self.installation).items)
        groups = GroupsOfFlavors(flavors, nodes, self.places)
        local_queues: dict[str, list[FoundLocalQueue]] = defaultdict(list)
        for local in self._items(self.runtime, names.LOCAL_QUEUES):
            local_queues[str((local.get("spec") or {}).get("clusterQueue", ""))].append(_local_queue(local))
        found = [_queue(each, groups, local_queues[str(each["metadata"]["name"])]) for each in queues]
        return FoundQueues(read_at, (*found, *(_pool(each, groups) for each in pools)))

    def _items(self, client: KubeClient, kind: names.Kind) -> list[dict[str, Any]]:
        """None of a kind that does not exist."""
        try:
            items: list[dict[str, Any]] = msgspec.json.decode(client.get(kind.path())).get("items") or []
        except Missing:
            return []
        return items

    def _by_quota(self, kind: names.Kind) -> list[dict[str, Any]]:
        """Without an account for quotas perhaps none; a flavor that is not known then counts as one for all nodes."""
        if self.quota is not None:
            return self._items(self.quota, kind)
        with suppress(Unauthorized):
            return self._items(self.runtime, kind)
        return []

    def _is_ours(self, found: Object) -> bool:
        return (found["metadata"].get("labels") or {}).get(names.INSTALLATION) == self.installation


class GroupsOfFlavors:
    """Which of our node groups a flavor's quota of a resource is used in, with the cards of each that fit."""

    def __init__(
        self, flavors: Mapping[str, Mapping[str, str]], nodes: Iterable[Node], places: Mapping[str, Place]
    ) -> None:
        self._flavors = flavors
        self._nodes = [(node, places[node.metadata.name]) for node in nodes if node.metadata.name in places]

    def parts(self, flavor: str, resource: str, cards: int) -> dict[str, int]:
        """``cards`` by node group; '' where no node of ours fits."""
        sizes: Counter[str] = Counter()
        labels = self._flavors.get(flavor, {})
        for node, place in self._nodes:
            if place.resource == resource and all(node.metadata.labels.get(key) == v for key, v in labels.items()):
                sizes[place.group] += max(1, whole(node.status.capacity.get(resource)))
        return largest_remainder(cards, sizes) if sizes else {"": cards}


def _queue(queue: Object, groups: GroupsOfFlavors, local_queues: list[FoundLocalQueue]) -> FoundQueueFacts:
    spec, status = queue.get("spec") or {}, queue.get("status") or {}
    return FoundQueueFacts(
        name=str(queue["metadata"]["name"]),
        cards=tuple(_cards(queue, groups)),
        local_queues=tuple(sorted(local_queues, key=lambda local: (local.space, local.name))),
        running=int(status.get("admittedWorkloads") or 0),
        waiting=int(status.get("pendingWorkloads") or 0),
        lends_to=str(spec.get("cohortName") or ""),
    )


def _pool(cohort: Object, groups: GroupsOfFlavors) -> FoundQueueFacts:
    name = str(cohort["metadata"]["name"])
    return FoundQueueFacts(name=name, cards=tuple(_cards(cohort, groups)), lends_to=name, is_pool=True)


def _local_queue(local: Object) -> FoundLocalQueue:
    status = local.get("status") or {}
    return FoundLocalQueue(
        space=str(local["metadata"].get("namespace", "")),
        name=str(local["metadata"]["name"]),
        running=int(status.get("admittedWorkloads") or 0),
        waiting=int(status.get("pendingWorkloads") or 0),
    )


def _cards(found: Object, groups: GroupsOfFlavors) -> Iterator[FoundCards]:
    """Of resources with a domain in their name: processors and memory are not divided here."""
    held = _held(found)
    for flavor, resource, nominal in _quotas(found):
        parts = groups.parts(flavor, resource, nominal)
        held_parts = groups.parts(flavor, resource, held[flavor, resource])
        for group in sorted(parts):
            yield FoundCards(group, resource, parts[group], held_parts.get(group, 0), is_spread=len(parts) > 1)


def _quotas(found: Object) -> list[tuple[str, str, int]]:
    """Flavor, resource and nominal quota, of a queue or a cohort."""
    return [
        (str(flavor.get("name", "")), str(resource.get("name", "")), whole(resource.get("nominalQuota")))
        for group in (found.get("spec") or {}).get("resourceGroups") or ()
        for flavor in group.get("flavors") or ()
        for resource in flavor.get("resources") or ()
        if "/" in str(resource.get("name", ""))
    ]


def _held(found: Object) -> Counter[tuple[str, str]]:
    held: Counter[tuple[str, str]] = Counter()
    for flavor in (found.get("status") or {}).get("flavorsReservation") or ():
        for resource in flavor.get("resources") or ():
            held[str(flavor.get("name", "")), str(resource.get("name", ""))] = whole(resource.get("total"))
    return held
