"""The admin's console: clusters with how fresh and how well they are; connecting, new credentials, forgetting."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.conflicts.selectors import open_conflicts
from clusters.connect import Connected, credentials_replace, require_connected
from clusters.connected import cluster_get, cluster_view, cluster_views
from clusters.forms import ConnectForm, CredentialsForm
from clusters.group_selectors import open_proposals
from clusters.models import ClusterMode
from clusters.preflight.selectors import notice_views
from common.errors import DomainError
from jobs.pages.admin import for_admins
from quotas.cluster_services import cluster_forget, cluster_open
from quotas.selectors.sharing import shared_groups


@for_admins(Action.CLUSTER_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def clusters(request: HttpRequest) -> HttpResponse:
    """Every cluster, and the form to connect one more."""
    form, status = ConnectForm(), 200
    if request.method == "POST":
        form, status = ConnectForm(request.POST, request.FILES), 422
        if form.is_valid():
            typed = form.cleaned_data
            try:
                connected = cluster_open(
                    actor=actor_of_page(request),
                    name=typed["name"],
                    upload=form.upload(),
                    is_default=typed["is_default"],
                    mode=ClusterMode(typed["mode"]) if typed["mode"] else None,
                )
            except DomainError as error:
                form.add_problems(error)
            else:
                messages.success(request, _("%(name)s is connected.") % {"name": connected.cluster.name})
                return _told(request, connected)
    actor = actor_of_page(request)
    context = {
        "clusters": cluster_views(viewer=actor),
        "notices": notice_views(viewer=actor),
        "conflicts": open_conflicts(),
        "proposals": open_proposals(),
        "shared": shared_groups(viewer=actor),
        "form": form,
    }
    return render(request, "jobs/clusters.html", context, status=status)


@for_admins(Action.CLUSTER_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def credentials(request: HttpRequest, cluster: str) -> HttpResponse:
    """Replace the credentials of a cluster, all at once."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    require_connected(found)
    form, status = CredentialsForm(), 200
    if request.method == "POST":
        form, status = CredentialsForm(request.POST, request.FILES), 422
        if form.is_valid():
            try:
                connected = credentials_replace(actor=actor, cluster=found, upload=form.upload())
            except DomainError as error:
                form.add_problems(error)
            else:
                sentence = _("%(name)s has new credentials. Withdraw the old ones in the cluster.")
                messages.success(request, sentence % {"name": connected.cluster.name})
                return _told(request, connected)
    context = {"cluster": cluster_view(viewer=actor, slug=cluster), "form": form}
    return render(request, "jobs/cluster_credentials.html", context, status=status)


def _told(request: HttpRequest, connected: Connected) -> HttpResponse:
    for note in connected.notes:
        messages.warning(request, note)
    return redirect("admin_console:clusters")


@for_admins(Action.CLUSTER_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def forget(request: HttpRequest, cluster: str) -> HttpResponse:
    """Ask, then remove a cluster from the console."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    require_connected(found)
    note, status = "", 200
    if request.method == "POST":
        try:
            tidied = cluster_forget(actor=actor, cluster=found)
        except DomainError as error:
            note, status = str(error.message), error.status
        else:
            messages.success(request, _("%(name)s is forgotten.") % {"name": found.name})
            if not tidied:
                messages.warning(request, _("The queues that the console made there are still there."))
            return redirect("admin_console:clusters")
    confirm = {
        "title": _("Forget %(name)s?") % {"name": found.name},
        "note": note,
        "is_possible": not note,
        "effects": [
            ("key", _("The stored credentials are erased. Withdraw them in the cluster as well.")),
            ("stack-2", _("The teams' queues on it are removed, here and in the cluster.")),
            ("database", _("Team spaces and what lies in them stay in the cluster.")),
        ],
        "hidden": [],
        "action_url": reverse("admin_console:cluster_forget", args=[found.slug]),
        "back_url": reverse("admin_console:clusters"),
        "back_label": _("Back") if note else _("Keep the cluster"),
        "do_label": _("Forget the cluster"),
        "risky": True,
    }
    return render(request, "jobs/cluster_forget.html", {"confirm": confirm, "heading": "h1"}, status=status)
