"""Every address of the console."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from console import health, pages

urlpatterns = [
    path("", pages.home, name="home"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("", include("accounts.sign_in_urls")),
    path("account/", include("accounts.urls")),
    path("", include("jobs.urls")),
    path("team/<slug:team>/", include("jobs.team_urls")),
    path("admin/", include("jobs.admin_urls")),
    path("api/v1/", include("console.api_urls")),
    path("operator/", admin.site.urls),
]

handler400 = "console.pages.bad_request"
handler403 = "console.pages.forbidden"
handler404 = "console.pages.not_found"
handler500 = "console.pages.server_error"
