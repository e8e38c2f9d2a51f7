"""The admin's console: why a node group's cards are shared, how slow they are, and who may train on them."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.policy import Action
from accounts.selectors import team_choices
from accounts.web import actor_of_page
from clusters.connected import cluster_get
from clusters.contract import SharingMode
from clusters.labels import SHARING
from common.errors import DomainError
from jobs.card_sharing import training_teams
from jobs.pages.admin import for_admins
from jobs.pages.admin_quotas import apply_quotas
from quotas.selectors.sharing import shared_group, sharing_view
from quotas.sharing import SharingChangedMeanwhile, sharing_save
from quotas.sharing_forms import SharingForm


@for_admins(Action.SHARES_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def sharing(request: HttpRequest, cluster: str, group: str) -> HttpResponse:
    """What is decided about one group of shared card slices, and the form to change it."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    slices = shared_group(viewer=actor, cluster=found, slug=group)
    view, teams, status, meanwhile = sharing_view(slices), dict(team_choices()), 200, ""
    form = SharingForm(request.POST or None, view=view, teams=teams)
    if request.method == "POST":
        status = 422
        if form.is_valid():
            version = form.cleaned_data["expected_version"]
            try:
                sharing_save(actor=actor, group=slices, expected_version=version, decision=form.decision())
            except SharingChangedMeanwhile as error:
                form, status, meanwhile = form.laid_over(teams), error.status, str(error.message)
            except DomainError as error:
                form.add_sharing_problems(error)
            else:
                _tell(request, slices.title, form.dropped)
                apply_quotas(request, [found])
                return redirect("admin_console:sharing", cluster=found.slug, group=slices.slug)
    context = {
        "cluster": found,
        "group": slices,
        "kind": SHARING[SharingMode(slices.sharing)],
        "view": view,
        "meanwhile": meanwhile,
        "is_overdue": view.is_overdue(timezone.localdate()),
        "form": form,
        "training": training_teams(slices),
    }
    return render(request, "jobs/sharing.html", context, status=status)


def _tell(request: HttpRequest, title: str, dropped: list[str]) -> None:
    messages.success(request, _("What holds for %(group)s is saved.") % {"group": title})
    for team in dropped:
        sentence = _("%(team)s may train here no more: new training is refused, and jobs that are here go on.")
        messages.info(request, sentence % {"team": team})
