"""The app of Django's own admin, with our site in place of its own."""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig


class OperatorsConfig(AdminConfig):
    default_site = "common.admin.OperatorSite"
