"""From looking at a cluster to managing it, and back.

A cluster that is only watched is read like any other and never written: `clusters.backends.kueue_volcano.client` is
the gate, and what is said here is all that opens it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.adoption_models import FoundQueue
from clusters.connect import require_connected
from clusters.contract import Part
from clusters.group_models import GroupProposal
from clusters.models import Cluster, ClusterMode, ObservedWorkload, PreflightRow
from clusters.preflight.words import Verdict
from common.errors import DomainError, FieldProblem, InvalidInput
from quotas.models import Demand

MANAGED_BEFORE = "managed_before"
"""In `Cluster.settings` of one that is only watched: objects of ours may still be there."""


class Check(StrEnum):
    """What somebody should know before a cluster is managed."""

    NOT_READ = "not_read"
    PREFLIGHT = "preflight"
    GROUPS = "groups"
    QUEUES = "queues"


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One thing that is not settled. ``count`` is of rows, node groups or queues."""

    check: Check
    count: int
    text: str


def checklist(*, viewer: Actor, cluster: Cluster) -> list[CheckItem]:
    """What is not settled yet; three queries. Raises NotAllowed, DomainError for the sandbox."""
    require(viewer, Action.CLUSTER_MANAGE)
    require_connected(cluster)
    return _checklist(cluster)


@transaction.atomic
def manage_start(*, actor: Actor, cluster: Cluster, confirmed: bool) -> None:
    """Let the console write to a cluster; call `quotas.services.quotas_bring` after the commit. Audited.

    Raises NotAllowed, DomainError (the sandbox, managed already, no gate), InvalidInput while something is not settled
    and nobody has ``confirmed`` that it is known.
    """
    require(actor, Action.CLUSTER_MANAGE)
    require_connected(cluster)
    found = _locked(cluster)
    if not found.is_watched_only:
        raise DomainError("managed_already", _("This cluster is managed already. Somebody else may have been faster."))
    if Part.GATE in found.lacks:
        raise DomainError(
            "no_gate", _("Admission queues are not installed in this cluster: it can be looked at, and takes no jobs.")
        )
    open_items = _checklist(found)
    if open_items and not confirmed:
        message = _("Confirm that you have read what is not settled yet.")
        raise InvalidInput([FieldProblem("confirmed", "not_confirmed", message)])
    _write(found, ClusterMode.MANAGING, settings={k: v for k, v in found.settings.items() if k != MANAGED_BEFORE})
    audit.record(
        actor,
        "cluster.manage",
        target_type="cluster",
        target_id=found.slug,
        open={item.check.value: item.count for item in open_items},
    )
    cluster.mode = found.mode


@transaction.atomic
def manage_stop(*, actor: Actor, cluster: Cluster, **detail: Any) -> None:
    """From now on only look at a cluster. What the console made there stays as it is. Audited, with the ``detail``.

    Raises NotAllowed, DomainError (the sandbox, watched already, jobs of ours are there).
    """
    found = _locked(cluster)
    require_stoppable(actor=actor, cluster=found)
    _write(found, ClusterMode.WATCHING, settings={**found.settings, MANAGED_BEFORE: True})
    audit.record(actor, "cluster.watch", target_type="cluster", target_id=found.slug, **detail)
    cluster.mode = found.mode


def require_stoppable(*, actor: Actor, cluster: Cluster) -> None:
    """Raises as :func:`manage_stop` does, by the row that is given."""
    require(actor, Action.CLUSTER_MANAGE)
    require_connected(cluster)
    if cluster.is_watched_only:
        raise DomainError("watched_already", _("This cluster is only looked at already."))
    if count := live_jobs_of(cluster):
        raise DomainError(
            "has_live_jobs",
            ngettext(
                "%(count)d job of ours waits, runs or ends on this cluster. Cancel it, or wait until it has ended.",
                "%(count)d jobs of ours wait, run or end on this cluster. Cancel them, or wait until they have ended.",
                count,
            )
            % {"count": count},
        )


def live_jobs_of(cluster: Cluster) -> int:
    """Jobs that wait or run there, and objects of ended ones that are not gone yet; two queries."""
    waiting = set(Demand.objects.filter(local_queue__queue__cluster=cluster).values_list("job_ulid", flat=True))
    there = ObservedWorkload.objects.filter(cluster=cluster, gone=False, cards_held__gt=0)
    return len(waiting | set(there.values_list("job_ulid", flat=True)))


def was_managed(cluster: Cluster) -> bool:
    """Whether something of ours may be left on a cluster that is only watched."""
    return bool(cluster.settings.get(MANAGED_BEFORE, False))


def _locked(cluster: Cluster) -> Cluster:
    """The row as it is now. A job that goes there waits for this lock, and then sees the new mode."""
    return Cluster.objects.select_for_update().get(pk=cluster.pk)


def _write(cluster: Cluster, mode: ClusterMode, settings: dict[str, object]) -> None:
    cluster.mode, cluster.settings = mode, settings
    cluster.save(update_fields=["mode", "settings"])


def _checklist(cluster: Cluster) -> list[CheckItem]:
    items = []
    if cluster.synced_at is None:
        items.append(CheckItem(Check.NOT_READ, 1, _("The cluster has not been read yet, so nothing is known of it.")))
    rows = PreflightRow.objects.filter(cluster=cluster).exclude(verdict=Verdict.OK).count()
    if rows:
        text = ngettext(
            "%(count)d ability of the cluster is missing, limited or unknown.",
            "%(count)d abilities of the cluster are missing, limited or unknown.",
            rows,
        )
        items.append(CheckItem(Check.PREFLIGHT, rows, text % {"count": rows}))
    groups = GroupProposal.objects.filter(cluster=cluster, is_aside=False).count()
    if groups:
        text = ngettext(
            "%(count)d node group is proposed and nobody has confirmed it: it takes no jobs and no quota.",
            "%(count)d node groups are proposed and nobody has confirmed them: they take no jobs and no quota.",
            groups,
        )
        items.append(CheckItem(Check.GROUPS, groups, text % {"count": groups}))
    queues = FoundQueue.objects.filter(cluster=cluster, is_gone=False, team=None).count()
    if queues:
        text = ngettext(
            "%(count)d queue of others is left alone: its cards are kept out of what the teams divide.",
            "%(count)d queues of others are left alone: their cards are kept out of what the teams divide.",
            queues,
        )
        items.append(CheckItem(Check.QUEUES, queues, text % {"count": queues}))
    return items
