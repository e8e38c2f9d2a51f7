"""The quota table: used, reserved, free, borrowed, lent by decision 19, per team queue, local queue and node group.

A fixed number of queries, and of all node groups only those that are asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from django.contrib.postgres.aggregates import ArrayAgg

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


_Shares = Mapping[int, _Part]
"""The parts of one node group by team queue: plain numbers, because there are thousands of them."""


def quota_groups(
    *, level: str = "team", groups: Collection[int] | None = None, teams: Collection[int] | None = None
) -> list[GroupRows]:
    """Node groups (None = all) with the rows of these teams (None = of all); with ``level`` local also their local
    queues. Five queries, six with local queues.
    """
    found = NodeGroup.objects.select_related("cluster").order_by("cluster_id", "position", "slug")
    if groups is not None:
        found = found.filter(pk__in=groups)
    shares = _shares(groups)
    queues = _queues()
    use_of: dict[tuple[int, int], list[Use]] = defaultdict(list)
    for use in uses(groups):
        use_of[use.queue_id, use.group_id].append(use)
    cards = card_counts(groups)
    locals_of = _local_queues(teams) if level == "local" else {}
    return [
        _group_rows(
            group, shares.get(group.pk, {}), queues, use_of, cards.get(group.pk, CardCounts()), locals_of, teams
        )
        for group in found
    ]


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


def _queues() -> dict[int, _Queue]:
    """Of all teams, in the order of their rows."""
    rows = TeamQueue.objects.order_by("slug")
    return {row[0]: _Queue(*row) for row in rows.values_list("pk", "slug", "team_id", "team__name", "team__slug")}


def _shares(groups: Collection[int] | None) -> dict[int, _Shares]:
    """Of all teams, by group: what one may borrow is what the others have free."""
    rows = Share.objects.order_by()
    if groups is not None:
        rows = rows.filter(group__in=groups)
    columns = {f"all_{name}": ArrayAgg(name, order_by="pk") for name in ("queue", *_Part._fields)}
    found = rows.values("group").annotate(**columns).values_list("group", *columns)
    return {group: dict(zip(queues, map(_Part, *parts), strict=True)) for group, queues, *parts in found}


def _local_queues(teams: Collection[int] | None) -> dict[int, list[LocalQueue]]:
    rows = LocalQueue.objects.filter(IN_USE).order_by("-is_default", "slug")
    if teams is not None:
        rows = rows.filter(queue__team__in=teams)
    found: dict[int, list[LocalQueue]] = defaultdict(list)
    for local in rows:
        found[local.queue_id].append(local)
    return found


def _group_rows(
    group: NodeGroup,
    shares: _Shares,
    queues: Mapping[int, _Queue],
    use_of: Mapping[tuple[int, int], list[Use]],
    cards: CardCounts,
    locals_of: Mapping[int, list[LocalQueue]],
    teams: Collection[int] | None,
) -> GroupRows:
    sharing = [queue for queue in queues.values() if queue.pk in shares]
    wanted = [queue for queue in sharing if teams is None or queue.team_id in teams]
    divided = cards.capacity if cards.divided is None else cards.divided
    idle = {part: _queue_use(part, divided) for part in set(shares.values())}  # most are, and many are alike
    figures = balance(
        {
            queue.slug: _queue_use(shares[queue.pk], divided, found)
            if (found := use_of.get((queue.pk, group.pk)))
            else idle[shares[queue.pk]]
            for queue in sharing
        },
        cards,
        wanted=[queue.slug for queue in wanted],
    )
    rows: list[QuotaRow] = []
    for queue in wanted:
        row = figures.queues[queue.slug]
        team_row = _team_row(queue, group, row, shares[queue.pk].basis_points)
        rows.append(team_row)
        if local_queues := locals_of.get(queue.pk):
            rows.extend(_local_rows(team_row, row, local_queues, use_of.get((queue.pk, group.pk), ())))
    return GroupRows(group, figures, tuple(rows), WHOLE - sum(part.basis_points for part in shares.values()))


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
