"""Nodes and pods → the cluster's node groups, their cards and who holds them. Pure.

Groups that an admin has given keep their name and claim their nodes; nodes that none of them claims are proposed as
groups of their own, by card model and the way it is shared (`clusters.domain.membership`). A node belongs to one group
at most: where it offers whole cards and slices at once, it counts what its group counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from clusters.backends.kueue_volcano.card_parts import card_parts
from clusters.backends.kueue_volcano.conditions import changed_at, find, moment
from clusters.backends.kueue_volcano.names import DEFAULT_SCHEDULER
from clusters.backends.kueue_volcano.pods import is_over, phase_of
from clusters.backends.kueue_volcano.quantities import exact, millis, whole
from clusters.backends.kueue_volcano.shape import ClusterShape, GroupShape
from clusters.backends.kueue_volcano.snapshot import Snapshot
from clusters.backends.kueue_volcano.wire_nodes import Node, Taint
from clusters.contract import (
    OUTSIDERS_MAX,
    CardHolder,
    CardPart,
    ClusterInventory,
    NodeCondition,
    NodeFacts,
    NodeGroupFacts,
    NodeHealth,
    NodeTrouble,
    Outsider,
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
from clusters.domain.membership import Claim, Described, membership, set_apart, telling_labels
from clusters.domain.physical import Told, divided, physical_cards
from common.names import slug as slug_for

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


Kind = tuple[str, SharingMode | None, tuple[tuple[str, str], ...]]
"""What makes two nodes the same: resource, how it is shared, and the labels that say so."""


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
    told = {node.metadata.name: described(node, names) for node in nodes}
    placed = _placed(nodes, told, shape, names)
    facts = tuple(
        _node_facts(node, placed.get(node.metadata.name), told[node.metadata.name], snapshot, read_at) for node in nodes
    )
    members: defaultdict[str, list[NodeFacts]] = defaultdict(list)
    for node in facts:
        if node.node_group is not None:
            members[node.node_group].append(node)
    first = {cards.slug: cards for cards in reversed(placed.values())}
    given = {**shape.groups, **shape.asides}
    groups = tuple(_group_facts(first[name], members[name], given.get(name)) for name in sorted(members))
    return ClusterInventory(read_at, groups, facts, shape.topology_aware)


# --------------------------------------------------------------------------- groups


def _placed(
    nodes: Sequence[Node], told: Mapping[str, Described], shape: ClusterShape, names: Names
) -> dict[str, Cards]:
    """The cards of each node that has some, with the group they belong to; '' where two groups claim the node."""
    given = {**shape.groups, **shape.asides}
    claims = [Claim(slug, group.resource, group.selector, group.sharing) for slug, group in given.items()]
    found = membership(told.values(), claims)
    naming = _Naming(given, shape.proposed)
    placed: dict[str, Cards] = {}
    for node in nodes:
        name = node.metadata.name
        slug = "" if name in found.contested else found.groups.get(name)
        cards = cards_of(node, given[slug].resource if slug else None, names)
        if cards is None:
            continue
        if slug is None:
            apart = set_apart(cards.selector, cards.resource, node.metadata.labels, claims)
            cards = replace(cards, selector=apart)
            slug = naming.slug_of(cards)
        placed[name] = replace(cards, slug=slug)
    return placed


class _Naming:
    """Slugs of proposals. One that was proposed before keeps its own; none takes that of another group."""

    def __init__(self, given: Collection[str], proposed: Mapping[str, GroupShape]) -> None:
        self._slugs: dict[Kind, str] = {
            (group.resource, group.sharing, group.selector): slug for slug, group in proposed.items()
        }
        self._taken = {*given, *proposed}

    def slug_of(self, cards: Cards) -> str:
        kind = (cards.resource, cards.sharing, cards.selector)
        if kind not in self._slugs:
            self._slugs[kind] = _free_slug(cards, self._taken)
            self._taken.add(self._slugs[kind])
        return self._slugs[kind]


def described(node: Node, names: Names = NO_NAMES) -> Described:
    """A node as far as its membership goes."""
    resources = _card_resources(node, names)
    offers = {}
    for resource in sorted(resources, key=lambda name: _rank(name, resources, names)):
        row = accelerator(resource, names)
        assert row is not None  # or it would be no card
        offers[resource] = _sharing(node, row, resource)
    return Described(node.metadata.name, node.metadata.labels, offers)


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
    return Cards(
        resource, row, _sharing(node, row, resource), selector_of(row, labels), model_of(row, resource, labels)
    )


def _sharing(node: Node, row: Accelerator, resource: str) -> SharingMode:
    """A plugin may count a card several times under a whole card's name and say so in an annotation alone."""
    sharing = sharing_of(row, node.metadata.labels, frozenset(node.status.allocatable))
    shares = whole(node.status.capacity.get(resource))
    if sharing is SharingMode.EXCLUSIVE and divided(row, resource, shares, node.metadata.annotations):
        return SharingMode.VGPU
    return sharing


def _card_resources(node: Node, names: Names) -> dict[str, int]:
    offered = ((name, whole(amount)) for name, amount in node.status.capacity.items())
    return {name: count for name, count in offered if count > 0 and accelerator(name, names) is not None}


def _best(resources: Mapping[str, int], names: Names) -> str | None:
    return min(resources, key=lambda name: _rank(name, resources, names), default=None)


def _rank(name: str, resources: Mapping[str, int], names: Names) -> tuple[bool, int, str]:
    """Whole cards before slices, more before fewer."""
    row = accelerator(name, names)
    return row is not None and row.sharing is not SharingMode.EXCLUSIVE, -resources[name], name


def _free_slug(cards: Cards, taken: set[str]) -> str:
    name = slug_for(f"{cards.model} {_SHARED_AS.get(cards.sharing, '')}", GROUP_SLUG_MAX - 3, cards.row.vendor)
    names = (name, *(f"{name}-{place}" for place in range(2, len(taken) + 2)))
    return next(free for free in names if free not in taken)


def _group_facts(cards: Cards, nodes: list[NodeFacts], given: GroupShape | None) -> NodeGroupFacts:
    """What a group is called follows from its first node; what an admin gave it stays."""
    interconnect = interconnect_of(cards.row, cards.model)
    own = {*cards.row.model_labels, cards.row.sharing_label}
    apart = "/".join(value for key, value in cards.selector if key not in own)
    return NodeGroupFacts(
        name=cards.slug,
        title=" ".join(part for part in (cards.model, apart or interconnect, _SHARED_AS.get(cards.sharing)) if part)[
            :TITLE_MAX
        ],
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


def _node_facts(node: Node, cards: Cards | None, told: Described, snapshot: Snapshot, read_at: datetime) -> NodeFacts:
    capacity, usable = node.status.capacity, node.status.allocatable
    installed = sick = outside = 0
    holders: tuple[CardHolder, ...] = ()
    outsiders: tuple[Outsider, ...] = ()
    physical: int | None = None
    parts: tuple[CardPart, ...] = ()
    if cards is not None:
        promise = promised(node.metadata.labels)
        installed = whole(capacity.get(cards.resource)) or (promise[1] if promise is not None else 0)
        sick = max(0, installed - whole(usable.get(cards.resource)))
        physical = _physical(node, cards, installed, told)
        holders, foreign = _holders(node, cards.resource, snapshot)
        parts = _parts(node, cards, snapshot)
        outside = sum(pod.cards for pod in foreign)
        outsiders = tuple(sorted(foreign, key=lambda pod: (-pod.cards, pod.space, pod.pod))[:OUTSIDERS_MAX])
    conditions = tuple(
        replace(each, since=min(each.since, read_at)) if each.since is not None else each
        for each in _conditions(node, cards, sick=sick)
    )
    health, since = _health(node, conditions)
    return NodeFacts(
        name=node.metadata.name,
        node_group=(cards.slug or None) if cards is not None else None,
        health=health,
        installed=installed,
        sick=sick,
        since=min(since, read_at) if since is not None else None,
        cpu_millis=millis(usable.get("cpu")),
        memory_bytes=whole(usable.get("memory")),
        holders=holders,
        outside=outside,
        outsiders=outsiders,
        conditions=conditions,
        labels=tuple(telling_labels(node.metadata.labels).items()),
        offers=tuple(told.offers.items()),
        physical=physical,
        parts=parts,
    )


def _physical(node: Node, cards: Cards, installed: int, told: Described) -> int | None:
    """Cards behind what the node's group counts; whole ones that it offers besides are behind none of it."""
    whole_ones = (name for name, sharing in told.offers.items() if sharing is SharingMode.EXCLUSIVE)
    beside = sum(whole(node.status.capacity.get(name)) for name in whole_ones if name != cards.resource)
    said = Told(cards.resource, installed, node.metadata.labels, node.metadata.annotations, beside)
    return physical_cards(cards.row, cards.sharing, said)


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
    if unreadable := _unreadable(node):
        found.append(NodeCondition(NodeTrouble.UNREADABLE, detail=unreadable))
    return tuple(found)


def _unreadable(node: Node) -> str:
    """Amounts that are no quantities, as they are reported (C-23): zero is not what they say."""
    reported = {*node.status.capacity.items(), *node.status.allocatable.items()}
    return ", ".join(f"{name}: {amount}" for name, amount in sorted(reported, key=str) if exact(amount) is None)


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


def _parts(node: Node, cards: Cards, snapshot: Snapshot) -> tuple[CardPart, ...]:
    """Of virtual cards; whole ones and other slices have none that anybody asks for."""
    if cards.sharing is not SharingMode.VGPU:
        return ()
    there = (pod for pod in snapshot.pods_on(node.metadata.name) if pod.spec.asked(cards.resource) and not is_over(pod))
    return card_parts(node, cards.row, cards.resource, ((pod, phase_of(pod, {}) is PodPhase.RUNNING) for pod in there))


def _holders(node: Node, resource: str, snapshot: Snapshot) -> tuple[tuple[CardHolder, ...], list[Outsider]]:
    """Who holds the node's cards, and the pods of others that do."""
    held: Counter[tuple[str, int, bool, bool]] = Counter()
    foreign: list[Outsider] = []
    for pod in snapshot.pods_on(node.metadata.name):
        count = pod.spec.asked(resource)
        if not count or is_over(pod):
            continue
        key = snapshot.key_of(pod)
        if key is None:
            scheduler = pod.spec.scheduler_name or DEFAULT_SCHEDULER
            foreign.append(Outsider(pod.metadata.name, pod.metadata.namespace, scheduler, count))
            continue
        ending = pod.metadata.deletion_timestamp is not None or snapshot.has_freed_quota(pod)
        running = ending or phase_of(pod, {}) is not PodPhase.PULLING
        held[key[0], key[1], running, ending] += count
    found = tuple(
        CardHolder(job, attempt, count, running, ending)
        for (job, attempt, running, ending), count in sorted(held.items())
    )
    return found, foreign
