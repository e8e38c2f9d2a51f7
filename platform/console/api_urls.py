"""`/api/v1/`: the apps' addresses, the OpenAPI document and its offline page."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.permissions import AllowAny

from console.api_schema import SchemaView

app_name = "api"
urlpatterns = [
    path("", include("jobs.api.urls")),
    path("", include("quotas.api.urls")),
    path("", include("clusters.api.urls")),
    path("", include("accounts.api.urls")),
    path("schema", SchemaView.as_view(), name="schema"),
    path(
        "docs",
        SpectacularSwaggerSplitView.as_view(
            url_name="api:schema",
            template_name="api_docs.html",
            permission_classes=[AllowAny],
            authentication_classes=[],
        ),
        name="docs",
    ),
]
