"""The composition root as a Django app: loads the Celery application in every process, so that hints find it."""

from __future__ import annotations

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        from console import celery  # noqa: F401 - creating it makes it the current application
