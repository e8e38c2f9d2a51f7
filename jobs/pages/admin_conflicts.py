"""The admin's console: conflicts on one cluster with what proves them, and what to do about quotas set from outside."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.conflicts.selectors import ConflictView, conflicts_view
from clusters.conflicts.texts import Evidence, conflict_text
from clusters.connected import cluster_get
from clusters.models import Cluster
from clusters.notices import Source
from common.errors import DomainError
from jobs.card_sharing import card_sharing
from jobs.conflicts import jobs_named
from jobs.models import Job
from jobs.pages.admin import for_admins
from jobs.pages.admin_quotas import apply_quotas
from jobs.plan_view import preview_view
from quotas.drift import adoption_preview, drift_adopt, drift_found, drift_take_over
from quotas.forms import VersionForm


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One line of proof: what it is about, with a page of its own where there is one."""

    label: str
    url: str
    text: str
    since: datetime | None
    sharing: str = ""  # of a job that has cards


@dataclass(frozen=True, slots=True)
class ConflictCard:
    """One open conflict on the page."""

    view: ConflictView
    rows: list[EvidenceRow]


@for_admins(Action.CLUSTER_MANAGE)
@require_safe
def conflicts(request: HttpRequest, cluster: str) -> HttpResponse:
    """What is open now, and what was over within a week."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    view = conflicts_view(viewer=actor, cluster=found, now=timezone.now())
    jobs = jobs_named([proof.job for conflict in view.open for proof in conflict.evidence if proof.job])
    cards = [ConflictCard(each, [_row(found, proof, jobs) for proof in each.evidence]) for each in view.open]
    return render(request, "jobs/conflicts.html", {"cluster": found, "cards": cards, "past": view.past})


def _row(cluster: Cluster, proof: Evidence, jobs: dict[str, Job]) -> EvidenceRow:
    if proof.job in jobs:
        job = jobs[proof.job]
        url = reverse("jobs:detail", args=[job.public_id])
        return EvidenceRow(job.display_name, url, proof.text, proof.since, card_sharing(job) or "")
    if proof.job:
        return EvidenceRow(proof.job, "", proof.text, proof.since)
    if proof.node:
        query = urlencode({"cluster": cluster.slug, "node": proof.node})
        return EvidenceRow(proof.node, f"{reverse('admin_console:nodes')}?{query}", proof.text, proof.since)
    return EvidenceRow(proof.about, "", proof.text, proof.since)


@for_admins(Action.SHARES_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def take_over(request: HttpRequest, cluster: str) -> HttpResponse:
    """Ask, then have the plan written over quotas that were set from outside."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    if request.method == "POST":
        drift_take_over(actor=actor, cluster=found)
        messages.success(request, _("The quotas of the plan are being written to %(name)s.") % {"name": found.name})
        apply_quotas(request, [found])
        return _back(found)
    notice = drift_found(viewer=actor, cluster=found)
    confirm = {
        "title": _("Write the plan over what was set on %(name)s?") % {"name": found.name},
        "note": conflict_text(Source.DRIFT, notice.subject, notice.facts),
        "is_possible": True,
        "effects": [
            ("percentage", _("Every quota is again as planned. What somebody set there is lost.")),
            (
                "arrow-back-up",
                _("No running job is stopped by it. What is then over quota may be taken back by owners."),
            ),
        ],
        "hidden": [],
        "action_url": reverse("admin_console:take_over", args=[found.slug]),
        "back_url": reverse("admin_console:conflicts", args=[found.slug]),
        "back_label": _("Leave it"),
        "do_label": _("Take over"),
        "risky": True,
    }
    return render(request, "jobs/take_over.html", {"confirm": confirm, "heading": "h1"})


@for_admins(Action.SHARES_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def adopt(request: HttpRequest, cluster: str) -> HttpResponse:
    """Ask with a preview, then make what was set from outside a version of the plan."""
    actor = actor_of_page(request)
    found = cluster_get(viewer=actor, slug=cluster)
    try:
        preview = adoption_preview(viewer=actor, cluster=found)
    except DomainError as error:
        messages.error(request, str(error.message))
        return _back(found)
    form, status = VersionForm(initial={"expected_version": preview.version}), 200
    if request.method == "POST":
        form, status = VersionForm(request.POST), 422
        if form.is_valid():
            try:
                drift_adopt(actor=actor, cluster=found, **form.cleaned_data)
            except DomainError as error:
                form.add_problems(error)
                status = error.status
            else:
                messages.success(request, _("What was set on %(name)s is now its plan.") % {"name": found.name})
                apply_quotas(request, [found])
                return _back(found)
    question = {
        "title": _("Adopt what was set on %(name)s?") % {"name": found.name},
        "lede": _("The shares of the teams become those that somebody set on the cluster. It becomes a new version."),
        "do_label": _("Adopt it"),
    }
    context = {"cluster": found, "question": question, "form": form, "preview": preview_view(found, preview)}
    return render(request, "jobs/plan_ask.html", context, status=status)


def _back(cluster: Cluster) -> HttpResponse:
    return redirect("admin_console:conflicts", cluster=cluster.slug)
