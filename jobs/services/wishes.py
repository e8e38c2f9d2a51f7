"""What somebody asks of a job, with what the operation needs beside it; each problem at its field.

Page and API call the same functions, so they refuse the same things in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.policy import Action, visible
from clusters.domain.reasons import FactValue
from common.errors import FieldProblem, InvalidInput
from common.ids import is_ulid
from jobs.domain.operations import Operation
from jobs.domain.words import REST_MAX, Priority
from jobs.models import Job
from jobs.services.fields import REASON_MAX, Checks, fits_ever, replicas_field, word_field
from jobs.services.intent import CHOOSE_PRIORITY, priority_field
from jobs.services.limits import beyond_limits
from quotas.selectors import queue_places
from quotas.selectors.places import GroupPlace


@dataclass(frozen=True, slots=True)
class Wish:
    """An operation and its particulars, as far as they can be checked without the job it is asked of."""

    operation: Operation
    data: Mapping[str, Any]
    beneficiary: Job | None = None
    rests_until: datetime | None = None

    def particulars(self, actor: Actor, job: Job) -> Particulars:
        """What the wish means for this job. Raises InvalidInput where it does not go with the job."""
        if self.operation is Operation.PRIORITY:
            return self._priority(actor, job)
        if self.operation is Operation.SCALE:
            return self._scale(job)
        if self.beneficiary is not None and self.beneficiary.group_id != job.group_id:
            sentence = _("That job waits for cards of another node group and would gain nothing. Name another one.")
            raise InvalidInput([FieldProblem("beneficiary", "other_group", sentence)])
        return Particulars(beneficiary=self.beneficiary, rests_until=self.rests_until)

    def _priority(self, actor: Actor, job: Job) -> Particulars:
        checks = Checks(self.data)
        if self.data.get("priority") == job.priority:
            return Particulars(priority=Priority(job.priority))  # nothing is asked for
        reason = checks.text("priority_reason").strip()[:REASON_MAX]
        priority = priority_field(checks, actor, job.team_id, reason)
        if checks.problems:
            raise InvalidInput(checks.problems)
        return Particulars(priority=priority, priority_reason=reason)

    def _scale(self, job: Job) -> Particulars:
        checks = Checks(self.data)
        replicas = replicas_field(checks)
        place = _place(job)
        if replicas is not None and place is not None:
            fits_ever(checks, "replicas", place, replicas * job.cards_per_pod)
        if replicas is not None and not checks.problems:
            beyond_limits(checks, "replicas", job.local_queue, job.group, replicas * job.cards_per_pod)
        if checks.problems:
            raise InvalidInput(checks.problems)
        return Particulars(replicas=replicas)


@dataclass(frozen=True, slots=True)
class Particulars:
    """What goes into the job's row; only the fields of the operation at hand are set."""

    priority: Priority | None = None
    priority_reason: str = ""
    beneficiary: Job | None = None
    rests_until: datetime | None = None
    replicas: int | None = None

    def changes_nothing_of(self, job: Job) -> bool:
        """What is asked for is as it was."""
        is_same_priority = self.priority is not None and self.priority == job.priority
        return is_same_priority or (self.replicas is not None and self.replicas == job.pods)

    def facts(self, job: Job) -> dict[str, FactValue]:
        """What story and audit trail tell about it, before the job's row is changed."""
        facts: dict[str, FactValue] = {}
        if self.priority is not None:
            facts |= {"from": job.priority, "to": self.priority.value}
        if self.priority_reason:
            facts["reason"] = self.priority_reason
        if self.replicas is not None:
            facts |= {"from": job.pods, "to": self.replicas}
        if self.beneficiary is not None:
            facts["by"] = self.beneficiary.public_id
        if self.rests_until is not None:
            facts["until"] = self.rests_until.isoformat()
        return facts


def _place(job: Job) -> GroupPlace | None:
    """The job's node group as its team has it; None for a job without cards."""
    groups = (place for queue in queue_places(job.team_id) for place in queue.groups)
    return next((place for place in groups if place.group.pk == job.group_id), None)


def wish_of(actor: Actor, operation: Operation, data: Mapping[str, Any]) -> Wish:
    """Read a request. Raises InvalidInput; what it says well beside the operation's own fields is ignored."""
    checks = Checks(data)
    checks.text("priority_reason")
    word_field(checks, "priority", Priority, CHOOSE_PRIORITY, default=Priority.NORMAL)
    replicas_field(checks, default=1)
    if operation is not Operation.PREEMPT:
        checks.text("beneficiary")
        _moment(checks)
        if checks.problems:
            raise InvalidInput(checks.problems)
        return Wish(operation, data)
    now = timezone.now()
    beneficiary = _beneficiary(checks, actor)
    until = _until(checks, now)
    if not checks.problems and beneficiary is None and until is None:
        sentence = _("Name the job that shall get the cards, or until when this one gives way.")
        checks.add("beneficiary", "required", sentence)
    if checks.problems:
        raise InvalidInput(checks.problems)
    return Wish(operation, data, beneficiary, until or now + REST_MAX)


def _beneficiary(checks: Checks, actor: Actor) -> Job | None:
    public_id = checks.text("beneficiary").strip()
    if not public_id:
        return None
    found = visible(actor, Job.objects.filter(public_id=public_id), Action.JOB_VIEW) if is_ulid(public_id) else None
    job = found.first() if found is not None else None
    if job is None:
        checks.add("beneficiary", "unknown_job", _("There is no such job, or you may not see it."))
    elif not job.waits:
        checks.add("beneficiary", "not_waiting", _("That job does not wait for cards now. Name one that waits."))
    return job


def _moment(checks: Checks) -> datetime | None:
    """The time that was written; what is none is a problem."""
    typed = checks.text("until").strip()
    if not typed:
        return None
    try:
        until = parse_datetime(typed)
    except ValueError:
        until = None
    if until is None or timezone.is_naive(until):
        sentence = _("Write day, time and time zone, such as 2026-03-12T10:15:00+08:00.")
        checks.add("until", "not_a_time", sentence)
        return None
    return until


def _until(checks: Checks, now: datetime) -> datetime | None:
    until = _moment(checks)
    if until is None:
        return None
    if not now < until <= now + REST_MAX:
        checks.add("until", "out_of_range", _("A job gives way for at most 15 minutes from now."))
        return None
    return until
