"""One typed field after the other: what submit makes of each, and the problem when it makes nothing of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_lazy as _

from clusters.contract import DEVICE_VARIABLES, REPLICAS_MAX
from common.errors import FieldProblem, Text
from common.names import clean_display_name
from common.units import BadQuantity, parse_cards, parse_cpu_millis, parse_memory_bytes
from jobs.domain.images import image_problem
from jobs.domain.words import MAX_APP_RETRIES, Kind
from jobs.labels import IMAGE_PROBLEMS, QUANTITY_PROBLEMS
from quotas.selectors.places import GroupPlace

COMMAND_MAX = 16_384
REASON_MAX = 500
ENV_MAX_BYTES = 65_536
ENV_MAX_ENTRIES = 200
RUN_SECONDS_MIN = 60
RUN_SECONDS_MAX = 30 * 24 * 3600
NEVER_FITS = _("There are only %(maximum)d cards of this model, so %(cards)d can never start. Ask for fewer.")
NEVER_GIVEN = _(
    "Your team's share of %(group)s is %(nominal)d, and with all that it may borrow at most %(maximum)d, so %(cards)d "
    "can never start. Ask for fewer."
)
CPU_ONLY_MILLIS = 4_000
CPU_ONLY_MEMORY = 16 * 2**30

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # JSON can carry half a surrogate pair, no store can

KNOWN_FIELDS = frozenset(
    {
        "framework", "image", "cards", "priority", "priority_reason", "name", "command", "kind", "card_model",
        "team", "cluster", "local_queue", "max_run_seconds", "env", "retry_limit", "cpu", "memory", "code", "datasets",
        "replicas",
    }
)  # fmt: skip


@dataclass(slots=True)
class Checks:
    """Collects problems, so that a person sees all of them at once."""

    data: Mapping[str, Any]
    problems: list[FieldProblem] = field(default_factory=list)

    def add(self, attr: str, code: str, message: Text) -> None:
        self.problems.append(FieldProblem(attr, code, message))

    def has_problem(self, attr: str) -> bool:
        return any(problem.attr == attr for problem in self.problems)

    def typed(self, attr: str) -> str:
        """The text as it was typed; what is no text is a problem."""
        value = self.data.get(attr)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.add(attr, "not_text", _("Write this as text."))
            return ""
        return value

    def text(self, attr: str) -> str:
        """The same for texts that have to be kept exactly, so that what cannot be stored is a problem as well."""
        value = self.typed(attr)
        if "\x00" in value:
            self.add(attr, "nul", _("This text has an invisible NUL character. Remove it."))
            return ""
        if _HALF_CHARACTER.search(value):
            self.add(attr, "half_character", _("This text has a broken character. Type it again."))
            return ""
        return value


def fits_ever(checks: Checks, attr: str, place: GroupPlace, cards: int) -> bool:
    """Whether so many cards can ever be had of a node group; else a problem of ``attr`` says why not."""
    if cards <= place.capacity:
        return True
    facts = {"group": place.group.title, "nominal": place.nominal, "maximum": place.capacity, "cards": cards}
    checks.add(attr, "never_fits", (NEVER_FITS if place.capacity == place.installed else NEVER_GIVEN) % facts)
    return False


def unknown_fields(checks: Checks) -> None:
    """A problem for each field of a name that submit does not have."""
    for name in sorted(set(checks.data) - KNOWN_FIELDS):
        shown = name.encode("utf-8", "replace").decode()  # it goes back in the answer, whatever it is
        checks.add(shown, "unknown_field", _("This field is not known. Check its spelling."))


def word_field(checks: Checks, attr: str, words: Any, message: Text, default: Any = None) -> Any:
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


def kind_field(checks: Checks) -> Kind | None:
    kind: Kind | None = word_field(
        checks, "kind", Kind, _("Choose training, development or inference."), default=Kind.TRAINING
    )
    return kind


def service_fields(checks: Checks, kind: Kind | None) -> int | None:
    """Replicas of a service, which nothing but a person ends; None for a job of another kind, or a problem."""
    if kind is not Kind.INFERENCE:
        if checks.data.get("replicas") not in (None, ""):
            checks.add("replicas", "no_service", _("Only a job of the kind inference has replicas. Leave this out."))
        return None
    if checks.data.get("max_run_seconds") not in (None, ""):
        checks.add("max_run_seconds", "no_limit", _("A service runs until it is stopped. Leave the longest run out."))
    return replicas_field(checks, default=1)


def replicas_field(checks: Checks, default: int | None = None) -> int | None:
    value = checks.data.get("replicas")
    if value in (None, "") and default is not None:
        return default
    replicas = _whole(value)
    if replicas is None or not 1 <= replicas <= REPLICAS_MAX:
        checks.add("replicas", "out_of_range", _("A service has between 1 and 64 replicas."))
        return None
    return replicas


def image_field(checks: Checks) -> str:
    image = checks.text("image").strip()
    if not checks.has_problem("image") and (problem := image_problem(image)) is not None:
        checks.add("image", f"image_{problem}", IMAGE_PROBLEMS[problem])
    return image


def cards_field(checks: Checks) -> int | None:
    if checks.data.get("cards") in (None, ""):
        checks.add("cards", "required", _("Say how many cards, as a whole number; 0 is a job without cards."))
        return None
    try:
        return parse_cards(checks.data["cards"])
    except BadQuantity as error:
        checks.add("cards", f"cards_{error.code}", QUANTITY_PROBLEMS["cards", error.code])
        return None


def name_field(checks: Checks, image: str) -> str:
    if checks.data.get("name") is None:
        return clean_display_name(image.rsplit("/", 1)[-1].split("@")[0].split(":")[0]) or "job"
    typed = checks.typed("name")
    name = clean_display_name(typed)
    if not name and not checks.has_problem("name"):
        checks.add("name", "blank", _("Give the job a name, or leave the field out to name it after its image."))
    elif len(typed.strip()) > 300:
        checks.add("name", "too_long", _("A name has at most 300 characters."))
    return name


def command_field(checks: Checks) -> str:
    command = checks.text("command")
    if len(command.encode("utf-8", "replace")) > COMMAND_MAX:
        checks.add("command", "too_long", _("A command has at most 16 KB. Put longer scripts into the image."))
    return command


def env_field(checks: Checks) -> dict[str, str]:
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
        if name in DEVICE_VARIABLES:
            message = _("%(name)s is set by the platform alone, so that jobs see no cards but their own.")
            checks.add("env", "name_reserved", message % {"name": name})
            return {}
        if "\x00" in value:
            checks.add("env", "nul", _("A value has an invisible NUL character. Remove it."))
            return {}
        if _HALF_CHARACTER.search(value):
            checks.add("env", "half_character", _("A value has a broken character. Type it again."))
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


def max_run_field(checks: Checks) -> int | None:
    value = checks.data.get("max_run_seconds")
    if value in (None, ""):
        return None
    seconds = _whole(value)
    if seconds is None or not RUN_SECONDS_MIN <= seconds <= RUN_SECONDS_MAX:
        checks.add("max_run_seconds", "out_of_range", _("The longest run time lies between 1 minute and 30 days."))
        return None
    return seconds


def retries_field(checks: Checks) -> int:
    value = checks.data.get("retry_limit")
    if value in (None, ""):
        return 0
    retries = _whole(value)
    if retries is None or not 0 <= retries <= MAX_APP_RETRIES:
        checks.add("retry_limit", "out_of_range", _("Choose between 0 and 10 retries."))
        return 0
    return retries


def cpu_and_memory_fields(checks: Checks, cards: int | None) -> tuple[int, int]:
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
