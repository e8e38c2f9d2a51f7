"""A team's queue and who fills it, for its lead."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce

from accounts.actors import Actor
from jobs.domain.words import JobState
from jobs.listing import jobs_listed
from jobs.models import Job
from jobs.selectors import KEEPS_ITS_CARDS, PRIORITY_ORDER, WAITS, jobs_visible
from quotas.local_queues import STOPPED
from quotas.models import LocalQueue


@dataclass(frozen=True, slots=True)
class TeamQueueView:
    """A team's live jobs for its lead: waiting in the order they are tried, then those of local queues where nothing
    starts, then those held or giving way, then what runs. ``stopped_queues``: those local queues, with who and why.
    """

    waiting: list[Job]
    stopped: list[Job]
    stopped_queues: list[LocalQueue]
    aside: list[Job]
    active: list[Job]
    waiting_total: int
    stopped_total: int
    active_total: int


def team_queue(*, viewer: Actor, team_id: int, limit: int = 50) -> TeamQueueView:
    """The live jobs of one team the viewer may see, at most ``limit`` of each part; six queries."""
    rows = jobs_visible(viewer).filter(team_id=team_id)
    queued = rows.filter(WAITS)
    active = rows.filter(Q(state__in=[JobState.CREATING.value, JobState.RUNNING.value]) | KEEPS_ITS_CARDS)
    in_line = queued.filter(held=False, rests_until=None)
    queues = list(LocalQueue.objects.filter(queue__team=team_id, state__in=STOPPED).order_by("state_since", "pk"))
    ids = [queue.pk for queue in queues]
    waiting, stopped = in_line.exclude(local_queue__in=ids), in_line.filter(local_queue__in=ids)
    totals = in_line.order_by().aggregate(all=Count("pk"), stopped=Count("pk", filter=Q(local_queue__in=ids)))
    order = (PRIORITY_ORDER.desc(), "submitted_at", "id")
    return TeamQueueView(
        waiting=jobs_listed(waiting.order_by(*order)[:limit]),
        stopped=jobs_listed(stopped.order_by(*order)[:limit]),
        stopped_queues=queues,
        aside=jobs_listed(queued.filter(~Q(held=False, rests_until=None)).order_by("submitted_at", "id")[:limit]),
        active=jobs_listed(active.order_by("-cards", "submitted_at", "id")[:limit]),
        waiting_total=totals["all"] - totals["stopped"],
        stopped_total=totals["stopped"],
        active_total=active.count(),
    )


@dataclass(frozen=True, slots=True)
class Holder:
    """One person's live jobs in one unit."""

    name: str
    unit: str
    jobs: int
    running: int
    creating: int


def team_holders(*, viewer: Actor, team_id: int) -> list[Holder]:
    """Who holds the team's cards now, most first; one query. Units are kept apart."""
    rows = jobs_visible(viewer).filter(team_id=team_id, group__isnull=False)
    found = (
        rows.filter(state__in=[JobState.RUNNING.value, JobState.CREATING.value])
        .order_by()
        .values("owner__username", "owner__first_name", "owner__last_name", "group__unit")
        .annotate(
            jobs=Count("pk"),
            running=Coalesce(Sum("cards", filter=Q(state=JobState.RUNNING.value)), 0),
            creating=Coalesce(Sum("cards", filter=Q(state=JobState.CREATING.value)), 0),
        )
    )
    holders = [
        Holder(
            name=f"{row['owner__first_name']} {row['owner__last_name']}".strip() or row["owner__username"],
            unit=row["group__unit"],
            jobs=row["jobs"],
            running=row["running"],
            creating=row["creating"],
        )
        for row in found
    ]
    return sorted(holders, key=lambda holder: (holder.unit, -holder.running - holder.creating, holder.name))
