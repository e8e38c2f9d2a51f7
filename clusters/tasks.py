"""Celery's doors into the cluster layer."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from clusters.conflicts.watch import conflicts_watch
from clusters.models import Cluster
from clusters.nodes_maintenance import maintenances_step
from clusters.nodes_suspicion import suspicions_settle
from clusters.preflight.service import preflight_due, preflight_run
from clusters.secrets import bring_secrets
from clusters.sync import sync_due, sync_safely
from clusters.waiting import waiting
from clusters.water import water_keep, water_roll_up, water_sample


@shared_task(name="clusters.sync_due")
def sync_due_task() -> None:
    """See which clusters are due; also the sandbox's heartbeat."""
    sync_due()


@shared_task(name="clusters.sync")
def sync_task(cluster_id: int) -> None:
    """Look at one cluster."""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is not None:
        sync_safely(cluster)


@shared_task(name="clusters.preflight_due")
def preflight_due_task() -> None:
    """See whose setup is due for a look."""
    preflight_due()


@shared_task(name="clusters.preflight")
def preflight_task(cluster_id: int) -> None:
    """Look at the setup of one cluster."""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is not None:
        preflight_run(cluster)


@shared_task(name="clusters.bring_secrets")
def bring_secrets_task() -> None:
    """Bring secrets that their cluster does not have yet."""
    bring_secrets()


@shared_task(name="clusters.care_for_nodes")
def care_for_nodes_task() -> None:
    """See which nodes have come under suspicion, and which maintenance begins or ends."""
    suspicions_settle(timezone.now())
    maintenances_step(timezone.now())


@shared_task(name="clusters.watch_conflicts")
def watch_conflicts_task() -> None:
    """See where what divides a cluster works against each other."""
    conflicts_watch(timezone.now())


@shared_task(name="clusters.water_sample")
def water_sample_task() -> None:
    """Write down the water level of this minute."""
    water_sample(waiting(), timezone.now())


@shared_task(name="clusters.water_roll_up")
def water_roll_up_task() -> None:
    """Make hours and days of the water level."""
    water_roll_up()


@shared_task(name="clusters.water_keep")
def water_keep_task() -> None:
    """Drop what is old of the water level, and make room for the months to come."""
    water_keep(timezone.now())
