"""Celery's doors into quotas."""

from __future__ import annotations

import logging

from celery import shared_task

from clusters.contract import BackendError
from clusters.models import Cluster
from quotas.services import quotas_apply

logger = logging.getLogger(__name__)


@shared_task(name="quotas.apply")
def quotas_apply_task() -> None:
    """Bring every cluster's quotas to what is planned, in case an earlier call did not get through."""
    for cluster in Cluster.objects.order_by("pk"):
        try:
            quotas_apply(cluster)
        except BackendError as error:
            logger.warning("quotas of cluster %s not applied: %s", cluster.slug, error.code)
