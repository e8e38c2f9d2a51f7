"""People and sign-in as a Django app: keeps the audit trail of what allauth's own pages change."""

from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        from accounts import trail

        trail.listen()
