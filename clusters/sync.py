"""Looking at clusters: the one function behind the watcher and the periodic task (decision 27).

Each look runs under the cluster's advisory lock. A cluster that does not answer rests for a while, so that it costs
the others nothing; it is asked again ever less often, at least once a minute.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.utils import timezone

from clusters.conflicts.watch import gathered_again
from clusters.contract import BackendError, Observation, Retryable, SchedulerBackend, Scope, Tidying, Watchable
from clusters.models import Cluster
from clusters.nodes_cordon import cordons_settle
from clusters.observed import store_inventory, store_observation
from clusters.registry import UnknownKind, backend_class, backend_for
from common.collection import collection_paused
from common.faults import reach
from common.hints import send
from common.locks import LockSpace, try_session_lock

logger = logging.getLogger(__name__)

SANDBOX_EVERY = timedelta(seconds=1)
WATCHED_EVERY = timedelta(seconds=60)
UNWATCHED_EVERY = timedelta(seconds=10)
WATCHER_SILENT_AFTER = timedelta(seconds=75)
REST_MIN = timedelta(seconds=5)
REST_MAX = timedelta(seconds=60)
LOCK_TRIES, LOCK_PAUSE_SECONDS = 600, 0.05


def sync_period(cluster: Cluster, now: datetime) -> timedelta:
    """How old the last look may be before the periodic task takes one (decisions 27 and 51)."""
    if cluster.kind == "sandbox":
        return SANDBOX_EVERY
    watched = cluster.watched_at is not None and abs(now - cluster.watched_at) < WATCHER_SILENT_AFTER
    return WATCHED_EVERY if watched else UNWATCHED_EVERY


def due_clusters(now: datetime) -> list[Cluster]:
    """Clusters whose last look is too old and that do not rest."""
    return [
        cluster
        for cluster in Cluster.objects.order_by("pk")
        if not rests(cluster, now) and (cluster.synced_at is None or _is_old(cluster.synced_at, cluster, now))
    ]


def rests(cluster: Cluster, now: datetime) -> bool:
    """It did not answer and is left alone for now. None rests longer than a minute: then the clock was put back."""
    return cluster.rest_until is not None and now < cluster.rest_until <= now + REST_MAX


def _is_old(read_at: datetime, cluster: Cluster, now: datetime) -> bool:
    """A look in the future was taken before the clock was put back."""
    return not timedelta(0) <= now - read_at < sync_period(cluster, now)


def sync_due(now: datetime | None = None) -> int:
    """Look at every cluster that is due; returns how many were looked at. One sick cluster stops none.

    Those that have to be reached over a network are looked at by a task of their own each, so that the time a
    silent one takes is not taken from the others.
    """
    done = 0
    for cluster in due_clusters(now or timezone.now()):
        if is_remote(cluster):
            send("clusters.sync", cluster.pk)
        else:
            done += sync_safely(cluster)
    return done


def is_remote(cluster: Cluster) -> bool:
    """Reached over a network, so that a call may take long. A kind that nobody knows is not."""
    try:
        return backend_class(cluster.kind).calls_at_once > 1
    except UnknownKind:
        return False


def sync_safely(cluster: Cluster) -> bool:
    """Look at a cluster; whatever goes wrong is recorded with it and raised no further."""
    try:
        return cluster_sync(cluster)
    except Exception:
        logger.exception("looking at cluster %s failed", cluster.slug)
        Cluster.objects.filter(pk=cluster.pk).update(sync_error="internal_error")
        return False


def cluster_sync(cluster: Cluster) -> bool:
    """Look at one cluster and store what changed; False if another process is at it or the cluster does not answer."""
    with try_session_lock(LockSpace.CLUSTER_SYNC, cluster.pk) as taken, collection_paused():
        if not taken:
            return False
        backend = backend_for(cluster)
        try:
            reach("sync.observe.before")
            observation = backend.observe(Scope())
            inventory = backend.inventory()
            reach("sync.observe.after")
        except BackendError as error:
            note_failure(cluster, error)
            return False
        with transaction.atomic():
            store_observation(cluster, observation)
            store_inventory(cluster, inventory)
            cordons_settle(cluster, inventory)
            Cluster.objects.filter(pk=cluster.pk).update(
                synced_at=observation.read_at,
                sync_error="",
                rest_until=None,
                topology_aware=inventory.topology_aware,
                lacks=sorted(inventory.lacks),
            )
            reach("sync.commit.before")
        reach("sync.commit.after")
        _tidy(cluster, backend)
    return True


def note_failure(cluster: Cluster, error: BackendError) -> None:
    """Record that a cluster did not do as it was asked. One that is silent rests: 5 s at first, then up to a minute."""
    logger.warning("cluster %s does not answer: %s %s", cluster.slug, error.code, error.detail[:300])
    changes: dict[str, object] = {"sync_error": error.code}
    if isinstance(error, Retryable):
        changes["rest_until"] = timezone.now() + rest_of(cluster, timezone.now())
    Cluster.objects.filter(pk=cluster.pk).update(**changes)


def rest_of(cluster: Cluster, now: datetime) -> timedelta:
    """How long a silent cluster is left alone: half of the time for which it has been silent."""
    silent_for = now - (cluster.synced_at or cluster.created_at)
    return min(REST_MAX, max(REST_MIN, silent_for / 2))


def _tidy(cluster: Cluster, backend: SchedulerBackend) -> None:
    cluster.refresh_from_db(fields=["mode"])  # a watch outlives what may be written
    if cluster.is_watched_only or not isinstance(backend, Tidying):
        return
    try:
        report = backend.tidy()
    except BackendError as error:  # the look itself is stored; what is left over is found by the next one
        logger.warning("tidying cluster %s: %s", cluster.slug, error.code)
        return
    gathered_again(cluster, report.gathered_again, timezone.now())


# --------------------------------------------------------------------------- live


def follow(cluster: Cluster, stop: Callable[[], bool]) -> None:
    """Store what a watchable cluster tells until ``stop`` says so. Raises BackendError when it cannot be followed.

    What goes with a complete look has its turn piece by piece, so that events wait for one piece at most.
    """
    backend = backend_for(cluster)
    assert isinstance(backend, Watchable)
    pieces: list[Callable[[], object]] = []
    for observation in backend.watch(stop):
        says_something = observation.complete or observation.objects or observation.gone
        if says_something and _store_told(cluster, observation):
            send("jobs.sweep")
        if observation.complete:
            pieces = [partial(_store_inventory_told, cluster, backend), partial(_tidy, cluster, backend)]
        elif pieces:
            pieces.pop(0)()


def _store_told(cluster: Cluster, observation: Observation) -> int:
    """Returns how many rows were written."""
    with _sync_lock(cluster) as taken:
        if not taken:
            return 0
        with transaction.atomic():
            written = store_observation(cluster, observation)
            changes: dict[str, object] = {"watched_at": timezone.now(), "sync_error": "", "rest_until": None}
            if observation.complete:
                changes["synced_at"] = observation.read_at
            if written or observation.complete:
                Cluster.objects.filter(pk=cluster.pk).update(**changes)
        return written


def _store_inventory_told(cluster: Cluster, backend: SchedulerBackend) -> None:
    inventory = backend.inventory()
    with _sync_lock(cluster) as taken, transaction.atomic():
        if taken:
            store_inventory(cluster, inventory)
            cordons_settle(cluster, inventory)
            lacks = sorted(inventory.lacks)
            Cluster.objects.filter(pk=cluster.pk).update(topology_aware=inventory.topology_aware, lacks=lacks)


@contextmanager
def _sync_lock(cluster: Cluster) -> Iterator[bool]:
    """Waits while a periodic look is being stored: what it saw is not newer than what is told here."""
    for _ in range(LOCK_TRIES):
        with try_session_lock(LockSpace.CLUSTER_SYNC, cluster.pk) as taken:
            if taken:
                yield True
                return
        time.sleep(LOCK_PAUSE_SECONDS)
    logger.error("cluster %s: another look has not ended", cluster.slug)
    yield False
