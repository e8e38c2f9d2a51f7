"""Writes about shares, queues and demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from accounts import audit
from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, require
from accounts.services import team_create
from clusters.conflicts.drift import drift_is_decided, drift_settle
from clusters.conflicts.watch import queues_vanished
from clusters.contract import GroupQuota, QueuePlan, QuotaPlan, QuotaSyncReport
from clusters.models import Cluster, NodeGroup
from clusters.services import backend, is_remote
from common.errors import FieldProblem, InvalidInput
from common.hints import send
from quotas.domain.plan import STEP, TAKES_UP_TO, Division, limit_in_cards, problems, with_points
from quotas.domain.shares import WHOLE
from quotas.limits import demands_in_order
from quotas.models import Demand, LocalQueue, QuotaVersion, Share, TeamQueue
from quotas.plans.aside import cards_aside
from quotas.plans.errors import sentence
from quotas.plans.preview import PlanPreview, division_preview
from quotas.plans.services import expected
from quotas.plans.store import Act, Stored, cards_of_change, divided_cards, locked, stored, write
from quotas.selectors.local_queues import local_queue_plans
from quotas.selectors.sharing import slowdowns


@transaction.atomic
def team_queue_create(*, actor: Actor | None, team: Team, cluster: Cluster) -> TeamQueue:
    """Give a team its queue on a cluster, with one local queue and a share of 0 % of every group. Idempotent."""
    if actor is not None:
        require(actor, Action.SHARES_MANAGE)
    queue, made = TeamQueue.objects.get_or_create(team=team, cluster=cluster, defaults={"slug": team.slug})
    if made:
        LocalQueue.objects.create(queue=queue, slug="default", name="default", is_default=True)
        audit.record(actor, "queue.create", target_type="queue", target_id=queue.slug, team_id=team.pk)
    Share.objects.bulk_create(
        [Share(queue=queue, group=group, basis_points=0) for group in cluster.groups.all()], ignore_conflicts=True
    )
    return queue


@transaction.atomic
def team_open(*, actor: Actor, name: str) -> Team:
    """Add a team with a queue on every cluster and a share of 0 % everywhere. Raises NotAllowed, InvalidInput."""
    team = team_create(actor=actor, name=name)
    for cluster in Cluster.objects.order_by("pk"):
        team_queue_create(actor=actor, team=team, cluster=cluster)
    return team


@transaction.atomic
def shares_equal(*, actor: Actor) -> None:
    """Give all teams the same share of every node group, in steps of 0.1 %; the rest goes to the common pool.

    One version for each cluster. Raises NotAllowed, InvalidInput.
    """
    require(actor, Action.SHARES_MANAGE)
    queues: dict[int, list[str]] = {}
    for queue in TeamQueue.objects.filter(team__archived_at=None).order_by("pk"):
        queues.setdefault(queue.cluster_id, []).append(queue.slug)
    for cluster in Cluster.objects.filter(pk__in=queues).order_by("pk"):
        slugs = queues[cluster.pk]
        share = WHOLE // len(slugs) // STEP * STEP
        before = locked(cluster)
        points = {group: dict.fromkeys(slugs, share) for group in before.group_ids}
        _write_points(cluster, before, points, Act("shares.set", QuotaVersion.Cause.EDIT, actor=actor))


@transaction.atomic
def shares_set(
    *, actor: Actor | None, group: NodeGroup, basis_points: Mapping[int, int], expected_version: int | None = None
) -> None:
    """Set the shares of one node group by team queue id; the rest of 100 % is the common pool (decision 55).

    Queues that are left out keep theirs. The change is a version of the cluster's plan like any other. Raises
    NotAllowed, InvalidInput (negative, finer than 0.1 %, or more than 100 % together), and ChangedMeanwhile where
    ``expected_version`` is no longer the newest.
    """
    if actor is not None:
        require(actor, Action.SHARES_MANAGE)
    before = locked(group.cluster) if expected_version is None else expected(group.cluster, expected_version)
    act = Act(
        "shares.set",
        QuotaVersion.Cause.EDIT,
        actor=actor,
        target=("group", group.slug),
        detail={"shares": {str(queue_id): points for queue_id, points in basis_points.items()}},
    )
    _write_points(group.cluster, before, _points_of(before, group, basis_points), act)


def shares_preview(*, viewer: Actor, group: NodeGroup, basis_points: Mapping[int, int]) -> PlanPreview:
    """What setting the shares of one node group would do. Raises as :func:`shares_set`."""
    require(viewer, Action.SHARES_MANAGE)
    before = stored(group.cluster)
    after = _division(group.cluster, before, _points_of(before, group, basis_points))
    return division_preview(group.cluster, before, after)


def _points_of(before: Stored, group: NodeGroup, basis_points: Mapping[int, int]) -> dict[str, dict[str, int]]:
    names = {pk: name for name, pk in before.queue_ids.items()}
    return {group.slug: {names[queue_id]: points for queue_id, points in basis_points.items()}}


def _write_points(cluster: Cluster, before: Stored, points: Mapping[str, Mapping[str, int]], act: Act) -> None:
    """Write percents by group and queue, and leave limits and rules as they are."""
    write(cluster, before, _division(cluster, before, points), act)


def _division(cluster: Cluster, before: Stored, points: Mapping[str, Mapping[str, int]]) -> Division:
    """What percents by group and queue come to. Raises InvalidInput."""
    plan = with_points(before.division.plan, points)
    found = problems(plan, before.division.plan, queues=before.queue_ids, groups=before.group_ids)
    if found:
        each = min(found, key=lambda problem: problem.code != "above_whole")
        raise InvalidInput([FieldProblem("shares", each.code, sentence(each))])
    return Division(plan, cards_of_change(cluster, before, points), before.aside)


def quota_plan(cluster: Cluster) -> QuotaPlan:
    """All team queues of a cluster as they shall be there, and its common pool."""
    queues = []
    local_queues = local_queue_plans(cluster)
    cards, aside = divided_cards(cluster), cards_aside(cluster)
    left = {group: count - sum(aside.get(group, {}).values()) for group, count in cards.items()}
    for queue in TeamQueue.objects.filter(cluster=cluster).select_related("team").order_by("slug"):
        shares = list(queue.shares.select_related("group").order_by("group__position"))
        for share in shares:
            left[share.group.slug] -= share.nominal
        queues.append(
            QueuePlan(
                queue=queue.slug,
                space=queue.team.space,
                quotas=tuple(_group_quota(share, cards[share.group.slug]) for share in shares),
                strict=queue.strict,
                reclaims=queue.reclaims,
                borrow_preempts_up_to=TAKES_UP_TO[queue.rank],
                **local_queues[queue.pk],
            )
        )
    return QuotaPlan(
        queues=tuple(queues),
        pool=tuple(GroupQuota(group, max(0, cards)) for group, cards in left.items()),
        slowdowns=slowdowns(cluster),
    )


def _group_quota(share: Share, cards: int) -> GroupQuota:
    return GroupQuota(
        share.group.slug,
        share.nominal,
        borrow_limit=limit_in_cards(cards, share.borrow_basis_points),
        lend_limit=limit_in_cards(cards, share.lend_basis_points),
    )


def quotas_apply(cluster: Cluster) -> QuotaSyncReport:
    """Bring the plan to the cluster. Call after commit; repeating it changes nothing.

    Quotas that somebody set from outside stay as they are until an admin has decided (`quotas.drift`); that, and
    queues that had vanished, is told to admins. To a cluster that is only watched nothing is brought.
    """
    cluster.refresh_from_db(fields=["mode"])
    if cluster.is_watched_only:
        return QuotaSyncReport()
    plan = replace(quota_plan(cluster), takes_over=drift_is_decided(cluster))
    report = backend(cluster).apply_quotas(plan)
    if report.drift is not None or not report.failed:
        drift_settle(cluster, report.drift, timezone.now())
    queues_vanished(cluster, report.vanished, timezone.now())
    return report


def quotas_bring(cluster: Cluster) -> None:
    """Have the plan brought to the cluster: at once where that takes no network, else by a worker very soon.

    Raises BackendError for a cluster that is asked at once.
    """
    if is_remote(cluster):
        send("quotas.apply_cluster", cluster.pk)
    else:
        quotas_apply(cluster)


def demand_put(
    *,
    job_ulid: str,
    local_queue_id: int,
    group_id: int | None,
    owner_id: int,
    cards: int,
    attempt_no: int,
    held: bool,
    priority: int,
    since: datetime,
    let_in: int = 0,
) -> None:
    """Record what a live job's newest attempt asks for; in the caller's transaction.

    It has to be let into its local queue anew, unless an object of it is there already.
    """
    Demand.objects.update_or_create(
        job_ulid=job_ulid,
        defaults={
            "local_queue_id": local_queue_id,
            "group_id": group_id,
            "owner_id": owner_id,
            "cards": cards,
            "attempt_no": attempt_no,
            "held": held,
            "priority": priority,
            "since": since,
            "let_in": let_in,
            "asks_from": None,
        },
    )


def demand_resize(job_ulid: str, *, cards: int) -> None:
    """A live job asks for another number of cards; in the caller's transaction."""
    Demand.objects.filter(job_ulid=job_ulid).update(cards=cards)


def demand_prioritise(job_ulids: Sequence[str], *, priority: int) -> None:
    """These live jobs go by another priority from now on; in the caller's transaction."""
    demands_in_order(job_ulids).update(priority=priority)


def demand_hold(job_ulids: Sequence[str], *, held: bool) -> None:
    """These live jobs leave their queue or come back into it; in the caller's transaction."""
    demands_in_order(job_ulids).update(held=held)


def demand_drop(job_ulid: str) -> None:
    """A job that ended asks for nothing; in the caller's transaction."""
    Demand.objects.filter(job_ulid=job_ulid).delete()
