"""Celery's doors into the demo."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings

from clusters.models import Cluster
from console.demo.arrivals import tick
from console.setup import CLUSTER_SLUG


@shared_task(name="console.demo_arrivals")
def demo_arrivals_task() -> None:
    """Let the demo's director have a look, when there is a demo."""
    cluster = Cluster.objects.filter(slug=CLUSTER_SLUG, kind="sandbox").first()
    if settings.DEMO and cluster is not None:
        tick(cluster)
