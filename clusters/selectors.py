"""Reads about clusters, groups and nodes. Fixed numbers of queries, whatever the size."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.contract import NodeHealth
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


def node_view(node: Node, group_slug: str) -> NodeView:
    """Split one node's cards. Cards in use count as used also on a node that takes no new work (case C-67).

    Cards that are promised to a job while others still leave them count as ending until they have left.
    """
    used = sum(h["cards"] for h in node.holders if h["running"] and not h["ending"])
    ending = sum(h["cards"] for h in node.holders if h["ending"])
    promised = sum(h["cards"] for h in node.holders if not h["running"] and not h["ending"])
    reserved = min(promised, max(0, node.installed - used - ending - node.outside))
    left = max(0, node.installed - used - ending - reserved - node.outside)
    open_for_work = node.health in (NodeHealth.READY.value, NodeHealth.DEGRADED.value)
    free = max(0, left - node.sick) if open_for_work else 0
    return NodeView(
        name=node.name,
        group_slug=group_slug,
        health=node.health,
        installed=node.installed,
        used=used,
        reserved=reserved,
        ending=ending,
        outside=node.outside,
        free=free,
        out=left - free,
        sick=node.sick,
        since=node.since,
        holders=tuple(node.holders),
    )


@dataclass(frozen=True, slots=True)
class GroupView:
    """A node group with its nodes and sums, in the group's own unit."""

    group: NodeGroup
    cluster: Cluster
    nodes: tuple[NodeView, ...]

    def total(self, figure: str) -> int:
        return sum(getattr(node, figure) for node in self.nodes)

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
    def largest_free_block(self) -> int:
        return max((node.free for node in self.nodes), default=0)


def group_views(*, viewer: Actor) -> list[GroupView]:
    """All node groups with their nodes, for admins. Raises NotAllowed. Three queries."""
    require(viewer, Action.NODE_VIEW)
    return _group_views()


def _group_views() -> list[GroupView]:
    groups = list(NodeGroup.objects.select_related("cluster").order_by("cluster_id", "position", "slug"))
    nodes: dict[int, list[NodeView]] = {group.pk: [] for group in groups}
    slugs = {group.pk: group.slug for group in groups}
    for node in Node.objects.exclude(group=None).order_by("name"):
        assert node.group_id is not None
        nodes[node.group_id].append(node_view(node, slugs[node.group_id]))
    return [GroupView(group, group.cluster, tuple(nodes[group.pk])) for group in groups]


def group_snapshots() -> dict[int, GroupSnapshot]:
    """Free cards per node of every group at the last look, by group id; two queries. For reasons and placement."""
    return {
        view.group.pk: GroupSnapshot(
            title=view.group.title,
            free_blocks=tuple(node.free for node in view.nodes),
            topology_aware=view.cluster.topology_aware,
        )
        for view in _group_views()
    }


def group_choices() -> list[tuple[str, str]]:
    """(slug, title) of every node group, for a filter; one query. Groups of several clusters may share a slug."""
    rows = NodeGroup.objects.order_by("position", "slug").values_list("slug", "title")
    return list(dict.fromkeys(rows))
