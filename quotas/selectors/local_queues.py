"""Local queues for the cluster and for people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.policy import Action, teams_where
from clusters.models import Cluster, PreflightRow
from clusters.preflight.words import Feature, Verdict
from common.errors import NotFound
from quotas.limits import LimitsEffect, limits_effects
from quotas.models import Demand, LocalQueue, TeamQueue
from quotas.selectors.usage import LocalUses, local_uses

IN_USE = ~Q(state=LocalQueue.State.CLOSED) | Q(Exists(Demand.objects.filter(local_queue=OuterRef("pk"))))
"""A job that came in while its queue was being closed still has it until it ends."""


class LocalQueuePlans(TypedDict):
    """The part of a `QueuePlan` that is the team's own."""

    local_queues: tuple[str, ...]
    held_local_queues: tuple[str, ...]
    weights: tuple[tuple[str, int], ...]


NO_LOCAL_QUEUES = LocalQueuePlans(local_queues=(), held_local_queues=(), weights=())


def local_queue_plans(cluster: Cluster) -> Mapping[int, LocalQueuePlans]:
    """By id of the team queue, for any of a cluster; two queries."""
    rows: dict[int, list[LocalQueue]] = defaultdict(list)
    for local in LocalQueue.objects.filter(IN_USE, queue__cluster=cluster).order_by("slug"):
        rows[local.queue_id].append(local)
    weighs = bool(weighing_clusters([cluster.pk]))
    plans = {
        pk: LocalQueuePlans(
            local_queues=tuple(local.slug for local in found),
            held_local_queues=tuple(local.slug for local in found if local.is_stopped),
            weights=tuple((local.slug, local.weight) for local in found) if weighs else (),
        )
        for pk, found in rows.items()
    }
    return defaultdict(lambda: NO_LOCAL_QUEUES, plans)


def weighing_clusters(clusters: Collection[int] | None = None) -> frozenset[int]:
    """Ids of the clusters that order the jobs of a team by what its local queues used lately and their weights."""
    rows = PreflightRow.objects.filter(feature=Feature.QUEUE_WEIGHTS, verdict=Verdict.OK)
    if clusters is not None:
        rows = rows.filter(cluster__in=clusters)
    return frozenset(rows.values_list("cluster", flat=True))


@dataclass(frozen=True, slots=True)
class LocalQueueView:
    """One local queue for people. ``jobs`` wait or run in it now; it can be closed when there are none.

    ``used``, ``reserved`` and ``pending`` are cards: slices are another unit and are never added to them. ``effect``
    tells what the limits do now; None without limits.
    """

    pk: int
    queue: str
    slug: str
    name: str
    team: str
    team_slug: str
    cluster: str
    cluster_slug: str
    state: str
    reason: str
    by: str
    since: datetime | None
    weight: int
    weighs: bool  # the weight orders admission on its cluster
    is_default: bool
    jobs: int
    used: int = 0
    reserved: int = 0
    pending: int = 0
    most_cards: int | None = None
    most_cards_each: int | None = None
    effect: LimitsEffect | None = None

    @property
    def can_close(self) -> bool:
        return not self.is_default and not self.jobs


def local_queue_views(
    *, viewer: Actor, team_id: int | None = None, begin: int = 0, end: int | None = None
) -> list[LocalQueueView]:
    """Local queues of the teams whose quota the viewer may see, or of one of them, but for closed ones; four queries.

    In the order of teams and clusters, the default queue first; from place ``begin`` up to ``end``.
    """
    teams = teams_where(viewer, Action.QUOTA_VIEW)
    rows = LocalQueue.objects.filter(IN_USE).select_related("queue__team", "queue__cluster")
    rows = rows.defer("queue__cluster__credentials")
    if teams is not None:
        rows = rows.filter(queue__team__in=teams)
    if team_id is not None:
        rows = rows.filter(queue__team=team_id)
    rows = rows.order_by(
        "queue__team__name", "-queue__cluster__is_default", "queue__cluster__name", "-is_default", "name", "pk"
    )
    found = list(rows[begin:end])
    use_of = local_uses([local.pk for local in found])
    return _views(found, use_of, weighing_clusters())


def local_queue_view(local: LocalQueue) -> LocalQueueView:
    """The same of one that may have changes which are not kept. Needs ``queue__team`` and ``queue__cluster`` loaded."""
    return _views([local], local_uses([local.pk]), weighing_clusters([local.queue.cluster_id]))[0]


def _views(
    queues: Sequence[LocalQueue], uses: Mapping[int, LocalUses], weighing: Collection[int]
) -> list[LocalQueueView]:
    effects = limits_effects(queues, timezone.now())
    return [
        _view(
            local,
            uses.get(local.pk, LocalUses()),
            weighs=local.queue.cluster_id in weighing,
            effect=effects.get(local.pk),
        )
        for local in queues
    ]


def _view(local: LocalQueue, use: LocalUses, *, weighs: bool, effect: LimitsEffect | None) -> LocalQueueView:
    team, cluster = local.queue.team, local.queue.cluster
    return LocalQueueView(
        pk=local.pk,
        queue=local.queue.slug,
        slug=local.slug,
        name=local.name,
        team=team.name,
        team_slug=team.slug,
        cluster=cluster.name,
        cluster_slug=cluster.slug,
        state=local.state,
        reason=local.state_reason,
        by=local.state_by_name,
        since=local.state_since,
        weight=local.weight,
        weighs=weighs,
        is_default=local.is_default,
        jobs=use.jobs,
        used=use.used,
        reserved=use.reserved,
        pending=use.pending,
        most_cards=local.most_cards,
        most_cards_each=local.most_cards_each,
        effect=effect,
    )


def team_queue_get(*, viewer: Actor, queue: str, cluster: str = "") -> TeamQueue:
    """A team queue by its name; without a cluster the default one's, else the first. Raises NotFound."""
    if "\x00" in queue + cluster:
        raise NotFound("not_found", _("There is no such queue, or you may not see it."))
    rows = TeamQueue.objects.filter(slug=queue).select_related("cluster", "team")
    teams = teams_where(viewer, Action.QUOTA_VIEW)
    if teams is not None:
        rows = rows.filter(team__in=teams)
    if cluster:
        rows = rows.filter(cluster__slug=cluster)
    found = rows.order_by("-cluster__is_default", "cluster__name").first()
    if found is None:
        raise NotFound("not_found", _("There is no such queue, or you may not see it."))
    return found


def local_queue_get(*, viewer: Actor, queue: str, local: str, cluster: str = "") -> LocalQueue:
    """A local queue that is not closed. Raises NotFound."""
    found = team_queue_get(viewer=viewer, queue=queue, cluster=cluster)
    row = LocalQueue.objects.filter(queue=found, slug=local).exclude(state=LocalQueue.State.CLOSED).first()
    if row is None:
        raise NotFound("not_found", _("There is no such queue, or you may not see it."))
    row.queue = found
    return row
