"""`manage.py watch`: the supervised watcher. Looks at every cluster each second; everything works without it."""

from __future__ import annotations

import logging
import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError, close_old_connections
from django.utils import timezone

from clusters.models import Cluster
from clusters.sync import cluster_sync
from common.hints import send

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Watch all clusters until told to stop."

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        while not stop.wait(1.0):
            try:
                self._look()
            except DatabaseError as error:
                logger.warning("database not reachable, trying again: %s", type(error).__name__)
                close_old_connections()

    def _look(self) -> None:
        for cluster in Cluster.objects.all():
            if cluster_sync(cluster):
                Cluster.objects.filter(pk=cluster.pk).update(watched_at=timezone.now())
                send("jobs.sweep")
