"""Reads about the water level: now, and over time. Fixed numbers of queries, whatever the size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, F, Q, Sum
from django.utils import timezone

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.contract import NodeHealth, SharingMode
from clusters.domain.packing import Gang, unusable
from clusters.domain.water import FIGURES, Level, NodeSplit, level_of, total
from clusters.models import Cluster, NodeGroup
from clusters.selectors import free_blocks, known_sum
from clusters.waiting import Waiting
from clusters.water_models import WaterDay, WaterHour, WaterSample

SECONDS_OF_A_MINUTE, SECONDS_OF_AN_HOUR, SECONDS_OF_A_DAY = 60, 3_600, 86_400
POINTS_MAX = 1_500
"""Of one group in one answer."""

# --------------------------------------------------------------------------- now


@dataclass(frozen=True, slots=True)
class GroupLevel:
    """The level of one group at the last look at its cluster."""

    group: NodeGroup
    level: Level
    waiting: int  # cards of jobs that wait for this group
    unusable_exact: bool  # False: at least ``level.unusable``
    free_blocks: tuple[int, ...]  # free cards of each node that has any, the most first
    largest_waiting: Gang | None
    nodes: int
    held_on_lost: int  # held cards on nodes that do not answer
    physical: int | None  # cards behind the capacity; None: some node does not say

    @property
    def is_shared(self) -> bool:
        """Slices: never part of a sum of cards (decision 25)."""
        return is_shared(self.group)


@dataclass(frozen=True, slots=True)
class ClusterLevel:
    """All groups of one cluster; ``cards`` sums its whole cards and is None where it has none."""

    cluster: Cluster
    groups: tuple[GroupLevel, ...]
    cards: Level | None
    stale: bool

    @property
    def waiting(self) -> int:
        """Whole cards that waiting jobs ask for."""
        return sum(row.waiting for row in self.groups if not row.is_shared)

    @property
    def has_shares(self) -> bool:
        return any(row.is_shared for row in self.groups)

    @property
    def physical(self) -> int | None:
        """Whole cards and those behind shares; None where that is not known of every group."""
        return known_sum(row.physical if row.is_shared else row.level.capacity for row in self.groups)

    @property
    def by_vendor(self) -> dict[str, int]:
        """Whole cards of each vendor, the most first: ``cards`` adds up what is not alike (C-35)."""
        found: Counter[str] = Counter()
        for row in self.groups:
            if not row.is_shared:
                found[row.group.vendor] += row.level.capacity
        return {vendor: cards for vendor, cards in found.most_common() if cards}


def is_shared(group: NodeGroup) -> bool:
    return group.sharing != SharingMode.EXCLUSIVE.value or group.unit != "card"


def water_now(*, viewer: Actor, waiting: Waiting) -> list[ClusterLevel]:
    """Every cluster, default first; two queries. Raises NotAllowed."""
    require(viewer, Action.NODE_VIEW)
    limit = timezone.now() - timedelta(seconds=settings.SLUICE["STALE_AFTER_SECONDS"])
    rows = group_levels(waiting)
    return [
        ClusterLevel(
            cluster=cluster,
            groups=(mine := tuple(row for row in rows if row.group.cluster_id == cluster.pk)),
            cards=_cards(mine),
            stale=cluster.synced_at is None or cluster.synced_at < limit,
        )
        for cluster in Cluster.objects.order_by("-is_default", "name")
    ]


def _cards(rows: Iterable[GroupLevel]) -> Level | None:
    whole = [row.level for row in rows if not row.is_shared]
    return total(whole) if whole else None


def group_levels(waiting: Waiting) -> list[GroupLevel]:
    """The level of every group that has nodes, in the order of pages; one query."""
    groups = NodeGroup.objects.select_related("cluster").order_by("cluster_id", "position", "slug")
    summed = groups.annotate(
        **{f"sum_{name}": Sum(f"nodes__{name}", default=0) for name in _SUMMED},
        sum_lost=Sum(_HELD, filter=Q(nodes__health=NodeHealth.DOWN.value), default=0),
        node_count=Count("nodes"),
        sum_physical=Sum("nodes__physical", default=0),
        told_physical=Count("nodes__physical"),
        blocks=free_blocks(),
    )
    return [_group_level(row, waiting.get(row.pk, ())) for row in summed.filter(node_count__gt=0)]


_SUMMED = ("used", "reserved", "ending", "outside", "free", "out")
_HELD = F("nodes__used") + F("nodes__reserved") + F("nodes__ending") + F("nodes__outside")


def _group_level(row: Any, waiting: Sequence[Gang]) -> GroupLevel:
    useless = unusable(row.blocks, waiting)
    return GroupLevel(
        group=row,
        level=level_of([NodeSplit(**{name: getattr(row, f"sum_{name}") for name in _SUMMED})], unusable=useless.cards),
        waiting=sum(gang.size * gang.count for gang in waiting),
        unusable_exact=useless.exact,
        free_blocks=tuple(row.blocks),
        largest_waiting=max(waiting, key=lambda gang: (gang.size, gang.cards), default=None),
        nodes=row.node_count,
        held_on_lost=row.sum_lost,
        physical=row.sum_physical if row.told_physical == row.node_count else None,
    )


# --------------------------------------------------------------------------- over time


@dataclass(frozen=True, slots=True)
class Figure:
    """What one figure came to in a span: the seconds it is known for, card-seconds, least and most cards."""

    seconds: int
    card_seconds: int
    least: int
    most: int

    @property
    def mean(self) -> Fraction:
        """Cards on average while it was known."""
        return Fraction(self.card_seconds, self.seconds)


Point = Mapping[str, Figure]
"""The figures of one span by their names; one that is not there was not known."""


@dataclass(frozen=True, slots=True)
class GroupHistory:
    """Points of one group by the beginning of their span, oldest first. A span without any sample has none."""

    group: NodeGroup
    points: Mapping[datetime, Point]


def water_history(*, viewer: Actor, cluster: Cluster, start: datetime, end: datetime, step: int) -> list[GroupHistory]:
    """What every group of a cluster came to, in spans of ``step`` seconds; two queries. Raises NotAllowed.

    Spans begin at multiples of the step in UTC. Steps below an hour are read from minutes, below a day from hours, and
    the rest from days, so that each figure is exact and is there for as long as its rows are kept.
    """
    require(viewer, Action.NODE_VIEW)
    groups = {group.pk: group for group in cluster.groups.order_by("position", "slug")}
    points: dict[int, dict[datetime, dict[str, Figure]]] = {pk: {} for pk in groups}
    with connection.cursor() as cursor:
        cursor.execute(_spans(step), {"groups": list(groups), "start": start, "end": end, "step": f"{step} s"})
        for pk, at, figure, *numbers in cursor.fetchall():
            points[pk].setdefault(at, {})[figure] = Figure(*(int(number) for number in numbers))
    return [GroupHistory(group, points[pk]) for pk, group in groups.items() if points[pk]]


_SPANS = """
SELECT group_id, date_bin(%(step)s::interval, at, 'epoch'::timestamptz) AS span, figure, {sums}
  FROM {rows}
 WHERE group_id = ANY(%(groups)s) AND at >= %(start)s AND at < %(end)s {known}
 GROUP BY 1, 2, 3
 ORDER BY 2
"""
_NAMED = ", ".join(f"('{name}', {name})" for name in FIGURES)
_SPANS_OF_MINUTES = _SPANS.format(
    sums="60 * count(*), 60 * sum(cards), min(cards), max(cards)",
    rows=f"{WaterSample._meta.db_table} CROSS JOIN LATERAL (VALUES {_NAMED}) AS f(figure, cards)",
    known="AND cards IS NOT NULL",
)


def _spans(step: int) -> str:
    if step < SECONDS_OF_AN_HOUR:
        return _SPANS_OF_MINUTES
    model = WaterHour if step < SECONDS_OF_A_DAY else WaterDay
    sums = "sum(seconds), sum(card_seconds), min(least), max(most)"
    return _SPANS.format(sums=sums, rows=model._meta.db_table, known="")
