"""What the page of nodes shows: counts and sums over all nodes by the database, the nodes themselves a sheet at a time.

Fixed numbers of queries, and a page of bounded size, whatever the number of nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import Count, F, Q, Sum

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.card_parts import parts_of, parts_sum
from clusters.contract import CardPart, NodeHealth
from clusters.models import Cluster, Node, NodeGroup
from clusters.nodes_selectors import Key
from clusters.selectors import GroupSums, GroupView, NodeView, known_sum, node_view
from common.pages import place_of, places_around
from common.texts import storable

NODES_ON_A_SHEET = 200
ATTENTION_SHOWN = 50


class NodeFilter(StrEnum):
    ALL = ""
    ATTENTION = "attention"
    FREE = "free"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class NodeSheet:
    """Groups with their sums and those of their nodes that are on this sheet; ``counts`` are of all nodes."""

    groups: tuple[GroupView, ...]
    counts: Mapping[NodeFilter, int]
    attention: tuple[tuple[Cluster, NodeView], ...]  # at most ATTENTION_SHOWN
    number: int  # from 1
    sheets: int


def node_sheet(*, viewer: Actor, show: NodeFilter, number: int, suspected: Collection[Key]) -> NodeSheet:
    """One sheet of the nodes that ``show`` leaves, in the order of their groups; six queries. Raises NotAllowed.

    ``number`` beyond the last sheet is the last one.
    """
    require(viewer, Action.NODE_VIEW)
    groups = {
        group.pk: group
        for group in NodeGroup.objects.select_related("cluster").order_by("cluster_id", "position", "slug")
    }
    sums = _sums()
    rows = Node.objects.exclude(group=None)
    filters = _filters(suspected)
    counts = rows.aggregate(**{_named(each): Count("pk", filter=filters[each]) for each in NodeFilter})
    sheets = max(1, -(-counts[_named(show)] // NODES_ON_A_SHEET))
    number = min(max(1, number), sheets)
    begin = (number - 1) * NODES_ON_A_SHEET
    shown = rows.filter(filters[show]).order_by("cluster_id", "group__position", "group__slug", "name")
    nodes: dict[int, list[NodeView]] = defaultdict(list)
    for node in shown[begin : begin + NODES_ON_A_SHEET]:
        assert node.group_id is not None
        nodes[node.group_id].append(node_view(node, groups[node.group_id].slug))
    attention = rows.filter(filters[NodeFilter.ATTENTION]).order_by("cluster_id", "group__position", "name")
    return NodeSheet(
        groups=tuple(
            GroupView(group, group.cluster, tuple(nodes[pk]), sums[pk]) for pk, group in groups.items() if pk in sums
        ),
        counts={each: counts[_named(each)] for each in NodeFilter},
        attention=tuple(
            (groups[node.group_id or 0].cluster, node_view(node, "")) for node in attention[:ATTENTION_SHOWN]
        ),
        number=number,
        sheets=sheets,
    )


@dataclass(frozen=True, slots=True)
class NodePage:
    """Groups with those of their nodes that are on the page; the cursors are places in the list of all nodes."""

    groups: tuple[GroupView, ...]
    next: str | None
    previous: str | None


def node_page(*, viewer: Actor, cursor: str | None) -> NodePage:
    """Groups in their order with those of their nodes that are on this page, so many as on a sheet; a group without
    nodes takes the place of one. Sums are of all nodes of a group. Four queries. Raises NotAllowed, BadCursor.
    """
    require(viewer, Action.NODE_VIEW)
    begin = place_of(cursor)
    end = begin + NODES_ON_A_SHEET
    sums = _sums()
    places: dict[int, tuple[NodeGroup, range]] = {}  # nodes on the page, by their place in the group
    place = 0
    for group in NodeGroup.objects.select_related("cluster").order_by("cluster_id", "position", "slug"):
        nodes = sum(sums[group.pk].by_free.values()) if group.pk in sums else 0
        if place < end and place + max(1, nodes) > begin:
            places[group.pk] = group, range(max(0, begin - place), min(nodes, end - place))
        place += max(1, nodes)
    found = _nodes_at(places)
    after, before = places_around(begin, NODES_ON_A_SHEET, more=end < place)
    views = (GroupView(group, group.cluster, tuple(found[pk]), sums.get(pk)) for pk, (group, _) in places.items())
    return NodePage(tuple(views), after, before)


def _nodes_at(places: Mapping[int, tuple[NodeGroup, range]]) -> dict[int, list[NodeView]]:
    """What stands at these places of each group; one query, because all but the first begin with their first node."""
    found: dict[int, list[NodeView]] = defaultdict(list)
    first = next((each.start for _, each in places.values()), 0)
    rows = Node.objects.filter(group__in=places).order_by("cluster_id", "group__position", "group__slug", "name")
    for node in rows[first : first + sum(len(each) for _, each in places.values())]:
        assert node.group_id is not None
        found[node.group_id].append(node_view(node, places[node.group_id][0].slug))
    return found


def node_found(*, viewer: Actor, name: str, cluster: str = "") -> tuple[GroupView, NodeView] | None:
    """One node with its group, which then has no other. Clusters may have nodes of the same name: without a cluster
    the first one is meant. One query. Raises NotAllowed.
    """
    require(viewer, Action.NODE_VIEW)
    rows = Node.objects.exclude(group=None).filter(name=storable(name)).select_related("group__cluster")
    if cluster:
        rows = rows.filter(cluster__slug=storable(cluster))
    node = rows.order_by("cluster_id", "group__position").first() if name else None
    if node is None or node.group is None:
        return None
    view = node_view(node, node.group.slug)
    return GroupView(node.group, node.group.cluster, (view,)), view


def _named(each: NodeFilter) -> str:
    return f"count_{each.value or 'all'}"


def _filters(suspected: Collection[Key]) -> Mapping[NodeFilter, Q]:
    attention = ~Q(conditions=[]) | ~Q(health=NodeHealth.READY.value)
    for cluster_id, name in suspected:
        attention |= Q(cluster=cluster_id, name=name)
    return {
        NodeFilter.ALL: Q(),
        NodeFilter.ATTENTION: attention,
        NodeFilter.FREE: Q(free__gt=0),
        NodeFilter.IDLE: Q(free__gt=0, used=0, reserved=0, ending=0, outside=0),
    }


def _sums() -> dict[int, GroupSums]:
    """By the key of the group, from one row for each number of free cards."""
    figures = {f"sum_{name}": Sum(name) for name in ("installed", "used", "reserved", "ending", "outside", "out")}
    rows: Any = Node.objects.exclude(group=None).values("group_id", "free")
    rows = rows.annotate(nodes=Count("pk"), known=Sum("physical", default=0), told=Count("physical"), **figures)
    found: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    by_free: dict[int, dict[int, int]] = defaultdict(dict)
    physical: dict[int, list[int | None]] = defaultdict(list)
    for row in rows.order_by(F("free").desc()):
        by_free[row["group_id"]][row["free"]] = row["nodes"]
        for name in figures:
            found[row["group_id"]][name.removeprefix("sum_")] += row[name]
        physical[row["group_id"]].append(row["known"] if row["told"] == row["nodes"] else None)
    parts = _parts()
    return {
        pk: GroupSums(
            **sums,
            by_free=by_free[pk],
            physical=known_sum(physical[pk]),
            parts=parts_sum(sum(by_free[pk].values()), parts[pk]),
        )
        for pk, sums in found.items()
    }


def _parts() -> dict[int, list[tuple[CardPart, ...]]]:
    """Of virtual cards, node by node: few clusters have any, and those few nodes."""
    found: dict[int, list[tuple[CardPart, ...]]] = defaultdict(list)
    for pk, parts in Node.objects.exclude(group=None).exclude(parts=[]).order_by().values_list("group_id", "parts"):
        assert pk is not None
        found[pk].append(parts_of(parts))
    return found
