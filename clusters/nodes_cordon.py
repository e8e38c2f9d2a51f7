"""Closing a node for new work and opening it again: through the console with a reason, or by somebody else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.connected import CONNECTED_KIND
from clusters.contract import (
    BackendError,
    Capability,
    ClusterInventory,
    NodeKeeper,
    NodeTrouble,
    Retryable,
    Unauthorized,
)
from clusters.labels import error_text
from clusters.models import Cluster, Node, PreflightRow
from clusters.nodes_models import Maintenance, NodeCordon
from clusters.preflight.words import Feature, Verdict
from clusters.registry import backend_class, backend_for
from common.errors import DomainError, FieldProblem, InvalidInput, NotFound
from common.hints import send
from common.texts import storable

REASON_MAX = 300
UNSEEN_AFTER = timedelta(minutes=2)
"""A node that was closed so long ago and is still seen open was opened by somebody else before anybody looked."""


@dataclass(frozen=True, slots=True)
class Closing:
    """What closing or opening a node comes to. ``goes_on``: attempts that hold cards there, and stay."""

    cluster: Cluster
    node: str
    closed: bool
    reason: str
    goes_on: int
    dry_run: bool


def closing_refusal(cluster: Cluster) -> str:
    """Why the console cannot close nodes of this cluster, as a sentence; '' where it can. At most one query."""
    if Capability.NODES not in backend_class(cluster.kind).capabilities:
        return _("Nodes of this kind of cluster are closed and opened outside the console.")
    if cluster.is_watched_only:
        return _("This cluster is only looked at: nothing is written there, so nodes are closed and opened elsewhere.")
    if cluster.kind != CONNECTED_KIND:
        return ""
    row = PreflightRow.objects.filter(cluster=cluster, feature=Feature.MAINTENANCE).only("verdict").first()
    if row is not None and row.verdict in (Verdict.LIMITED, Verdict.MISSING):
        return _(
            "The account for nodes is missing or lacks a right, so nodes are closed and opened outside the console."
        )
    return ""


def node_cordon(*, actor: Actor, cluster: Cluster, node: str, reason: str, dry_run: bool = False) -> Closing:
    """Close a node for new work; what runs there goes on. A node that somebody else has closed gets a reason.

    Call it outside of a transaction, it talks to the cluster. Raises NotAllowed, NotFound, InvalidInput, DomainError
    (closed already, the cluster refuses or is silent).
    """
    require(actor, Action.CLUSTER_MANAGE)
    found = _found(cluster, node)
    node, reason = found.name, clean_reason(reason)
    if NodeCordon.objects.filter(cluster=cluster, node=node, lifted_at=None).exists():
        raise _closed_already()
    _ask(cluster, node, schedulable=False, dry_run=dry_run)
    if not dry_run:
        try:
            with transaction.atomic():
                cordon_record(cluster, node, reason, actor)
        except IntegrityError:  # somebody was faster; the cluster does not mind being told twice
            raise _closed_already() from None
    return Closing(cluster, node, True, reason, len(found.holders), dry_run)


def node_uncordon(*, actor: Actor, cluster: Cluster, node: str, reason: str = "", dry_run: bool = False) -> Closing:
    """Open a node for new work, whoever closed it. What a taint keeps out stays out.

    Call it outside of a transaction. Raises NotAllowed, NotFound, DomainError (it is open, the cluster refuses or is
    silent).
    """
    require(actor, Action.CLUSTER_MANAGE)
    found = _found(cluster, node)
    node = found.name
    is_ours = NodeCordon.objects.filter(cluster=cluster, node=node, lifted_at=None).exists()
    if not is_ours and not _is_cordoned(found):
        raise DomainError("not_closed", _("Nobody has closed this node; only what its cluster says keeps work out."))
    reason = clean_reason(reason) if reason.strip() else ""
    _ask(cluster, node, schedulable=True, dry_run=dry_run)
    if not dry_run:
        with transaction.atomic():
            cordon_lift(cluster, node, actor, reason=reason)
    return Closing(cluster, node, False, reason, len(found.holders), dry_run)


def cordon_record(
    cluster: Cluster, node: str, reason: str, actor: Actor | None, maintenance: Maintenance | None = None
) -> None:
    """Keep who closed a node and why. Needs a transaction; raises IntegrityError where that is kept already."""
    NodeCordon.objects.create(
        cluster=cluster,
        node=node,
        reason=reason,
        cordoned_at=timezone.now(),
        cordoned_by=actor.user if actor else None,
        maintenance=maintenance,
    )
    if actor is not None:
        audit.record(actor, "node.cordon", target_type="node", target_id=node, cluster=cluster.slug, reason=reason)
    send("clusters.sync", cluster.pk)


def cordon_lift(cluster: Cluster, node: str, actor: Actor | None, *, reason: str = "") -> None:
    """Keep who opened a node. Needs a transaction."""
    NodeCordon.objects.filter(cluster=cluster, node=node, lifted_at=None).update(
        lifted_at=timezone.now(), lifted_by=actor.user if actor else None
    )
    if actor is not None:
        audit.record(actor, "node.uncordon", target_type="node", target_id=node, cluster=cluster.slug, reason=reason)
    send("clusters.sync", cluster.pk)


def cordons_settle(cluster: Cluster, inventory: ClusterInventory) -> None:
    """End the rows of nodes that somebody else has opened again, or that are gone. Needs the cluster's sync lock.

    One query where no node is closed.
    """
    rows = list(NodeCordon.objects.filter(cluster=cluster, lifted_at=None))
    if not rows:
        return
    closed = {node.name for node in inventory.nodes if any(t.trouble is NodeTrouble.CORDONED for t in node.conditions)}
    for row in rows:
        if row.node in closed:
            if row.seen_at is None:
                NodeCordon.objects.filter(pk=row.pk, lifted_at=None).update(seen_at=inventory.read_at)
        elif row.seen_at is not None or inventory.read_at > row.cordoned_at + UNSEEN_AFTER:
            NodeCordon.objects.filter(pk=row.pk, lifted_at=None).update(lifted_at=inventory.read_at)


def clean_reason(reason: str) -> str:
    """Raises InvalidInput for one that says nothing or too much."""
    reason = " ".join(storable(reason).split())
    if not reason:
        raise InvalidInput([FieldProblem("reason", "blank", _("Say why, so that others know."))])
    if len(reason) > REASON_MAX:
        problem = _("Say it in at most %(max)d characters.") % {"max": REASON_MAX}
        raise InvalidInput([FieldProblem("reason", "max_length", problem)])
    return reason


def keep_schedulable(cluster: Cluster, node: str, schedulable: bool, *, dry_run: bool = False) -> None:
    """Tell the cluster. Raises the contract's errors."""
    backend = backend_for(cluster)
    assert isinstance(backend, NodeKeeper)  # asked only where the capability is announced
    backend.set_schedulable(node, schedulable, dry_run=dry_run)


def _ask(cluster: Cluster, node: str, *, schedulable: bool, dry_run: bool) -> None:
    if refusal := closing_refusal(cluster):
        raise DomainError("nodes_not_kept", refusal)
    try:
        keep_schedulable(cluster, node, schedulable, dry_run=dry_run)
    except Retryable as error:
        raise DomainError(error.code, error_text(error.code), status=503) from error
    except Unauthorized as error:
        raise DomainError("nodes_not_kept", error_text(error.code)) from error
    except BackendError as error:
        if error.code == "node_missing":
            raise _missing() from error
        raise DomainError(error.code, error_text(error.code)) from error


def _found(cluster: Cluster, name: str) -> Node:
    node = Node.objects.filter(cluster=cluster, name=storable(name)).first()
    if node is None:
        raise _missing()
    return node


def _is_cordoned(node: Node) -> bool:
    return any(condition["trouble"] == NodeTrouble.CORDONED for condition in node.conditions)


def _missing() -> NotFound:
    return NotFound("not_found", _("There is no node of this name."))


def _closed_already() -> DomainError:
    return DomainError("closed_already", _("This node is closed already."))
