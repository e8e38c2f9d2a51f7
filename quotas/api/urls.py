"""`/api/v1/quotas`, `/api/v1/clusters/<slug>/groups/<slug>/shares`"""

from __future__ import annotations

from django.urls import path

from quotas.api import views

urlpatterns = [
    path("quotas", views.QuotasView.as_view(), name="quotas"),
    path("clusters/<slug:cluster>/groups/<slug:group>/shares", views.SharesView.as_view(), name="shares"),
]
