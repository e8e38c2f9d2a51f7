"""Celery's doors into the cluster layer."""

from __future__ import annotations

from celery import shared_task

from clusters.sync import sync_due


@shared_task(name="clusters.sync_due")
def sync_due_task() -> None:
    """Look at every cluster that is due; also the sandbox's heartbeat."""
    sync_due()
