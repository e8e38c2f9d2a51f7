"""The admin's console: all jobs, the audit trail, and who may see it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.policy import Action, teams_where
from accounts.selectors import audit_page, team_choices
from accounts.web import actor_of_page, signed_in
from common.errors import NotAllowed
from common.htmx import render_page
from jobs.card_sharing import card_sharing
from jobs.pages.lists import Choice, filters_of, render_job_list
from jobs.selectors import JobFilters, jobs_by_ulid

P = ParamSpec("P")
Page = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def for_admins(action: Action) -> Callable[[Page[P]], Page[P]]:
    """A page of the admin's console: only for whoever may do ``action`` on everybody's things."""

    def decorate(view: Page[P]) -> Page[P]:
        @signed_in
        @wraps(view)
        def inner(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if teams_where(actor_of_page(request), action) is not None:
                raise NotAllowed("not_allowed", _("This page is for platform admins."))
            return view(request, *args, **kwargs)

        return inner

    return decorate


# --------------------------------------------------------------------------- jobs, audit


@for_admins(Action.JOB_VIEW)
@require_safe
def job_list(request: HttpRequest) -> HttpResponse:
    """Every job of every team."""
    viewer = actor_of_page(request)
    names = ("state", "search", "group", "team")
    filters = filters_of(request, JobFilters(), names)
    chosen = {name: getattr(filters, name) for name in names}
    teams = [Choice(slug, name, slug == filters.team) for slug, name in team_choices()]
    context = {"console": "admin", "teams": teams, "show_owner": True, "show_team": True}
    return render_job_list(request, viewer, filters, chosen, context)


@for_admins(Action.AUDIT_VIEW)
@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """Who did what, newest first."""
    viewer = actor_of_page(request)
    page = audit_page(viewer=viewer, cursor=request.GET.get("cursor"))
    jobs = jobs_by_ulid(viewer=viewer, ulids={event.target_id for event in page.rows if event.target_type == "job"})
    rows = [(event, card_sharing(jobs[event.target_id]) if event.target_id in jobs else None) for event in page.rows]
    links = {"newer": page.newer, "older": page.older}
    context = {name: f"cursor={cursor}" if cursor else None for name, cursor in links.items()}
    return render_page(request, "jobs/audit.html", {"rows": rows, **context}, partial="rows")
