"""From what a person typed to a job that can be stored: every check of submit, each problem at its field.

Page and API call the same function, so they refuse the same things in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, Target, can
from clusters.contract import Part
from clusters.water_selectors import is_shared
from common.errors import FieldProblem, InvalidInput, Text
from common.phrases import listed
from jobs.domain.choice import Asked, Candidate, choose_group, usable_candidates
from jobs.domain.shape import NoShape, Shape
from jobs.domain.words import Framework, Kind, Priority
from jobs.services.fields import (
    REASON_MAX,
    Checks,
    cards_field,
    command_field,
    cpu_and_memory_fields,
    env_field,
    fits_ever,
    image_field,
    kind_field,
    max_run_field,
    name_field,
    retries_field,
    service_fields,
    unknown_fields,
    word_field,
)
from jobs.services.limits import beyond_limits
from jobs.services.lookups import Lookups
from jobs.services.supplies import Given, supply_fields
from quotas.models import LocalQueue
from quotas.selectors import QueuePlace
from quotas.selectors.places import GroupPlace


@dataclass(frozen=True, slots=True)
class Intent:
    """A submit that passed every check."""

    team: Team
    place: QueuePlace
    local_queue: LocalQueue
    group: GroupPlace | None
    shape: Shape
    display_name: str
    framework: Framework
    image: str
    priority: Priority
    priority_reason: str
    kind: Kind
    command: str
    env: dict[str, str]
    cpu_millis: int
    memory_bytes: int
    max_run_seconds: int | None
    retry_limit: int
    given: Given


def check_intent(actor: Actor, data: Mapping[str, Any], lookups: Lookups | None = None) -> Intent:
    """Check everything. Raises InvalidInput with one problem per wrong field; stores nothing.

    Several jobs of one request share their ``lookups``.
    """
    checks = Checks(data)
    lookups = lookups or Lookups(actor)
    unknown_fields(checks)
    framework = word_field(
        checks, "framework", Framework, _("Choose PyTorch, TensorFlow, MindSpore, MPI or plain command.")
    )
    kind = kind_field(checks)
    image = image_field(checks)
    cards = cards_field(checks)
    name = name_field(checks, image)
    command = command_field(checks)
    env = env_field(checks)
    max_run_seconds = max_run_field(checks)
    retry_limit = retries_field(checks)
    replicas = service_fields(checks, kind)
    team, place, local_queue = _queue(checks, lookups)
    priority_reason = checks.text("priority_reason").strip()[:REASON_MAX]
    priority = priority_field(checks, actor, team.pk if team else None, priority_reason)
    group, shape = _group_and_shape(checks, lookups, place, local_queue, cards, replicas, framework, kind)
    cpu, memory = cpu_and_memory_fields(checks, cards)
    given = supply_fields(checks, lookups, team, place.cluster, image) if team and place else Given()
    if checks.problems:
        raise InvalidInput(checks.problems)
    assert team and place and local_queue and framework and kind and priority and shape is not None
    return Intent(
        team=team,
        place=place,
        local_queue=local_queue,
        group=group,
        shape=shape,
        display_name=name,
        framework=framework,
        image=image,
        priority=priority,
        priority_reason=priority_reason,
        kind=kind,
        command=command,
        env=env,
        cpu_millis=cpu,
        memory_bytes=memory,
        max_run_seconds=max_run_seconds,
        retry_limit=retry_limit,
        given=given,
    )


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a job would go; None with ``problems`` when nowhere, or when too little was said yet."""

    place: QueuePlace | None
    local_queue: LocalQueue | None
    group: GroupPlace | None
    shape: Shape | None
    problems: tuple[FieldProblem, ...]


def check_place(actor: Actor, data: Mapping[str, Any]) -> Whereabouts:
    """The part of :func:`check_intent` that finds queue, node group and shape; for the answer while typing."""
    checks = Checks(data)
    lookups = Lookups(actor, of_now=True)
    framework = word_field(checks, "framework", Framework, "")
    kind = kind_field(checks)
    cards = cards_field(checks)
    replicas = service_fields(checks, kind)
    _team, place, local_queue = _queue(checks, lookups)
    group, shape = _group_and_shape(checks, lookups, place, local_queue, cards, replicas, framework, kind)
    return Whereabouts(place, local_queue, group, shape, tuple(checks.problems))


# --------------------------------------------------------------------------- team, queue, priority, group


def _queue(checks: Checks, lookups: Lookups) -> tuple[Team | None, QueuePlace | None, LocalQueue | None]:
    teams = lookups.teams
    asked = checks.text("team").strip()
    if checks.has_problem("team"):
        return None, None, None
    if asked and asked not in teams:
        checks.add("team", "unknown_team", _("You are not a member of a team of this name."))
        return None, None, None
    if not teams:
        checks.add("team", "no_team", _("You are in no team. Ask a platform admin to add you to one."))
        return None, None, None
    if not asked and len(teams) > 1:
        checks.add("team", "required", _("You are in several teams. Say which one this job belongs to."))
        return None, None, None
    team = teams[asked] if asked else next(iter(teams.values()))
    places = lookups.places(team)
    if not places:
        checks.add("team", "no_queue", _("Your team has no queue yet. Ask a platform admin to give it a share."))
        return team, None, None
    place = _place(checks, places)
    if place is None:
        return team, None, None
    if place.cluster.is_watched_only:
        checks.add("cluster", "watched_only", _WATCHED_ONLY % {"cluster": place.cluster.name})
        return team, None, None
    if Part.GATE in place.cluster.lacks:
        checks.add(
            "cluster",
            "no_gate",
            _("%(cluster)s takes no jobs now: a part that decides about quota is missing there. Ask a platform admin.")
            % {"cluster": place.cluster.name},
        )
        return team, None, None
    wanted = checks.text("local_queue").strip()
    there = (queue for queue in place.local_queues if queue.state != LocalQueue.State.CLOSED)
    local = next((q for q in there if q.slug == wanted or (not wanted and q.is_default)), None)
    if local is None and not checks.has_problem("local_queue"):
        checks.add("local_queue", "unknown_queue", _("Your team has no local queue of this name."))
    if local is not None and not local.takes_jobs:
        checks.add("local_queue", "queue_draining", _DRAINING % {"queue": local.name, "name": local.state_by_name})
    return team, place, local


_WATCHED_ONLY = _("%(cluster)s is only looked at: no jobs go there. Ask a platform admin to start managing it.")
_DRAINING = _("%(queue)s takes no new jobs: %(name)s lets it run empty. Choose another local queue.")


def _place(checks: Checks, places: Sequence[QueuePlace]) -> QueuePlace | None:
    """The cluster that was named, else the first whose groups have the model, the default one before others.

    One that is only looked at is chosen where there is no other.
    """
    named = checks.text("cluster").strip()
    if checks.has_problem("cluster"):
        return None
    if named:
        found = next((place for place in places if place.cluster.slug == named), None)
        if found is None:
            checks.add("cluster", "unknown_cluster", _("Your team has no queue on a cluster of this name."))
        return found
    model = str(checks.data.get("card_model") or "").strip()  # what is wrong with it is said with its own field
    managed = [place for place in places if not place.cluster.is_watched_only] or places
    has_model = (place for place in managed if any(group.group.slug == model for group in place.groups))
    return next(has_model, managed[0])


CHOOSE_PRIORITY = _("Choose low, normal, high or urgent.")


def priority_field(checks: Checks, actor: Actor, team_id: int | None, reason: str) -> Priority | None:
    """A priority up to the person's maximum in the team; urgent only with a reason (decision 11)."""
    priority: Priority | None = word_field(checks, "priority", Priority, CHOOSE_PRIORITY)
    if priority is None or team_id is None:
        return priority
    target = Target(team_id=team_id)
    if priority is Priority.HIGH and not can(actor, Action.PRIORITY_HIGH, target):
        checks.add("priority", "above_maximum", _("High is above your maximum. Choose normal, or ask your team lead."))
    if priority is Priority.URGENT:
        if not can(actor, Action.PRIORITY_URGENT, target):
            checks.add("priority", "above_maximum", _("Urgent is given by your team lead. Choose normal, or ask them."))
        elif not reason and not checks.has_problem("priority_reason"):
            checks.add("priority_reason", "required", _("Say why this job is urgent; it is kept in the audit trail."))
    return priority


def candidates_of(place: QueuePlace) -> list[Candidate]:
    """The pure view of a queue's groups."""
    return [
        Candidate(
            slug=p.group.slug,
            vendor=p.group.vendor,
            sharing=p.group.sharing,
            cards_per_node=p.group.cards_per_node,
            capacity=p.capacity,
            nominal=p.nominal,
            free_nominal=p.free_nominal,
            cohort_free=p.cohort_free,
            free_blocks=p.free_blocks,
            queued_ahead=p.pending_jobs,
            may_train=p.may_train,
        )
        for p in place.groups
    ]


def _group_and_shape(
    checks: Checks,
    lookups: Lookups,
    place: QueuePlace | None,
    local: LocalQueue | None,
    cards: int | None,
    replicas: int | None,
    framework: Framework | None,
    kind: Kind | None,
) -> tuple[GroupPlace | None, Shape | None]:
    """Nothing while a fact is missing or wrong; ``cards`` of each replica where it is a service."""
    if place is None or cards is None or framework is None or kind is None:
        return None, None
    if kind is Kind.INFERENCE and replicas is None:
        return None, None
    if cards == 0:
        return None, Shape(pods=replicas or 1, cards_per_pod=0)
    found = _choice(checks, lookups, place, Asked(cards, replicas), framework, kind)
    if found is None:
        return None, None
    chosen, shape = found
    if shape.pods > 1 and replicas is None and {Part.GANG, Part.TOPOLOGY} <= set(place.cluster.lacks):
        checks.add(
            "cards",
            "no_gang",
            _("%(cluster)s cannot start several pods together. Ask for at most %(maximum)d cards: they fit on a node.")
            % {"cluster": place.cluster.name, "maximum": chosen.cards_per_node},
        )
        return None, None
    group = next(group for group in place.groups if group.group.slug == chosen.slug)
    if not fits_ever(checks, "cards", group, shape.cards):
        return None, None
    if local is not None:
        beyond_limits(checks, "cards", local, group.group, shape.cards)
    return group, shape


def _choice(
    checks: Checks, lookups: Lookups, place: QueuePlace, wanted: Asked, framework: Framework, kind: Kind
) -> tuple[Candidate, Shape] | None:
    """The group that was named or is the best, and the shape there."""
    by_slug = {p.group.slug: p for p in place.groups}
    candidates = usable_candidates(candidates_of(place), kind)
    asked = checks.text("card_model").strip()
    try:
        if asked:
            chosen = next((c for c in candidates if c.slug == asked), None)
            if chosen is None:
                _refuse_model(checks, by_slug.get(asked), [c.slug for c in candidates])
                return None
            try:
                return chosen, wanted.on(chosen)
            except NoShape as error:
                raise error.up_to(chosen.capacity) from error
        has_choice = len({c.vendor for c in candidates if c.exclusive}) > 1
        last = lookups.last_vendor(framework.value, place.cluster) if has_choice else None
        return choose_group(
            candidates, cards=wanted.cards, replicas=wanted.replicas, framework=framework, last_vendor=last
        )
    except NoShape as error:
        _refuse_shape(checks, error, of_replica=wanted.replicas is not None)
        return None
    except LookupError:
        _refuse_choice(checks, has_slices=any(not c.exclusive for c in candidates_of(place)))
        return None


def _refuse_model(checks: Checks, place: GroupPlace | None, models: Sequence[str]) -> None:
    if place is None or not is_shared(place.group):
        message: Text = _("Your team's queue has no card model of this name.")
        if models:
            known = _("Your team's queue has no card model of this name. It has these: %(models)s.")
            message = known % {"models": listed(models)}
        checks.add("card_model", "unknown_model", message)
        return
    checks.add("card_model", "shared_pool", _NO_TRAINING % {"group": place.group.title})


_NO_TRAINING = _(
    "%(group)s has shared card slices, which take no training of your team. Choose a model of whole cards, or the kind "
    "development or inference; a platform admin can allow your team to train here."
)


def _refuse_choice(checks: Checks, *, has_slices: bool) -> None:
    """There is no group of whole cards to choose from."""
    if has_slices:
        message = _(
            "Your team has shared card slices only, and they are never chosen for you. Name them as card model."
        )
        checks.add("card_model", "only_shared", message)
    else:
        checks.add("card_model", "no_group", _("Your team's queue has no cards yet. Ask a platform admin for a share."))


def _refuse_shape(checks: Checks, error: NoShape, *, of_replica: bool) -> None:
    if of_replica:
        cards = " / ".join(str(count) for count in error.nearest)
        message = _(
            "A replica has its cards on one node, which cannot give %(asked)d. Take one of these: %(cards)s."
        ) % {
            "asked": error.cards,
            "cards": cards,
        }
    elif len(error.nearest) == 2:
        message = _("%(cards)d cards cannot be split into equal pods. Take %(below)d or %(above)d.") % {
            "cards": error.cards,
            "below": error.nearest[0],
            "above": error.nearest[1],
        }
    else:
        message = _("%(cards)d cards cannot be split into equal pods. Take %(near)d.") % {
            "cards": error.cards,
            "near": error.nearest[0],
        }
    checks.add("cards", "no_shape", message)
