"""Putting a confirmed node group aside: only what nobody has a share of, and no job ever ran on."""

from __future__ import annotations

from django.db import transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext as _

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.groups import aside_of, nodes_follow, require_version
from clusters.models import Cluster, NodeGroup
from common.errors import DomainError, NotFound
from common.texts import storable
from quotas.models import Demand, Share


@transaction.atomic
def group_put_aside(*, actor: Actor | None, cluster: Cluster, slug: str, expected_version: int) -> None:
    """Take a group out of the console; its nodes are outside afterwards, and nothing is proposed for them.

    Raises NotAllowed, NotFound and DomainError: shares of teams, live jobs, jobs of the past, "changed_meanwhile".
    """
    if actor is not None:
        require(actor, Action.CLUSTER_MANAGE)
    Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
    group = NodeGroup.objects.filter(cluster=cluster, slug=storable(slug)).select_related("cluster").first()
    if group is None:
        raise NotFound("not_found", _("There is no node group of this name on this cluster."))
    require_version(group, expected_version)
    _require_unused(group)
    aside = aside_of(group, actor)
    try:
        with transaction.atomic():
            group.delete()
    except ProtectedError:
        raise DomainError(
            "has_history",
            _("Jobs of the past ran in this group. They are kept for ever, and the group with them."),
        ) from None
    aside.save()
    audit.record(actor, "group.aside", target_type="group", target_id=f"{cluster.slug}/{aside.slug}", title=aside.title)
    nodes_follow(cluster)


def _require_unused(group: NodeGroup) -> None:
    if not group.selector:
        raise DomainError("no_labels", _("No label sets the nodes of this group apart, so they cannot be put aside."))
    if Share.objects.filter(group=group, basis_points__gt=0).exists():
        raise DomainError(
            "has_shares", _("Teams have shares of this group. In the quota editor, first set them to 0 %.")
        )
    if Demand.objects.filter(group=group).exists():
        raise DomainError(
            "has_live_jobs", _("Jobs wait or run in this group. Cancel them, or wait until they have ended.")
        )
