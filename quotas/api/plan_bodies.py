"""Bodies of the plan API. Shares and limits are basis points of a node group (100 = 1 %); cards in its own unit."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from clusters.models import Cluster
from quotas.domain.live import Holding, Verdict
from quotas.domain.plan import CardPart, GroupPart, divide
from quotas.models import QuotaVersion
from quotas.plans.content import content_of
from quotas.plans.preview import PlanPreview, PreviewRow, QueuedJob
from quotas.plans.services import REASON_MAX, newest_version
from quotas.plans.store import stored

JOBS_MAX = 200
"""Of a preview, so many jobs are named; the figures count all."""
POINTS: dict[str, Any] = {"min_value": 0, "max_value": 10_000}


class GroupPartIn(serializers.Serializer[Any]):
    basis_points = serializers.IntegerField(required=False, **POINTS)
    borrow_basis_points = serializers.IntegerField(required=False, allow_null=True, **POINTS)
    lend_basis_points = serializers.IntegerField(required=False, allow_null=True, **POINTS)


class GroupPartOut(serializers.Serializer[Any]):
    basis_points = serializers.IntegerField()
    borrow_basis_points = serializers.IntegerField(allow_null=True, help_text="The most it borrows. Null: no limit.")
    lend_basis_points = serializers.IntegerField(allow_null=True, help_text="The most it lends. Null: no limit.")
    nominal = serializers.IntegerField(help_text="The share in cards.")


class QueuePartIn(serializers.Serializer[Any]):
    rank = serializers.IntegerField(required=False, min_value=0, max_value=3)
    strict = serializers.BooleanField(required=False)
    reclaims = serializers.BooleanField(required=False)
    groups = serializers.DictField(child=GroupPartIn(), required=False)


class QueuePartOut(serializers.Serializer[Any]):
    rank = serializers.IntegerField(
        help_text="While it borrows itself it takes loans of work up to this: 0 of none, 1 low, 2 normal, 3 high."
    )
    strict = serializers.BooleanField(help_text="Its first job blocks those behind it.")
    reclaims = serializers.BooleanField(help_text="It takes back what others borrowed of its share.")
    groups = serializers.DictField(child=GroupPartOut())


class PlanIn(serializers.Serializer[Any]):
    expected_version = serializers.IntegerField(min_value=0, help_text="The version you read.")
    reason = serializers.CharField(required=False, allow_blank=True, max_length=REASON_MAX)
    dry_run = serializers.BooleanField(required=False, help_text="Only say what it would do.")
    queues = serializers.DictField(child=QueuePartIn(), help_text="What is left out stays as it is.")


class RestoreIn(serializers.Serializer[Any]):
    expected_version = serializers.IntegerField(min_value=0, help_text="The newest version you read.")
    reason = serializers.CharField(required=False, allow_blank=True, max_length=REASON_MAX)
    dry_run = serializers.BooleanField(required=False, help_text="Only say what it would do.")


class TakeOverIn(serializers.Serializer[Any]):
    dry_run = serializers.BooleanField(required=False, help_text="Only say whether it can be done.")


class VersionOut(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    cause = serializers.ChoiceField(choices=QuotaVersion.Cause.values)
    restored = serializers.IntegerField(allow_null=True, help_text="Of a rollback: the version it went back to.")
    author = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    made_at = serializers.DateTimeField()
    cards = serializers.DictField(child=serializers.IntegerField(), help_text="Divided cards by node group.")
    queues = serializers.DictField(child=QueuePartOut())


class PlanOut(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="0: nothing was divided yet.")
    author = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    made_at = serializers.DateTimeField(allow_null=True)
    cards = serializers.DictField(child=serializers.IntegerField(), help_text="Divided cards by node group.")
    pool = serializers.DictField(child=serializers.IntegerField(), help_text="Cards of the common pool.")
    waiting = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Cards that nodes coming or going would make it, by node group: too different to be taken over "
        "without an admin's word.",
    )
    waiting_since = serializers.DateTimeField(allow_null=True)
    queues = serializers.DictField(child=QueuePartOut())


class PartInCardsOut(GroupPartOut):
    borrow_limit = serializers.IntegerField(allow_null=True)
    lend_limit = serializers.IntegerField(allow_null=True)


class PreviewRowOut(serializers.Serializer[Any]):
    queue = serializers.CharField()
    node_group = serializers.CharField()
    before = PartInCardsOut()
    after = PartInCardsOut()
    held = serializers.IntegerField()
    beyond_before = serializers.IntegerField(help_text="Cards held above the share.")
    beyond_after = serializers.IntegerField()
    waiting_jobs = serializers.IntegerField()
    starts_before = serializers.IntegerField(help_text="Jobs that start at once, or when others have given way.")
    starts_after = serializers.IntegerField()


class PreviewJobOut(serializers.Serializer[Any]):
    job = serializers.CharField()
    queue = serializers.CharField()
    node_group = serializers.CharField()
    cards = serializers.IntegerField()
    taken_by = serializers.CharField(allow_null=True, help_text="The waiting job that takes these cards at once.")


VERDICTS = [verdict.value for verdict in Verdict]


class PreviewQueuedOut(serializers.Serializer[Any]):
    """now: starts at once. takes: when others have given back. cards: when cards of the quota come free. places: when
    a set of nodes has room. behind: after the job before it, in a strict order. never: it is too large.
    """

    job = serializers.CharField()
    queue = serializers.CharField()
    node_group = serializers.CharField()
    cards = serializers.IntegerField()
    before = serializers.ChoiceField(choices=VERDICTS)
    after = serializers.ChoiceField(choices=VERDICTS)


class PlanPreviewOut(serializers.Serializer[Any]):
    """What the simulation expects: quota, free places on nodes and who has to leave, but no ends of jobs."""

    cards = serializers.DictField(child=serializers.IntegerField())
    pool = serializers.DictField(child=serializers.IntegerField())
    rows = PreviewRowOut(many=True)
    waiting_jobs = serializers.IntegerField()
    starts_before = serializers.IntegerField()
    starts_after = serializers.IntegerField()
    returnable_cards = serializers.IntegerField(help_text="Whole cards that could be taken back if their owners asked.")
    newly_returnable_cards = serializers.IntegerField(help_text="Of these, what cannot be taken back today.")
    jobs = PreviewJobOut(many=True, help_text=f"Whom it could cost, who goes first at first; at most {JOBS_MAX}.")
    queued = PreviewQueuedOut(
        many=True, help_text=f"When waiting jobs start, at first those for which it changes; at most {JOBS_MAX}."
    )


class PlanSavedOut(serializers.Serializer[Any]):
    dry_run = serializers.BooleanField()
    plan = PlanOut()
    preview = PlanPreviewOut(allow_null=True)


def plan_body(cluster: Cluster) -> dict[str, Any]:
    """The plan that holds now."""
    now = stored(cluster)
    newest = newest_version(cluster)
    return {
        "version": now.number,
        "author": newest.author_name if newest else "",
        "reason": newest.reason if newest else "",
        "made_at": newest.made_at if newest else None,
        **content_of(now.division),
        "pool": divide(now.division).pool,
        "waiting": now.waiting,
        "waiting_since": now.waiting_since,
    }


def version_body(version: QuotaVersion) -> dict[str, Any]:
    return {
        "version": version.number,
        "cause": version.cause,
        "restored": version.restored,
        "author": version.author_name,
        "reason": version.reason,
        "made_at": version.made_at,
        **version.content,
    }


def preview_body(preview: PlanPreview) -> dict[str, Any]:
    """What would happen; jobs that are taken at once stand before those that only could be."""
    taken = [_job(each.holding, each.by.job_ulid) for each in preview.taken]
    others = [_job(each, None) for each in preview.returnable]
    return {
        "cards": preview.after.cards,
        "pool": divide(preview.after).pool,
        "rows": [_row(row) for row in preview.rows],
        "waiting_jobs": preview.waiting_jobs,
        "starts_before": preview.starts_before,
        "starts_after": preview.starts_after,
        "returnable_cards": preview.returnable_cards,
        "newly_returnable_cards": preview.newly_returnable,
        "jobs": [*taken, *others][:JOBS_MAX],
        "queued": [_queued(each) for each in preview.queued[:JOBS_MAX]],
    }


def _queued(each: QueuedJob) -> dict[str, Any]:
    waiting = each.waiting
    return {
        "job": waiting.job_ulid,
        "queue": waiting.queue,
        "node_group": waiting.group,
        "cards": waiting.cards,
        "before": each.before.value,
        "after": each.after.value,
    }


def _row(row: PreviewRow) -> dict[str, Any]:
    change = row.change
    names = ("held", "beyond_before", "beyond_after", "waiting_jobs", "starts_before", "starts_after")
    return {
        "queue": change.queue,
        "node_group": change.group,
        "before": _part(change.before, change.cards_before),
        "after": _part(change.after, change.cards_after),
        **{name: getattr(row, name) for name in names},
    }


def _part(points: GroupPart, cards: CardPart) -> dict[str, Any]:
    return {
        "basis_points": points.basis_points,
        "borrow_basis_points": points.borrow_basis_points,
        "lend_basis_points": points.lend_basis_points,
        "nominal": cards.nominal,
        "borrow_limit": cards.borrow_limit,
        "lend_limit": cards.lend_limit,
    }


def _job(holding: Holding, taken_by: str | None) -> dict[str, Any]:
    return {
        "job": holding.job_ulid,
        "queue": holding.queue,
        "node_group": holding.group,
        "cards": holding.cards,
        "taken_by": taken_by,
    }
