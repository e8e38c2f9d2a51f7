"""What a person may choose from when a job is submitted: node groups and local queues of their teams."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from accounts.models import Team
from clusters.models import ClusterMode, NodeGroup
from clusters.water_selectors import is_shared
from quotas.models import LocalQueue, TeamQueue

TAKE_JOBS = (LocalQueue.State.OPEN, LocalQueue.State.HELD)


def offered_groups(team_ids: Collection[int]) -> list[tuple[str, str]]:
    """(slug, title) of the groups in which one of the teams has cards of its own, marked where shared; one query."""
    rows = NodeGroup.objects.filter(cluster__mode=ClusterMode.MANAGING)
    rows = rows.filter(shares__queue__team_id__in=team_ids, shares__nominal__gt=0)
    return list(dict.fromkeys((group.slug, _offer(group)) for group in rows.order_by("position", "slug")))


def _offer(group: NodeGroup) -> str:
    return _("%(group)s (shared card slices)") % {"group": group.title} if is_shared(group) else group.title


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """One local queue a person may submit to. ``cluster_name`` is empty where the team has one cluster only."""

    team: Team
    local: LocalQueue
    cluster_slug: str
    cluster_name: str


def queue_choices(team_ids: Collection[int]) -> list[QueueChoice]:
    """Local queues of the teams that take jobs; the default cluster's first, and of each cluster the default queue;
    one query.
    """
    rows = LocalQueue.objects.filter(queue__team_id__in=team_ids, state__in=TAKE_JOBS)
    rows = rows.filter(queue__cluster__mode=ClusterMode.MANAGING)
    rows = rows.select_related("queue__team", "queue__cluster")
    rows = rows.order_by(
        "queue__team__name", "-queue__cluster__is_default", "queue__cluster__name", "-is_default", "slug"
    )
    found = [QueueChoice(row.queue.team, row, row.queue.cluster.slug, row.queue.cluster.name) for row in rows]
    if len({choice.cluster_slug for choice in found}) < 2:
        found = [replace(choice, cluster_name="") for choice in found]
    return found


def queue_ids() -> dict[tuple[str, str], int]:
    """Ids of all team queues by cluster slug and queue slug; one query."""
    rows = TeamQueue.objects.values_list("cluster__slug", "slug", "pk")
    return {(cluster, slug): pk for cluster, slug, pk in rows}
