"""The quota table: used, reserved, free, borrowed, lent by decision 19, per team queue, local queue and node group.

A fixed number of queries, and of all node groups only those that are asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import QuerySet

from accounts.actors import Actor
from accounts.policy import Action, teams_where
from clusters.models import NodeGroup
from quotas.domain.balance import CardCounts, GroupBalance, LocalUse, QueueBalance, QueueUse, balance, guide
from quotas.domain.plan import limit_in_cards
from quotas.domain.shares import WHOLE
from quotas.models import LocalQueue, Share, TeamQueue
from quotas.selectors.capacity import card_counts
from quotas.selectors.local_queues import IN_USE
from quotas.selectors.usage import Use, uses

LEVELS = ("team", "local", "cluster")


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """One row as the API gives it (decision 19). Of local queues only what they hold and ask for is exact.

    A row of the level cluster is the sum of all teams and the common pool; only it has the figures that are None here.
    """

    queue: str
    level: str
    team: str
    team_slug: str
    team_id: int
    cluster: str
    node_group: str
    group_title: str
    unit: str
    nominal: int
    usable: int
    used: int
    reserved: int
    free: int
    borrowed: int
    lent: int
    over: int
    down: int
    borrowable: int
    pending: int
    pending_jobs: int
    pending_stopped: int
    pending_jobs_stopped: int
    basis_points: int = 0
    is_guide: bool = False
    capacity: int | None = None
    pool: int | None = None
    pool_lent: int | None = None
    pool_down: int | None = None
    pool_free: int | None = None
    missing: int | None = None
    down_held: int | None = None
    releasing: int | None = None
    outside: int | None = None
    aside: int | None = None


@dataclass(frozen=True, slots=True)
class GroupRows:
    """One node group: its rows, and what stands at cluster level only."""

    group: NodeGroup
    balance: GroupBalance
    rows: tuple[QuotaRow, ...]
    pool_basis_points: int


class _Queue(NamedTuple):
    """A team queue and its team."""

    pk: int
    slug: str
    team_id: int
    team: str
    team_slug: str


class _Part(NamedTuple):
    """One team queue's part of a node group; the limits are in basis points of the group, None = without one."""

    nominal: int
    basis_points: int
    borrow_basis_points: int | None
    lend_basis_points: int | None


_Alike = Sequence[tuple[_Part, Sequence[int]]]
"""The parts of one node group, each with the team queues that have it: of thousands of shares few differ."""


@dataclass(frozen=True, slots=True)
class _Table:
    """What rows are made of. Shares, use and cards by node group, of all teams: one may borrow what others have."""

    queues: Mapping[int, _Queue]  # in the order of their rows
    shares: Mapping[int, _Alike]
    uses: Mapping[int, Mapping[int, Sequence[Use]]]  # of a group by team queue
    cards: Mapping[int, CardCounts]
    locals_of: Mapping[int, Sequence[LocalQueue]]  # by team queue

    def sharing(self, group: int, teams: Collection[int] | None) -> list[_Queue]:
        """The queues of these teams (None = of all) with a part of the group, in the order of their rows."""
        having = {queue for _part, queues in self.shares.get(group, ()) for queue in queues}
        return [
            queue for pk, queue in self.queues.items() if pk in having and (teams is None or queue.team_id in teams)
        ]


def quota_groups(
    *, level: str = "team", groups: Collection[int] | None = None, teams: Collection[int] | None = None
) -> list[GroupRows]:
    """Node groups (None = all) with the rows of these teams (None = of all); with ``level`` local also their local
    queues. Five queries, six with local queues.
    """
    table = _table(level, groups, teams)
    return [_group_rows(group, table, table.sharing(group.pk, teams)) for group in _groups(groups)]


def quota_slice(
    *, level: str, groups: Collection[int], teams: Collection[int] | None, begin: int, end: int
) -> list[QuotaRow]:
    """Of all rows of these groups and teams at one level (team or local) those from place ``begin`` up to ``end``.

    Rows are made of the queues that have a place there only. Five queries, six with local queues.
    """
    table = _table(level, groups, teams)
    rows: list[QuotaRow] = []
    place = skipped = 0
    for group in _groups(groups):
        shown = []
        for queue in table.sharing(group.pk, teams):
            count = len(table.locals_of.get(queue.pk, ())) if level == "local" else 1
            if place + count <= begin:
                skipped = place + count
            elif place < end:
                shown.append(queue)
            place += count
        if shown:
            rows.extend(row for row in _group_rows(group, table, shown).rows if row.level == level)
    return rows[begin - skipped : end - skipped]


def quota_rows(*, viewer: Actor, level: str = "team") -> list[QuotaRow]:
    """The rows a person may see: own teams', an admin's all."""
    teams = teams_where(viewer, Action.QUOTA_VIEW)
    return [row for group in quota_groups(level=level, teams=teams) for row in group.rows if row.level == level]


def cluster_row(found: GroupRows) -> QuotaRow:
    """The sum of a node group."""
    group, figures = found.group, found.balance
    return QuotaRow(
        queue="",
        level="cluster",
        team="",
        team_slug="",
        team_id=0,
        cluster=group.cluster.slug,
        node_group=group.slug,
        group_title=group.title,
        unit=group.unit,
        **_figures(figures.total),
        capacity=figures.capacity,
        pool=figures.pool,
        pool_lent=figures.pool_lent,
        pool_down=figures.pool_row.down,
        pool_free=figures.pool_row.free,
        missing=figures.missing,
        down_held=figures.down_held,
        releasing=figures.releasing,
        outside=figures.outside,
        aside=figures.aside,
    )


def _groups(groups: Collection[int] | None) -> QuerySet[NodeGroup]:
    found = NodeGroup.objects.select_related("cluster").defer("cluster__credentials")
    found = found.order_by("cluster_id", "position", "slug")
    return found if groups is None else found.filter(pk__in=groups)


def _table(level: str, groups: Collection[int] | None, teams: Collection[int] | None) -> _Table:
    use_of: dict[int, dict[int, list[Use]]] = defaultdict(lambda: defaultdict(list))
    for use in uses(groups):
        use_of[use.group_id][use.queue_id].append(use)
    return _Table(
        queues=_queues(),
        shares=_shares(groups),
        uses=use_of,
        cards=card_counts(groups),
        locals_of=_local_queues(teams) if level == "local" else {},
    )


def _queues() -> dict[int, _Queue]:
    """Of all teams, in the order of their rows."""
    rows = TeamQueue.objects.order_by("slug")
    return {row[0]: _Queue(*row) for row in rows.values_list("pk", "slug", "team_id", "team__name", "team__slug")}


def _shares(groups: Collection[int] | None) -> dict[int, _Alike]:
    """Of all teams, by group."""
    rows = Share.objects.order_by()
    if groups is not None:
        rows = rows.filter(group__in=groups)
    found: dict[int, list[tuple[_Part, Sequence[int]]]] = defaultdict(list)
    alike = rows.values("group", *_Part._fields).annotate(queues=ArrayAgg("queue"))
    for group, *part, queues in alike.values_list("group", *_Part._fields, "queues"):
        found[group].append((_Part(*part), queues))
    return dict(found)


def _local_queues(teams: Collection[int] | None) -> dict[int, list[LocalQueue]]:
    rows = LocalQueue.objects.filter(IN_USE).order_by("-is_default", "slug")
    if teams is not None:
        rows = rows.filter(queue__team__in=teams)
    found: dict[int, list[LocalQueue]] = defaultdict(list)
    for local in rows:
        found[local.queue_id].append(local)
    return found


def _group_rows(group: NodeGroup, table: _Table, wanted: Sequence[_Queue]) -> GroupRows:
    """The group with rows of the wanted queues."""
    cards, used = table.cards.get(group.pk, CardCounts()), table.uses.get(group.pk, {})
    divided = cards.capacity if cards.divided is None else cards.divided
    parts: dict[int, _Part] = {}
    uses_by_queue: dict[int, QueueUse] = {}
    for part, queues in table.shares.get(group.pk, ()):
        parts |= dict.fromkeys(queues, part)
        uses_by_queue |= dict.fromkeys(queues, _queue_use(part, divided))
    uses_by_queue |= {pk: _queue_use(parts[pk], divided, found) for pk, found in used.items() if pk in parts}
    figures = balance(
        {queue.slug: uses_by_queue[pk] for pk, queue in table.queues.items() if pk in parts},
        cards,
        wanted=[queue.slug for queue in wanted],
    )
    rows: list[QuotaRow] = []
    for queue in wanted:
        row = figures.queues[queue.slug]
        team_row = _team_row(queue, group, row, parts[queue.pk].basis_points)
        rows.append(team_row)
        if local_queues := table.locals_of.get(queue.pk):
            rows.extend(_local_rows(team_row, row, local_queues, used.get(queue.pk, ())))
    return GroupRows(group, figures, tuple(rows), WHOLE - sum(part.basis_points for part in parts.values()))


def _queue_use(part: _Part, divided: int, found: Sequence[Use] = ()) -> QueueUse:
    """Limits are parts of the cards that are divided, as the cluster is told them."""
    limits = limit_in_cards(divided, part.borrow_basis_points), limit_in_cards(divided, part.lend_basis_points)
    return QueueUse._make((part.nominal, *_counts(found), *limits))


def _counts(found: Sequence[Use]) -> tuple[int, ...]:
    """What several local queues hold and ask for together, in the order that `Use` and `QueueUse` share."""
    if len(found) == 1:
        return found[0][_FIRST_COUNT:]
    return tuple(sum(column) for column in zip(*(use[_FIRST_COUNT:] for use in found), strict=True)) or _NO_COUNTS


_FIRST_COUNT = Use._fields.index("used")
_NO_COUNTS = (0,) * len(Use._fields[_FIRST_COUNT:])


def _team_row(queue: _Queue, group: NodeGroup, figures: QueueBalance, basis_points: int) -> QuotaRow:
    return QuotaRow(
        queue=queue.slug,
        level="team",
        team=queue.team,
        team_slug=queue.team_slug,
        team_id=queue.team_id,
        cluster=group.cluster.slug,
        node_group=group.slug,
        group_title=group.title,
        unit=group.unit,
        **_figures(figures),
        basis_points=basis_points,
    )


def _figures(row: QueueBalance) -> dict[str, Any]:
    return {name: getattr(row, name) for name in QueueBalance.__slots__}


def _local_rows(
    team: QuotaRow, figures: QueueBalance, queues: Sequence[LocalQueue], found: Sequence[Use]
) -> list[QuotaRow]:
    """What local queues hold and ask for is exact; their parts of the quota are a guide (decision 20)."""
    use_of = {use.local_queue_id: use for use in found}
    nothing = Use(0, 0, 0, 0, 0, 0, 0)
    each = {queue.slug: use_of.get(queue.pk, nothing) for queue in queues}
    parts = guide(
        figures,
        {queue.slug: LocalUse(queue.weight, each[queue.slug].used + each[queue.slug].reserved) for queue in queues},
    )
    return [
        replace(
            team,
            queue=f"{team.queue}/{name}",
            level="local",
            nominal=part.nominal,
            usable=part.usable,
            free=part.free,
            borrowed=part.borrowed,
            lent=part.lent,
            down=part.down,
            over=part.over,
            used=each[name].used,
            reserved=each[name].reserved,
            pending=each[name].pending,
            pending_jobs=each[name].pending_jobs,
            pending_stopped=each[name].pending_stopped,
            pending_jobs_stopped=each[name].pending_jobs_stopped,
            basis_points=0,
            is_guide=True,
        )
        for name, part in parts.items()
    ]
