"""`/api/v1/quotas`, `/api/v1/clusters…`"""

from __future__ import annotations

from django.urls import path

from quotas.api import adoption, clusters, groups, local_queues, plans, rows, sharing, views

urlpatterns = [
    path("quotas", rows.QuotasView.as_view(), name="quotas"),
    path("quotas/<slug:queue>", rows.QueueQuotasView.as_view(), name="quotas-of-queue"),
    path("quotas/<slug:queue>/<slug:local>", rows.LocalQueueQuotasView.as_view(), name="quotas-of-local-queue"),
    path("queues", local_queues.LocalQueuesView.as_view(), name="queues"),
    path("queues/<slug:queue>/<slug:local>", local_queues.LocalQueueDetailView.as_view(), name="queue"),
    path("queues/<slug:queue>/<slug:local>/hold", local_queues.LocalQueueHoldView.as_view(), name="queue-hold"),
    path("queues/<slug:queue>/<slug:local>/drain", local_queues.LocalQueueDrainView.as_view(), name="queue-drain"),
    path("queues/<slug:queue>/<slug:local>/reopen", local_queues.LocalQueueReopenView.as_view(), name="queue-reopen"),
    path("clusters", clusters.ClustersView.as_view(), name="clusters"),
    path("clusters/<slug:cluster>", clusters.ClusterDetailView.as_view(), name="cluster"),
    path("clusters/<slug:cluster>/credentials", clusters.CredentialsView.as_view(), name="cluster-credentials"),
    path("clusters/<slug:cluster>/mode", adoption.ClusterModeView.as_view(), name="cluster-mode"),
    path("clusters/<slug:cluster>/found-queues", adoption.FoundQueuesView.as_view(), name="found-queues"),
    path("clusters/<slug:cluster>/found-queues/look", adoption.FoundQueuesLookView.as_view(), name="found-queues-look"),
    path("clusters/<slug:cluster>/found-queues/adopt", adoption.AdoptView.as_view(), name="found-queues-adopt"),
    path("clusters/<slug:cluster>/groups", groups.NodeGroupsView.as_view(), name="node-groups"),
    path("clusters/<slug:cluster>/groups/<slug:group>", groups.NodeGroupView.as_view(), name="node-group"),
    path(
        "clusters/<slug:cluster>/groups/<slug:group>/confirm",
        groups.NodeGroupConfirmView.as_view(),
        name="node-group-confirm",
    ),
    path(
        "clusters/<slug:cluster>/groups/<slug:group>/aside",
        groups.NodeGroupAsideView.as_view(),
        name="node-group-aside",
    ),
    path(
        "clusters/<slug:cluster>/groups/<slug:group>/propose",
        groups.NodeGroupBackView.as_view(),
        name="node-group-propose",
    ),
    path("clusters/<slug:cluster>/groups/<slug:group>/shares", views.SharesView.as_view(), name="shares"),
    path("clusters/<slug:cluster>/groups/<slug:group>/sharing", sharing.SharingPolicyView.as_view(), name="sharing"),
    path("clusters/<slug:cluster>/quota-plan", plans.QuotaPlanView.as_view(), name="quota-plan"),
    path("clusters/<slug:cluster>/quota-plan/recount", plans.QuotaRecountView.as_view(), name="quota-plan-recount"),
    path(
        "clusters/<slug:cluster>/quota-plan/take-over", plans.QuotaTakeOverView.as_view(), name="quota-plan-take-over"
    ),
    path("clusters/<slug:cluster>/quota-plan/adopt", plans.QuotaAdoptView.as_view(), name="quota-plan-adopt"),
    path("clusters/<slug:cluster>/quota-plan/versions", plans.QuotaVersionsView.as_view(), name="quota-plan-versions"),
    path(
        "clusters/<slug:cluster>/quota-plan/versions/<int:number>/restore",
        plans.QuotaVersionRestoreView.as_view(),
        name="quota-plan-restore",
    ),
]
