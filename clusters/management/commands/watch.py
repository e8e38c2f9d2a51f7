"""`manage.py watch`: the supervised watcher, one thread per cluster. Everything works without it, only later."""

from __future__ import annotations

import logging
import signal
import threading
import time
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError, close_old_connections, connections
from django.utils import timezone

from clusters.contract import BackendError, Watchable
from clusters.models import Cluster
from clusters.registry import backend_for
from clusters.sync import cluster_sync, follow, note_failure, rests
from common.hints import send

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
NEW_CLUSTERS_SECONDS = 5.0
CHANGES_SECONDS = 5.0


class Command(BaseCommand):
    help = "Watch all clusters until told to stop."

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        threads: dict[int, threading.Thread] = {}
        while True:
            try:
                self._start_missing(threads, stop)
            except DatabaseError as error:
                logger.warning("database not reachable, trying again: %s", type(error).__name__)
                close_old_connections()
            if stop.wait(NEW_CLUSTERS_SECONDS):
                break
        for thread in threads.values():
            thread.join(timeout=2.0)

    def _start_missing(self, threads: dict[int, threading.Thread], stop: threading.Event) -> None:
        for pk in Cluster.objects.values_list("pk", flat=True):
            if pk not in threads or not threads[pk].is_alive():
                threads[pk] = threading.Thread(target=_watch, args=(pk, stop), name=f"cluster-{pk}", daemon=True)
                threads[pk].start()


def _watch(pk: int, stop: threading.Event) -> None:
    """Follow one cluster until it is forgotten. Nothing that goes wrong with it ends the thread of another."""
    pause = LOOK_SECONDS
    while not stop.wait(pause):
        try:
            cluster = Cluster.objects.filter(pk=pk).first()
            if cluster is None:
                return
            pause = _follow_or_look(cluster, stop)
        except DatabaseError as error:
            logger.warning("database not reachable, trying again: %s", type(error).__name__)
        except Exception:
            logger.exception("watching cluster %s failed", pk)
            pause = 5.0
        finally:
            connections.close_all() if stop.is_set() else close_old_connections()


def _follow_or_look(cluster: Cluster, stop: threading.Event) -> float:
    """One look, or a watch for as long as it lasts; returns the seconds to wait before the next."""
    now = timezone.now()
    if cluster.rest_until is not None and rests(cluster, now):
        return min(LOOK_SECONDS, (cluster.rest_until - now).total_seconds())
    if isinstance(backend_for(cluster), Watchable):
        connected = _Connected(cluster)
        try:
            follow(cluster, lambda: stop.is_set() or connected.has_changed())
        except BackendError as error:
            note_failure(cluster, error)
    elif cluster_sync(cluster):
        Cluster.objects.filter(pk=cluster.pk).update(watched_at=timezone.now())
        send("jobs.sweep")
    return LOOK_SECONDS


class _Connected:
    """How a cluster is reached; asked again now and then, because other credentials or settings need a new watch."""

    def __init__(self, cluster: Cluster) -> None:
        self._pk = cluster.pk
        self._known = self._read()
        self._asked = time.monotonic()

    def _read(self) -> object:
        return Cluster.objects.filter(pk=self._pk).values_list("credentials", "settings").first()

    def has_changed(self) -> bool:
        if time.monotonic() - self._asked < CHANGES_SECONDS:
            return False
        self._asked = time.monotonic()
        return self._read() != self._known
