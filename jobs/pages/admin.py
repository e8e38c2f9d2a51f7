"""The admin's console: nodes, all jobs, the audit trail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.policy import Action, teams_where
from accounts.selectors import audit_page, team_choices
from accounts.web import actor_of_page, signed_in
from clusters.contract import NodeHealth
from clusters.selectors import GroupView, NodeView, group_views
from common.errors import NotAllowed
from common.htmx import render_page
from jobs import selectors
from jobs.charts import draw_groups, team_letters
from jobs.models import Job
from jobs.pages.lists import Choice, filters_of, render_job_list
from jobs.selectors import JobFilters

P = ParamSpec("P")
Page = Callable[Concatenate[HttpRequest, P], HttpResponseBase]

NODE_FILTERS = ("", "attention", "free")


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


# --------------------------------------------------------------------------- nodes


@dataclass(frozen=True, slots=True)
class NodeHolder:
    """One attempt that holds cards of the chosen node; ``job`` is None for one that is no job of ours any more."""

    job: Job | None
    attempt: int
    cards: int
    running: bool
    ending: bool


@for_admins(Action.NODE_VIEW)
@require_safe
def nodes(request: HttpRequest) -> HttpResponse:
    """Node groups with a square per card; `node` opens one at the side, `show` narrows to some."""
    viewer = actor_of_page(request)
    views = group_views(viewer=viewer)
    holders = {str(holder["job_ulid"]) for view in views for node in view.nodes for holder in node.holders}
    jobs = selectors.jobs_by_ulid(viewer=viewer, ulids=holders)
    team_of = {ulid: job.team.name for ulid, job in jobs.items()}
    letters = team_letters(team_of.values())
    show = request.GET.get("show", "")
    every = [node for view in views for node in view.nodes]
    chosen = next((node for node in every if node.name == request.GET.get("node")), None)
    return render_page(
        request,
        "jobs/nodes.html",
        {
            "groups": [group for group in draw_groups(_narrowed(views, show), team_of, letters) if group.nodes],
            "letters": letters,
            "show": show if show in NODE_FILTERS else "",
            "counts": {key: sum(_matches(node, key) for node in every) for key in NODE_FILTERS},
            "attention": [node for node in every if _matches(node, "attention")],
            "out": sum(node.out for node in every),
            "chosen": chosen,
            "chosen_group": next((view.group for view in views if chosen in view.nodes), None),
            "chosen_holders": _holders(chosen, jobs) if chosen else [],
        },
        partial="live",
    )


def _matches(node: NodeView, show: str) -> bool:
    if show == "attention":
        return node.health != NodeHealth.READY.value or node.sick > 0
    return show != "free" or node.free > 0


def _narrowed(views: Sequence[GroupView], show: str) -> list[GroupView]:
    return [
        GroupView(view.group, view.cluster, tuple(node for node in view.nodes if _matches(node, show)))
        for view in views
    ]


def _holders(node: NodeView, jobs: dict[str, Job]) -> list[NodeHolder]:
    return [
        NodeHolder(
            job=jobs.get(str(holder["job_ulid"])),
            attempt=int(str(holder["attempt"])),
            cards=int(str(holder["cards"])),
            running=bool(holder["running"]),
            ending=bool(holder["ending"]),
        )
        for holder in node.holders
    ]


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
    page = audit_page(viewer=actor_of_page(request), cursor=request.GET.get("cursor"))
    links = {"newer": page.newer, "older": page.older}
    context = {name: f"cursor={cursor}" if cursor else None for name, cursor in links.items()}
    return render_page(request, "jobs/audit.html", {"events": page.rows, **context}, partial="rows")
