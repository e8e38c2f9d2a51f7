"""The quota table: used, reserved, free, borrowed, lent by decision 19, per team queue and local queue."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from accounts.actors import Actor
from accounts.policy import Action, teams_where
from clusters.models import Node, NodeGroup
from clusters.selectors import NodeView, node_view
from quotas.domain.balance import GroupBalance, QueueUse, balance, guide
from quotas.models import LocalQueue, Share
from quotas.selectors.usage import Use, uses


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """One row as the API gives it (decision 19). For local queues nominal, usable and free are a guide."""

    queue: str
    level: str  # team | local
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
    basis_points: int = 0
    is_guide: bool = False


@dataclass(frozen=True, slots=True)
class GroupRows:
    """One node group: all team rows (for admins) and what stands at cluster level only."""

    group: NodeGroup
    balance: GroupBalance
    rows: tuple[QuotaRow, ...]
    pool_basis_points: int


def quota_groups(*, level: str = "team") -> list[GroupRows]:
    """Every group with every row, for callers that cut it down to what a person may see. Five queries."""
    groups = list(NodeGroup.objects.select_related("cluster").order_by("cluster_id", "position", "slug"))
    shares: dict[int, list[Share]] = defaultdict(list)
    for share in Share.objects.select_related("queue__team").order_by("queue__slug"):
        shares[share.group_id].append(share)
    use_of: dict[tuple[int, int], list[Use]] = defaultdict(list)
    for use in uses():
        use_of[use.queue_id, use.group_id].append(use)
    nodes: dict[int, list[NodeView]] = defaultdict(list)
    for node in Node.objects.exclude(group=None):
        nodes[node.group_id or 0].append(node_view(node, ""))
    locals_of: dict[int, list[LocalQueue]] = defaultdict(list)
    if level == "local":
        for local in LocalQueue.objects.all():
            locals_of[local.queue_id].append(local)
    result = []
    for group in groups:
        mine = shares[group.pk]
        installed = sum(node.installed for node in nodes[group.pk])
        figures = balance(
            {share.queue.slug: _queue_use(share, use_of[share.queue_id, group.pk]) for share in mine},
            pool=max(0, installed - sum(share.nominal for share in mine)),
            down=sum(node.out for node in nodes[group.pk]),
            capacity=installed,
            releasing=sum(node.ending for node in nodes[group.pk]),
            outside=sum(node.outside for node in nodes[group.pk]),
        )
        rows: list[QuotaRow] = []
        for share in mine:
            team_row = _team_row(share, group, figures)
            rows.append(team_row)
            if level == "local":
                rows.extend(_local_rows(team_row, locals_of[share.queue_id], use_of[share.queue_id, group.pk]))
        pool_points = 10_000 - sum(share.basis_points for share in mine)
        result.append(GroupRows(group, figures, tuple(rows), pool_points))
    return result


def quota_rows(*, viewer: Actor, level: str = "team") -> list[QuotaRow]:
    """The rows a person may see: own teams', an admin's all."""
    teams = teams_where(viewer, Action.QUOTA_VIEW)
    return [
        row
        for group in quota_groups(level=level)
        for row in group.rows
        if (teams is None or row.team_id in teams) and (level == "team" or row.level == level)
    ]


def _queue_use(share: Share, found: list[Use]) -> QueueUse:
    return QueueUse(
        nominal=share.nominal,
        used=sum(use.used for use in found),
        reserved=sum(use.reserved for use in found),
        pending=sum(use.pending for use in found),
        pending_jobs=sum(use.pending_jobs for use in found),
    )


def _team_row(share: Share, group: NodeGroup, figures: GroupBalance) -> QuotaRow:
    row = figures.queues[share.queue.slug]
    team = share.queue.team
    return QuotaRow(
        queue=share.queue.slug,
        level="team",
        team=team.name,
        team_slug=team.slug,
        team_id=team.pk,
        cluster=group.cluster.slug,
        node_group=group.slug,
        group_title=group.title,
        unit=group.unit,
        nominal=row.nominal,
        usable=row.usable,
        used=row.used,
        reserved=row.reserved,
        free=row.free,
        borrowed=row.borrowed,
        lent=row.lent,
        over=row.over,
        down=row.down,
        borrowable=row.borrowable,
        pending=row.pending,
        pending_jobs=row.pending_jobs,
        basis_points=share.basis_points,
    )


def _local_rows(team: QuotaRow, queues: list[LocalQueue], found: list[Use]) -> list[QuotaRow]:
    use_of = {use.local_queue_id: use for use in found}
    weights = {queue.slug: queue.weight for queue in queues}
    held = {queue.slug: use_of[queue.pk].used + use_of[queue.pk].reserved for queue in queues if queue.pk in use_of}
    figures = guide(team.nominal, team.usable, weights, held)
    rows = []
    for queue in queues:
        use = use_of.get(queue.pk)
        nominal, usable, free = figures[queue.slug]
        rows.append(
            QuotaRow(
                queue=f"{team.queue}/{queue.slug}",
                level="local",
                team=team.team,
                team_slug=team.team_slug,
                team_id=team.team_id,
                cluster=team.cluster,
                node_group=team.node_group,
                group_title=team.group_title,
                unit=team.unit,
                nominal=nominal,
                usable=usable,
                used=use.used if use else 0,
                reserved=use.reserved if use else 0,
                free=free,
                borrowed=0,
                lent=0,
                over=0,
                down=0,
                borrowable=team.borrowable,
                pending=use.pending if use else 0,
                pending_jobs=use.pending_jobs if use else 0,
                is_guide=True,
            )
        )
    return rows
