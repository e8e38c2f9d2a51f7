"""People and sign-in as a Django app: what allauth changes is audited, what it seals follows a change of keys."""

from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        from accounts import second_factors, trail
        from common.secrets import also_rotate

        trail.listen()
        also_rotate(second_factors.rotate)
