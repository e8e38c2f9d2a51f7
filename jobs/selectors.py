"""Reads about jobs. Each starts from what the viewer may see and has a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, Case, Count, Func, IntegerField, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.models import Team, User
from accounts.policy import Action, Target, can, target_of, visible
from clusters.domain.reasons import KEEPS_TRYING, ReasonCode
from clusters.models import NodeGroup
from common.errors import NotFound
from common.ids import is_ulid
from common.pages import Page, keyset_page
from jobs.domain.operations import Operation
from jobs.domain.words import (
    LIVE_STATES,
    TERMINAL_STATES,
    WAITING_STATES,
    Desired,
    JobState,
    Priority,
    priority_value,
)
from jobs.domain.words import Kind as JobKind
from jobs.listing import RELATED, jobs_listed
from jobs.models import Attempt, Job, JobEvent, Run
from jobs.privacy import facts_for, visible_names
from jobs.reasons import event_text, reason_text
from jobs.services.operations import actions_of, refusal_of
from quotas.models import LocalQueue

_LIVE = [state.value for state in LIVE_STATES]
KEEPS_ITS_CARDS = Q(state=JobState.RETRYING.value, reason_code__in=sorted(KEEPS_TRYING))  # on the cards it has
WAITS = Q(state__in=WAITING_STATES) & ~KEEPS_ITS_CARDS
PRIORITY_ORDER = Case(
    *(When(priority=p.value, then=Value(priority_value(p, JobKind.TRAINING))) for p in Priority),
    default=Value(0),
    output_field=IntegerField(),
)


# --------------------------------------------------------------------------- one job and lists


def jobs_visible(viewer: Actor) -> QuerySet[Job]:
    """Every job the viewer may see, with what a row shows."""
    rows = visible(viewer, Job.objects.all(), Action.JOB_VIEW)
    return rows.select_related(*RELATED)


def job_get(*, viewer: Actor, public_id: str) -> Job:
    """One job by its id. Raises NotFound for a missing and for a foreign one alike."""
    job = jobs_visible(viewer).filter(public_id=public_id).first() if is_ulid(public_id) else None
    if job is None:
        raise NotFound("not_found", _("There is no such job, or you may not see it."))
    return job


class _IsOneOf(Func):
    """A column is one of an array."""

    template = "%(expressions)s)"
    arg_joiner = " = ANY("
    output_field = BooleanField()


OWN_TEAMS = "@own"
"""No slug has an @, so no team can be called this."""


@dataclass(frozen=True, slots=True)
class JobFilters:
    """What a list may be narrowed to. Empty = all."""

    state: str = ""
    search: str = ""  # part of the name, or an id
    group: str = ""
    team: str = ""  # slug; OWN_TEAMS = those the viewer is in
    owner: str = ""  # user name; "me" = the viewer
    priority: str = ""
    kind: str = ""


def job_rows(*, viewer: Actor, filters: JobFilters) -> QuerySet[Job]:
    """The filtered rows, not yet ordered or cut."""
    rows = jobs_visible(viewer)
    exact = {"state": filters.state, "priority": filters.priority, "kind": filters.kind}
    if exact["state"] == "live":
        rows, exact["state"] = rows.filter(state__in=_LIVE), ""
    elif exact["state"] == "ended":
        rows, exact["state"] = rows.exclude(state__in=_LIVE), ""
    if any("\x00" in value for value in (*exact.values(), filters.group, filters.team, filters.owner)):
        return rows.none()  # an address may hold what no column takes
    rows = _with_names(rows, viewer, filters).filter(**{key: value for key, value in exact.items() if value})
    if filters.search:
        text = filters.search.replace("\x00", "")[:300]
        rows = rows.filter(Q(display_name__icontains=text) | Q(public_id=text.upper()))
    return rows


def _with_names(rows: QuerySet[Job], viewer: Actor, filters: JobFilters) -> QuerySet[Job]:
    """Names become keys in the query, so that the indexes of jobs find the rows: a join would look at all of them."""
    if filters.team == OWN_TEAMS:
        rows = rows.filter(team__in=list(viewer.team_ids))
    elif filters.team:
        rows = rows.filter(team=Team.objects.filter(slug=filters.team).values("pk")[:1])
    if filters.owner == "me":
        rows = rows.filter(owner=viewer.user.pk)
    elif filters.owner:
        rows = rows.filter(owner=User.objects.filter(username=filters.owner).values("pk")[:1])
    if filters.group:  # of any cluster; as one array, or the database joins one more table before it cuts
        groups = ArraySubquery(NodeGroup.objects.filter(slug=filters.group).values("pk"))
        rows = rows.filter(_IsOneOf("group_id", groups))
    return rows


def job_list(*, viewer: Actor, filters: JobFilters, cursor: str | None = None) -> Page[Job]:
    """One page, newest first. Raises BadCursor."""
    return keyset_page(job_rows(viewer=viewer, filters=filters), cursor, read=jobs_listed)


@dataclass(frozen=True, slots=True)
class JobBoard:
    """A list for people: on its first page live jobs stand before the ended ones, whatever their age."""

    live: list[Job]
    page: Page[Job]

    @property
    def jobs(self) -> list[Job]:
        return [*self.live, *self.page.rows]


LIVE_SHOWN = 50
"""Live jobs that the first page shows; the filter `live` pages through more."""


def job_board(*, viewer: Actor, filters: JobFilters, cursor: str | None = None) -> JobBoard:
    """Live jobs and the newest ended ones; a page of one state, or one further back, has its rows only.

    Raises BadCursor.
    """
    if filters.state:
        return JobBoard([], job_list(viewer=viewer, filters=filters, cursor=cursor))
    page = job_list(viewer=viewer, filters=replace(filters, state="ended"), cursor=cursor)
    if cursor:
        return JobBoard([], page)
    live = job_rows(viewer=viewer, filters=replace(filters, state="live")).order_by("-submitted_at", "-id")
    return JobBoard(jobs_listed(live[:LIVE_SHOWN]), page)


@dataclass(frozen=True, slots=True)
class PersonLoad:
    """What one person's live jobs hold and want. Cards only: slices are another unit and are never added to them."""

    running_cards: int
    creating_cards: int
    waiting_jobs: int


@dataclass(frozen=True, slots=True)
class ListSums:
    """Beside a list: how many jobs of each state it could show, and the load of all live ones.

    More than ENDED_COUNTED of an ended state count as one more than that. ``load`` leaves search and group aside.
    """

    counts: dict[str, int]
    load: PersonLoad


ENDED_COUNTED = 200
"""So many jobs of an ended state are counted: history grows without end, and nobody needs it to the last job."""


def list_sums(*, viewer: Actor, filters: JobFilters) -> ListSums:
    """The sums of a list, whatever state is chosen: four queries, five where search or group narrow it."""
    live = _live_sums(job_rows(viewer=viewer, filters=replace(filters, state="live")))
    counts = {state: sums.jobs for state, sums in live.items()}
    rows = job_rows(viewer=viewer, filters=replace(filters, state="")).order_by()
    for state in TERMINAL_STATES:
        counts[state.value] = rows.filter(state=state.value)[: ENDED_COUNTED + 1].count()
    if filters.search or filters.group:
        live = _live_sums(job_rows(viewer=viewer, filters=replace(filters, state="live", search="", group="")))
    return ListSums({state.value: counts.get(state.value, 0) for state in JobState}, _load(live))


def person_load(*, viewer: Actor, filters: JobFilters) -> PersonLoad:
    """The sums behind the first sentence of a list; one query."""
    return _load(_live_sums(job_rows(viewer=viewer, filters=replace(filters, state="live", search="", group=""))))


class _StateSums(NamedTuple):
    jobs: int
    cards: int
    waiting: int


_NO_SUMS = _StateSums(0, 0, 0)


def _live_sums(rows: QuerySet[Job]) -> dict[str, _StateSums]:
    """Jobs, their whole cards, and how many of them wait, by state; one query."""
    sums = (
        rows.order_by()
        .values_list("state")
        .annotate(
            jobs=Count("pk"),
            of_cards=Coalesce(Sum("cards", filter=Q(group__unit="card")), 0),
            waiting=Count("pk", filter=WAITS & Q(held=False, rests_until=None)),
        )
    )
    return {state: _StateSums(*rest) for state, *rest in sums}


def _load(live: Mapping[str, _StateSums]) -> PersonLoad:
    running, creating = (live.get(state.value, _NO_SUMS).cards for state in (JobState.RUNNING, JobState.CREATING))
    return PersonLoad(running, creating, sum(sums.waiting for sums in live.values()))


def jobs_by_ulid(*, viewer: Actor, ulids: Iterable[str]) -> dict[str, Job]:
    """Those of the named jobs that the viewer may see; one query."""
    return {job.public_id: job for job in jobs_listed(jobs_visible(viewer).filter(public_id__in=list(ulids)))}


# --------------------------------------------------------------------------- reasons, for a reader


@dataclass(frozen=True, slots=True)
class ReasonView:
    """A reason as one reader sees it."""

    code: str
    text: str
    facts: Mapping[str, Any]
    since: datetime


_BY_A_PERSON = frozenset({"held", "cancelled_by_person", "preempted_by_person"})


def reasons_of(viewer: Actor, jobs: Sequence[Job]) -> dict[int, ReasonView]:
    """Reasons of many jobs, rendered in the active language; at most one query. By job id."""
    names = visible_names(viewer, (job.reason_facts for job in jobs))
    result = {}
    for job in jobs:
        facts = facts_for(viewer, job.reason_code, job.reason_facts, names)
        if job.acted_by is not None and job.reason_code in _BY_A_PERSON:
            facts["by_person"] = job.acted_by.display_name
        if job.reason_code == ReasonCode.QUEUE_HELD and job.local_queue.is_stopped:
            facts |= _who_stopped(job.local_queue)
        result[job.pk] = ReasonView(job.reason_code, reason_text(job.reason_code, facts), facts, job.reason_since)
    return result


def _who_stopped(queue: LocalQueue) -> dict[str, str]:
    """What the people whose jobs wait in a stopped local queue are told of it."""
    return {
        "queue": queue.name,
        "queue_state": queue.state,
        "by_person": queue.state_by_name,
        "why": queue.state_reason,
    }


# --------------------------------------------------------------------------- attempts, timeline, actions


def attempts_of(job: Job) -> list[Attempt]:
    """Attempts with their runs, oldest first; two queries."""
    return list(job.attempts.prefetch_related("runs").order_by("number"))


def runs_of(attempt: Attempt) -> list[Run]:
    """Runs of a prefetched attempt, in order; one that was stored a moment ago has none."""
    if attempt.pk is None:
        return []
    return sorted(attempt.runs.all(), key=lambda run: (run.replica, run.ordinal))


def attempt_endings(viewer: Actor, attempts: Sequence[Attempt]) -> dict[int, str]:
    """How ended attempts ended, in the active language; by attempt number. At most one query."""
    ended = [attempt for attempt in attempts if attempt.end_reason]
    names = visible_names(viewer, (attempt.end_facts for attempt in ended))
    return {
        attempt.number: reason_text(attempt.end_reason, facts_for(viewer, attempt.end_reason, attempt.end_facts, names))
        for attempt in ended
    }


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One entry of a job's story."""

    at: datetime
    recorded_at: datetime
    code: str
    text: str
    facts: Mapping[str, Any]
    attempt: int
    run: int | None
    actor: str | None


def timeline(*, viewer: Actor, job: Job) -> list[TimelineEntry]:
    """Everything that happened, in order; at most two queries."""
    events: Iterable[JobEvent] = list(job.events.select_related("actor").order_by("at", "id"))
    names = visible_names(viewer, (event.facts for event in events))
    entries = []
    for event in events:
        facts = facts_for(viewer, event.code, event.facts, names)
        entries.append(
            TimelineEntry(
                at=event.at,
                recorded_at=event.recorded_at,
                code=event.code,
                text=event_text(event.code, facts),
                facts=facts,
                attempt=event.attempt_no,
                run=event.run_ordinal,
                actor=event.actor.display_name if event.actor else None,
            )
        )
    return entries


@dataclass(frozen=True, slots=True)
class Possible:
    """Whether an operation can be done now, and else why not (to show it greyed).

    ``offered`` leaves out what would only be in the way: hold beside resume, and what the viewer's role never does.
    """

    operation: Operation
    allowed: bool
    why_not: str
    offered: bool = True


def possible_operations(*, viewer: Actor, job: Job) -> list[Possible]:
    """All operations for a job the viewer sees; no query."""
    whose = target_of(job)
    return [_possible(viewer, job, whose, operation) for operation in Operation]


def _possible(viewer: Actor, job: Job, whose: Target, operation: Operation) -> Possible:
    can_resume = job.held or job.rests_until is not None
    offered = {
        Operation.HOLD: not job.held,
        Operation.RESUME: can_resume,
        Operation.SCALE: job.is_service,
    }.get(operation, True)
    if not all(can(viewer, action, whose) for action in actions_of(operation, job)):
        if operation in _LEADS_ONLY or (operation is Operation.RESUME and not job.held):
            offered = False
            why_not = _("Only a lead of the team or an admin may do this.")
        else:
            why_not = _("Only its owner, a lead of the team or an admin may do this.")
        return Possible(operation, False, str(why_not), offered)
    refusal = refusal_of(operation, job)
    return Possible(operation, refusal is None, str(refusal.message) if refusal else "", offered)


_LEADS_ONLY = frozenset({Operation.PREEMPT})


def beneficiaries(*, viewer: Actor, job: Job, limit: int = 100) -> list[Job]:
    """Jobs that a preemption of ``job`` could help: they wait for the same cards, in the order they are tried.

    Those of its team, for admins those of all; one query.
    """
    rows = jobs_visible(viewer).filter(WAITS, group=job.group_id, held=False, rests_until=None)
    if not viewer.is_admin:
        rows = rows.filter(team=job.team_id)
    rows = rows.exclude(pk=job.pk).exclude(desired=Desired.CANCEL.value)
    return list(rows.order_by(PRIORITY_ORDER.desc(), "submitted_at", "id")[:limit])
