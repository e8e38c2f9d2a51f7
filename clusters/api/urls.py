"""`/api/v1/groups`, preflight and notices of clusters, `/api/v1/teams/<team>/…` about what a team has, archives."""

from __future__ import annotations

from django.urls import path

from clusters.api import accelerators, maintenance, nodes, preflight, supplies, water

urlpatterns = [
    path("groups", nodes.GroupsView.as_view(), name="groups"),
    path("maintenance", maintenance.MaintenancesView.as_view(), name="maintenance"),
    path("maintenance/<str:public_id>/cancel", maintenance.MaintenanceCancelView.as_view(), name="maintenance-cancel"),
    path("nodes/<slug:cluster>/<str:node>/cordon", nodes.NodeCordonView.as_view(), name="node-cordon"),
    path("nodes/<slug:cluster>/<str:node>/uncordon", nodes.NodeUncordonView.as_view(), name="node-uncordon"),
    path("nodes/<slug:cluster>/<str:node>/trust", nodes.NodeTrustView.as_view(), name="node-trust"),
    path("clusters/<slug:cluster>/preflight", preflight.ClusterPreflightView.as_view(), name="cluster-preflight"),
    path("clusters/<slug:cluster>/water-level", water.WaterLevelView.as_view(), name="water-level"),
    path("clusters/<slug:cluster>/water-level/history", water.WaterHistoryView.as_view(), name="water-level-history"),
    path("clusters/<slug:cluster>/accelerators", accelerators.AcceleratorsView.as_view(), name="accelerators"),
    path(
        "clusters/<slug:cluster>/accelerators/<path:resource>",
        accelerators.AcceleratorNameView.as_view(),
        name="accelerator-name",
    ),
    path("notices", preflight.NoticesView.as_view(), name="notices"),
    path("notices/<int:pk>/seen", preflight.NoticeSeenView.as_view(), name="notice-seen"),
    path("archives", supplies.ArchivesView.as_view(), name="archives"),
    path("teams/<str:team>/supplies", supplies.SuppliesView.as_view(), name="supplies"),
    path("teams/<str:team>/rules", supplies.RulesView.as_view(), name="team-rules"),
    path("teams/<str:team>/storage", supplies.StorageView.as_view(), name="storage"),
    path("teams/<str:team>/datasets/<str:name>", supplies.DatasetView.as_view(), name="dataset"),
    path("teams/<str:team>/variables/<str:name>", supplies.VariablesView.as_view(), name="variables"),
    path("teams/<str:team>/registries/<str:name>", supplies.RegistryView.as_view(), name="registry"),
]
