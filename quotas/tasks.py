"""Celery's doors into quotas."""

from __future__ import annotations

import logging

from celery import shared_task
from django.utils import timezone

from clusters.contract import BackendError
from clusters.found import found_look
from clusters.models import Cluster
from clusters.services import cluster_failed, is_silence, resting_clusters
from common.hints import send
from quotas.cluster_services import shares_complete
from quotas.plans.services import plan_follow
from quotas.services import quotas_apply

logger = logging.getLogger(__name__)


@shared_task(name="quotas.apply")
def quotas_apply_task() -> None:
    """Have every cluster's quotas brought to what is planned, in case an earlier call did not get through.

    Each cluster is a task of its own, so that a slow one holds up no other.
    """
    resting = set(resting_clusters(timezone.now()))
    for pk in Cluster.objects.order_by("pk").values_list("pk", flat=True):
        if pk not in resting:
            send("quotas.apply_cluster", pk)


@shared_task(name="quotas.apply_cluster")
def quotas_apply_cluster_task(cluster_id: int) -> None:
    """See what queues of others have, divide the cards that are there, and bring quotas to what is planned."""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        return
    shares_complete(cluster)
    try:
        found_look(cluster)
    except BackendError as error:  # what was found before still counts
        logger.warning("queues of others on cluster %s not read: %s", cluster.slug, error.code)
        if is_silence(error):
            cluster_failed(cluster, error)
            return
    plan_follow(cluster, timezone.now())
    try:
        report = quotas_apply(cluster)
    except BackendError as error:
        logger.warning("quotas of cluster %s not applied: %s", cluster.slug, error.code)
        if is_silence(error):
            cluster_failed(cluster, error)
        return
    for name, code in report.failed:
        logger.warning("cluster %s: %s is not as planned: %s", cluster.slug, name, code)
