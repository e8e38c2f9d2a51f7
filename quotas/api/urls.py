"""`/api/v1/quotas`, `/api/v1/clusters…`"""

from __future__ import annotations

from django.urls import path

from quotas.api import clusters, rows, views

urlpatterns = [
    path("quotas", rows.QuotasView.as_view(), name="quotas"),
    path("quotas/<slug:queue>", rows.QueueQuotasView.as_view(), name="quotas-of-queue"),
    path("quotas/<slug:queue>/<slug:local>", rows.LocalQueueQuotasView.as_view(), name="quotas-of-local-queue"),
    path("clusters", clusters.ClustersView.as_view(), name="clusters"),
    path("clusters/<slug:cluster>", clusters.ClusterDetailView.as_view(), name="cluster"),
    path("clusters/<slug:cluster>/credentials", clusters.CredentialsView.as_view(), name="cluster-credentials"),
    path("clusters/<slug:cluster>/groups/<slug:group>/shares", views.SharesView.as_view(), name="shares"),
]
