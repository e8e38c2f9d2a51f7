"""Queues, shares and demand, for reading."""

from __future__ import annotations

from django.contrib import admin

from common.admin import ReadOnlyAdmin
from quotas.models import Demand, LocalQueue, Share, TeamQueue


@admin.register(TeamQueue)
class TeamQueueAdmin(ReadOnlyAdmin):
    list_display = ("slug", "team", "cluster", "created_at")
    list_select_related = ("team", "cluster")


@admin.register(Share)
class ShareAdmin(ReadOnlyAdmin):
    list_display = ("queue", "group", "basis_points", "nominal")
    list_select_related = ("queue", "group")


@admin.register(LocalQueue)
class LocalQueueAdmin(ReadOnlyAdmin):
    list_display = ("name", "queue", "weight", "is_default")
    list_select_related = ("queue",)


@admin.register(Demand)
class DemandAdmin(ReadOnlyAdmin):
    list_display = ("job_ulid", "local_queue", "group", "cards", "held")
    list_select_related = ("local_queue", "group")
    search_fields = ("job_ulid",)
