"""What operators do when a cluster's picture here looks wrong."""

from __future__ import annotations

from django.db import transaction

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.models import Cluster
from common.hints import send


@transaction.atomic
def cluster_look_again(*, actor: Actor, cluster: Cluster) -> None:
    """Have the whole cluster listed anew at once, also while it rests or seems to be watched. Raises NotAllowed."""
    require(actor, Action.OPERATOR_REPAIR)
    Cluster.objects.filter(pk=cluster.pk).update(watched_at=None, rest_until=None)
    audit.record(actor, "cluster.look_again", target_type="cluster", target_id=cluster.slug)
    send("clusters.sync", cluster.pk)
