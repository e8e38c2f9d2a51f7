"""Reads about cards that do nothing: nodes that hold nothing, cards held and not running, and waste by team."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

from django.conf import settings
from django.db import connection
from django.db.models import F, QuerySet, Sum
from django.utils import timezone

from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, require
from clusters.contract import NodeHealth, SharingMode
from clusters.models import Cluster, Node, NodeGroup
from clusters.selectors import NodeView, node_view
from common.pages import Page, place_page
from jobs.domain.waste import Account, Stretches
from jobs.domain.words import Kind
from jobs.models import Job, Run

NODES_LISTED = 100
"""Idle nodes, the longest idle first; the rest is on further pages."""
LISTED = 50
"""Jobs that hold cards and do not run, the most expensive first; the sums count all."""


@dataclass(frozen=True, slots=True)
class IdleNode:
    """A node that answers and holds nothing; ``is_open`` is False where a cordon or taint keeps work out."""

    cluster: Cluster
    group: NodeGroup
    node: NodeView

    @property
    def since(self) -> datetime | None:
        return self.node.held_since


@dataclass(frozen=True, slots=True)
class HeldIdle:
    """A job that holds cards of which none runs yet; ``is_placed`` tells pulling from having no nodes."""

    job: Job
    cards: int
    since: datetime
    is_placed: bool


@dataclass(frozen=True, slots=True)
class Idle:
    """What does nothing at this moment. Cards of whole-card groups and slices are never added up."""

    nodes: tuple[IdleNode, ...]  # at most NODES_LISTED
    nodes_count: int
    held: tuple[HeldIdle, ...]
    held_jobs: int
    held_cards: int  # whole cards


def idle_now(*, viewer: Actor) -> Idle:
    """Idle nodes, longest first, and jobs whose cards wait for their pods. Raises NotAllowed. Five queries."""
    require(viewer, Action.NODE_VIEW)
    nothing = _idle_nodes()
    rows = Run.objects.filter(admitted_at__isnull=False, started_at=None, ended_at=None, cards__gt=0)
    shown = rows.select_related("attempt__job__team", "attempt__job__owner", "attempt__job__group")
    held = [
        HeldIdle(run.attempt.job, run.cards, run.admitted_at, run.scheduled_at is not None)
        for run in shown.order_by(F("cards").desc(), "admitted_at")[:LISTED]
        if run.admitted_at is not None
    ]
    whole = _whole_cards(rows).aggregate(cards=Sum("cards"))["cards"] or 0
    return Idle(
        tuple(idle_node(node) for node in nothing[:NODES_LISTED]),
        nothing.count(),
        tuple(held),
        rows.count(),
        whole,
    )


def idle_nodes(*, viewer: Actor, cursor: str | None) -> Page[Node]:
    """A page of the nodes that hold nothing, longest first. Raises NotAllowed, BadCursor. One query."""
    require(viewer, Action.NODE_VIEW)
    return place_page(_idle_nodes(), cursor, size=NODES_LISTED)


def idle_node(node: Node) -> IdleNode:
    """One row of :func:`idle_nodes`."""
    assert node.group is not None
    return IdleNode(node.group.cluster, node.group, node_view(node, node.group.slug))


def _idle_nodes() -> QuerySet[Node]:
    nothing = Node.objects.filter(used=0, reserved=0, ending=0, outside=0).exclude(health=NodeHealth.DOWN.value)
    rows = nothing.exclude(group=None).select_related("group__cluster")
    return rows.order_by(F("held_since").asc(nulls_last=True), "cluster_id", "name")


@dataclass(frozen=True, slots=True)
class TeamWaste:
    """One team's place in the ranking."""

    team: Team
    account: Account


@dataclass(frozen=True, slots=True)
class WasteRanking:
    """Teams by wasted card-seconds, most first, and all of them together. Whole cards only."""

    since: datetime
    until: datetime
    teams: tuple[TeamWaste, ...]
    total: Account


def waste_ranking(*, viewer: Actor, length: timedelta, now: datetime | None = None) -> WasteRanking:
    """What became of the cards that teams held in the last ``length``. Raises NotAllowed. Two queries."""
    require(viewer, Action.NODE_VIEW)
    until = now or timezone.now()
    since = until - length
    accounts: dict[int, Account] = defaultdict(Account)
    total = Account()
    for team_id, kind, end_cause, is_over, held in _held(since, until):
        for account in (accounts[team_id], total):
            account.add_all(held, kind, end_cause, is_over=is_over)
    teams = Team.objects.in_bulk(accounts)
    ranking = [TeamWaste(teams[pk], account) for pk, account in accounts.items() if account.held]
    ranking.sort(key=lambda each: (-each.account.waste, each.team.name))
    return WasteRanking(since, until, tuple(ranking), total)


_known: dict[timedelta, tuple[float, WasteRanking]] = {}
"""What this process ranked last, by length, and when on the monotonic clock; there are at most as many as days."""


def waste_lately(*, viewer: Actor, length: timedelta) -> WasteRanking:
    """The ranking up to now, or to a moment at most WASTE_SECONDS ago; ``until`` says which. Raises NotAllowed.

    Days of runs are read for it, and a few seconds more or less change nothing in it.
    """
    require(viewer, Action.NODE_VIEW)
    now = monotonic()
    known = _known.get(length)
    if known is None or now - known[0] >= settings.SLUICE["WASTE_SECONDS"]:
        known = _known[length] = now, waste_ranking(viewer=viewer, length=length)
    return known[1]


_HELD = """
WITH run AS (
  SELECT j.team_id, j.kind, r.end_cause, r.ended_at IS NOT NULL AS is_over, r.cards,
         r.admitted_at AS admitted, COALESCE(r.scheduled_at, r.started_at) AS placed, r.started_at AS began,
         COALESCE(r.ended_at, %(until)s) AS ended
    FROM jobs_run r
    JOIN jobs_attempt a ON a.id = r.attempt_id
    JOIN jobs_job j ON j.id = a.job_id
    JOIN clusters_nodegroup g ON g.id = j.group_id
   WHERE r.admitted_at < %(until)s AND r.cards > 0 AND g.sharing = %(sharing)s
     AND (r.ended_at IS NULL OR r.ended_at > %(since)s)
), scheduled AS (
  SELECT run.*, CASE WHEN placed IS NULL THEN ended ELSE GREATEST(admitted, LEAST(placed, ended)) END AS scheduled
    FROM run
), started AS (
  SELECT scheduled.*, CASE WHEN began IS NULL THEN ended ELSE GREATEST(scheduled, LEAST(began, ended)) END AS started
    FROM scheduled
)
SELECT team_id, kind, end_cause, is_over, SUM(cards * {before_nodes}), SUM(cards * {pulling}), SUM(cards * {running})
  FROM started
 GROUP BY 1, 2, 3, 4
"""
_SECONDS = "GREATEST(0, FLOOR(EXTRACT(EPOCH FROM LEAST({end}, ended, %(until)s) - GREATEST({begin}, %(since)s))))"
_SUMS = _HELD.format(
    before_nodes=_SECONDS.format(begin="admitted", end="scheduled"),
    pulling=_SECONDS.format(begin="scheduled", end="started"),
    running=_SECONDS.format(begin="started", end="ended"),
)


def _held(since: datetime, until: datetime) -> Iterator[tuple[int, Kind, str, bool, Stretches]]:
    """(team, kind, end, whether it is over, what was held in between) of whole cards; checkpoints are not known."""
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, {"since": since, "until": until, "sharing": SharingMode.EXCLUSIVE.value})
        for team_id, kind, end_cause, is_over, not_placed, pulling, running in cursor.fetchall():
            yield team_id, Kind(kind), end_cause, is_over, Stretches(int(not_placed), int(pulling), 0, int(running))


def _whole_cards(rows: QuerySet[Run]) -> QuerySet[Run]:
    return rows.filter(attempt__job__group__sharing=SharingMode.EXCLUSIVE.value)
