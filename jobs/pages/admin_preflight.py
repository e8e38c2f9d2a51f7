"""The admin's console: what a cluster can do, what is missing, and notices of what has become worse."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.connected import cluster_get
from clusters.notices import notice_seen
from clusters.preflight.selectors import preflight_view
from clusters.preflight.service import preflight_ask
from jobs.pages.admin import for_admins


@for_admins(Action.CLUSTER_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def preflight(request: HttpRequest, cluster: str) -> HttpResponse:
    """The table of one cluster; a POST asks for a look now."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    if request.method == "POST":
        preflight_ask(actor=actor, cluster=found)
        messages.success(request, _("The cluster is being looked at. The table is new in a few seconds."))
        return redirect("admin_console:preflight", cluster=found.slug)
    return render(request, "jobs/preflight.html", {"view": preflight_view(viewer=actor, cluster=found)})


@for_admins(Action.CLUSTER_MANAGE)
@require_POST
def notice_take_away(request: HttpRequest, pk: int) -> HttpResponse:
    """Somebody has seen a notice: its banner goes, the row stays."""
    notice_seen(actor=actor_of_page(request), pk=pk)
    return redirect("admin_console:clusters")
