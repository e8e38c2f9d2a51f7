"""Every address of the console."""

from __future__ import annotations

from allauth.account import views as account_views
from django.contrib import admin
from django.urls import include, path
from django.views.decorators.http import require_http_methods

from console import health, pages

urlpatterns = [
    path("", pages.home, name="home"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("sign-in/", require_http_methods(["GET", "HEAD", "POST"])(account_views.login), name="account_login"),
    path("sign-out/", account_views.logout, name="account_logout"),
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
