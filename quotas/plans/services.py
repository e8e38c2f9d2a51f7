"""Writes about a cluster's plan: save, go back, follow the nodes, and take over what waited for an admin.

Each answers with the version that holds then. Bring it to the cluster after commit (`quotas.services.quotas_bring`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.policy import Action, require
from clusters.models import Cluster
from common.errors import FieldProblem, InvalidInput, NotFound
from common.texts import storable
from quotas.domain.plan import Division, GroupPart, Plan, QueuePart, problems
from quotas.domain.recount import waits_for_a_person
from quotas.models import GroupCards, QuotaVersion
from quotas.plans import errors
from quotas.plans.content import division_from
from quotas.plans.store import CONSOLE, Act, Stored, cards_now, cards_of_change, locked, write

REASON_MAX = 300


@transaction.atomic
def plan_save(
    *, actor: Actor, cluster: Cluster, expected_version: int, plan: Plan, reason: str = ""
) -> QuotaVersion | None:
    """Divide the cluster by ``plan``; queues and groups it does not name keep what they have.

    None where no version holds and nothing was changed. Raises NotAllowed, InvalidInput, ChangedMeanwhile: then
    nothing was written.
    """
    require(actor, Action.SHARES_MANAGE)
    reason = checked_reason(reason)
    before = expected(cluster, expected_version)
    after = proposed(cluster, before, plan)
    act = Act("quota.save", QuotaVersion.Cause.EDIT, actor=actor, reason=reason)
    return write(cluster, before, after, act) or newest_version(cluster)


@transaction.atomic
def plan_rollback(
    *, actor: Actor, cluster: Cluster, number: int, expected_version: int, reason: str = ""
) -> QuotaVersion | None:
    """Divide the cluster again as version ``number`` did, by the cards there are now.

    A team that had no queue then has 0 % afterwards; teams and groups that are gone are left out. Raises NotAllowed,
    NotFound, InvalidInput, ChangedMeanwhile.
    """
    require(actor, Action.SHARES_MANAGE)
    reason = checked_reason(reason)
    before = expected(cluster, expected_version)
    after = restored(cluster, before, number)
    act = Act("quota.restore", QuotaVersion.Cause.ROLLBACK, actor=actor, reason=reason, restored=number)
    return write(cluster, before, after, act) or newest_version(cluster)


@transaction.atomic
def plan_recount(*, actor: Actor, cluster: Cluster, expected_version: int, reason: str = "") -> QuotaVersion | None:
    """Divide the cards there are now, also where the change was too large to be made without an admin's word.

    Raises NotAllowed, InvalidInput, ChangedMeanwhile.
    """
    require(actor, Action.SHARES_MANAGE)
    reason = checked_reason(reason)
    before = expected(cluster, expected_version)
    after = Division(before.division.plan, cards_now(cluster, before), before.aside)
    act = Act("quota.recount", QuotaVersion.Cause.NODES, actor=actor, reason=reason)
    return write(cluster, before, after, act) or newest_version(cluster)


@transaction.atomic
def plan_follow(cluster: Cluster, now: datetime) -> QuotaVersion | None:
    """Take over what happened to the nodes; what changes a group by more than a tenth waits for an admin.

    Does nothing while the last look at the cluster is too old to be believed. None where nothing was changed.
    """
    if not _is_fresh(cluster, now):
        return None
    before = locked(cluster)
    cards, waiting = dict(before.division.cards), {}
    for group, fit in cards_now(cluster, before, now).items():
        divided = before.division.cards[group]
        if waits_for_a_person(divided, fit) and any(before.division.plan.points(group).values()):
            waiting[group] = fit
        else:
            cards[group] = fit
    _keep_waiting(before, waiting, now)
    return write(
        cluster,
        before,
        Division(before.division.plan, cards, before.aside),
        Act("quota.recount", QuotaVersion.Cause.NODES, origin=CONSOLE),
    )


# --------------------------------------------------------------------------- what would hold


def proposed(cluster: Cluster, before: Stored, plan: Plan) -> Division:
    """What a plan comes to with the cards there are now in the groups it names. Raises InvalidInput."""
    merged = Plan(
        {**before.division.plan.queues, **{name: _over(before, name, part) for name, part in plan.queues.items()}}
    )
    if found := problems(merged, before.division.plan, queues=before.queue_ids, groups=before.group_ids):
        raise errors.refused(found)
    named = {group for part in plan.queues.values() for group in part.groups}
    return Division(merged, cards_of_change(cluster, before, named), before.aside)


def restored(cluster: Cluster, before: Stored, number: int) -> Division:
    """What an earlier version comes to with the queues, groups and cards there are now. Raises NotFound."""
    version = QuotaVersion.objects.filter(cluster=cluster, number=number).first()
    if version is None:
        raise NotFound("not_found", _("There is no such version of this plan."))
    old = division_from(version.content).plan
    queues = {}
    for name in before.queue_ids:
        part = old.queue(name)
        groups = {group: part.part(group) for group in before.group_ids}
        queues[name] = QueuePart(part.rank, part.strict, part.reclaims, groups)
    return Division(Plan(queues), cards_now(cluster, before), before.aside)


def newest_version(cluster: Cluster) -> QuotaVersion | None:
    return QuotaVersion.objects.filter(cluster=cluster).order_by("-number").first()


def newest_number(cluster: Cluster) -> int:
    """0 where there is no version yet; one query."""
    newest = newest_version(cluster)
    return newest.number if newest is not None else 0


def _over(before: Stored, name: str, part: QueuePart) -> QueuePart:
    """A part with what it leaves out as it is now."""
    groups: Mapping[str, GroupPart] = {**before.division.plan.queue(name).groups, **part.groups}
    return QueuePart(part.rank, part.strict, part.reclaims, groups)


def expected(cluster: Cluster, expected_version: int) -> Stored:
    """What holds now, locked, if it is still the version that somebody read. Raises ChangedMeanwhile."""
    before = locked(cluster)
    if before.number != expected_version:
        raise errors.ChangedMeanwhile(newest_version(cluster), expected=expected_version)
    return before


def require_savable(cluster: Cluster, expected_version: int | None, reason: str = "") -> None:
    """For a dry run: refuse what the change itself would be refused for. Raises InvalidInput, ChangedMeanwhile."""
    checked_reason(reason)
    newest = newest_version(cluster)
    if expected_version is not None and (newest.number if newest else 0) != expected_version:
        raise errors.ChangedMeanwhile(newest, expected=expected_version)


def checked_reason(reason: str) -> str:
    """As it is kept. Raises InvalidInput for one that is too long."""
    reason = storable(reason).strip()
    if len(reason) > REASON_MAX:
        message = _("A reason has at most %(count)d characters.") % {"count": REASON_MAX}
        raise InvalidInput([FieldProblem("reason", "too_long", message)])
    return reason


def _is_fresh(cluster: Cluster, now: datetime) -> bool:
    limit = timedelta(seconds=settings.SLUICE["STALE_AFTER_SECONDS"])
    return cluster.synced_at is not None and abs(now - cluster.synced_at) <= limit


def _keep_waiting(before: Stored, waiting: Mapping[str, int], now: datetime) -> None:
    """Open, change and drop what waits for an admin; the moment it began to wait stays."""
    for group, cards in waiting.items():
        if before.waiting.get(group) == cards:
            continue
        GroupCards.objects.update_or_create(
            group_id=before.group_ids[group],
            defaults={"waiting": cards} | ({} if group in before.waiting else {"waiting_since": now}),
            create_defaults={"cards": before.division.cards[group], "waiting": cards, "waiting_since": now},
        )
    over = [before.group_ids[group] for group in before.waiting if group not in waiting]
    if over:
        GroupCards.objects.filter(group__in=over).update(waiting=None, waiting_since=None)
