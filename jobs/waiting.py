"""What waits for cards, by node group and shape: one query, as many rows as there are shapes."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import Count

from clusters.domain.packing import Gang
from clusters.domain.reasons import ReasonCode
from jobs.domain.words import JobState, Kind
from jobs.models import Job
from quotas.local_queues import STOPPED

KEPT_BACK = (ReasonCode.LOCAL_LIMIT.value, ReasonCode.PERSONAL_LIMIT.value)


def waiting_gangs() -> dict[int, list[Gang]]:
    """Queued jobs by the key of their node group; held ones and those that give way stand in no queue, and those that
    a local queue keeps back wait for no cards of the group.

    The replicas of a service start one by one, so each is a gang of its own.
    """
    rows = (
        Job.objects.filter(
            state=JobState.QUEUED.value, is_held=False, held=False, rests_until=None, cards__gt=0, group__isnull=False
        )
        .exclude(local_queue__state__in=STOPPED)
        .exclude(reason_code__in=KEPT_BACK)
        .order_by()
        .values_list("group_id", "kind", "pods", "cards_per_pod")
        .annotate(count=Count("pk"))
    )
    found: dict[int, list[Gang]] = defaultdict(list)
    for group_id, kind, pods, cards, count in rows:
        if kind == Kind.INFERENCE.value:
            found[group_id].append(Gang(1, cards, pods * count))
        else:
            found[group_id].append(Gang(pods, cards, count))
    return found
