"""What the conflict watch of clusters asks about jobs. Fixed numbers of queries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from clusters.conflicts.told import JobTold, Preemption, Teller
from clusters.domain.reasons import ReasonCode
from jobs.domain.words import TERMINAL_STATES
from jobs.listing import jobs_listed
from jobs.models import Job, JobEvent

BY_THE_CLUSTER = [
    code.value
    for code in ReasonCode
    if code.value.startswith("preempted_") and code is not ReasonCode.PREEMPTED_BY_PERSON
]
"""Events of these codes name the job for which this one was interrupted, where the cluster told it."""


def jobs_told(ulids: Sequence[str]) -> dict[str, JobTold]:
    """One query."""
    rows = Job.objects.filter(public_id__in=ulids).values_list("public_id", "group_id", "stop_grace_seconds")
    return {ulid: JobTold(group_id, timedelta(seconds=grace)) for ulid, group_id, grace in rows.order_by()}


def preemptions_since(since: datetime) -> list[Preemption]:
    """Of jobs that have not ended, oldest first; one query. What a person did is no loop."""
    ended = [state.value for state in TERMINAL_STATES]
    events = JobEvent.objects.filter(at__gte=since, code__in=BY_THE_CLUSTER, facts__has_key="by").exclude(
        job__state__in=ended
    )
    rows = events.order_by("at", "id").values_list("job__cluster_id", "job__public_id", "facts__by", "at")
    return [Preemption(cluster, victim, str(by), at) for cluster, victim, by, at in rows]


TELLER = Teller(jobs=jobs_told, preemptions=preemptions_since)


def jobs_named(ulids: Sequence[str]) -> dict[str, Job]:
    """These jobs with what a list shows of them, for admins; one query, none for no jobs."""
    return {job.public_id: job for job in jobs_listed(Job.objects.filter(public_id__in=ulids))} if ulids else {}
