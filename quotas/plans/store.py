"""How a cluster is divided now, and the one place where that is changed: a new version each time.

A change locks the cluster's row, compares with what is stored under the lock, and writes shares, rules, counted cards,
one version and one audit row together, or nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db import transaction
from django.db.models import F, Sum
from django.utils import timezone

from accounts import audit
from accounts.actors import Actor
from clusters.contract import NodeHealth
from clusters.models import Cluster, Node
from quotas.domain.plan import PART_FIELDS, Division, GroupPart, Plan, QueuePart, diff, divide
from quotas.domain.recount import NodeCards, fit_cards
from quotas.models import GroupCards, QuotaVersion, Share, TeamQueue
from quotas.plans.aside import Aside, Found, aside_keep, found_of
from quotas.plans.content import content_of

CONSOLE = "console"
"""Who acted when nobody did."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What a cluster's tables say now. ``number`` 0: no version was ever kept."""

    number: int
    division: Division
    waiting: Mapping[str, int]  # node group -> other cards, to be taken over by an admin
    waiting_since: datetime | None
    queue_ids: Mapping[str, int]
    group_ids: Mapping[str, int]
    uncounted: frozenset[str]  # groups whose cards were never taken into a division
    found: Found  # what queues of others have by now

    @property
    def aside(self) -> Aside:
        """What a division made now sets aside."""
        return self.found.aside()


@dataclass(frozen=True, slots=True)
class Act:
    """Who changes the division and why. Without an actor ``origin`` did it. ``detail`` goes into the audit row."""

    action: str
    cause: QuotaVersion.Cause
    actor: Actor | None = None
    origin: str = audit.COMMAND_LINE
    reason: str = ""
    restored: int | None = None
    target: tuple[str, str] | None = None  # (type, id) of what was changed; None = the cluster
    detail: Mapping[str, Any] = field(default_factory=dict)


def stored(cluster: Cluster) -> Stored:
    """Seven queries, whatever the size."""
    groups = dict(cluster.groups.values_list("slug", "pk"))
    counted = {row.group_id: row for row in GroupCards.objects.filter(group__cluster=cluster)}
    waiting = {slug: row for slug, pk in groups.items() if (row := counted.get(pk)) and row.waiting is not None}
    newest = QuotaVersion.objects.filter(cluster=cluster).order_by("-number").values_list("number", flat=True).first()
    plan, queue_ids = _plan(cluster, groups)
    found = found_of(cluster)
    return Stored(
        number=newest or 0,
        division=Division(plan, divided_cards(cluster), found.counted()),
        waiting={slug: row.waiting or 0 for slug, row in waiting.items()},
        waiting_since=min((row.waiting_since for row in waiting.values() if row.waiting_since), default=None),
        queue_ids=queue_ids,
        group_ids=groups,
        uncounted=frozenset(slug for slug, pk in groups.items() if pk not in counted),
        found=found,
    )


def _plan(cluster: Cluster, group_ids: Mapping[str, int]) -> tuple[Plan, dict[str, int]]:
    """Two queries. Few parts of a node group differ, so each of them is read once, with the queues that have it."""
    slug_of = {pk: slug for slug, pk in group_ids.items()}
    parts: dict[int, dict[str, GroupPart]] = defaultdict(dict)
    shares = Share.objects.filter(queue__cluster=cluster, group__in=slug_of)
    alike = shares.order_by("group").values("group", *PART_FIELDS)
    for group, *points, having in alike.annotate(having=ArrayAgg("queue")).values_list("group", *PART_FIELDS, "having"):
        slug, part = slug_of[group], GroupPart(*points)
        for queue_id in having:
            parts[queue_id][slug] = part
    queues, ids = {}, {}
    rows = TeamQueue.objects.filter(cluster=cluster).order_by("slug")
    for pk, slug, rank, strict, reclaims in rows.values_list("pk", "slug", "rank", "strict", "reclaims"):
        queues[slug] = QueuePart(rank, strict, reclaims, parts[pk])
        ids[slug] = pk
    return Plan(queues), ids


def divided_cards(cluster: Cluster) -> dict[str, int]:
    """Cards that are divided now, by node group; one query. Where they were never counted, all that are installed."""
    groups = cluster.groups.annotate(installed=Sum("nodes__installed", default=0), divided=F("counted__cards"))
    return {
        slug: installed if divided is None else divided
        for slug, installed, divided in groups.order_by("position", "slug").values_list("slug", "installed", "divided")
    }


def fit_now(cluster: Cluster, now: datetime) -> dict[str, int]:
    """Cards that the shares should divide, by node group, as the newest look at the nodes has them; one query."""
    nodes: dict[str, list[NodeCards]] = defaultdict(list)
    rows = Node.objects.filter(cluster=cluster).exclude(group=None)
    for slug, health, installed, sick, since in rows.values_list("group__slug", "health", "installed", "sick", "since"):
        nodes[slug].append(NodeCards(NodeHealth(health), installed, sick, since))
    return {slug: fit_cards(found, now) for slug, found in nodes.items()}


def cards_now(cluster: Cluster, before: Stored, now: datetime | None = None) -> dict[str, int]:
    """The cards that should be divided, of every group; 0 where a group has no nodes."""
    fit = fit_now(cluster, now or timezone.now())
    return {group: fit.get(group, 0) for group in before.group_ids}


def cards_of_change(cluster: Cluster, before: Stored, groups: Iterable[str]) -> dict[str, int]:
    """The cards that a change of these groups divides; what waits for a person elsewhere goes on waiting."""
    waiting = before.waiting.keys() - set(groups)
    return {
        group: before.division.cards[group] if group in waiting else cards
        for group, cards in cards_now(cluster, before).items()
    }


def locked(cluster: Cluster) -> Stored:
    """What holds now, and nobody else can change until the transaction ends."""
    Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
    return stored(cluster)


def write(cluster: Cluster, before: Stored, after: Division, act: Act, *, always: bool = False) -> QuotaVersion | None:
    """Make ``after`` hold; None where it does already, unless a version is ``always`` wanted.

    Call it with what :func:`locked` gave, in its transaction.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("a division is changed inside the transaction that locked it")
    difference = diff(before.division, after)
    aside_keep(before.found)
    if difference or before.uncounted:
        _keep_cards(before, after)
        _keep_plan(before, after)
    if not (difference or always):
        return None
    number = _keep_found(cluster, before)
    version = _version(cluster, number + 1, after, act)
    target_type, target_id = act.target or ("cluster", cluster.slug)
    audit.record(
        act.actor,
        act.action,
        target_type=target_type,
        target_id=target_id,
        origin=act.origin,
        version=version.number,
        **act.detail,
    )
    return version


def _version(cluster: Cluster, number: int, division: Division, act: Act) -> QuotaVersion:
    return QuotaVersion.objects.create(
        cluster=cluster,
        number=number,
        cause=act.cause,
        restored=act.restored,
        author=act.actor.user if act.actor else None,
        author_name=act.actor.user.username if act.actor else act.origin,
        reason=act.reason,
        content=content_of(division),
        made_at=timezone.now(),
    )


def _keep_found(cluster: Cluster, before: Stored) -> int:
    """Before the first change, what there already was becomes version 1, so that one can go back to it."""
    is_empty = all(
        not part.basis_points for queue in before.division.plan.queues.values() for part in queue.groups.values()
    )
    if before.number or is_empty:
        return before.number
    act = Act("quota.adopt", QuotaVersion.Cause.ADOPT, origin=CONSOLE)
    return _version(cluster, 1, before.division, act).number


def _keep_cards(before: Stored, after: Division) -> None:
    """The cards a division counts; where they were decided anew, nothing waits for a person any more."""
    changed = [
        GroupCards(group_id=before.group_ids[slug], cards=cards)
        for slug, cards in sorted(after.cards.items())
        if slug in before.uncounted or cards != before.division.cards[slug]
    ]
    if changed:
        GroupCards.objects.bulk_create(
            changed,
            update_conflicts=True,
            unique_fields=["group"],
            update_fields=["cards", "waiting", "waiting_since"],
        )


def _keep_plan(before: Stored, after: Division) -> None:
    shared_out = divide(after)
    for name, queue in after.plan.queues.items():
        old = before.division.plan.queue(name)
        if (old.rank, old.strict, old.reclaims) != (queue.rank, queue.strict, queue.reclaims):
            TeamQueue.objects.filter(pk=before.queue_ids[name]).update(
                rank=queue.rank, strict=queue.strict, reclaims=queue.reclaims
            )
    Share.objects.bulk_create(
        [
            Share(
                queue_id=before.queue_ids[name],
                group_id=before.group_ids[group],
                basis_points=queue.part(group).basis_points,
                borrow_basis_points=queue.part(group).borrow_basis_points,
                lend_basis_points=queue.part(group).lend_basis_points,
                nominal=shared_out.part(name, group).nominal,
            )
            for name, queue in after.plan.queues.items()
            for group in after.cards
        ],
        update_conflicts=True,
        unique_fields=["queue", "group"],
        update_fields=["basis_points", "borrow_basis_points", "lend_basis_points", "nominal"],
    )
