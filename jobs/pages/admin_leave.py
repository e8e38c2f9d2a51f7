"""The admin's console: going back from managing a cluster to looking at it, and what of ours stays there."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts.actors import Actor
from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.connected import cluster_get
from clusters.contract import Fate, LeftObject, TakenAway
from clusters.models import Cluster
from common.errors import DomainError
from jobs.pages.admin import for_admins
from quotas.adopt_forms import StopManagingForm
from quotas.leaving import FATES, KINDS, leave, leaving_preview, removal_command

_REFUSALS = frozenset({"watched_already", "has_live_jobs", "not_connected"})
"""Managing cannot stop; every other problem is that of the cluster, which is left as it is."""


@dataclass(frozen=True, slots=True)
class LeftLine:
    """One object of ours as the page lists it."""

    left: LeftObject
    kind: str | Promise
    fate: str | Promise
    command: str

    @property
    def goes(self) -> bool:
        return self.left.fate is Fate.GOES


@for_admins(Action.CLUSTER_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def stop_managing(request: HttpRequest, cluster: str) -> HttpResponse:
    """Show what stays and what may be taken away, then only look at a cluster."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    form, note, status = StopManagingForm(), "", 200
    if request.method == "POST":
        form = StopManagingForm(request.POST)
        form.is_valid()
        try:
            taken = leave(actor=actor, cluster=found, take_away=form.cleaned_data["take_away"])
        except DomainError as error:
            note, status = str(error.message), error.status
        else:
            _told(request, found, taken)
            return redirect("admin_console:adoption", cluster=found.slug)
    lines, silence, refusal = _lines(actor, found)
    note = note or refusal
    context = {
        "confirm": _question(found, form, note, is_possible=not refusal, lines=lines),
        "cluster": found,
        "lines": lines,
        "silence": silence,
        "heading": "h1",
    }
    return render(request, "jobs/stop_managing.html", context, status=status)


def _lines(actor: Actor, cluster: Cluster) -> tuple[list[LeftLine], str, str]:
    """What is there; else why that is not known, or why managing cannot stop."""
    try:
        found = leaving_preview(viewer=actor, cluster=cluster)
    except DomainError as error:
        if error.code in _REFUSALS:
            return [], "", str(error.message)
        return [], str(error.message), ""
    return [LeftLine(each, KINDS[each.kind], FATES[each.fate], removal_command(each)) for each in found], "", ""


def _question(
    cluster: Cluster, form: StopManagingForm, note: str, *, is_possible: bool, lines: list[LeftLine]
) -> dict[str, object]:
    return {
        "title": _("Stop managing %(name)s?") % {"name": cluster.name},
        "note": note,
        "is_possible": is_possible,
        "effects": [
            ("lock", _("The console goes on looking, and writes nothing there any more.")),
            ("player-pause", _("Teams can send no more jobs there.")),
            (
                "stack-2",
                _("The shares in the plan stay. What it made there stays too, unless you have it taken away."),
            ),
        ],
        "form": form if any(line.goes for line in lines) else None,
        "hidden": [],
        "action_url": reverse("admin_console:stop_managing", args=[cluster.slug]),
        "back_url": reverse("admin_console:adoption", args=[cluster.slug]),
        "back_label": _("Go on managing") if is_possible else _("Back"),
        "do_label": _("Stop managing"),
        "risky": True,
    }


def _told(request: HttpRequest, cluster: Cluster, taken: TakenAway) -> None:
    messages.success(request, _("%(name)s is only looked at from now on.") % {"name": cluster.name})
    if taken.removed:
        count = len(taken.removed)
        sentence = ngettext("%(count)d object was taken away.", "%(count)d objects were taken away.", count)
        messages.success(request, sentence % {"count": count})
    if taken.failed:
        names = ", ".join(name for name, _code in taken.failed)
        messages.error(request, _("The cluster did not let go of: %(names)s.") % {"names": names})
