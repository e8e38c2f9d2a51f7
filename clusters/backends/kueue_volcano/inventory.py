"""Nodes and pods → the cluster's node groups, their cards and who holds them. Pure.

Groups that an admin has given keep their name and their nodes; nodes that none of them claims are proposed as groups
of their own, by card model and the way it is shared. A node belongs to one group: where it offers whole cards and
slices at once, it counts what its group counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from clusters.backends.kueue_volcano.conditions import changed_at, find, moment
from clusters.backends.kueue_volcano.pods import is_over, phase_of
from clusters.backends.kueue_volcano.quantities import millis, whole
from clusters.backends.kueue_volcano.shape import ClusterShape, GroupShape
from clusters.backends.kueue_volcano.snapshot import Snapshot
from clusters.backends.kueue_volcano.wire import Node, Taint
from clusters.contract import (
    CardHolder,
    ClusterInventory,
    NodeCondition,
    NodeFacts,
    NodeGroupFacts,
    NodeHealth,
    NodeTrouble,
    PodPhase,
    SharingMode,
)
from clusters.domain.accelerators import (
    NO_NAMES,
    Accelerator,
    Names,
    accelerator,
    interconnect_of,
    model_of,
    promised,
    selector_of,
    sharing_of,
)
from common.names import slug

GROUP_SLUG_MAX = 40
TITLE_MAX, MODEL_MAX, VENDOR_MAX = 100, 60, 40
_SHARED_AS = {SharingMode.TIME_SLICED: "time slices", SharingMode.VGPU: "vGPU"}  # a MIG profile is part of the model
_PRESSURES = {
    "MemoryPressure": NodeTrouble.MEMORY_PRESSURE,
    "DiskPressure": NodeTrouble.DISK_PRESSURE,
    "PIDPressure": NodeTrouble.PID_PRESSURE,
}
_HEALTH_OF = {
    NodeTrouble.NOT_READY: NodeHealth.DOWN,
    NodeTrouble.UNHEARD: NodeHealth.DOWN,
    NodeTrouble.CORDONED: NodeHealth.CORDONED,
    NodeTrouble.TAINTED: NodeHealth.CORDONED,
}  # everything else: degraded
_WORST = (NodeHealth.DOWN, NodeHealth.CORDONED, NodeHealth.DEGRADED)
_KEEPS_OUT = frozenset({"NoSchedule", "NoExecute"})
_OWN_TAINTS = "node.kubernetes.io/"  # set by the cluster itself for what conditions and `unschedulable` say as well


@dataclass(frozen=True, slots=True)
class Cards:
    """What a node offers, in the unit of its group. ``slug`` is that of the group, once one is found."""

    resource: str
    row: Accelerator
    sharing: SharingMode
    selector: tuple[tuple[str, str], ...]
    model: str
    slug: str = ""


def cluster_inventory(
    snapshot: Snapshot, shape: ClusterShape, read_at: datetime, names: Names = NO_NAMES
) -> ClusterInventory:
    """Groups, nodes, cards and their holders, as of one look. Groups without nodes are left out."""
    nodes = sorted(snapshot.nodes, key=lambda node: node.metadata.name)
    placed = _placed(nodes, shape.groups, names)
    facts = tuple(_node_facts(node, placed.get(node.metadata.name), snapshot, read_at) for node in nodes)
    members: defaultdict[str, list[NodeFacts]] = defaultdict(list)
    for node in facts:
        if node.node_group is not None:
            members[node.node_group].append(node)
    first = {cards.slug: cards for cards in reversed(placed.values())}
    groups = tuple(_group_facts(first[name], members[name], shape.groups.get(name)) for name in sorted(members))
    return ClusterInventory(read_at, groups, facts, shape.topology_aware)


# --------------------------------------------------------------------------- groups


def _placed(nodes: Iterable[Node], given: Mapping[str, GroupShape], names: Names) -> dict[str, Cards]:
    """The cards of each node that has some, with the group they belong to."""
    placed: dict[str, Cards] = {}
    slugs: dict[tuple[object, ...], str] = {}
    taken = set(given)
    for node in nodes:
        name = _claimed_by(node, given, names)
        cards = cards_of(node, given[name].resource if name is not None else None, names)
        if cards is None:
            continue
        if name is None:
            kind = (cards.resource, cards.sharing, cards.selector)
            if kind not in slugs:
                slugs[kind] = _free_slug(cards, taken)
                taken.add(slugs[kind])
            name = slugs[kind]
        placed[node.metadata.name] = replace(cards, slug=name)
    return placed


def _claimed_by(node: Node, given: Mapping[str, GroupShape], names: Names) -> str | None:
    """The given group with the most exact selector that the node's labels meet."""
    labels, offers = node.metadata.labels, node.status.capacity
    fitting = [
        (-len(group.selector), name)
        for name, group in given.items()
        if all(labels.get(key) == value for key, value in group.selector)
        and (group.selector or whole(offers.get(group.resource)) > 0)
        and (whole(offers.get(group.resource)) > 0 or not _card_resources(node, names))
    ]
    return min(fitting)[1] if fitting else None


def cards_of(node: Node, resource: str | None = None, names: Names = NO_NAMES) -> Cards | None:
    """The cards of one node: of this resource, else of the one that it has, whole cards before slices.

    A node whose label names a card that it does not report has that card's kind: its driver is broken (C-70).
    """
    labels = node.metadata.labels
    resources = _card_resources(node, names)
    if resource is None:
        promise = promised(labels)
        resource = _best(resources, names) or (promise[0] if promise is not None else None)
    row = accelerator(resource, names) if resource is not None else None
    if resource is None or row is None:
        return None
    sharing = sharing_of(row, labels, frozenset(node.status.allocatable))
    return Cards(resource, row, sharing, selector_of(row, labels), model_of(row, resource, labels))


def _card_resources(node: Node, names: Names) -> dict[str, int]:
    offered = ((name, whole(amount)) for name, amount in node.status.capacity.items())
    return {name: count for name, count in offered if count > 0 and accelerator(name, names) is not None}


def _best(resources: Mapping[str, int], names: Names) -> str | None:
    def rank(name: str) -> tuple[bool, int, str]:
        row = accelerator(name, names)
        return row is not None and row.sharing is not SharingMode.EXCLUSIVE, -resources[name], name

    return min(resources, key=rank, default=None)


def _free_slug(cards: Cards, taken: set[str]) -> str:
    name = slug(f"{cards.model} {_SHARED_AS.get(cards.sharing, '')}", GROUP_SLUG_MAX - 3, cards.row.vendor)
    names = (name, *(f"{name}-{place}" for place in range(2, len(taken) + 2)))
    return next(free for free in names if free not in taken)


def _group_facts(cards: Cards, nodes: list[NodeFacts], given: GroupShape | None) -> NodeGroupFacts:
    """What a group is called follows from its first node; what an admin gave it stays."""
    interconnect = interconnect_of(cards.row, cards.model)
    return NodeGroupFacts(
        name=cards.slug,
        title=" ".join(part for part in (cards.model, interconnect, _SHARED_AS.get(cards.sharing)) if part)[:TITLE_MAX],
        vendor=cards.row.vendor[:VENDOR_MAX],
        card_model=cards.model[:MODEL_MAX],
        interconnect=interconnect,
        sharing=cards.sharing,
        unit="card" if cards.sharing is SharingMode.EXCLUSIVE else "slice",
        cards_per_node=_most_common(node.installed for node in nodes),
        cpu_millis_per_node=_most_common(node.cpu_millis for node in nodes),
        memory_bytes_per_node=_most_common(node.memory_bytes for node in nodes),
        resource=given.resource if given is not None else cards.resource,
        selector=given.selector if given is not None else cards.selector,
    )


def _most_common(values: Iterable[int]) -> int:
    """The larger of equally common ones; a node that reports nothing says nothing about the others."""
    counts = Counter(value for value in values if value)
    return max(counts, key=lambda value: (counts[value], value), default=0)


# --------------------------------------------------------------------------- nodes


def _node_facts(node: Node, cards: Cards | None, snapshot: Snapshot, read_at: datetime) -> NodeFacts:
    capacity, usable = node.status.capacity, node.status.allocatable
    installed = sick = outside = 0
    holders: tuple[CardHolder, ...] = ()
    if cards is not None:
        promise = promised(node.metadata.labels)
        installed = whole(capacity.get(cards.resource)) or (promise[1] if promise is not None else 0)
        sick = max(0, installed - whole(usable.get(cards.resource)))
        holders, outside = _holders(node, cards.resource, snapshot)
    conditions = tuple(
        replace(told, since=min(told.since, read_at)) if told.since is not None else told
        for told in _conditions(node, cards, sick=sick)
    )
    health, since = _health(node, conditions)
    return NodeFacts(
        name=node.metadata.name,
        node_group=cards.slug if cards is not None else None,
        health=health,
        installed=installed,
        sick=sick,
        since=min(since, read_at) if since is not None else None,
        cpu_millis=millis(usable.get("cpu")),
        memory_bytes=whole(usable.get("memory")),
        holders=holders,
        outside=outside,
        conditions=conditions,
    )


def _conditions(node: Node, cards: Cards | None, *, sick: int) -> tuple[NodeCondition, ...]:
    """Everything that is not well, in the order in which it counts (C-67, C-68, C-70)."""
    found = []
    ready = find(node.status.conditions, "Ready")
    if ready is None or ready.status != "True":
        told = ready is not None and ready.status == "False"
        trouble = NodeTrouble.NOT_READY if told else NodeTrouble.UNHEARD
        found.append(NodeCondition(trouble, changed_at(ready), ready.reason if ready is not None else ""))
    if node.spec.unschedulable:
        own = (taint for taint in node.spec.taints if taint.key == f"{_OWN_TAINTS}unschedulable")
        found.append(NodeCondition(NodeTrouble.CORDONED, next((moment(taint.time_added) for taint in own), None)))
    for taint in node.spec.taints:
        if _keeps_out(taint, cards):
            found.append(NodeCondition(NodeTrouble.TAINTED, moment(taint.time_added), _taint_text(taint)))
    for kind, trouble in _PRESSURES.items():
        told_of = find(node.status.conditions, kind)
        if told_of is not None and told_of.status == "True":
            found.append(NodeCondition(trouble, changed_at(told_of)))
    if sick > 0:
        found.append(NodeCondition(NodeTrouble.SICK_CARDS, detail=str(sick)))
    if cards is not None and not whole(node.status.capacity.get(cards.resource)):
        found.append(NodeCondition(NodeTrouble.NO_CARDS))
    return tuple(found)


def _health(node: Node, conditions: tuple[NodeCondition, ...]) -> tuple[NodeHealth, datetime | None]:
    """Health and since when. A node that keeps our pods out by a taint is as good as cordoned."""
    if not conditions:
        return NodeHealth.READY, changed_at(find(node.status.conditions, "Ready"))
    worst = min((_HEALTH_OF.get(condition.trouble, NodeHealth.DEGRADED) for condition in conditions), key=_WORST.index)
    times = [told.since for told in conditions if _HEALTH_OF.get(told.trouble, NodeHealth.DEGRADED) is worst]
    return worst, min((at for at in times if at is not None), default=None)


def _taint_text(taint: Taint) -> str:
    """As administrators write it: `key=value:effect`."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _keeps_out(taint: Taint, cards: Cards | None) -> bool:
    """Clusters tolerate the taint of a card's own name for pods that ask for such cards."""
    own = cards is not None and taint.key == cards.resource
    return taint.effect in _KEEPS_OUT and not taint.key.startswith(_OWN_TAINTS) and not own


def _holders(node: Node, resource: str, snapshot: Snapshot) -> tuple[tuple[CardHolder, ...], int]:
    """Who holds the node's cards, and how many pods of others hold."""
    held: Counter[tuple[str, int, bool, bool]] = Counter()
    outside = 0
    for pod in snapshot.pods_on(node.metadata.name):
        count = pod.spec.asked(resource)
        if not count or is_over(pod):
            continue
        key = snapshot.key_of(pod)
        if key is None:
            outside += count
            continue
        ending = pod.metadata.deletion_timestamp is not None
        running = ending or phase_of(pod, {}) is not PodPhase.PULLING
        held[key[0], key[1], running, ending] += count
    found = tuple(
        CardHolder(job, attempt, count, running, ending)
        for (job, attempt, running, ending), count in sorted(held.items())
    )
    return found, outside
