"""How cut cards are shared: what admins decided about a node group, or what holds where they decided nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.contract import SharingMode
from clusters.models import Cluster, NodeGroup
from clusters.water_selectors import is_shared
from common.errors import DomainError, NotFound
from quotas.domain.sharing import SLOWDOWN_DEFAULT, times_text
from quotas.sharing_models import SharingPolicy, TrainingPermit


@dataclass(frozen=True, slots=True)
class SharingView:
    """One group of cut cards. ``policy`` is None where nobody decided anything."""

    group: NodeGroup
    policy: SharingPolicy | None
    permits: tuple[TrainingPermit, ...]

    @property
    def version(self) -> int:
        return self.policy.version if self.policy else 0

    @property
    def slowdown(self) -> int:
        """Run time here per mille of that on whole cards."""
        return self.policy.slowdown if self.policy else SLOWDOWN_DEFAULT

    @property
    def times(self) -> str:
        """1.3 for 1300."""
        return times_text(self.slowdown)

    def is_overdue(self, today: date) -> bool:
        """Meant to have ended by now."""
        return bool(self.policy and self.policy.until and self.policy.until < today)


def shared_only(group: NodeGroup) -> NodeGroup:
    """Raises DomainError for a group of whole cards."""
    if not is_shared(group):
        raise DomainError("not_shared", _("%(group)s has whole cards: nothing is shared there.") % {"group": group})
    return group


def shared_group(*, viewer: Actor, cluster: Cluster, slug: str) -> NodeGroup:
    """A group of cut cards, for admins. Raises NotAllowed, NotFound (also for one of whole cards)."""
    require(viewer, Action.SHARES_MANAGE)
    found = cluster.groups.filter(slug=slug).first()
    if found is None or not is_shared(found):
        raise NotFound("not_found", _("There is no node group of shared card slices of this name."))
    return found


def shared_groups(*, viewer: Actor) -> dict[str, list[NodeGroup]]:
    """Groups of cut cards by the slug of their cluster, for admins; one query. Raises NotAllowed."""
    require(viewer, Action.SHARES_MANAGE)
    found: dict[str, list[NodeGroup]] = {}
    for group in NodeGroup.objects.select_related("cluster").order_by("position", "slug"):
        if is_shared(group):
            found.setdefault(group.cluster.slug, []).append(group)
    return found


def sharing_view(group: NodeGroup) -> SharingView:
    """What holds for one group of cut cards; two queries at most."""
    policy = SharingPolicy.objects.filter(group=group).first()
    permits = tuple(policy.permits.select_related("team").order_by("team__name")) if policy else ()
    return SharingView(group, policy, permits)


def whole_groups(cluster: Cluster) -> frozenset[str]:
    """Groups of the cluster whose cards are whole, so that their numbers may be added up; one query."""
    rows = NodeGroup.objects.filter(cluster=cluster, sharing=SharingMode.EXCLUSIVE.value, unit="card")
    return frozenset(rows.values_list("slug", flat=True))


def slowdowns(cluster: Cluster) -> tuple[tuple[str, int], ...]:
    """Run time per mille of that on whole cards, of every group of cut cards of the cluster; one query."""
    rows = NodeGroup.objects.filter(cluster=cluster).exclude(sharing=SharingMode.EXCLUSIVE.value, unit="card")
    found = rows.order_by("slug").values_list("slug", "sharing_policy__slowdown")
    return tuple((slug, slowdown or SLOWDOWN_DEFAULT) for slug, slowdown in found)
