"""The admin's console: accelerators of a cluster that no catalogue knows, to be named."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.accelerator_forms import AcceleratorForm, form_of
from clusters.accelerator_names import accelerator_name_forget, accelerator_name_set, accelerator_views
from clusters.connected import cluster_get
from clusters.domain.accelerators import catalogue
from common.errors import InvalidInput
from jobs.pages.admin import for_admins


@for_admins(Action.CLUSTER_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def accelerators(request: HttpRequest, cluster: str) -> HttpResponse:
    """Each with its form; a POST names one, or takes its name back with `act=forget`."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    sent: AcceleratorForm | None = None
    if request.method == "POST":
        resource = request.POST.get("resource", "")
        sent = AcceleratorForm(request.POST, auto_id="id_sent_%s")
        if request.POST.get("act") == "forget":
            accelerator_name_forget(actor=actor, cluster=found, resource=resource)
            messages.success(request, _("%(resource)s is called after itself again.") % {"resource": resource})
            return redirect("admin_console:accelerators", cluster=found.slug)
        if sent.is_valid():
            try:
                accelerator_name_set(actor=actor, cluster=found, resource=resource, data=sent.said())
            except InvalidInput as error:
                sent.add_problems(error)
            else:
                messages.success(
                    request, _("The next look at the cluster counts %(resource)s so.") % {"resource": resource}
                )
                return redirect("admin_console:accelerators", cluster=found.slug)
    views = accelerator_views(viewer=actor, cluster=found)
    rows = [
        (view, sent if sent is not None and sent.data.get("resource") == view.resource else form_of(view, number))
        for number, view in enumerate(views)
    ]
    context = {"cluster": found, "rows": rows, "vendors": catalogue().vendors.items()}
    return render(request, "jobs/accelerators.html", context, status=200 if sent is None else 422)
