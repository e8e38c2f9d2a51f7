"""Connecting and forgetting clusters together with the queues that teams have on them."""

from __future__ import annotations

from django.db import transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, require
from clusters.connect import Connected, Upload, cluster_connect, require_connected
from clusters.contract import BackendError, QuotaPlan
from clusters.models import Cluster, ClusterMode
from clusters.services import backend
from common.errors import DomainError
from quotas.managing import was_managed
from quotas.models import Demand, Share, TeamQueue
from quotas.services import team_queue_create


def cluster_open(
    *, actor: Actor | None, name: str, upload: Upload, is_default: bool = False, mode: ClusterMode | None = None
) -> Connected:
    """Connect a cluster and give every team its queue there, with a share of 0 %. Raises NotAllowed, InvalidInput."""
    connected = cluster_connect(actor=actor, name=name, upload=upload, is_default=is_default, mode=mode)
    for team in Team.objects.filter(archived_at=None).order_by("pk"):
        team_queue_create(actor=actor, team=team, cluster=connected.cluster)
    return connected


def shares_complete(cluster: Cluster) -> None:
    """A share of 0 % for every node group that appeared since the queues were made; three queries, four with news."""
    have = set(Share.objects.filter(group__cluster=cluster).values_list("queue_id", "group_id"))
    groups = list(cluster.groups.values_list("pk", flat=True))
    missing = [
        Share(queue_id=queue, group_id=group, basis_points=0)
        for queue in TeamQueue.objects.filter(cluster=cluster).values_list("pk", flat=True)
        for group in groups
        if (queue, group) not in have
    ]
    if missing:
        Share.objects.bulk_create(missing, ignore_conflicts=True)


def cluster_forget(*, actor: Actor | None, cluster: Cluster) -> bool:
    """Remove a connected cluster with its queues, nodes and credentials; call it outside of a transaction.

    Returns whether our queues went from the cluster too; one that does not answer keeps them. Raises NotAllowed and
    DomainError: the sandbox, live jobs, shares of teams, jobs of the past.
    """
    if actor is not None:
        require(actor, Action.CLUSTER_MANAGE)
    _require_unused(cluster)
    tidied = _take_queues_away(cluster)
    with transaction.atomic():
        Cluster.objects.select_for_update().get(pk=cluster.pk)
        _require_unused(cluster)
        audit.record(actor, "cluster.forget", target_type="cluster", target_id=cluster.slug, server=cluster.server)
        try:
            TeamQueue.objects.filter(cluster=cluster).delete()
            cluster.delete()
        except ProtectedError:
            raise DomainError(
                "has_history",
                _("Jobs of the past ran on this cluster. They are kept for ever, and the cluster with them."),
            ) from None
    return tidied


def _require_unused(cluster: Cluster) -> None:
    require_connected(cluster)
    if Demand.objects.filter(local_queue__queue__cluster=cluster).exists():
        raise DomainError(
            "has_live_jobs", _("Jobs wait or run on this cluster. Cancel them, or wait until they have ended.")
        )
    if Share.objects.filter(group__cluster=cluster, basis_points__gt=0).exists():
        raise DomainError("has_shares", _("Teams have shares of this cluster. First set them to 0 %."))


def _take_queues_away(cluster: Cluster) -> bool:
    """Whether none of ours are left. From a cluster that is only watched nothing is taken."""
    cluster.refresh_from_db(fields=["mode", "settings"])
    if cluster.is_watched_only:
        return not was_managed(cluster)
    try:
        return not backend(cluster).apply_quotas(QuotaPlan(queues=(), pool=(), takes_over=True)).failed
    except BackendError:
        return False
