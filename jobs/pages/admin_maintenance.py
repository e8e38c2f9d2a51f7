"""The admin's console: maintenance of nodes by a date."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.actors import Actor
from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.nodes_forms import MaintenanceForm
from clusters.nodes_maintenance import maintenance_cancel, maintenances_shown
from clusters.selectors import groups_named
from common.errors import DomainError
from jobs.pages.admin import for_admins


@for_admins(Action.CLUSTER_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def maintenance(request: HttpRequest) -> HttpResponse:
    """What is planned, and the form of a new one; `cluster`, `group` and `node` fill it in beforehand."""
    actor = actor_of_page(request)
    places = _places(actor)
    given = {name: request.GET.get(name, "") for name in ("cluster", "group", "node")}
    initial = {"place": f"{given['cluster']}/{given['group']}", "node": given["node"]}
    form, status = MaintenanceForm(places=places, initial=initial), 200
    if request.method == "POST":
        form, status = MaintenanceForm(request.POST, places=places), 422
        if form.is_valid():
            try:
                form.save(actor)
            except DomainError as error:
                form.add_problems(error, {"group": "place"})
            else:
                messages.success(request, _("The maintenance is planned. Owners of running jobs are told."))
                return redirect("admin_console:maintenance")
    context = {"rows": maintenances_shown(viewer=actor), "form": form, "now": timezone.now()}
    return render(request, "jobs/maintenance.html", context, status=status)


@for_admins(Action.CLUSTER_MANAGE)
@require_POST
def cancel(request: HttpRequest, public_id: str) -> HttpResponse:
    """Call one off."""
    try:
        maintenance_cancel(actor=actor_of_page(request), public_id=public_id)
    except DomainError as error:
        if error.status != 409:
            raise
        messages.warning(request, str(error.message))
    else:
        messages.success(request, _("The maintenance is called off. Nodes that it has closed are opened."))
    return redirect("admin_console:maintenance")


def _places(actor: Actor) -> list[tuple[str, str]]:
    return [
        (f"{group.cluster.slug}/{group.slug}", f"{group.cluster.name} · {group.title}")
        for group in groups_named(viewer=actor)
    ]
