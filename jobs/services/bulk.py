"""Many jobs in one request: each is checked as if it came alone, and all that are stored are stored together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.policy import Action, Target, require
from common.errors import FieldProblem, InvalidInput
from common.faults import reach
from common.hints import send
from jobs.models import Job
from jobs.services.intent import Intent, check_intent
from jobs.services.keys import check_key, fingerprint, jobs_by_key, keep_keys, name_in_bulk
from jobs.services.lookups import Lookups
from jobs.services.store import jobs_store

BULK_MAX = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of one job of the request: a job, or problems at its fields."""

    job: Job | None = None
    problems: tuple[FieldProblem, ...] = ()


def jobs_submit(
    *,
    actor: Actor,
    bodies: Any,
    all_or_nothing: Any = True,
    idempotency_key: str | None = None,
) -> list[Entry]:
    """Store up to 100 jobs in one transaction; one entry for each body, in order.

    With ``all_or_nothing`` one wrong job keeps all of them from being stored: what a person corrects and sends
    again as a whole is never there in part. Without it the right ones are stored and the others keep their
    problems. Raises InvalidInput (400, problems at ``jobs.<n>.<field>``) when nothing is stored, DomainError 422
    for a key that was used with another body. The same key with the same body never makes a job twice.
    """
    _check_request(bodies, all_or_nothing)
    body_hash = fingerprint([bodies, all_or_nothing])
    names: list[str] = []
    earlier: dict[int, Job] = {}
    if idempotency_key is not None:
        check_key(idempotency_key)
        names = [name_in_bulk(idempotency_key, index) for index in range(BULK_MAX)]
        earlier = _earlier(actor, names, body_hash)
    intents, problems = _checked(actor, bodies, earlier)
    if problems and (all_or_nothing or not (intents or earlier)):
        raise InvalidInput(_at_their_jobs(problems))
    for team_id in sorted({intent.team.pk for intent in intents.values()}):
        require(actor, Action.JOB_SUBMIT, Target(team_id=team_id))
    try:
        jobs = _stored(actor, intents, names, body_hash)
    except IntegrityError:
        # The same request committed while we worked; our transaction left nothing behind.
        faster = _earlier(actor, names, body_hash) if names else {}
        if not faster:
            raise
        jobs = faster
    jobs = {**earlier, **jobs}
    return [Entry(jobs.get(index), tuple(problems.get(index, ()))) for index in range(len(bodies))]


def _check_request(bodies: Any, all_or_nothing: Any) -> None:
    if not isinstance(all_or_nothing, bool):
        raise InvalidInput([FieldProblem("all_or_nothing", "not_a_boolean", _("Write true or false."))])
    if not isinstance(bodies, Sequence) or isinstance(bodies, str):
        raise InvalidInput([FieldProblem("jobs", "not_a_list", _("Send a list of jobs."))])
    if not 1 <= len(bodies) <= BULK_MAX:
        raise InvalidInput([FieldProblem("jobs", "out_of_range", _("Send between 1 and 100 jobs at once."))])


def _earlier(actor: Actor, names: Sequence[str], body_hash: str) -> dict[int, Job]:
    """Jobs this request made before, by their place in it."""
    found = jobs_by_key(actor, names, body_hash)
    return {index: found[name] for index, name in enumerate(names) if name in found}


def _checked(
    actor: Actor, bodies: Sequence[Any], earlier: Mapping[int, Job]
) -> tuple[dict[int, Intent], dict[int, tuple[FieldProblem, ...]]]:
    """Intents and problems by place; what was stored before is not looked at again."""
    lookups = Lookups(actor)
    intents: dict[int, Intent] = {}
    problems: dict[int, tuple[FieldProblem, ...]] = {}
    for index, body in enumerate(bodies):
        if index in earlier:
            continue
        if not isinstance(body, Mapping):
            problems[index] = (FieldProblem("", "not_an_object", _("Send each job as a JSON object.")),)
            continue
        try:
            intents[index] = check_intent(actor, body, lookups)
        except InvalidInput as error:
            problems[index] = error.problems
    return intents, problems


def _at_their_jobs(problems: Mapping[int, Iterable[FieldProblem]]) -> list[FieldProblem]:
    return [
        FieldProblem(place_of(index, problem.attr), problem.code, problem.message)
        for index, found in problems.items()
        for problem in found
    ]


def place_of(index: int, attr: str) -> str:
    """Where a problem is in the request: ``jobs.3.image``."""
    return f"jobs.{index}.{attr}" if attr else f"jobs.{index}"


def _stored(actor: Actor, intents: Mapping[int, Intent], names: Sequence[str], body_hash: str) -> dict[int, Job]:
    if not intents:
        return {}
    with transaction.atomic():
        stored = jobs_store(actor, list(intents.values()), timezone.now())
        jobs = dict(zip(intents, (attempt.job for attempt in stored), strict=True))
        if names:
            keep_keys(actor, {names[index]: job for index, job in jobs.items()}, body_hash)
        send("jobs.sweep")
        reach("bulk_submit.commit.before")
    reach("bulk_submit.commit.after")
    return jobs
