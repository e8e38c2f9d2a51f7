"""The admin's console: the editor of a cluster's division, its history, and going back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.connected import cluster_get
from clusters.models import Cluster, NodeGroup
from common.errors import DomainError, NotFound
from common.htmx import render_page, wants_partial
from jobs.pages.admin import for_admins
from jobs.pages.admin_quotas import apply_quotas
from jobs.plan_view import PreviewView, preview_view, team_names
from quotas.domain.plan import Plan, divide, rebased
from quotas.forms import PlanForm, VersionForm
from quotas.plans.content import division_from
from quotas.plans.errors import ChangedMeanwhile
from quotas.plans.history import changed_since, version_get, version_page, version_views
from quotas.plans.preview import PlanPreview, plan_preview, recount_preview, rollback_preview
from quotas.plans.services import plan_recount, plan_rollback, plan_save
from quotas.plans.store import Stored, stored
from quotas.plans.words import cause_in_words, changes_in_words, rules_in_words


@for_admins(Action.SHARES_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def plan(request: HttpRequest, cluster: str, group: str) -> HttpResponse:
    """The editor of one node group. ``act`` preview says what saving would do, and saves nothing."""
    found = _cluster(request, cluster)
    editor = _Editor(request, found, _group(found, group))
    if request.method != "POST":
        return editor.answer(200)
    if request.POST.get("act") == "save" and editor.save():
        messages.success(request, _("The shares of %(group)s are saved.") % {"group": editor.group.title})
        apply_quotas(request, [found])
        return redirect(f"{reverse('admin_console:quotas')}#group-{editor.group.pk}")
    return editor.answer(200 if editor.foresee() or wants_partial(request) else 422)


class _Editor:
    """What the editor's page shows, and what was typed there."""

    def __init__(self, request: HttpRequest, cluster: Cluster, group: NodeGroup) -> None:
        self.request, self.cluster, self.group = request, cluster, group
        self.now: Stored = stored(cluster)
        self.teams = team_names(cluster)
        self.form = self._form(self.now.division.plan, bound=request.method == "POST")
        self.preview: PreviewView | None = None
        self.meanwhile: list[str] = []

    def _form(self, shown: Plan, *, bound: bool) -> PlanForm:
        return PlanForm(
            self.request.POST if bound else None,
            group=self.group.slug,
            teams=self.teams,
            plan=shown,
            version=self.now.number,
        )

    def save(self) -> bool:
        """True where it was saved; else the form says why not."""
        if not self.form.is_valid():
            return False
        data = self.form.cleaned_data
        try:
            plan_save(
                actor=actor_of_page(self.request),
                cluster=self.cluster,
                expected_version=data["expected_version"],
                plan=self.form.plan(),
                reason=data["reason"],
            )
        except ChangedMeanwhile as error:
            self._start_again(error, data["expected_version"])
            return False
        except DomainError as error:
            self.form.add_plan_problems(error)
            return False
        return True

    def _start_again(self, error: ChangedMeanwhile, seen: int) -> None:
        """Somebody else was faster: what was typed is laid over what they saved, and both can be read."""
        self.meanwhile = [str(error.message), *self._changes_since(seen)]
        try:
            old = division_from(version_get(self.cluster, seen).content).plan
        except NotFound:
            old = Plan({})
        typed = rebased(self.form.plan(), old, self.now.division.plan)
        self.form = self._form(typed, bound=False)
        self.form.initial["reason"] = self.form.data.get("reason", "")
        self._show(typed)

    def _changes_since(self, seen: int) -> list[str]:
        return changes_in_words(changed_since(self.cluster, seen), self.teams, self._titles())

    def foresee(self) -> bool:
        """Look at what saving would do; False where it cannot be saved."""
        if self.meanwhile or not self.form.is_valid():
            return False
        try:
            self._show(self.form.plan())
        except DomainError as error:
            self.form.add_plan_problems(error)
            return False
        return True

    def _show(self, typed: Plan) -> None:
        preview = plan_preview(viewer=actor_of_page(self.request), cluster=self.cluster, plan=typed)
        self.preview = preview_view(self.cluster, preview)

    def _titles(self) -> dict[str, str]:
        return dict(self.cluster.groups.values_list("slug", "title"))

    def answer(self, status: int) -> HttpResponse:
        shared_out = divide(self.now.division)
        shown = self.now.division.plan
        context = {
            "cluster": self.cluster,
            "group": self.group,
            "form": self.form,
            "lines": [(line, shared_out.part(line.queue, self.group.slug).nominal) for line in self.form.lines()],
            "rules": [
                (team, rules_in_words(shown.queue(queue), shared_out.part(queue, self.group.slug)))
                for queue, team in self.teams.items()
            ],
            "cards": self.now.division.cards.get(self.group.slug, 0),
            "pool": shared_out.pool.get(self.group.slug, 0),
            "version": self.now.number,
            "preview": self.preview,
            "meanwhile": self.meanwhile,
        }
        return render_page(self.request, "jobs/plan.html", context, partial="foretold", status=status)


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
        preview=recount_preview(viewer=actor, cluster=found),
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


def _group(cluster: Cluster, slug: str) -> NodeGroup:
    found = cluster.groups.filter(slug=slug).first()
    if found is None:
        raise NotFound("not_found", _("There is no node group of this name."))
    return found
