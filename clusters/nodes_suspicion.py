"""Nodes under suspicion: failures of jobs are kept by node, and what they come to is shown, avoided and cleared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.contract import NodeHealth
from clusters.domain.suspicion import WINDOW, FailedThere, avoidable, evidence, says_something
from clusters.models import Cluster, Node
from clusters.nodes_cordon import clean_reason
from clusters.nodes_models import NodeFailure, NodeSuspicion
from common.errors import DomainError
from common.hints import send
from common.texts import storable

KEPT = timedelta(days=7)
"""How long a failure is kept: far longer than it counts, so that people can look back."""


def failure_note(
    *, cluster_id: int, node: str, job_ulid: str, attempt: int, owner_id: int, code: str, at: datetime
) -> None:
    """Keep that an attempt failed on a node, once. Needs the transaction in which the attempt ends."""
    if not says_something(code):
        return
    row = NodeFailure(
        cluster_id=cluster_id, node=node, job_ulid=job_ulid, attempt_no=attempt, owner_id=owner_id, code=code, at=at
    )
    NodeFailure.objects.bulk_create([row], ignore_conflicts=True)
    send("clusters.care_for_nodes")


def suspicions_settle(now: datetime) -> int:
    """Put nodes under suspicion on which jobs of several owners failed; returns how many. Drops old failures.

    A suspicion ends by itself when no job has failed there for a day: what nobody had to look at was no lasting fault.
    Safe to run side by side: at most one suspicion of a node is open.
    """
    NodeFailure.objects.filter(at__lt=now - KEPT).delete()
    failures = _recent_failures(now)
    open_ones = {(row.cluster_id, row.node): row for row in NodeSuspicion.objects.filter(cleared_at=None)}
    quiet = [row.pk for key, row in open_ones.items() if key not in failures and row.since <= now - WINDOW]
    if quiet:
        NodeSuspicion.objects.filter(pk__in=quiet, cleared_at=None).update(cleared_at=now)
    if not failures:
        return 0
    cleared = {
        (cluster, node): at
        for cluster, node, at in NodeSuspicion.objects.exclude(cleared_at=None)
        .values_list("cluster_id", "node")
        .annotate(Max("cleared_at"))
        .order_by()
    }
    fresh = [
        NodeSuspicion(cluster_id=key[0], node=key[1], since=found[-1].at, evidence=[_as_json(each) for each in found])
        for key, rows in failures.items()
        if key not in open_ones and (found := evidence(rows, cleared.get(key)))
    ]
    NodeSuspicion.objects.bulk_create(fresh, ignore_conflicts=True)
    return len(fresh)


def _recent_failures(now: datetime) -> Mapping[tuple[int, str], list[FailedThere]]:
    """Those of the window by cluster and node, oldest first."""
    failures: dict[tuple[int, str], list[FailedThere]] = defaultdict(list)
    for row in NodeFailure.objects.filter(at__gt=now - WINDOW).order_by("at"):
        failed = FailedThere(row.job_ulid, row.attempt_no, row.owner_id, row.code, row.at)
        failures[row.cluster_id, row.node].append(failed)
    return failures


def _as_json(failed: FailedThere) -> dict[str, object]:
    return {
        "job_ulid": failed.job_ulid,
        "attempt": failed.attempt,
        "code": failed.code,
        "at": failed.at.isoformat(),
    }


@transaction.atomic
def suspicion_clear(*, actor: Actor, cluster: Cluster, node: str, reason: str) -> None:
    """Trust a node again; failures up to now do not count any more. Raises NotAllowed, InvalidInput, DomainError."""
    require(actor, Action.CLUSTER_MANAGE)
    reason = clean_reason(reason)
    changed = NodeSuspicion.objects.filter(cluster=cluster, node=storable(node), cleared_at=None).update(
        cleared_at=timezone.now(), cleared_by=actor.user, cleared_reason=reason
    )
    if not changed:
        raise DomainError("not_suspected", _("This node is not under suspicion."))
    audit.record(actor, "node.trust", target_type="node", target_id=node, cluster=cluster.slug, reason=reason)


# --------------------------------------------------------------------------- what retries avoid


@dataclass(frozen=True, slots=True)
class Suspected:
    """Suspected nodes by cluster, and the healthy cards of every open node of the groups that have some."""

    nodes: Mapping[int, frozenset[str]]
    rooms: Mapping[int, Mapping[str, int]]

    def avoided_by(self, cluster_id: int, group_id: int | None, pods: int, cards_per_pod: int) -> tuple[str, ...]:
        """Nodes on which a retry of this shape is not placed."""
        if group_id is None or cluster_id not in self.nodes:
            return ()
        return avoidable(self.nodes[cluster_id], self.rooms.get(group_id, {}), pods, cards_per_pod)


def suspected_nodes(cluster_ids: Iterable[int]) -> Suspected:
    """What retries on these clusters avoid. One query where nothing is suspected, two elsewhere."""
    nodes: dict[int, set[str]] = defaultdict(set)
    rows = NodeSuspicion.objects.filter(cluster__in=set(cluster_ids), cleared_at=None)
    for cluster_id, name in rows.values_list("cluster_id", "node"):
        nodes[cluster_id].add(name)
    if not nodes:
        return Suspected({}, {})
    rooms: dict[int, dict[str, int]] = defaultdict(dict)
    takes_work = (NodeHealth.READY.value, NodeHealth.DEGRADED.value)
    for node in Node.objects.filter(cluster__in=nodes, health__in=takes_work).exclude(group=None):
        assert node.group_id is not None
        rooms[node.group_id][node.name] = node.installed - node.sick
    return Suspected({pk: frozenset(names) for pk, names in nodes.items()}, rooms)
