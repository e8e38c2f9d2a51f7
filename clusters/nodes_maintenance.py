"""Maintenance of nodes by a date: planned, begun by closing the nodes, ended by opening them, or called off."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.contract import BackendError, NodeHealth, NodeTrouble
from clusters.domain.maintenance import Placement, Window, placement
from clusters.models import Cluster, Node, NodeGroup
from clusters.nodes_cordon import clean_reason, closing_refusal, cordon_lift, cordon_record, keep_schedulable
from clusters.nodes_models import Maintenance, NodeCordon
from common.errors import DomainError, FieldProblem, InvalidInput, NotFound
from common.ids import is_ulid
from common.texts import storable

logger = logging.getLogger(__name__)

LONGEST = timedelta(days=30)
FARTHEST = timedelta(days=366)
LATE = timedelta(minutes=5)
"""How far in the past a start may lie: a form takes a while to fill in."""
KEPT_SHOWN = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Plan:
    """What maintenance comes to. ``on_it``: attempts that hold cards of its nodes now."""

    row: Maintenance
    nodes: tuple[str, ...]
    on_it: int
    dry_run: bool


def maintenance_plan(
    *,
    actor: Actor,
    cluster: Cluster,
    node: str = "",
    group: str = "",
    starts_at: datetime,
    ends_at: datetime,
    reason: str,
    dry_run: bool = False,
) -> Plan:
    """Plan maintenance of a node or of every node of a group. Raises NotAllowed, InvalidInput."""
    require(actor, Action.CLUSTER_MANAGE)
    reason = clean_reason(reason)
    now = timezone.now()
    _check_times(starts_at, ends_at, now)
    if bool(node) == bool(group):
        raise InvalidInput([FieldProblem("node", "node_or_group", _("Name a node or a node group, not both."))])
    found = NodeGroup.objects.filter(cluster=cluster, slug=storable(group)).first() if group else None
    nodes = Node.objects.filter(Q(group=found) if found is not None else Q(name=storable(node)), cluster=cluster)
    taken = list(nodes) if node or found is not None else []
    if not taken:
        attr = "group" if group else "node"
        raise InvalidInput([FieldProblem(attr, "unknown", _("There is no node of this name on this cluster."))])
    row = Maintenance(
        cluster=cluster,
        node=node,
        group=found,
        starts_at=starts_at,
        ends_at=ends_at,
        reason=reason,
        created_at=now,
        created_by=actor.user,
    )
    if not dry_run:
        with transaction.atomic():
            row.save()
            _record(actor, "maintenance.plan", row)
    return Plan(row, tuple(sorted(each.name for each in taken)), sum(len(each.holders) for each in taken), dry_run)


def maintenance_cancel(*, actor: Actor, public_id: str) -> Maintenance:
    """Call maintenance off; nodes that it has closed are opened by the next step. Raises NotAllowed, NotFound,
    DomainError (it is over).
    """
    require(actor, Action.CLUSTER_MANAGE)
    with transaction.atomic():
        rows = Maintenance.objects.select_for_update(of=("self",)).select_related("cluster", "group", "created_by")
        row = rows.filter(public_id=public_id).first() if is_ulid(public_id) else None
        if row is None:
            raise NotFound("not_found", _("There is no such maintenance."))
        if row.cancelled_at is not None or row.finished_at is not None:
            raise DomainError("over", _("This maintenance is over already."))
        row.cancelled_at, row.cancelled_by = timezone.now(), actor.user
        row.save(update_fields=["cancelled_at", "cancelled_by"])
        _record(actor, "maintenance.cancel", row)
    return row


def maintenances_shown(*, viewer: Actor) -> list[Maintenance]:
    """Those to come, under way, and of the last week; soonest first. One query. Raises NotAllowed."""
    require(viewer, Action.NODE_VIEW)
    rows = Maintenance.objects.filter(ends_at__gt=timezone.now() - KEPT_SHOWN)
    return list(rows.select_related("cluster", "group", "created_by"))


def _check_times(starts_at: datetime, ends_at: datetime, now: datetime) -> None:
    problems = []
    if not now - LATE <= starts_at <= now + FARTHEST:
        problems.append(FieldProblem("starts_at", "out_of_range", _("It starts now or within a year.")))
    if not timedelta(0) < ends_at - starts_at <= LONGEST:
        problems.append(FieldProblem("ends_at", "out_of_range", _("It ends after its start, within 30 days.")))
    if problems:
        raise InvalidInput(problems)


def _record(actor: Actor, action: str, row: Maintenance) -> None:
    audit.record(
        actor,
        action,
        target_type="maintenance",
        target_id=row.public_id,
        cluster=row.cluster.slug,
        node=row.node,
        group=row.group.slug if row.group else "",
        starts_at=row.starts_at.isoformat(),
        ends_at=row.ends_at.isoformat(),
        reason=row.reason,
    )


# --------------------------------------------------------------------------- beginning and ending


def maintenances_step(now: datetime) -> int:
    """Close the nodes of what begins and open those of what is over; returns how many were begun or ended.

    Talks to clusters, so it needs to be outside of a transaction. One that does not answer is asked again.
    """
    done = 0
    alive = Maintenance.objects.filter(finished_at=None).select_related("cluster")
    for row in alive.filter(starts_at__lte=now, ends_at__gt=now, begun_at=None, cancelled_at=None):
        done += _try(row, "begun_at", _close, now)
    for row in alive.filter(Q(ends_at__lte=now) | Q(cancelled_at__isnull=False)):
        done += _try(row, "finished_at", _open, now)
    return done


def _try(row: Maintenance, field: str, step: Callable[[Maintenance], None], now: datetime) -> bool:
    try:
        step(row)
    except BackendError as error:
        logger.warning("maintenance %s of cluster %s: %s", row.public_id, row.cluster.slug, error.code)
        return False
    return bool(Maintenance.objects.filter(pk=row.pk, **{field: None}).update(**{field: now}))


def _close(row: Maintenance) -> None:
    """A node that is closed already stays as it is, and is not opened by us at the end."""
    if closing_refusal(row.cluster):
        return  # jobs are kept off it all the same; closing is up to others here
    for node in Node.objects.filter(_taken_by(row)):
        if any(condition["trouble"] == NodeTrouble.CORDONED for condition in node.conditions):
            continue
        if NodeCordon.objects.filter(cluster=row.cluster, node=node.name, lifted_at=None).exists():
            continue
        keep_schedulable(row.cluster, node.name, False)
        try:
            with transaction.atomic():
                cordon_record(row.cluster, node.name, row.reason, None, maintenance=row)
        except IntegrityError:  # somebody closed it in between, with a reason of their own
            continue


def _open(row: Maintenance) -> None:
    for cordon in NodeCordon.objects.filter(maintenance=row, lifted_at=None):
        keep_schedulable(row.cluster, cordon.node, True)
        with transaction.atomic():
            cordon_lift(row.cluster, cordon.node, None)


def _taken_by(row: Maintenance) -> Q:
    return Q(cluster=row.cluster_id) & (Q(group=row.group_id) if row.group_id is not None else Q(name=row.node))


# --------------------------------------------------------------------------- what jobs are told, and where they go


@dataclass(frozen=True, slots=True)
class Windows:
    """Planned maintenance and open nodes by cluster, and the healthy cards of every open node by group."""

    windows: Mapping[int, tuple[Window, ...]]
    rooms: Mapping[int, Mapping[str, int]]
    nodes: Mapping[int, Collection[str]]

    def placement(
        self,
        cluster_id: int,
        group_id: int | None,
        pods: int,
        cards_per_pod: int,
        limit: timedelta | None,
        now: datetime,
    ) -> Placement:
        """Where a job may go that starts now. One without cards may use every node of the cluster."""
        if not self.windows.get(cluster_id):
            return Placement()
        if group_id is None:
            rooms: Mapping[str, int] = dict.fromkeys(self.nodes[cluster_id], pods)  # any node holds all of it
        else:
            rooms = self.rooms.get(group_id, {})
        return placement(self.windows[cluster_id], rooms, now, limit, pods, cards_per_pod)


NO_WINDOWS = Windows({}, {}, {})


def planned_windows(cluster_ids: Iterable[int], now: datetime) -> Windows:
    """Maintenance to come or under way on these clusters. One query where there is none, two elsewhere."""
    rows = list(_planned(now).filter(cluster__in=set(cluster_ids)))
    if not rows:
        return NO_WINDOWS
    open_for_work = (NodeHealth.READY.value, NodeHealth.DEGRADED.value)
    rooms: dict[int, dict[str, int]] = defaultdict(dict)
    names: dict[int, list[str]] = defaultdict(list)
    for node in Node.objects.filter(cluster__in={row.cluster_id for row in rows}, health__in=open_for_work):
        names[node.cluster_id].append(node.name)
        if node.group_id is not None:
            rooms[node.group_id][node.name] = node.installed - node.sick
    windows: dict[int, list[Window]] = defaultdict(list)
    for row in rows:
        nodes = frozenset(rooms[row.group_id]) if row.group_id is not None else frozenset({row.node})
        windows[row.cluster_id].append(Window(nodes, row.starts_at, row.ends_at))
    return Windows({pk: tuple(found) for pk, found in windows.items()}, rooms, names)


@dataclass(frozen=True, slots=True)
class Ahead:
    """One planned maintenance with the nodes that it takes."""

    public_id: str
    cluster_id: int
    reason: str
    starts_at: datetime
    ends_at: datetime
    nodes: frozenset[str]

    def is_in_the_way(self, now: datetime, left: timedelta | None) -> bool:
        """Would a job that may run for ``left`` still run when it begins?"""
        return Window(self.nodes, self.starts_at, self.ends_at).is_in_the_way(now, left)


def maintenances_ahead(now: datetime) -> list[Ahead]:
    """All that are to come or under way, soonest first. One query where there is none, two elsewhere."""
    return _ahead(list(_planned(now)))


def maintenance_ahead(cluster_id: int, nodes: Iterable[str], now: datetime) -> Ahead | None:
    """The soonest that takes one of these nodes of a cluster. One query where nothing is planned, two elsewhere."""
    taken = frozenset(nodes)
    planned = _ahead(list(_planned(now).filter(cluster=cluster_id)))
    return next((each for each in planned if each.nodes & taken), None)


def _ahead(rows: list[Maintenance]) -> list[Ahead]:
    groups: dict[int, set[str]] = defaultdict(set)
    wanted = {row.group_id for row in rows if row.group_id is not None}
    if wanted:
        for group_id, name in Node.objects.filter(group__in=wanted).values_list("group_id", "name"):
            groups[group_id or 0].add(name)
    return [
        Ahead(
            row.public_id,
            row.cluster_id,
            row.reason,
            row.starts_at,
            row.ends_at,
            frozenset({row.node} if row.group_id is None else groups[row.group_id]),
        )
        for row in rows
    ]


def _planned(now: datetime) -> QuerySet[Maintenance]:
    return Maintenance.objects.filter(ends_at__gt=now, cancelled_at=None, finished_at=None)
