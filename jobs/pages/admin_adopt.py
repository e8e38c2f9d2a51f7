"""The admin's console: a cluster that others divided before us. Adopting their queues; managing the cluster, or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.connected import cluster_get
from clusters.models import Cluster
from common.errors import DomainError
from jobs.pages.admin import for_admins
from jobs.pages.admin_quotas import apply_quotas
from jobs.plan_view import PreviewView, preview_view, team_names
from quotas.adopt_forms import AdoptForm, ManageForm
from quotas.adopting import (
    AdoptionPreview,
    FoundView,
    TakenPart,
    adopt,
    adoption_preview,
    found_ask,
    found_views,
    teams_of,
)
from quotas.domain.shares import percent_text
from quotas.managing import Check, CheckItem, checklist, manage_start
from quotas.plans.services import newest_number

ADDRESSES = {Check.PREFLIGHT: "admin_console:preflight", Check.GROUPS: "admin_console:groups"}


@dataclass(frozen=True, slots=True)
class TakenLine:
    """What a team gets of a node group, with names."""

    team: str
    group: str
    percent: str
    part: TakenPart


@dataclass(frozen=True, slots=True)
class Foretold:
    """What adopting would do, for people."""

    lines: list[TakenLine]
    adopted: tuple[str, ...]
    left_alone: tuple[str, ...]
    plan: PreviewView
    seen: str  # the choice that this is about


@for_admins(Action.SHARES_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def adoption(request: HttpRequest, cluster: str) -> HttpResponse:
    """Queues of others with whose they may be. ``act``: look again, preview (saves nothing), or adopt what was seen.

    A choice that was changed since the preview is shown again first.
    """
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    act = request.POST.get("act", "")
    if act == "look":
        return _look_again(request, found)
    views = found_views(viewer=actor, cluster=found)
    version = newest_number(found)  # what is shown is always of this one
    form, status, foretold = _form(request, found, views, version), 200, None
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                is_seen = request.POST.get("seen") == form.choice_text()
                if act == "adopt" and (is_seen or form.cleaned_data["expected_version"] != version):
                    adopt(actor=actor, cluster=found, choice=form.choice(), **_version_of(form))
                    return _adopted(request, found)
                preview = adoption_preview(viewer=actor, cluster=found, choice=form.choice())
            except DomainError as error:
                form.add_adopting_problems(error)
                status = error.status if error.status != 400 else 422
            else:
                foretold, status = _foretold(found, form, preview), 200
    context = {
        "cluster": found,
        "form": form,
        "version": version,
        "lines": form.lines(),
        "titles": dict(found.groups.values_list("slug", "title")),
        "foretold": foretold,
        "checks": _checks(found, checklist(viewer=actor, cluster=found)),
        "outside": found.nodes.aggregate(cards=Sum("outside"))["cards"] or 0,
        "seen_at": max((view.seen_at for view in views), default=found.synced_at),
    }
    return render(request, "jobs/adoption.html", context, status=status)


def _form(request: HttpRequest, cluster: Cluster, views: Sequence[FoundView], version: int) -> AdoptForm:
    data = request.POST if request.method == "POST" else None
    return AdoptForm(data, views=views, teams=teams_of(cluster), version=version)


def _version_of(form: AdoptForm) -> dict[str, Any]:
    return {name: form.cleaned_data[name] for name in ("expected_version", "reason")}


def _look_again(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    try:
        found_ask(viewer=actor_of_page(request), cluster=cluster)
    except DomainError as error:
        messages.error(request, str(error.message))
    else:
        messages.success(request, _("The queues on %(name)s were looked at anew.") % {"name": cluster.name})
    return _back(cluster)


def _adopted(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    messages.success(request, _("The teams have the shares now. The queues that were found stay as they are."))
    apply_quotas(request, [cluster])
    return _back(cluster)


def _foretold(cluster: Cluster, form: AdoptForm, preview: AdoptionPreview) -> Foretold:
    teams, titles = team_names(cluster), dict(cluster.groups.values_list("slug", "title"))
    return Foretold(
        lines=[
            TakenLine(
                teams.get(part.queue, part.queue),
                titles.get(part.group, part.group),
                percent_text(part.basis_points),
                part,
            )
            for part in preview.taken
        ],
        adopted=preview.adopted,
        left_alone=preview.left_alone,
        plan=preview_view(cluster, preview.plan),
        seen=form.choice_text(),
    )


def _checks(cluster: Cluster, items: list[CheckItem]) -> list[tuple[str, str]]:
    """Sentences, and where one settles it."""
    return [
        (item.text, reverse(ADDRESSES[item.check], args=[cluster.slug]) if item.check in ADDRESSES else "")
        for item in items
    ]


# --------------------------------------------------------------------------- managing


@for_admins(Action.CLUSTER_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def manage(request: HttpRequest, cluster: str) -> HttpResponse:
    """Ask, then let the console write to a cluster."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    items = checklist(viewer=actor, cluster=found)
    form, note, status = ManageForm(), "", 200
    if request.method == "POST":
        form = ManageForm(request.POST)
        form.is_valid()
        try:
            manage_start(actor=actor, cluster=found, confirmed=form.cleaned_data["confirmed"])
        except DomainError as error:
            status = error.status if error.status != 400 else 422
            form.add_problems(error)
            note = "" if status == 422 else str(error.message)
        else:
            messages.success(request, _("%(name)s is managed from now on.") % {"name": found.name})
            apply_quotas(request, [found])
            return _back(found)
    confirm = {
        "title": _("Start managing %(name)s?") % {"name": found.name},
        "note": note,
        "is_possible": not note,
        "effects": [
            ("stack-2", _("The console makes its own queues and team spaces there, with the quotas of the plan.")),
            ("player-play", _("Teams can send jobs there.")),
            ("shield-check", _("Queues and pods of others stay as they are. Their cards are kept out of the plan.")),
            *[("alert-triangle", item.text) for item in items],
        ],
        "form": form if items else None,
        "hidden": [],
        "action_url": reverse("admin_console:manage", args=[found.slug]),
        "back_url": reverse("admin_console:adoption", args=[found.slug]),
        "back_label": _("Only look at it"),
        "do_label": _("Start managing"),
        "risky": False,
    }
    return render(request, "jobs/cluster_forget.html", {"confirm": confirm, "heading": "h1"}, status=status)


def _back(cluster: Cluster) -> HttpResponse:
    return redirect("admin_console:adoption", cluster=cluster.slug)
