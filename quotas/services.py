"""Writes about shares, queues and demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import transaction
from django.db.models import Sum
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, require
from accounts.services import team_create
from clusters.contract import GroupQuota, QueuePlan, QuotaPlan, QuotaSyncReport
from clusters.models import Cluster, Node, NodeGroup
from clusters.services import backend, is_remote
from common.errors import FieldProblem, InvalidInput
from common.hints import send
from common.rows import insert_many
from quotas.domain.shares import WHOLE, apportion
from quotas.models import Demand, LocalQueue, Share, TeamQueue
from quotas.selectors.local_queues import local_queue_plans


@transaction.atomic
def team_queue_create(*, actor: Actor | None, team: Team, cluster: Cluster) -> TeamQueue:
    """Give a team its queue on a cluster, with one local queue and a share of 0 % of every group. Idempotent."""
    if actor is not None:
        require(actor, Action.SHARES_MANAGE)
    queue, made = TeamQueue.objects.get_or_create(team=team, cluster=cluster, defaults={"slug": team.slug})
    if made:
        LocalQueue.objects.create(queue=queue, slug="default", name="default", is_default=True)
        audit.record(actor, "queue.create", target_type="queue", target_id=queue.slug, team_id=team.pk)
    Share.objects.bulk_create(
        [Share(queue=queue, group=group, basis_points=0) for group in cluster.groups.all()], ignore_conflicts=True
    )
    return queue


@transaction.atomic
def team_open(*, actor: Actor, name: str) -> Team:
    """Add a team with a queue on every cluster and a share of 0 % everywhere. Raises NotAllowed, InvalidInput."""
    team = team_create(actor=actor, name=name)
    for cluster in Cluster.objects.order_by("pk"):
        team_queue_create(actor=actor, team=team, cluster=cluster)
    return team


@transaction.atomic
def shares_equal(*, actor: Actor) -> None:
    """Give all teams the same share of every node group; what does not divide goes to the common pool.

    Raises NotAllowed.
    """
    require(actor, Action.SHARES_MANAGE)
    queues: dict[int, list[int]] = {}
    for queue in TeamQueue.objects.filter(team__archived_at=None).order_by("pk"):
        queues.setdefault(queue.cluster_id, []).append(queue.pk)
    for group in NodeGroup.objects.filter(cluster__in=queues).order_by("pk"):
        ids = queues[group.cluster_id]
        shares_set(actor=actor, group=group, basis_points=dict.fromkeys(ids, WHOLE // len(ids)))


@transaction.atomic
def shares_set(*, actor: Actor | None, group: NodeGroup, basis_points: Mapping[int, int]) -> None:
    """Set the shares of one node group by team queue id; the rest of 100 % is the common pool (decision 55).

    Queues that are left out keep theirs. Raises NotAllowed, InvalidInput (a negative share, or more than 100 %
    together).
    """
    if actor is not None:
        require(actor, Action.SHARES_MANAGE)
    if any(points < 0 for points in basis_points.values()):
        raise InvalidInput([FieldProblem("shares", "negative", _("A share cannot be negative."))])
    NodeGroup.objects.select_for_update().get(pk=group.pk)
    kept = Share.objects.filter(group=group).exclude(queue__in=basis_points).aggregate(total=Sum("basis_points"))
    if sum(basis_points.values()) + (kept["total"] or 0) > WHOLE:
        raise InvalidInput(
            [FieldProblem("shares", "above_whole", _("The shares of a node group must not exceed 100 % together."))]
        )
    for queue_id, points in basis_points.items():
        Share.objects.update_or_create(queue_id=queue_id, group=group, defaults={"basis_points": points})
    _recompute(group)
    audit.record(
        actor,
        "shares.set",
        target_type="group",
        target_id=group.slug,
        shares={str(queue_id): points for queue_id, points in basis_points.items()},
    )


def _recompute(group: NodeGroup) -> None:
    """Nominal cards of every share of a group from its installed cards."""
    cards = Node.objects.filter(group=group).aggregate(total=Sum("installed"))["total"] or 0
    shares = list(Share.objects.filter(group=group).select_related("queue"))
    parts = apportion(cards, {share.queue.slug: share.basis_points for share in shares})
    for share in shares:
        nominal = parts.nominal[share.queue.slug]
        if share.nominal != nominal:
            Share.objects.filter(pk=share.pk).update(nominal=nominal)


def quota_plan(cluster: Cluster) -> QuotaPlan:
    """All team queues of a cluster as they shall be there, and its common pool."""
    queues = []
    local_queues = local_queue_plans(cluster)
    given: dict[int, int] = {}
    for queue in TeamQueue.objects.filter(cluster=cluster).select_related("team").order_by("slug"):
        shares = list(queue.shares.select_related("group").order_by("group__position"))
        for share in shares:
            given[share.group_id] = given.get(share.group_id, 0) + share.nominal
        queues.append(
            QueuePlan(
                queue=queue.slug,
                space=queue.team.space,
                quotas=tuple(GroupQuota(share.group.slug, share.nominal) for share in shares),
                **local_queues[queue.pk],
            )
        )
    pool = tuple(
        GroupQuota(group.slug, max(0, (group.total or 0) - given.get(group.pk, 0)))
        for group in cluster.groups.annotate(total=Sum("nodes__installed"))
    )
    return QuotaPlan(queues=tuple(queues), pool=pool)


def quotas_apply(cluster: Cluster) -> QuotaSyncReport:
    """Bring the plan to the cluster. Call after commit; repeating it changes nothing."""
    return backend(cluster).apply_quotas(quota_plan(cluster))


def quotas_bring(cluster: Cluster) -> None:
    """Have the plan brought to the cluster: at once where that takes no network, else by a worker very soon.

    Raises BackendError for a cluster that is asked at once.
    """
    if is_remote(cluster):
        send("quotas.apply_cluster", cluster.pk)
    else:
        quotas_apply(cluster)


def demand_put(
    *, job_ulid: str, local_queue_id: int, group_id: int | None, owner_id: int, cards: int, attempt_no: int, held: bool
) -> None:
    """Record what a live job asks for; in the caller's transaction."""
    Demand.objects.update_or_create(
        job_ulid=job_ulid,
        defaults={
            "local_queue_id": local_queue_id,
            "group_id": group_id,
            "owner_id": owner_id,
            "cards": cards,
            "attempt_no": attempt_no,
            "held": held,
        },
    )


def demands_add(demands: Sequence[Demand]) -> None:
    """Record what new jobs ask for, in one statement; in the caller's transaction."""
    insert_many(demands)


def demand_resize(job_ulid: str, *, cards: int) -> None:
    """A live job asks for another number of cards; in the caller's transaction."""
    Demand.objects.filter(job_ulid=job_ulid).update(cards=cards)


def demand_hold(job_ulids: Sequence[str], *, held: bool) -> None:
    """These live jobs leave their queue or come back into it; in the caller's transaction."""
    Demand.objects.filter(job_ulid__in=job_ulids).update(held=held)


def demand_drop(job_ulid: str) -> None:
    """A job that ended asks for nothing; in the caller's transaction."""
    Demand.objects.filter(job_ulid=job_ulid).delete()
