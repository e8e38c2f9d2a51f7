"""One job, in every console: state and why, attempts and runs, logs, and what can be done (`jobs.pages.operate`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.actors import Actor
from accounts.policy import Action, can, require
from accounts.web import actor_of_page, signed_in
from clusters.nodes_maintenance import Ahead
from common.errors import NotFound
from common.htmx import render_page, wants_partial
from jobs import selectors
from jobs.charts import attempts_chart, draw_blocks
from jobs.charts.nodes import Square
from jobs.domain.words import TERMINAL_STATES
from jobs.logs import LogPage, last_lines, raw_log, read_logs
from jobs.maintenance import in_the_way_of
from jobs.models import Attempt, Job

FIRST_LINES = 200
EVENTS_SHOWN = 50
BLOCKS_DRAWN = 8


# --------------------------------------------------------------------------- the page


@signed_in
@require_safe
def detail(request: HttpRequest, public_id: str) -> HttpResponse:
    """The whole page, or its live part for a poll: everything but the log, which asks for its own lines."""
    viewer = actor_of_page(request)
    job = selectors.job_get(viewer=viewer, public_id=public_id)
    attempts = selectors.attempts_of(job)
    context = _live_context(viewer, job, attempts)
    if not wants_partial(request):
        context |= _facts_context(viewer, job) | _log_context(request, viewer, job, attempts)
    return render_page(request, "jobs/detail.html", context, partial="live")


def _live_context(viewer: Actor, job: Job, attempts: Sequence[Attempt]) -> dict[str, Any]:
    endings = selectors.attempt_endings(viewer, attempts)
    story = selectors.timeline(viewer=viewer, job=job)
    reason = selectors.reasons_of(viewer, [job])[job.pk]
    return {
        "job": job,
        "reason": reason,
        "blocks": _blocks(job, reason.facts),
        "nodes": _nodes(attempts),
        "maintenance": _maintenance(job, attempts),
        "is_live": job.state not in TERMINAL_STATES,
        "attempts": [(attempt, selectors.runs_of(attempt), endings.get(attempt.number)) for attempt in attempts],
        "chart": attempts_chart(attempts, endings, timezone.now()),
        "story": story[: -EVENTS_SHOWN - 1 : -1],
        "story_left": max(0, len(story) - EVENTS_SHOWN),
        "possible": selectors.possible_operations(viewer=viewer, job=job),
        "can_submit": can(viewer, Action.JOB_SUBMIT, job),
    }


def _nodes(attempts: Sequence[Attempt]) -> list[str]:
    """The nodes of the run that goes on, if one does."""
    runs = selectors.runs_of(attempts[-1]) if attempts else []
    return list(runs[-1].nodes) if runs and runs[-1].ended_at is None else []


def _maintenance(job: Job, attempts: Sequence[Attempt]) -> Ahead | None:
    runs = selectors.runs_of(attempts[-1]) if attempts else []
    return in_the_way_of(job, runs[-1] if runs else None)


def _blocks(job: Job, facts: Mapping[str, Any]) -> list[tuple[int, list[Square]]]:
    """Nodes with some, but too few, free cards, as the reason's facts had them."""
    blocks = facts.get("blocks")
    if job.group is None or not isinstance(blocks, list):
        return []
    return draw_blocks(blocks[:BLOCKS_DRAWN], job.group.cards_per_node)


def _facts_context(viewer: Actor, job: Job) -> dict[str, Any]:
    own = can(viewer, Action.ENV_VIEW, job)
    return {
        "env": [(name, value if own else None) for name, value in sorted(job.env.items())],
        "leads_team": can(viewer, Action.TEAM_CONSOLE, job),
    }


# --------------------------------------------------------------------------- logs


def _log_context(request: HttpRequest, viewer: Actor, job: Job, attempts: Sequence[Attempt]) -> dict[str, Any]:
    require(viewer, Action.LOG_VIEW, job)
    attempt = _chosen_attempt(attempts, request.GET.get("attempt", ""))
    rank = _chosen_rank(job, request.GET.get("pod", ""))
    page = last_lines(attempt, rank=rank, limit=FIRST_LINES)
    return {
        "log_attempt": attempt,
        "log_rank": rank,
        "log_ranks": range(job.pods) if job.pods > 1 else (),
        "lines": page.lines,
        "next_url": _next_url(job, attempt, rank, page),
        "log_is_cut": len(page.lines) == FIRST_LINES,
    }


def _next_url(job: Job, attempt: Attempt, rank: int | None, page: LogPage) -> str | None:
    """Where the lines after this page are asked for; None when there will be none."""
    if page.complete:
        return None
    query = {"attempt": attempt.number, "cursor": page.next} | ({} if rank is None else {"pod": rank})
    return f"{reverse('jobs:logs', args=[job.public_id])}?{urlencode(query)}"


def _chosen_attempt(attempts: Sequence[Attempt], typed: str) -> Attempt:
    found = next((a for a in attempts if str(a.number) == typed), None) if typed else attempts[-1]
    if found is None:
        raise NotFound("not_found", _("The job has no attempt of this number."))
    return found


def _chosen_rank(job: Job, typed: str) -> int | None:
    """A pod's rank, or None for all pods together."""
    if not typed:
        return None
    if not typed.isascii() or not typed.isdigit() or int(typed[:9]) >= job.pods:
        raise NotFound("not_found", _("The job has no pod of this number."))
    return int(typed[:9])


@signed_in
@require_safe
def logs(request: HttpRequest, public_id: str) -> HttpResponse:
    """The lines after a cursor, as list items that end with the next question."""
    viewer = actor_of_page(request)
    job = selectors.job_get(viewer=viewer, public_id=public_id)
    require(viewer, Action.LOG_VIEW, job)
    attempt = _chosen_attempt(selectors.attempts_of(job), request.GET.get("attempt", ""))
    rank = _chosen_rank(job, request.GET.get("pod", ""))
    page = read_logs(attempt, after=_cursor(request.GET.get("cursor", "")), rank=rank)
    context = {"lines": page.lines, "next_url": _next_url(job, attempt, rank, page), "is_more": True}
    return render(request, "components/log_lines.html", context)


def _cursor(typed: str) -> int:
    """Lines are numbered from 0; anything that is no number means from the beginning."""
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) <= 18 else -1


@signed_in
@require_safe
def log_file(request: HttpRequest, public_id: str) -> HttpResponseBase:
    """The whole log of an attempt as written, byte for byte."""
    viewer = actor_of_page(request)
    job = selectors.job_get(viewer=viewer, public_id=public_id)
    require(viewer, Action.LOG_VIEW, job)
    attempt = _chosen_attempt(selectors.attempts_of(job), request.GET.get("attempt", ""))
    response = StreamingHttpResponse(raw_log(attempt), content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{attempt.object_name}.log"'
    return response
