"""Whether work that is due is being done: without a beat, or without a worker, it is not (decision 49)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q

from clusters.services import resting_clusters
from jobs.models import JobSync

LATE_AFTER = timedelta(seconds=30)
"""Many times the pause between two sweeps: a burst that is being worked off is not late."""


def overdue_for(now: datetime) -> timedelta | None:
    """How long the oldest due job has been waiting for a worker, where that is too long; None while all is well.

    Jobs of a cluster that does not answer wait for the cluster, and those somebody is at are not waiting.
    """
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    due = JobSync.objects.filter(free, due_at__lt=now - LATE_AFTER)
    if resting := resting_clusters(now):
        due = due.exclude(job__cluster__in=resting)
    oldest = due.order_by("due_at").values_list("due_at", flat=True).first()
    return now - oldest if oldest is not None else None
