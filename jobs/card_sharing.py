"""Whether a job has whole cards or slices of cards that others use too. One answer for pages and the API."""

from __future__ import annotations

from django.db.models import Count

from clusters.models import NodeGroup
from clusters.water_selectors import is_shared
from jobs.domain.words import LIVE_STATES, CardSharing, Kind
from jobs.models import Job


def group_sharing(group: NodeGroup) -> CardSharing:
    return CardSharing.SHARED if is_shared(group) else CardSharing.EXCLUSIVE


def card_sharing(job: Job) -> CardSharing | None:
    """None for a job without cards."""
    return group_sharing(job.group) if job.cards and job.group is not None else None


def training_teams(group: NodeGroup) -> list[tuple[str, int]]:
    """(name, jobs) of each team that has training waiting or running in a group, for admins; one query."""
    rows = Job.objects.filter(group=group, kind=Kind.TRAINING.value, state__in=[state.value for state in LIVE_STATES])
    return list(rows.order_by("team__name").values_list("team__name").annotate(jobs=Count("pk")))
