"""The composition root as a Django app: what every process loads, and who tells the layers below what they ask."""

from __future__ import annotations

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"

    def ready(self) -> None:
        from clusters.conflicts.told import told_by
        from clusters.waiting import waiting_source
        from common.timestamps import read_timestamps_quickly
        from console import celery  # noqa: F401 - creating it makes it the current application, so that hints find it
        from jobs.conflicts import TELLER
        from jobs.waiting import waiting_gangs

        told_by(TELLER)
        waiting_source(waiting_gangs)
        read_timestamps_quickly()
