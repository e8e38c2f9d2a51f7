"""Queues, shares and demand, for reading."""

from __future__ import annotations

from django.contrib import admin

from common.admin import ReadOnlyAdmin
from quotas.models import Demand, GroupCards, LocalQueue, QuotaVersion, Share, TeamQueue
from quotas.sharing_models import SharingPolicy, TrainingPermit


@admin.register(TeamQueue)
class TeamQueueAdmin(ReadOnlyAdmin):
    list_display = ("slug", "team", "cluster", "rank", "strict", "reclaims", "created_at")
    list_select_related = ("team", "cluster")


@admin.register(Share)
class ShareAdmin(ReadOnlyAdmin):
    list_display = ("queue", "group", "basis_points", "nominal", "borrow_basis_points", "lend_basis_points")
    list_select_related = ("queue", "group")


@admin.register(GroupCards)
class GroupCardsAdmin(ReadOnlyAdmin):
    list_display = ("group", "cards", "waiting", "waiting_since")
    list_select_related = ("group",)


@admin.register(QuotaVersion)
class QuotaVersionAdmin(ReadOnlyAdmin):
    list_display = ("cluster", "number", "cause", "author_name", "reason", "made_at")
    list_select_related = ("cluster",)


@admin.register(LocalQueue)
class LocalQueueAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "queue",
        "state",
        "weight",
        "most_cards",
        "most_cards_each",
        "is_default",
        "state_by_name",
        "state_since",
    )
    list_select_related = ("queue",)


@admin.register(Demand)
class DemandAdmin(ReadOnlyAdmin):
    list_display = ("job_ulid", "local_queue", "group", "cards", "let_in", "held", "priority", "since")
    list_select_related = ("local_queue", "group")
    search_fields = ("job_ulid",)


@admin.register(SharingPolicy)
class SharingPolicyAdmin(ReadOnlyAdmin):
    list_display = ("group", "why", "is_transitional", "until", "slowdown", "changed_by_name", "changed_at")
    list_select_related = ("group",)


@admin.register(TrainingPermit)
class TrainingPermitAdmin(ReadOnlyAdmin):
    list_display = ("policy", "team", "reason", "given_by_name", "given_at")
    list_select_related = ("policy__group", "team")
