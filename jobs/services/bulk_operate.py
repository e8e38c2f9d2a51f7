"""One operation on many jobs: each is decided by the same table as if it came alone; what is done is done together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.policy import Action, visible
from common.errors import DomainError, FieldProblem, InvalidInput, NotFound
from common.faults import reach
from common.hints import send
from common.ids import is_ulid
from jobs.domain.operations import Cell, Effect, Operation
from jobs.models import Job
from jobs.services.acts import record_acts
from jobs.services.operations import RELATED, cell_for, decide
from jobs.services.wishes import wish_of

OPERATE_MAX = 200


class Outcome(StrEnum):
    DONE = "done"
    UNCHANGED = "unchanged"  # asked before
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one id. ``job`` is None for one that the actor may not see, as for one that does not exist."""

    public_id: str
    outcome: Outcome
    job: Job | None = None
    error: DomainError | None = None
    found: Cell | None = None  # what the table says; None for one that is refused


def jobs_operate(
    *,
    actor: Actor,
    operation: Operation,
    ids: Any,
    data: Mapping[str, Any] | None = None,
    dry_run: bool = False,
) -> list[Result]:
    """Record the wish for each job that allows it, in one transaction; one result for each id, in order.

    ``data`` holds the fields of preempt, priority and scale. With ``dry_run`` the results are what would become of
    each job, decided the same way, and nothing is written. Raises InvalidInput (400) for a request that makes no
    sense for any job; what is wrong with one job is in its result.
    """
    public_ids = _checked(ids)
    wish = wish_of(actor, operation, data or {})
    results: dict[str, Result] = {}
    acts = []
    with transaction.atomic():
        rows = _visible(actor, public_ids)
        if not dry_run:
            rows = rows.select_for_update(of=("self",)).order_by("pk")  # one order for all: no deadlock
        jobs = {job.public_id: job for job in rows}
        for public_id in dict.fromkeys(public_ids):
            job = jobs.get(public_id)
            try:
                found = cell_for(actor, operation, _seen(job))
                act = decide(actor, _seen(job), wish)
            except DomainError as error:
                results[public_id] = Result(public_id, Outcome.REFUSED, job, error)
                continue
            results[public_id] = Result(public_id, Outcome.UNCHANGED if act is None else Outcome.DONE, job, found=found)
            if act is not None:
                acts.append(act)
        if dry_run:
            return [results[public_id] for public_id in public_ids]
        record_acts(actor, operation, acts, timezone.now())
        if acts:
            send("jobs.sweep")
        reach("bulk_operate.commit.before")
    reach("bulk_operate.commit.after")
    return [results[public_id] for public_id in public_ids]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What would become of one job: a cell of the table, or why not."""

    public_id: str
    job: Job | None
    found: Cell | None = None
    error: DomainError | None = None

    @property
    def changes(self) -> bool:
        return self.found is not None and self.found.effect is not Effect.NO_CHANGE


def jobs_outlook(*, actor: Actor, operation: Operation, ids: Any) -> list[Outlook]:
    """What the same request would do now, as far as it does not hang on priority, beneficiary and the like.

    One query. Raises InvalidInput.
    """
    public_ids = list(dict.fromkeys(_checked(ids)))
    jobs = {job.public_id: job for job in _visible(actor, public_ids).select_related("team", "owner", "group")}
    outlooks = []
    for public_id in public_ids:
        job = jobs.get(public_id)
        try:
            outlooks.append(Outlook(public_id, job, found=cell_for(actor, operation, _seen(job))))
        except DomainError as error:
            outlooks.append(Outlook(public_id, job, error=error))
    return outlooks


def _checked(ids: Any) -> list[str]:
    if not isinstance(ids, Sequence) or isinstance(ids, str) or not all(isinstance(each, str) for each in ids):
        raise InvalidInput([FieldProblem("ids", "not_a_list", _("Send a list of job ids."))])
    if not 1 <= len(ids) <= OPERATE_MAX:
        raise InvalidInput([FieldProblem("ids", "out_of_range", _("Name between 1 and 200 jobs at once."))])
    return list(ids)


def _visible(actor: Actor, public_ids: Sequence[str]) -> QuerySet[Job]:
    """Those of the jobs that the actor may see."""
    rows = Job.objects.select_related(*RELATED).filter(
        public_id__in=[public_id for public_id in public_ids if is_ulid(public_id)]
    )
    return visible(actor, rows, Action.JOB_VIEW)


def _seen(job: Job | None) -> Job:
    """Foreign and missing look the same, as everywhere."""
    if job is None:
        raise NotFound("not_found", _("There is no such job, or you may not see it."))
    return job
