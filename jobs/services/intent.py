"""From what a person typed to a job that can be stored: every check of submit, each problem at its field.

Page and API call the same function, so they refuse the same things in the same words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, Target, can
from common.errors import FieldProblem, InvalidInput, Text
from common.names import clean_display_name
from common.units import BadQuantity, parse_cards, parse_cpu_millis, parse_memory_bytes
from jobs.domain.choice import Candidate, choose_group, usable_candidates
from jobs.domain.images import image_problem
from jobs.domain.shape import NoShape, Shape, shape_of
from jobs.domain.words import MAX_APP_RETRIES, Framework, Kind, Priority
from jobs.labels import IMAGE_PROBLEMS, QUANTITY_PROBLEMS
from jobs.models import Job
from quotas.models import LocalQueue
from quotas.selectors import QueuePlace, queue_places
from quotas.selectors.places import GroupPlace

COMMAND_MAX = 16_384
ENV_MAX_BYTES = 65_536
ENV_MAX_ENTRIES = 200
RUN_SECONDS_MIN = 60
RUN_SECONDS_MAX = 30 * 24 * 3600
CPU_ONLY_MILLIS = 4_000
CPU_ONLY_MEMORY = 16 * 2**30

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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


@dataclass(slots=True)
class _Checks:
    """Collects problems, so that a person sees all of them at once."""

    data: Mapping[str, Any]
    problems: list[FieldProblem] = field(default_factory=list)

    def add(self, attr: str, code: str, message: Text) -> None:
        self.problems.append(FieldProblem(attr, code, message))

    def text(self, attr: str) -> str:
        value = self.data.get(attr)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.add(attr, "not_text", _("Write this as text."))
            return ""
        if "\x00" in value:
            self.add(attr, "nul", _("This text has an invisible NUL character. Remove it."))
            return ""
        return value


KNOWN_FIELDS = frozenset(
    {
        "framework", "image", "cards", "priority", "priority_reason", "name", "command", "kind", "card_model",
        "team", "local_queue", "max_run_seconds", "env", "retry_limit", "cpu", "memory",
    }
)  # fmt: skip


def check_intent(actor: Actor, data: Mapping[str, Any]) -> Intent:
    """Check everything. Raises InvalidInput with one problem per wrong field; stores nothing."""
    checks = _Checks(data)
    for name in sorted(set(data) - KNOWN_FIELDS):
        checks.add(name, "unknown_field", _("This field is not known. Check its spelling."))
    framework = _word(checks, "framework", Framework, _("Choose PyTorch, TensorFlow, MindSpore, MPI or plain command."))
    kind = _kind(checks)
    image = _image(checks)
    cards = _cards(checks)
    name = _name(checks, image)
    command = _command(checks)
    env = _env(checks)
    max_run_seconds = _seconds(checks)
    retry_limit = _retries(checks)
    team, place, local_queue = _queue(checks, actor)
    priority = _priority(checks, actor, team)
    group, shape = None, None
    if place is not None and cards is not None and framework is not None and kind is not None:
        group, shape = _group_and_shape(checks, actor, place, cards, framework, kind)
    cpu, memory = _cpu_and_memory(checks, cards)
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
        priority_reason=checks.text("priority_reason").strip()[:500],
        kind=kind,
        command=command,
        env=env,
        cpu_millis=cpu,
        memory_bytes=memory,
        max_run_seconds=max_run_seconds,
        retry_limit=retry_limit,
    )


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a job would go; None with ``problems`` when nowhere, or when too little was said yet."""

    place: QueuePlace | None
    group: GroupPlace | None
    shape: Shape | None
    problems: tuple[FieldProblem, ...]


def check_place(actor: Actor, data: Mapping[str, Any]) -> Whereabouts:
    """The part of :func:`check_intent` that finds queue, node group and shape; for the answer while typing."""
    checks = _Checks(data)
    framework = _word(checks, "framework", Framework, "")
    kind = _kind(checks)
    cards = _cards(checks)
    _team, place, _local_queue = _queue(checks, actor)
    group, shape = None, None
    if place is not None and cards is not None and framework is not None and kind is not None:
        group, shape = _group_and_shape(checks, actor, place, cards, framework, kind)
    return Whereabouts(place, group, shape, tuple(checks.problems))


# --------------------------------------------------------------------------- one field each


def _word(checks: _Checks, attr: str, words: Any, message: Text, default: Any = None) -> Any:
    value = checks.data.get(attr)
    if value in (None, ""):
        if default is None:
            checks.add(attr, "required", message)
        return default
    try:
        return words(value)
    except ValueError:
        checks.add(attr, "unknown_choice", message)
        return None


def _kind(checks: _Checks) -> Kind | None:
    kind = _word(checks, "kind", Kind, _("Choose training or development."), default=Kind.TRAINING)
    if kind is Kind.INFERENCE:
        checks.add("kind", "not_yet", _("Inference is not offered yet. Choose training or development."))
        return None
    return kind


def _image(checks: _Checks) -> str:
    image = checks.text("image").strip()
    if not any(p.attr == "image" for p in checks.problems) and (problem := image_problem(image)) is not None:
        checks.add("image", f"image_{problem}", IMAGE_PROBLEMS[problem])
    return image


def _cards(checks: _Checks) -> int | None:
    if checks.data.get("cards") in (None, ""):
        checks.add("cards", "required", _("Say how many cards, as a whole number; 0 is a job without cards."))
        return None
    try:
        return parse_cards(checks.data["cards"])
    except BadQuantity as error:
        checks.add("cards", f"cards_{error.code}", QUANTITY_PROBLEMS["cards", error.code])
        return None


def _name(checks: _Checks, image: str) -> str:
    if checks.data.get("name") is None:
        return image.rsplit("/", 1)[-1].split("@")[0].split(":")[0] or "job"
    typed = checks.text("name")
    name = clean_display_name(typed)
    if not name and not any(p.attr == "name" for p in checks.problems):
        checks.add("name", "blank", _("Give the job a name, or leave the field out to name it after its image."))
    elif len(typed.strip()) > 300:
        checks.add("name", "too_long", _("A name has at most 300 characters."))
    return name


def _command(checks: _Checks) -> str:
    command = checks.text("command")
    if len(command.encode("utf-8", "replace")) > COMMAND_MAX:
        checks.add("command", "too_long", _("A command has at most 16 KB. Put longer scripts into the image."))
    return command


def _env(checks: _Checks) -> dict[str, str]:
    raw = checks.data.get("env") or {}
    if not isinstance(raw, Mapping) or not all(isinstance(k, str) and isinstance(v, str) for k, v in raw.items()):
        checks.add("env", "not_pairs", _("Write the environment as names with text values."))
        return {}
    size = sum(len(k.encode("utf-8", "replace")) + len(v.encode("utf-8", "replace")) for k, v in raw.items())
    if len(raw) > ENV_MAX_ENTRIES or size > ENV_MAX_BYTES:
        checks.add("env", "too_large", _("The environment has at most 200 variables and 64 KB together."))
        return {}
    for name, value in raw.items():
        if not _ENV_NAME.fullmatch(name):
            checks.add("env", "name_invalid", _("A variable's name has letters, digits and _, no digit first."))
            return {}
        if name.startswith("SLUICE_"):
            checks.add("env", "name_reserved", _("Names that begin with SLUICE_ are set by the platform."))
            return {}
        if "\x00" in value:
            checks.add("env", "nul", _("A value has an invisible NUL character. Remove it."))
            return {}
    return dict(raw)


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,9}\s*", value):
        return int(value)
    return None


def _seconds(checks: _Checks) -> int | None:
    value = checks.data.get("max_run_seconds")
    if value in (None, ""):
        return None
    seconds = _whole(value)
    if seconds is None or not RUN_SECONDS_MIN <= seconds <= RUN_SECONDS_MAX:
        checks.add("max_run_seconds", "out_of_range", _("The longest run time lies between 1 minute and 30 days."))
        return None
    return seconds


def _retries(checks: _Checks) -> int:
    value = checks.data.get("retry_limit")
    if value in (None, ""):
        return 0
    retries = _whole(value)
    if retries is None or not 0 <= retries <= MAX_APP_RETRIES:
        checks.add("retry_limit", "out_of_range", _("Choose between 0 and 10 retries."))
        return 0
    return retries


def _cpu_and_memory(checks: _Checks, cards: int | None) -> tuple[int, int]:
    """Only a job without cards says them (decision 54); elsewhere they follow from the cards."""
    cpu, memory = CPU_ONLY_MILLIS, CPU_ONLY_MEMORY
    for attr, parse in (("cpu", parse_cpu_millis), ("memory", parse_memory_bytes)):
        value = checks.data.get(attr)
        if value in (None, ""):
            continue
        if cards != 0:
            checks.add(attr, "follows_from_cards", _("CPU and memory follow from the cards. Leave this out."))
            continue
        try:
            parsed = parse(value)
        except BadQuantity as error:
            checks.add(attr, f"{attr}_{error.code}", QUANTITY_PROBLEMS[attr, error.code])
            continue
        cpu, memory = (parsed, memory) if attr == "cpu" else (cpu, parsed)
    return (cpu, memory) if cards == 0 else (0, 0)


# --------------------------------------------------------------------------- team, queue, priority, group


def _queue(checks: _Checks, actor: Actor) -> tuple[Team | None, QueuePlace | None, LocalQueue | None]:
    teams = {team.slug: team for team in Team.objects.filter(pk__in=actor.team_ids, archived_at=None).order_by("name")}
    asked = checks.text("team").strip()
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
    places = queue_places(team.pk)
    if not places:
        checks.add("team", "no_queue", _("Your team has no queue yet. Ask a platform admin to give it a share."))
        return team, None, None
    place = places[0]
    wanted = checks.text("local_queue").strip()
    local = next((q for q in place.local_queues if q.slug == wanted or (not wanted and q.is_default)), None)
    if local is None:
        checks.add("local_queue", "unknown_queue", _("Your team has no local queue of this name."))
    return team, place, local


def _priority(checks: _Checks, actor: Actor, team: Team | None) -> Priority | None:
    priority: Priority | None = _word(checks, "priority", Priority, _("Choose low, normal, high or urgent."))
    if priority is None or team is None:
        return priority
    target = Target(team_id=team.pk)
    if priority is Priority.HIGH and not can(actor, Action.PRIORITY_HIGH, target):
        checks.add("priority", "above_maximum", _("High is above your maximum. Choose normal, or ask your team lead."))
    if priority is Priority.URGENT:
        if not can(actor, Action.PRIORITY_URGENT, target):
            checks.add("priority", "above_maximum", _("Urgent is given by your team lead. Choose normal, or ask them."))
        elif not checks.text("priority_reason").strip():
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
        )
        for p in place.groups
    ]


def _group_and_shape(
    checks: _Checks, actor: Actor, place: QueuePlace, cards: int, framework: Framework, kind: Kind
) -> tuple[GroupPlace | None, Shape | None]:
    if cards == 0:
        return None, shape_of(0, cards_per_node=1)
    by_slug = {p.group.slug: p for p in place.groups}
    candidates = usable_candidates(candidates_of(place), kind)
    asked = checks.text("card_model").strip()
    try:
        if asked:
            chosen = next((c for c in candidates if c.slug == asked), None)
            if chosen is None:
                _refuse_model(checks, asked in by_slug)
                return None, None
            shape = shape_of(cards, cards_per_node=chosen.cards_per_node, vendor=chosen.vendor)
        else:
            last = (
                Job.objects.filter(owner=actor.user, framework=framework.value, group__cluster=place.cluster)
                .order_by("-submitted_at", "-id")
                .values_list("group__vendor", flat=True)
                .first()
            )
            chosen, shape = choose_group(candidates, cards=cards, framework=framework, last_vendor=last)
    except NoShape as error:
        _refuse_shape(checks, error)
        return None, None
    except LookupError:
        checks.add("card_model", "no_group", _("Your team's queue has no cards yet. Ask a platform admin for a share."))
        return None, None
    if cards > chosen.capacity:
        checks.add(
            "cards",
            "never_fits",
            _("There are only %(maximum)d cards of this model, so %(cards)d can never start. Ask for fewer.")
            % {"maximum": chosen.capacity, "cards": cards},
        )
        return None, None
    return by_slug[chosen.slug], shape


def _refuse_model(checks: _Checks, is_shared: bool) -> None:
    if is_shared:
        checks.add(
            "card_model",
            "shared_pool",
            _("This pool has cut cards and takes no training. Choose another card model, or the kind development."),
        )
    else:
        checks.add("card_model", "unknown_model", _("Your team's queue has no card model of this name."))


def _refuse_shape(checks: _Checks, error: NoShape) -> None:
    if len(error.nearest) == 2:
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
