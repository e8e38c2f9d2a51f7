"""The lead's console: how much of the team's share is in use, by whom, and what waits."""

from __future__ import annotations

from itertools import islice

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from accounts.selectors import team_led, team_people
from accounts.web import actor_of_page, signed_in
from common.htmx import render_page
from jobs.pages.bulk import choices_for
from jobs.pages.lists import Choice, filters_of, job_rows_of, render_job_list
from jobs.selectors import JobFilters
from jobs.team_queue import team_holders, team_queue
from quotas.charts import share_bars
from quotas.selectors import quota_rows

_PARTS = ("waiting", "stopped", "aside", "active")
"""Of a team's live jobs, in their order on the page."""


@signed_in
@require_safe
def overview(request: HttpRequest, team: str) -> HttpResponse:
    """Share by node group and the queue, on one page."""
    viewer = actor_of_page(request)
    found = team_led(viewer=viewer, slug=team)
    rows = [row for row in quota_rows(viewer=viewer) if row.team_id == found.pk]
    cards = [row for row in rows if row.unit == "card"]
    queue = team_queue(viewer=viewer, team_id=found.pk)
    parts = {name: getattr(queue, name) for name in _PARTS}
    jobs = job_rows_of(viewer, [job for part in parts.values() for job in part], with_operations=True)
    left = iter(jobs)
    return render_page(
        request,
        "jobs/team.html",
        {
            "team": found,
            "bars": share_bars(rows),
            "used": sum(row.used for row in cards),
            "reserved": sum(row.reserved for row in cards),
            "borrowed": sum(row.borrowed + row.over for row in cards),
            **{name: list(islice(left, len(part))) for name, part in parts.items()},
            "waiting_total": queue.waiting_total,
            "stopped_total": queue.stopped_total,
            "stopped_queues": queue.stopped_queues,
            "active_total": queue.active_total,
            "holders": team_holders(viewer=viewer, team_id=found.pk),
            "bulk_choices": choices_for(viewer) if jobs else [],
            "several_clusters": len({row.cluster for row in rows}) > 1,
        },
        partial="live",
    )


@signed_in
@require_safe
def job_list(request: HttpRequest, team: str) -> HttpResponse:
    """Every job of the team, with the filters of the engineer's list and by person."""
    viewer = actor_of_page(request)
    found = team_led(viewer=viewer, slug=team)
    names = ("state", "search", "group", "owner")
    filters = filters_of(request, JobFilters(team=found.slug), names)
    people = [Choice(username, name, username == filters.owner) for username, name in team_people(found)]
    return render_job_list(
        request,
        viewer,
        filters,
        {name: getattr(filters, name) for name in names},
        {"console": "lead", "team": found, "people": people, "show_owner": True},
    )
