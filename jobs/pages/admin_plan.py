"""The admin's console: the editor of a cluster's division, its history, and going back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.connected import cluster_get
from clusters.models import Cluster
from common.errors import DomainError
from common.htmx import wants_partial
from jobs.pages.admin import for_admins
from jobs.pages.admin_quotas import apply_quotas
from jobs.pages.plan_editor import Editor
from jobs.plan_sheets import Narrowed
from jobs.plan_view import preview_view, team_names
from quotas.forms import VersionForm
from quotas.plans.history import version_get, version_page, version_views
from quotas.plans.preview import PlanPreview, recount_preview, rollback_preview
from quotas.plans.services import plan_recount, plan_rollback
from quotas.plans.store import stored
from quotas.plans.words import cause_in_words, changes_in_words


@for_admins(Action.SHARES_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def plan(request: HttpRequest, cluster: str) -> HttpResponse:
    """The editor: a sheet of node groups and teams, and a draft of all sheets until it is saved.

    ``act`` is save, discard, show (other teams or groups) or preview, which saves nothing; ``go`` leads to another
    sheet. What was typed is kept in the draft each time.
    """
    editor = Editor(request, _cluster(request, cluster))
    act = request.POST.get("act", "")
    if request.method != "POST":
        return editor.open()
    if act == "discard":
        editor.discard()
        return redirect("admin_console:plan", editor.cluster.slug)
    if not editor.keep():
        return editor.answer(200 if wants_partial(request) else 422)
    if act == "show" or "go" in request.POST:
        return _go(editor) if editor.is_sound() else editor.answer(422)
    if act == "save":
        return _saved(editor) if editor.save() else editor.answer(422)
    return editor.answer(200 if editor.foresee() or wants_partial(request) else 422)


def _saved(editor: Editor) -> HttpResponse:
    messages.success(editor.request, _("The shares of %(cluster)s are saved.") % {"cluster": editor.cluster.name})
    apply_quotas(editor.request, [editor.cluster])
    return redirect("admin_console:quotas")


def _go(editor: Editor) -> HttpResponse:
    """To the sheet that was asked for."""
    asked = editor.request.POST
    if asked.get("act") == "show":
        narrowed = Narrowed(asked.get("show_group", ""), asked.get("show_team", "").strip()[:100])
    else:
        narrowed = Narrowed.of(QueryDict(asked["go"].lstrip("?")))
    return redirect(reverse("admin_console:plan", args=[editor.cluster.slug]) + narrowed.address())


# --------------------------------------------------------------------------- history


@for_admins(Action.SHARES_MANAGE)
@require_safe
def history(request: HttpRequest, cluster: str) -> HttpResponse:
    """Every version of a cluster's division, newest first, with what it changed."""
    found = _cluster(request, cluster)
    page = version_page(found, request.GET.get("cursor", ""))
    teams, titles = team_names(found), dict(found.groups.values_list("slug", "title"))
    rows = [
        (view.version, cause_in_words(view.version), changes_in_words(view.changed, teams, titles))
        for view in version_views(found, page.rows)
    ]
    context = {
        "cluster": found,
        "rows": rows,
        "newest": stored(found).number,
        "older": f"cursor={page.older}" if page.older else None,
        "newer": f"cursor={page.newer}" if page.newer else None,
    }
    return render(request, "jobs/plan_history.html", context)


@dataclass(frozen=True, slots=True)
class _Question:
    """A change that somebody is asked about before it is made."""

    title: str
    lede: str
    do_label: str
    done: str
    preview: PlanPreview
    do: Callable[[int, str], object]


@for_admins(Action.SHARES_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def restore(request: HttpRequest, cluster: str, number: int) -> HttpResponse:
    """Ask with a preview, then divide the cluster as an earlier version did."""
    actor, found = actor_of_page(request), _cluster(request, cluster)
    version_get(found, number)
    names = {"number": number, "cluster": found.name}
    question = _Question(
        title=_("Go back to version %(number)d?") % names,
        lede=_("The cards there are now are divided as version %(number)d says. It becomes a new version.") % names,
        do_label=_("Go back to version %(number)d") % names,
        done=_("%(cluster)s is divided as in version %(number)d.") % names,
        preview=rollback_preview(viewer=actor, cluster=found, number=number),
        do=lambda expected, reason: plan_rollback(
            actor=actor, cluster=found, number=number, expected_version=expected, reason=reason
        ),
    )
    return _ask(request, found, question)


@for_admins(Action.SHARES_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def recount(request: HttpRequest, cluster: str) -> HttpResponse:
    """Ask with a preview, then divide the cards there are now."""
    actor, found = actor_of_page(request), _cluster(request, cluster)
    question = _Question(
        title=_("Divide the cards there are now?"),
        lede=_("The percents stay as they are. A change of more than a tenth of a node group waits for your word."),
        do_label=_("Divide them"),
        done=_("The cards of %(cluster)s are divided again.") % {"cluster": found.name},
        preview=recount_preview(viewer=actor, cluster=found, only_changes=True),
        do=lambda expected, reason: plan_recount(actor=actor, cluster=found, expected_version=expected, reason=reason),
    )
    return _ask(request, found, question)


def _ask(request: HttpRequest, cluster: Cluster, question: _Question) -> HttpResponse:
    form, status = VersionForm(initial={"expected_version": question.preview.version}), 200
    if request.method == "POST":
        form, status = VersionForm(request.POST), 422
        if form.is_valid():
            try:
                question.do(form.cleaned_data["expected_version"], form.cleaned_data["reason"])
            except DomainError as error:
                form.add_problems(error)
                status = error.status
            else:
                messages.success(request, question.done)
                apply_quotas(request, [cluster])
                return redirect("admin_console:quotas")
    context = {
        "cluster": cluster,
        "question": question,
        "form": form,
        "preview": preview_view(cluster, question.preview),
    }
    return render(request, "jobs/plan_ask.html", context, status=status)


def _cluster(request: HttpRequest, slug: str) -> Cluster:
    return cluster_get(viewer=actor_of_page(request), slug=slug)
