"""Reads about clusters, groups and nodes. Fixed numbers of queries, whatever the size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import F, Q, Sum, Value
from django.utils import timezone

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.card_parts import parts_of, parts_sum
from clusters.contract import CardPart
from clusters.domain.node_cards import OPEN_FOR_WORK, node_cards
from clusters.domain.states import GroupSnapshot
from clusters.models import Cluster, Node, NodeGroup


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old a cluster's data is; stale after 90 s without a complete look (decision 27)."""

    name: str
    read_at: datetime | None
    stale: bool
    error: str


def freshness() -> list[Freshness]:
    """One row per cluster, default first."""
    limit = timezone.now() - timedelta(seconds=settings.SLUICE["STALE_AFTER_SECONDS"])
    return [
        Freshness(c.name, c.synced_at, c.synced_at is None or c.synced_at < limit, c.sync_error)
        for c in Cluster.objects.order_by("-is_default", "name")
    ]


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node for people: used, reserved, ending, outside, free and out add up to ``installed``."""

    name: str
    group_slug: str
    health: str
    installed: int
    used: int
    reserved: int
    ending: int
    outside: int
    free: int
    out: int  # sick, or free on a node that takes no work
    sick: int
    since: datetime | None
    holders: tuple[dict[str, object], ...]
    conditions: tuple[dict[str, str | None], ...] = ()  # [{trouble, since, detail}], the worst first
    held_since: datetime | None = None  # since then as many cards as now have been held
    physical: int | None = None  # cards behind what is installed; None: it does not say
    parts: tuple[CardPart, ...] = ()  # memory and cores of virtual cards

    @property
    def is_open(self) -> bool:
        """Takes new work."""
        return self.health in OPEN_FOR_WORK

    @property
    def troubles(self) -> frozenset[str]:
        return frozenset(str(condition["trouble"]) for condition in self.conditions)

    @property
    def holds_nothing(self) -> bool:
        return not self.held

    @property
    def held(self) -> int:
        """Cards that somebody has, whoever and however."""
        return self.used + self.reserved + self.ending + self.outside

    @property
    def is_idle(self) -> bool:
        """Could work, and nothing holds a card of it. One that takes no work is not idle, it is closed."""
        return self.free > 0 and self.holds_nothing


def known_sum(counts: Iterable[int | None]) -> int | None:
    """The sum where every part of it is known; None otherwise."""
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def node_view(node: Node, group_slug: str) -> NodeView:
    """One node's row and the split of its cards."""
    cards = node_cards(
        health=node.health, installed=node.installed, sick=node.sick, outside=node.outside, holders=node.holders
    )
    return NodeView(
        name=node.name,
        group_slug=group_slug,
        health=node.health,
        installed=node.installed,
        used=cards.used,
        reserved=cards.reserved,
        ending=cards.ending,
        outside=node.outside,
        free=cards.free,
        out=cards.out,
        sick=node.sick,
        since=node.since,
        holders=tuple(node.holders),
        conditions=tuple(node.conditions),
        held_since=node.held_since,
        physical=node.physical,
        parts=parts_of(node.parts),
    )


@dataclass(frozen=True, slots=True)
class GroupSums:
    """Sums over all nodes of a group; ``by_free`` says how many of them have so many free cards."""

    installed: int
    used: int
    reserved: int
    ending: int
    outside: int
    out: int
    by_free: Mapping[int, int]
    physical: int | None = None  # None: not known of every node
    parts: tuple[CardPart, ...] = ()  # memory and cores of virtual cards

    @property
    def free(self) -> int:
        return sum(free * nodes for free, nodes in self.by_free.items())


@dataclass(frozen=True, slots=True)
class GroupView:
    """A node group with nodes and sums, in the group's own unit. Where ``sums`` are given, nodes may be left out."""

    group: NodeGroup
    cluster: Cluster
    nodes: tuple[NodeView, ...]
    sums: GroupSums | None = None

    def total(self, figure: str) -> int:
        if self.sums is not None:
            found: int = getattr(self.sums, figure)
            return found
        return sum(getattr(node, figure) for node in self.nodes)

    @property
    def by_free(self) -> Mapping[int, int]:
        """How many nodes have so many free cards."""
        return self.sums.by_free if self.sums is not None else Counter(node.free for node in self.nodes)

    @property
    def node_count(self) -> int:
        return sum(self.by_free.values())

    @property
    def installed(self) -> int:
        return self.total("installed")

    @property
    def used(self) -> int:
        return self.total("used")

    @property
    def reserved(self) -> int:
        return self.total("reserved")

    @property
    def ending(self) -> int:
        return self.total("ending")

    @property
    def free(self) -> int:
        return self.total("free")

    @property
    def out(self) -> int:
        return self.total("out")

    @property
    def physical(self) -> int | None:
        """Cards behind what is installed; None where some node does not say."""
        return self.sums.physical if self.sums is not None else known_sum(node.physical for node in self.nodes)

    @property
    def parts(self) -> tuple[CardPart, ...]:
        """Memory and cores of its virtual cards, in their own units."""
        if self.sums is not None:
            return self.sums.parts
        return parts_sum(len(self.nodes), (node.parts for node in self.nodes))

    @property
    def largest_free_block(self) -> int:
        return max(self.by_free, default=0)


def group_views(*, viewer: Actor) -> list[GroupView]:
    """All node groups with their nodes, for admins. Raises NotAllowed. Two queries."""
    require(viewer, Action.NODE_VIEW)
    groups = list(NodeGroup.objects.select_related("cluster").order_by("cluster_id", "position", "slug"))
    nodes: dict[int, list[NodeView]] = {group.pk: [] for group in groups}
    slugs = {group.pk: group.slug for group in groups}
    for node in Node.objects.exclude(group=None).order_by("name"):
        assert node.group_id is not None
        nodes[node.group_id].append(node_view(node, slugs[node.group_id]))
    return [GroupView(group, group.cluster, tuple(nodes[group.pk])) for group in groups]


def groups_named(*, viewer: Actor) -> list[NodeGroup]:
    """All node groups with their cluster, in the order of pages; one query. Raises NotAllowed."""
    require(viewer, Action.NODE_VIEW)
    return list(NodeGroup.objects.select_related("cluster").order_by("cluster_id", "position", "slug"))


def group_snapshots() -> dict[int, GroupSnapshot]:
    """Free cards per node of every group at the last look, by group id; one query. For reasons and placement."""
    rows = NodeGroup.objects.annotate(blocks=free_blocks(), out=Sum("nodes__out", default=0)).values_list(
        "pk", "title", "blocks", "cluster__topology_aware", "out"
    )
    return {
        pk: GroupSnapshot(title=title, free_blocks=tuple(blocks), topology_aware=topology_aware, out=out)
        for pk, title, blocks, topology_aware, out in rows.order_by()
    }


def free_blocks() -> ArrayAgg:
    """Free cards of each node of a group, the most first; nodes without any are left out."""
    free = F("nodes__free")
    return ArrayAgg(free, filter=Q(nodes__free__gt=0), order_by=free.desc(), default=Value([]))


def group_choices() -> list[tuple[str, str]]:
    """(slug, title) of every node group, for a filter; one query. Groups of several clusters may share a slug."""
    rows = NodeGroup.objects.order_by("position", "slug").values_list("slug", "title")
    return list(dict.fromkeys(rows))
