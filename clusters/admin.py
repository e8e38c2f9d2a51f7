"""Clusters as last seen, for reading. The sandbox's inner rows and its seed are left out."""

from __future__ import annotations

from django.contrib import admin

from clusters.models import Cluster, Node, NodeGroup, ObservedWorkload
from common.admin import ReadOnlyAdmin


@admin.register(Cluster)
class ClusterAdmin(ReadOnlyAdmin):
    list_display = ("name", "kind", "is_default", "synced_at", "sync_error")


@admin.register(NodeGroup)
class NodeGroupAdmin(ReadOnlyAdmin):
    list_display = ("title", "cluster", "card_model", "sharing", "unit", "cards_per_node")
    list_select_related = ("cluster",)


@admin.register(Node)
class NodeAdmin(ReadOnlyAdmin):
    list_display = ("name", "cluster", "group", "health", "installed", "sick", "seen_at")
    list_filter = ("health",)
    list_select_related = ("cluster", "group")
    search_fields = ("name",)


@admin.register(ObservedWorkload)
class ObservedWorkloadAdmin(ReadOnlyAdmin):
    list_display = ("job_ulid", "attempt_no", "cluster", "gone", "version", "seen_at")
    list_select_related = ("cluster",)
    search_fields = ("job_ulid",)
