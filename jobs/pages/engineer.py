"""The engineer's console: my jobs, submit, one job."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.actors import Actor
from accounts.policy import Action, can
from accounts.selectors import teams_of
from accounts.web import actor_of_page, signed_in
from clusters.archives import archive_store
from clusters.supplies import place_cluster
from common.errors import DomainError, NotFound
from jobs import selectors
from jobs.charts import draw_shape
from jobs.domain.words import Kind
from jobs.forms import CARD_COUNTS, RUN_UNITS, JobForm
from jobs.pages.curl import curl_command
from jobs.pages.lists import filters_of, render_job_list
from jobs.selectors import OWN_TEAMS, JobFilters
from jobs.services.preview import job_preview
from jobs.services.submit import job_submit
from jobs.supply_fields import supplies_like


@signed_in
@require_safe
def job_list(request: HttpRequest) -> HttpResponse:
    """Own jobs, or with `whose=team` those of the own teams."""
    viewer = actor_of_page(request)
    whose = "team" if request.GET.get("whose") == "team" else ""
    bounds = JobFilters(owner="" if whose else "me", team=OWN_TEAMS)
    filters = filters_of(request, bounds, ("state", "search", "group"))
    chosen = {"whose": whose, "state": filters.state, "search": filters.search, "group": filters.group}
    return render_job_list(
        request,
        viewer,
        filters,
        chosen,
        {"console": "engineer", "whose": whose, "show_owner": bool(whose), "show_team": len(viewer.team_ids) > 1},
    )


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def submit(request: HttpRequest) -> HttpResponse:
    """The form of a new job; `like` names a job to start from. A problem comes back at its field, nothing stored."""
    actor = actor_of_page(request)
    if request.method != "POST":
        form = JobForm(actor=actor, initial=_like(actor, request.GET.get("like", "")))
        return _submit_page(request, actor, form)
    form = JobForm(request.POST, request.FILES, actor=actor)
    if form.is_valid():
        try:
            _upload(actor, form)
            done = job_submit(actor=actor, data=form.job_data(), idempotency_key=form.cleaned_data["token"] or None)
        except DomainError as error:
            form.add_problems(error, JobForm.ATTRS)
            if error.code == "key_reused":
                form.renew_token()
        else:
            if not done.created:
                messages.info(request, _("This form was sent before; here is the job it made."))
            return redirect("jobs:detail", done.job.public_id)
    return _submit_page(request, actor, form, status=422)


def _upload(actor: Actor, form: JobForm) -> None:
    """Store an archive that was sent along; the form keeps its id."""
    file = form.cleaned_data["code_file"]
    if not file:
        return
    team_slug, _local_queue, cluster = form.where
    teams = {team.slug: team for team in teams_of(actor)}
    team = teams.get(team_slug) if team_slug or len(teams) != 1 else next(iter(teams.values()))
    if team is None:
        return  # the service says what is wrong with the team
    place = place_cluster(team=team, slug=cluster)
    archive = archive_store(actor=actor, cluster=place, team=team, name=file.name, upload=file)
    form.keep_upload(archive.public_id, archive.name)


def _submit_page(request: HttpRequest, actor: Actor, form: JobForm, *, status: int = 200) -> HttpResponse:
    typed = form.data if form.is_bound else form.initial
    context = {"form": form, "has_team": bool(teams_of(actor)), **_answer(request, actor, typed)}
    return render(request, "jobs/submit.html", context, status=status)


def _answer(request: HttpRequest, actor: Actor, typed: Any) -> dict[str, Any]:
    """What the page answers to the facts typed so far."""
    data = _preview_data(typed)
    answer = job_preview(actor=actor, data=data)
    nodes = draw_shape(answer.shape, answer.group.cards_per_node) if answer.shape and answer.group else []
    return {"preview": answer, "shape_nodes": nodes, "curl": curl_command(request, data)}


def _preview_data(typed: Any) -> dict[str, str]:
    """The facts that decide about queue, group and shape, as typed."""
    team, _slash, local_queue = str(typed.get("place", "")).partition("/")
    facts = {
        "framework": typed.get("framework", ""),
        "image": typed.get("image", ""),
        "cards": typed.get("cards", "").strip() or typed.get("cards_pick", ""),
        "priority": typed.get("priority", ""),
        "kind": typed.get("kind", ""),
        "card_model": typed.get("card_model", ""),
        "team": team,
        "local_queue": local_queue,
    }
    if facts["kind"] == Kind.INFERENCE.value:
        facts["replicas"] = typed.get("replicas", "")
    return {name: value for name, value in facts.items() if value}


def _like(actor: Actor, public_id: str) -> dict[str, Any]:
    """What a copy of a job begins with; empty for a job the person may not see."""
    if not public_id:
        return {}
    try:
        job = selectors.job_get(viewer=actor, public_id=public_id)
    except NotFound:
        return {}
    amount, unit = _run_amount(job.max_run_seconds)
    cards = job.cards_per_pod if job.is_service else job.cards
    env = job.env if can(actor, Action.ENV_VIEW, job) else {}
    return {
        "framework": job.framework,
        "image": job.image,
        "cards": "" if cards in CARD_COUNTS else str(cards),
        "cards_pick": str(cards) if cards in CARD_COUNTS else "",
        "replicas": str(job.pods) if job.is_service else "1",
        "priority": job.priority,
        "name": job.display_name,
        "kind": job.kind,
        "card_model": job.group.slug if job.group else "",
        "place": f"{job.team.slug}/{job.local_queue.slug}",
        "run_amount": amount,
        "run_unit": unit,
        "retry_limit": str(job.retry_limit),
        "command": job.command,
        "env": "\n".join(f"{name}={value}" for name, value in sorted(env.items())),
        **supplies_like(job.code, job.datasets),
    }


def _run_amount(seconds: int | None) -> tuple[str, str]:
    """A length in the largest unit that keeps it whole."""
    if not seconds:
        return "", "3600"
    unit = max((int(unit) for unit in RUN_UNITS if seconds % int(unit) == 0), default=60)
    return str(seconds // unit), str(unit)


@signed_in
@require_safe
def preview(request: HttpRequest) -> HttpResponse:
    """The answer while typing: shape, group, and whether the job would start now."""
    return render(request, "jobs/preview.html", _answer(request, actor_of_page(request), request.GET))
