"""What a team's jobs are given: one page of the lead's and of the admin's console. A lead sees all and sets secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.models import Team
from accounts.policy import Action
from accounts.selectors import team_led
from accounts.web import actor_of_page, signed_in
from clusters.supplies import PlaceView, place_cluster, place_views, team_supplied
from clusters.supply_forms import ADMIN_FORMS, LEAD_FORMS, RulesForm, StorageForm, SupplyForm
from clusters.supply_services import dataset_remove, secret_drop
from common.errors import DomainError, NotFound
from jobs.pages.admin import for_admins
from jobs.specs import DATASETS


@dataclass(frozen=True, slots=True)
class Desk:
    """Whose console the page stands in."""

    address: str
    team: Team
    forms: Sequence[type[SupplyForm]]
    is_admin: bool


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def of_led_team(request: HttpRequest, team: str) -> HttpResponse:
    """The lead's page."""
    found = team_led(viewer=actor_of_page(request), slug=team)
    return _desk(request, Desk(reverse("team:supplies", args=[found.slug]), found, LEAD_FORMS, is_admin=False))


@for_admins(Action.SUPPLIES_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def of_any_team(request: HttpRequest, team: str) -> HttpResponse:
    """The admin's page of a team."""
    found = team_supplied(viewer=actor_of_page(request), slug=team)
    return _desk(request, Desk(reverse("admin_console:supplies", args=[found.slug]), found, ADMIN_FORMS, is_admin=True))


def _desk(request: HttpRequest, desk: Desk) -> HttpResponse:
    """Show, or do one act: a form's, or taking something away."""
    if request.method != "POST":
        return _page(request, desk)
    act = request.POST.get("act", "")
    if act in ("drop", "remove"):
        return _take_away(request, desk, act)
    kind = next((form for form in desk.forms if form.act == act), None)
    if kind is None:
        raise NotFound("not_found", _("There is nothing of this name to do."))
    form = kind(request.POST)
    if form.is_valid():
        cluster = place_cluster(team=desk.team, slug=request.POST.get("cluster", ""))
        try:
            form.save(actor_of_page(request), cluster, desk.team)
        except DomainError as error:
            form.add_problems(error)
        else:
            messages.success(request, _("Stored."))
            return redirect(f"{desk.address}?{urlencode({'cluster': cluster.slug})}")
    return _page(request, desk, form, status=422)


def _take_away(request: HttpRequest, desk: Desk, act: str) -> HttpResponse:
    actor = actor_of_page(request)
    cluster = place_cluster(team=desk.team, slug=request.POST.get("cluster", ""))
    name = request.POST.get("name", "")
    if act == "drop":
        kind = request.POST.get("kind", "")
        secret_drop(actor=actor, cluster=cluster, team=desk.team, kind=kind, name=name)
        messages.success(request, _("%(name)s is erased here, and very soon on the cluster.") % {"name": name})
    else:
        dataset_remove(actor=actor, cluster=cluster, team=desk.team, name=name)
        messages.success(request, _("%(name)s is no longer offered. Jobs that named it keep it.") % {"name": name})
    return redirect(f"{desk.address}?{urlencode({'cluster': cluster.slug})}")


def _page(request: HttpRequest, desk: Desk, sent: SupplyForm | None = None, *, status: int = 200) -> HttpResponse:
    places = place_views(viewer=actor_of_page(request), team=desk.team)
    asked = request.POST.get("cluster") or request.GET.get("cluster")
    place = next((p for p in places if p.cluster.slug == asked), places[0] if places else None)
    context = {
        "desk": desk,
        "team": desk.team,
        "places": places,
        "place": place,
        "datasets_folder": DATASETS,
        "forms": {kind.act: _form(kind, desk, place, sent) for kind in desk.forms} if place else {},
        "confirm": _question(request, desk, place) if place else None,
    }
    return render(request, "jobs/supplies.html", context, status=status)


def _form(kind: type[SupplyForm], desk: Desk, place: PlaceView, sent: SupplyForm | None) -> SupplyForm:
    if isinstance(sent, kind):
        return sent
    initial: dict[str, Any] = {}
    if kind is StorageForm:
        initial = {"volume": place.volume, "console_folder": place.console_folder}
    elif kind is RulesForm:
        initial = {"images": "\n".join(desk.team.image_prefixes), "runs_as_root": desk.team.runs_as_root}
    return kind(initial=initial)


def _question(request: HttpRequest, desk: Desk, place: PlaceView) -> dict[str, Any] | None:
    """What happens before a secret is erased, when `drop` names one of the page."""
    kind, _slash, name = request.GET.get("drop", "").partition("/")
    secret = next((s for s in (*place.variables, *place.registries) if (s.kind, s.name) == (kind, name)), None)
    if secret is None:
        return None
    hidden = {"act": "drop", "cluster": place.cluster.slug, "kind": secret.kind, "name": secret.name}
    return {
        "title": _("Erase %(name)s?") % {"name": secret.name},
        "note": "",
        "is_possible": True,
        "effects": [
            ("key", _("Its values are erased here at once, and very soon on the cluster.")),
            (
                "stack-2",
                _("Jobs that start later do not get it. One that waits with it already does not start: restart it."),
            ),
        ],
        "hidden": list(hidden.items()),
        "action_url": desk.address,
        "back_url": f"{desk.address}?{urlencode({'cluster': place.cluster.slug})}",
        "back_label": _("Keep it"),
        "do_label": _("Erase it"),
        "risky": True,
    }
