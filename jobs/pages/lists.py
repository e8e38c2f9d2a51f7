"""The job list that all three consoles share: filters in the query string, live jobs first, pages by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from accounts.actors import Actor
from accounts.policy import Action, can
from clusters.selectors import group_choices
from common.htmx import render_page
from jobs import labels, selectors
from jobs.domain.words import LIVE_STATES, TERMINAL_STATES, JobState
from jobs.models import Job
from jobs.pages.bulk import choices_for
from jobs.selectors import JobFilters, Possible, ReasonView


@dataclass(frozen=True, slots=True)
class JobRow:
    """One row: the job, why it is as it is, and what the reader may do (only where the page offers it)."""

    job: Job
    reason: ReasonView
    can_be_ticked: bool
    possible: Sequence[Possible] = ()


@dataclass(frozen=True, slots=True)
class StateLink:
    """One choice of the state filter."""

    label: str | Promise
    count: int
    is_more: bool  # than ``count``
    query: str
    active: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of a filter that is a select."""

    value: str
    label: str
    chosen: bool


def job_rows_of(viewer: Actor, jobs: Sequence[Job], *, with_operations: bool = False) -> list[JobRow]:
    """Rows for jobs of one page; at most one query."""
    reasons = selectors.reasons_of(viewer, jobs)
    return [
        JobRow(
            job,
            reasons[job.pk],
            can(viewer, Action.JOB_CANCEL, job),
            selectors.possible_operations(viewer=viewer, job=job) if with_operations else (),
        )
        for job in jobs
    ]


def filters_of(request: HttpRequest, bounds: JobFilters, names: Sequence[str]) -> JobFilters:
    """The filters of the address that a page offers by ``names``, inside the console's bounds."""
    typed = {name: request.GET.get(name, "").replace("\x00", "")[:300] for name in names}
    return replace(bounds, **typed)


def render_job_list(
    request: HttpRequest, viewer: Actor, filters: JobFilters, chosen: Mapping[str, str], context: Mapping[str, Any]
) -> HttpResponse:
    """The whole page, or its live part for a poll. ``chosen`` is what the address says, kept in every link."""
    cursor = request.GET.get("cursor")
    board = selectors.job_board(viewer=viewer, filters=filters, cursor=cursor)
    rows = job_rows_of(viewer, board.jobs)
    sums = selectors.list_sums(viewer=viewer, filters=filters)
    kept = {name: value for name, value in chosen.items() if value}
    return render_page(
        request,
        "jobs/list.html",
        {
            "filters": filters,
            "states": _state_links(filters.state, sums.counts, kept),
            "live_rows": rows[: len(board.live)],
            "live_count": sum(sums.counts[state] for state in LIVE_STATES),
            "rows": rows[len(board.live) :],
            "groups": [Choice(slug, title, slug == filters.group) for slug, title in group_choices()],
            "newer": _query(kept, board.page.newer),
            "older": _query(kept, board.page.older),
            "first": urlencode(kept) if cursor else None,
            "here": urlencode(kept | ({"cursor": cursor} if cursor else {})),
            "is_narrowed": any((filters.search, filters.group, filters.state)),
            "load": sums.load,
            "bulk_choices": choices_for(viewer) if any(row.can_be_ticked for row in rows) else [],
            **context,
        },
        partial="live",
    )


def _query(kept: Mapping[str, str], cursor: str | None) -> str | None:
    return urlencode({**kept, "cursor": cursor}) if cursor else None


def _state_links(chosen: str, counts: Mapping[str, int], kept: Mapping[str, str]) -> list[StateLink]:
    others = {name: value for name, value in kept.items() if name != "state"}
    shown = {state: min(counts[state.value], selectors.ENDED_COUNTED) for state in TERMINAL_STATES}
    is_more = {state: counts[state.value] > shown[state] for state in TERMINAL_STATES}
    total = sum(counts[state.value] for state in LIVE_STATES) + sum(shown.values())
    links = [StateLink(_("All"), total, any(is_more.values()), urlencode(others), not chosen)]
    for state in JobState:
        query = urlencode({"state": state.value, **others})
        count = shown.get(state, counts[state.value])
        link = StateLink(labels.STATES[state], count, is_more.get(state, False), query, chosen == state.value)
        links.append(link)
    return links
