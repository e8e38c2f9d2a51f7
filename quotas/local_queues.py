"""A team's own local queues: made, named, weighed, held, drained, opened again and closed by its lead (decision 20).

Every function takes effect in the console at once. `quotas.services.quotas_bring` brings it to the cluster; call it
after the commit. With ``dry_run`` everything is checked and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.actors import Actor
from accounts.policy import Action, Target, require
from common.errors import DomainError, FieldProblem, InvalidInput
from common.names import clean_display_name, slug
from quotas.limit_fields import UNCHANGED, checked_limits
from quotas.models import Demand, LocalQueue, TeamQueue

NAME_MAX = 100
REASON_MAX = 300
WEIGHT_MAX = 100
QUEUES_MAX = 50
"""Local queues of one team queue that are not closed."""

State = LocalQueue.State
STOPPED = (State.HELD, State.DRAINING)


@transaction.atomic
def local_queue_create(
    *,
    actor: Actor,
    queue: TeamQueue,
    name: object,
    weight: object = 1,
    most_cards: object = None,
    most_cards_each: object = None,
    dry_run: bool = False,
) -> LocalQueue:
    """Add a local queue. One that was closed under this name is the same queue again.

    Raises NotAllowed, InvalidInput, DomainError("too_many").
    """
    require(actor, Action.QUEUES_MANAGE, Target(team_id=queue.team_id))
    TeamQueue.objects.select_for_update(no_key=True).get(pk=queue.pk)
    known = list(LocalQueue.objects.filter(queue=queue))
    problems: list[FieldProblem] = []
    given_name, given_weight = _name(name, known, None, problems), _weight(weight, problems)
    limits = checked_limits(most_cards, most_cards_each, problems)
    if problems:
        raise InvalidInput(problems)
    if sum(local.state != State.CLOSED for local in known) >= QUEUES_MAX:
        raise DomainError("too_many", _("A team has at most 50 local queues on a cluster. Close one first."))
    closed = next((local for local in known if local.name.casefold() == given_name.casefold()), None)
    local = closed or LocalQueue(queue=queue, slug=_free_slug(given_name, known))
    local.name, local.weight, local.is_default = given_name, given_weight, False
    local.most_cards, local.most_cards_each = limits["most_cards"], limits["most_cards_each"]
    _set_state(local, State.OPEN, actor, "")
    local.save()
    _record(actor, queue, local, "create", name=given_name, weight=given_weight, **_given(limits))
    _finish(dry_run)
    return local


@transaction.atomic
def local_queue_change(
    *,
    actor: Actor,
    local: LocalQueue,
    name: object = None,
    weight: object = None,
    most_cards: object = UNCHANGED,
    most_cards_each: object = UNCHANGED,
    is_default: bool = False,
    dry_run: bool = False,
) -> LocalQueue:
    """Give a local queue another name or weight (None = as it is), or make it the one that jobs go to by default.

    Its limits are taken away with None. Lower ones interrupt nothing: what has its cards goes on.

    Raises NotAllowed, InvalidInput, DomainError("is_closed").
    """
    queue, known = _locked(actor, local)
    local = _usable(local, known)
    problems: list[FieldProblem] = []
    changes: dict[str, object] = {}
    if name is not None and (given_name := _name(name, known, local, problems)) != local.name:
        changes["name"] = given_name
    if weight is not None and (given_weight := _weight(weight, problems)) != local.weight:
        changes["weight"] = given_weight
    limits = checked_limits(
        local.most_cards if most_cards is UNCHANGED else most_cards,
        local.most_cards_each if most_cards_each is UNCHANGED else most_cards_each,
        problems,
    )
    changes |= {name: value for name, value in limits.items() if value != getattr(local, name)}
    if problems:
        raise InvalidInput(problems)
    if is_default and not local.is_default:
        LocalQueue.objects.filter(queue=queue, is_default=True).update(is_default=False)
        changes["is_default"] = True
    if changes:
        for field, value in changes.items():
            setattr(local, field, value)
        local.save(update_fields=list(changes))
        _record(actor, queue, local, "change", **changes)
    _finish(dry_run)
    return local


def local_queue_hold(*, actor: Actor, local: LocalQueue, reason: object, dry_run: bool = False) -> LocalQueue:
    """New jobs wait and nothing starts, while what runs goes on. Raises as :func:`local_queue_drain`."""
    return _turn(actor, local, State.HELD, "hold", reason, dry_run)


def local_queue_drain(*, actor: Actor, local: LocalQueue, reason: object, dry_run: bool = False) -> LocalQueue:
    """New jobs are refused and nothing starts, while what runs ends. Waiting jobs keep their place.

    Raises NotAllowed, InvalidInput (no reason, or too long a one), DomainError("is_closed").
    """
    return _turn(actor, local, State.DRAINING, "drain", reason, dry_run)


def local_queue_reopen(*, actor: Actor, local: LocalQueue, dry_run: bool = False) -> LocalQueue:
    """New jobs are taken and started again. Raises NotAllowed, DomainError("is_closed")."""
    return _turn(actor, local, State.OPEN, "reopen", None, dry_run)


@transaction.atomic
def local_queue_close(*, actor: Actor, local: LocalQueue, dry_run: bool = False) -> LocalQueue:
    """Take a local queue away once nothing waits or runs in it. Jobs that ended there still name it.

    Raises NotAllowed, DomainError: is_default, not_empty. A queue that is closed stays so.
    """
    queue, known = _locked(actor, local, against_jobs=True)
    local = known[local.pk]
    if local.state == State.CLOSED:
        return local
    if local.is_default:
        raise DomainError(
            "is_default", _("Jobs go to this local queue unless they name another. First make another the default.")
        )
    if Demand.objects.filter(local_queue=local).exists():
        raise DomainError(
            "not_empty", _("Jobs wait or run in this local queue. Drain it, and close it when the last has ended.")
        )
    _set_state(local, State.CLOSED, actor, "")
    local.save()
    _record(actor, queue, local, "close")
    _finish(dry_run)
    return local


@transaction.atomic
def _turn(
    actor: Actor, local: LocalQueue, state: LocalQueue.State, act: str, reason: object, dry_run: bool
) -> LocalQueue:
    queue, known = _locked(actor, local)
    local = _usable(local, known)
    why = _reason(reason) if state in STOPPED else ""
    if (local.state, local.state_reason) != (state, why):
        _set_state(local, state, actor, why)
        local.save()
        _record(actor, queue, local, act, **({"reason": why} if why else {}))
    _finish(dry_run)
    return local


def _locked(actor: Actor, local: LocalQueue, *, against_jobs: bool = False) -> tuple[TeamQueue, dict[int, LocalQueue]]:
    """The team queue, locked, and its local queues as they are now; ``against_jobs``: no job may come in meanwhile."""
    queue = TeamQueue.objects.select_for_update(no_key=True).get(pk=local.queue_id)
    require(actor, Action.QUEUES_MANAGE, Target(team_id=queue.team_id))
    rows = LocalQueue.objects.select_for_update(no_key=not against_jobs).filter(queue=queue)
    return queue, {row.pk: row for row in rows}


def _finish(dry_run: bool) -> None:
    if dry_run:
        transaction.set_rollback(True)


def _usable(local: LocalQueue, known: dict[int, LocalQueue]) -> LocalQueue:
    found = known[local.pk]
    if found.state == State.CLOSED:
        raise DomainError("is_closed", _("This local queue is closed. Add one of the same name to have it again."))
    return found


def _given(limits: dict[str, int | None]) -> dict[str, int]:
    return {name: cards for name, cards in limits.items() if cards is not None}


def _set_state(local: LocalQueue, state: LocalQueue.State, actor: Actor, reason: str) -> None:
    local.state, local.state_reason = state, reason
    local.state_by, local.state_by_name = actor.user, actor.user.display_name[:150]
    local.state_since = timezone.now()


def _name(
    value: object,
    known: Sequence[LocalQueue] | dict[int, LocalQueue],
    own: LocalQueue | None,
    problems: list[FieldProblem],
) -> str:
    if not isinstance(value, str):
        problems.append(FieldProblem("name", "not_text", _("Write the name as text.")))
        return ""
    name = clean_display_name(value)
    rows = known.values() if isinstance(known, dict) else known
    if not name:
        problems.append(FieldProblem("name", "blank", _("Give the local queue a name.")))
    elif len(name) > NAME_MAX:
        problems.append(
            FieldProblem("name", "too_long", _("Use at most 100 characters for the name of a local queue."))
        )
    elif any(row.name.casefold() == name.casefold() and row.state != State.CLOSED for row in rows if row is not own):
        problems.append(FieldProblem("name", "taken", _("The team has a local queue of this name already.")))
    return name


def _weight(value: object, problems: list[FieldProblem]) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= WEIGHT_MAX:
        problems.append(FieldProblem("weight", "out_of_range", _("Write the weight as a whole number from 1 to 100.")))
        return 1
    return value


def _reason(value: object) -> str:
    reason = clean_display_name(value) if isinstance(value, str) else ""
    if not reason:
        message = _("Say why: the people whose jobs wait read it.")
        raise InvalidInput([FieldProblem("reason", "required", message)])
    if len(str(value)) > REASON_MAX:
        raise InvalidInput([FieldProblem("reason", "too_long", _("Use at most 300 characters for the reason."))])
    return reason


def _free_slug(name: str, known: Sequence[LocalQueue]) -> str:
    """An address for the queue that no other of the team queue ever had."""
    taken = {local.slug for local in known}
    base = slug(name, 36, "queue")
    return next(
        found
        for number in range(1, len(taken) + 2)
        if (found := base if number == 1 else f"{base}-{number}") not in taken
    )


def _record(actor: Actor, queue: TeamQueue, local: LocalQueue, act: str, **facts: Any) -> None:
    audit.record(
        actor,
        f"local_queue.{act}",
        target_type="local_queue",
        target_id=f"{queue.slug}/{local.slug}",
        team_id=queue.team_id,
        **facts,
    )
