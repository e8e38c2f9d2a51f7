"""Clusters as last seen, for operators. Credentials, values of secrets and the sandbox's inner rows are left out."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from accounts.operators import OperatorAdmin, Remedy
from clusters.accelerator_models import AcceleratorName
from clusters.adoption_models import FoundQueue
from clusters.group_models import GroupProposal
from clusters.models import (
    Cluster,
    CodeArchive,
    Dataset,
    Node,
    NodeGroup,
    Notice,
    ObservedWorkload,
    PreflightRow,
    TeamSecret,
    TeamStorage,
)
from clusters.nodes_models import Maintenance, NodeCordon, NodeFailure, NodeSuspicion
from clusters.repairs import cluster_look_again
from clusters.water_models import WaterDay, WaterHour, WaterSample
from common.admin import ReadOnlyAdmin


@admin.register(Cluster)
class ClusterAdmin(OperatorAdmin):
    list_display = ("name", "kind", "mode", "is_default", "synced_at", "watched_at", "rest_until", "sync_error")
    remedies = (
        Remedy(
            "look-again",
            _("List anew"),
            _("Everything on the cluster is listed anew at once. Nothing there is changed."),
            lambda actor, cluster: cluster_look_again(actor=actor, cluster=cluster),
        ),
    )


@admin.register(NodeGroup)
class NodeGroupAdmin(ReadOnlyAdmin):
    list_display = ("title", "cluster", "card_model", "sharing", "unit", "cards_per_node", "confirmed_at")
    list_select_related = ("cluster",)


@admin.register(FoundQueue)
class FoundQueueAdmin(ReadOnlyAdmin):
    list_display = ("name", "cluster", "is_pool", "team", "adopted_at", "is_gone", "seen_at")
    list_select_related = ("cluster", "team")


@admin.register(GroupProposal)
class GroupProposalAdmin(ReadOnlyAdmin):
    list_display = ("title", "cluster", "is_aside", "card_model", "sharing", "first_seen_at")
    list_select_related = ("cluster",)


@admin.register(Node)
class NodeAdmin(ReadOnlyAdmin):
    list_display = ("name", "cluster", "group", "health", "installed", "sick", "seen_at")
    list_filter = ("health",)
    list_select_related = ("cluster", "group")
    search_fields = ("name",)


@admin.register(NodeCordon)
class NodeCordonAdmin(ReadOnlyAdmin):
    list_display = ("node", "cluster", "reason", "cordoned_at", "cordoned_by", "lifted_at")
    list_select_related = ("cluster", "cordoned_by")
    search_fields = ("node",)


@admin.register(Maintenance)
class MaintenanceAdmin(ReadOnlyAdmin):
    list_display = ("starts_at", "ends_at", "cluster", "node", "group", "reason", "begun_at", "finished_at")
    list_select_related = ("cluster", "group")
    search_fields = ("node",)


@admin.register(NodeFailure)
class NodeFailureAdmin(ReadOnlyAdmin):
    list_display = ("at", "node", "cluster", "job_ulid", "attempt_no", "owner", "code")
    list_select_related = ("cluster", "owner")
    search_fields = ("node", "job_ulid")


@admin.register(NodeSuspicion)
class NodeSuspicionAdmin(ReadOnlyAdmin):
    list_display = ("node", "cluster", "since", "cleared_at", "cleared_by")
    list_select_related = ("cluster", "cleared_by")
    search_fields = ("node",)


@admin.register(ObservedWorkload)
class ObservedWorkloadAdmin(ReadOnlyAdmin):
    list_display = ("job_ulid", "attempt_no", "cluster", "gone", "version", "seen_at")
    list_select_related = ("cluster",)
    search_fields = ("job_ulid",)


@admin.register(PreflightRow)
class PreflightRowAdmin(ReadOnlyAdmin):
    list_display = ("cluster", "feature", "verdict", "problem", "since")
    list_filter = ("verdict",)
    list_select_related = ("cluster",)


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    list_display = ("opened_at", "cluster", "source", "subject", "closed_at", "seen_by")
    list_filter = ("source",)
    list_select_related = ("cluster", "seen_by")


@admin.register(TeamStorage)
class TeamStorageAdmin(ReadOnlyAdmin):
    list_display = ("team", "cluster", "volume", "console_folder")
    list_select_related = ("team", "cluster")


@admin.register(Dataset)
class DatasetAdmin(ReadOnlyAdmin):
    list_display = ("name", "team", "cluster", "volume", "added_at", "removed_at")
    list_select_related = ("team", "cluster")


@admin.register(TeamSecret)
class TeamSecretAdmin(ReadOnlyAdmin):
    """That a secret is there, who set it, and whether its cluster has it. Never a value."""

    list_display = ("name", "kind", "team", "cluster", "changed_by", "changed_at", "is_dropped", "error")
    list_select_related = ("team", "cluster", "changed_by")


@admin.register(CodeArchive)
class CodeArchiveAdmin(ReadOnlyAdmin):
    """That code was uploaded. Its files are its team's."""

    list_display = ("public_id", "team", "owner", "size_bytes", "uploaded_at")
    list_select_related = ("team", "owner")
    exclude = ("files",)


@admin.register(WaterSample)
class WaterSampleAdmin(ReadOnlyAdmin):
    list_display = ("at", "group", "capacity", "healthy", "used", "reserved", "free", "unusable")
    list_select_related = ("group",)
    show_full_result_count = False


@admin.register(WaterHour, WaterDay)
class WaterRollupAdmin(ReadOnlyAdmin):
    list_display = ("at", "group", "figure", "seconds", "card_seconds", "least", "most")
    list_filter = ("figure",)
    list_select_related = ("group",)
    show_full_result_count = False


@admin.register(AcceleratorName)
class AcceleratorNameAdmin(ReadOnlyAdmin):
    list_display = ("resource", "cluster", "is_card", "vendor", "card_model", "sharing", "named_by", "named_at")
    list_select_related = ("cluster", "named_by")
