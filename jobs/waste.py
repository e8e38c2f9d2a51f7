"""Reads about cards that do nothing: nodes that hold nothing, cards held and not running, and waste by team."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone

from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, require
from clusters.contract import NodeHealth, SharingMode
from clusters.models import Cluster, Node, NodeGroup
from clusters.selectors import NodeView, node_view
from jobs.domain.waste import Account, HeldRun
from jobs.domain.words import Kind
from jobs.models import Job, Run

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

    nodes: tuple[IdleNode, ...]
    held: tuple[HeldIdle, ...]
    held_jobs: int
    held_cards: int  # whole cards


def idle_now(*, viewer: Actor) -> Idle:
    """Idle nodes, longest first, and jobs whose cards wait for their pods. Raises NotAllowed. Four queries."""
    require(viewer, Action.NODE_VIEW)
    nothing = Node.objects.filter(used=0, reserved=0, ending=0, outside=0).exclude(health=NodeHealth.DOWN.value)
    nodes = [
        IdleNode(node.group.cluster, node.group, node_view(node, node.group.slug))
        for node in nothing.exclude(group=None).select_related("group__cluster")
        if node.group is not None
    ]
    now = timezone.now()
    rows = Run.objects.filter(admitted_at__isnull=False, started_at=None, ended_at=None, cards__gt=0)
    shown = rows.select_related("attempt__job__team", "attempt__job__owner", "attempt__job__group")
    held = [
        HeldIdle(run.attempt.job, run.cards, run.admitted_at, run.scheduled_at is not None)
        for run in shown.order_by(F("cards").desc(), "admitted_at")[:LISTED]
        if run.admitted_at is not None
    ]
    whole = _whole_cards(rows).aggregate(cards=Sum("cards"))["cards"] or 0
    return Idle(
        tuple(sorted(nodes, key=lambda each: (each.since or now, each.cluster.pk, each.node.name))),
        tuple(held),
        rows.count(),
        whole,
    )


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
    for team_id, run in _held_runs(since, until):
        accounts[team_id].add(run, since, until)
        total.add(run, since, until)
    teams = Team.objects.in_bulk(accounts)
    ranking = [TeamWaste(teams[pk], account) for pk, account in accounts.items() if account.held]
    ranking.sort(key=lambda each: (-each.account.waste, each.team.name))
    return WasteRanking(since, until, tuple(ranking), total)


_COLUMNS = ("cards", "attempt__job__kind", "admitted_at", "scheduled_at", "started_at", "ended_at", "end_cause")


def _held_runs(since: datetime, until: datetime) -> Iterator[tuple[int, HeldRun]]:
    """(team, run) of every admission that held whole cards in between, as plain values: there may be many."""
    rows = _whole_cards(Run.objects.filter(admitted_at__lt=until, cards__gt=0))
    rows = rows.filter(Q(ended_at=None) | Q(ended_at__gt=since)).order_by()
    for team_id, cards, kind, admitted, scheduled, started, ended, cause in rows.values_list(
        "attempt__job__team_id", *_COLUMNS
    ).iterator():
        yield team_id, HeldRun(cards, Kind(kind), admitted, scheduled, started, ended, cause)


def _whole_cards(rows: QuerySet[Run]) -> QuerySet[Run]:
    return rows.filter(attempt__job__group__sharing=SharingMode.EXCLUSIVE.value)
