"""Where a team's next job could go: its queues, and per node group what is free. For submit and its live preview."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.models import Cluster, NodeGroup
from clusters.selectors import group_snapshots
from quotas.models import LocalQueue, TeamQueue
from quotas.selectors.rows import GroupRows, quota_groups


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """One node group of a team queue, in the group's unit."""

    group: NodeGroup
    capacity: int
    nominal: int
    free_nominal: int
    cohort_free: int
    free_blocks: tuple[int, ...]
    pending_jobs: int


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """One team queue with its local queues (default first) and groups."""

    queue: TeamQueue
    cluster: Cluster
    local_queues: tuple[LocalQueue, ...]
    groups: tuple[GroupPlace, ...]


def queue_places(team_id: int) -> list[QueuePlace]:
    """The team's queues, the default cluster's first (decision 16). A fixed number of queries."""
    queues = list(
        TeamQueue.objects.filter(team_id=team_id)
        .select_related("cluster")
        .prefetch_related("local_queues")
        .order_by("-cluster__is_default", "cluster__name")
    )
    if not queues:
        return []
    blocks = {pk: snapshot.free_blocks for pk, snapshot in group_snapshots().items()}
    groups = quota_groups()
    return [
        QueuePlace(
            queue=queue,
            cluster=queue.cluster,
            local_queues=tuple(sorted(queue.local_queues.all(), key=lambda local: (not local.is_default, local.slug))),
            groups=tuple(
                place
                for rows in groups
                if rows.group.cluster_id == queue.cluster_id
                and (place := _place(rows, queue.slug, blocks.get(rows.group.pk, ()))) is not None
            ),
        )
        for queue in queues
    ]


def _place(rows: GroupRows, queue: str, blocks: tuple[int, ...]) -> GroupPlace | None:
    mine = rows.balance.queues.get(queue)
    if mine is None:
        return None
    held = sum(row.used + row.reserved for row in rows.balance.queues.values())
    total = sum(row.nominal for row in rows.balance.queues.values()) + rows.balance.pool
    return GroupPlace(
        group=rows.group,
        capacity=rows.balance.capacity,
        nominal=mine.nominal,
        free_nominal=max(0, mine.nominal - mine.used - mine.reserved),
        cohort_free=max(0, total - held),
        free_blocks=blocks,
        pending_jobs=mine.pending_jobs,
    )
