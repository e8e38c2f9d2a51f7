"""Quota rows for a reader, a page at a time: only the node groups of the page are computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet

from accounts.actors import Actor
from accounts.policy import Action, teams_where
from clusters.models import NodeGroup
from common.pages import PAGE_SIZE, place_of, places_around
from quotas.models import LocalQueue, Share, TeamQueue
from quotas.selectors.local_queues import IN_USE
from quotas.selectors.rows import QuotaRow, cluster_row, quota_groups, quota_slice


@dataclass(frozen=True, slots=True)
class QuotaFilters:
    """What a list may be narrowed to. Empty = all."""

    level: str = "team"
    cluster: str = ""
    node_group: str = ""


@dataclass(frozen=True, slots=True)
class QuotaPage:
    """Rows in the order of node groups and queues; the cursors are places in it."""

    rows: list[QuotaRow]
    next: str | None
    previous: str | None


def quota_page(*, viewer: Actor, filters: QuotaFilters, cursor: str = "", size: int = PAGE_SIZE) -> QuotaPage:
    """One page of what the viewer may see: rows of own teams (an admin: of all), and sums of node groups in which a
    team of theirs has a queue. Seven queries at most. Raises BadCursor.
    """
    begin = place_of(cursor)
    teams = teams_where(viewer, Action.QUOTA_VIEW)
    counts = _row_counts(filters, teams)
    needed, skipped = _groups_between(counts, begin, begin + size)
    rows: list[QuotaRow] = []
    if needed:
        if filters.level == "cluster":
            rows = [cluster_row(found) for found in quota_groups(groups=needed, teams=())]  # one each: none skipped
        else:
            first = begin - skipped
            rows = quota_slice(level=filters.level, groups=needed, teams=teams, begin=first, end=first + size)
    after, before = places_around(begin, size, more=begin + size < sum(counts.values()))
    return QuotaPage(rows=rows, next=after, previous=before)


def queue_rows(*, viewer: Actor, queue: str, local: str = "") -> list[QuotaRow]:
    """One team queue, or one of its local queues, in every node group of every cluster where it is; empty where the
    viewer may not see such a queue. Eight queries at most.
    """
    teams = teams_where(viewer, Action.QUOTA_VIEW)
    queues = TeamQueue.objects.filter(slug=queue)
    if teams is not None:
        queues = queues.filter(team__in=teams)
    if local:
        queues = queues.filter(local_queues__slug=local)
    clusters = dict(queues.values_list("cluster", "team"))
    if not clusters:
        return []
    groups = list(NodeGroup.objects.filter(cluster__in=clusters).values_list("pk", flat=True))
    level = "local" if local else "team"
    name = f"{queue}/{local}" if local else queue
    found = quota_groups(level=level, groups=groups, teams=set(clusters.values()))
    return [row for group in found for row in group.rows if row.level == level and row.queue == name]


def _row_counts(filters: QuotaFilters, teams: Collection[int] | None) -> dict[int, int]:
    """How many rows each node group has for the viewer, in their order; one query."""
    if "\x00" in filters.cluster + filters.node_group:
        return {}  # an address may hold what no column takes
    if filters.level == "cluster":
        groups = NodeGroup.objects.filter(_asked(filters)).order_by("cluster_id", "position", "slug")
        if teams is not None:
            groups = groups.filter(cluster__queues__team__in=teams)
        return dict.fromkeys(groups.values_list("pk", flat=True), 1)
    path = "group__"
    rows: QuerySet[Any] = Share.objects.all()
    if filters.level == "local":
        path = "queue__shares__group__"
        rows = LocalQueue.objects.filter(IN_USE)
    rows = rows.filter(_asked(filters, path))
    if teams is not None:
        rows = rows.filter(queue__team__in=teams)
    order = [f"{path}{name}" for name in ("cluster_id", "position", "slug", "pk")]
    counted = rows.order_by(*order).values(*order).annotate(rows=Count("*"))
    return dict(counted.values_list(order[-1], "rows"))


def _asked(filters: QuotaFilters, path: str = "") -> Q:
    """The condition on the node group at the end of a path."""
    wanted = {f"{path}cluster__slug": filters.cluster, f"{path}slug": filters.node_group}
    return Q(**{name: value for name, value in wanted.items() if value})


def _groups_between(counts: Mapping[int, int], begin: int, end: int) -> tuple[list[int], int]:
    """The node groups with rows from place ``begin`` up to ``end``, and how many rows come before them."""
    needed: list[int] = []
    first = place = 0
    for group, rows in counts.items():
        if place + rows <= begin:
            first = place + rows
        elif place < end:
            needed.append(group)
        place += rows
    return needed, first
