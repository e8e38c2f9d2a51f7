"""The form of a new job. It carries what was typed and shows the service's problems; the rules are in the service."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from accounts.actors import Actor
from accounts.forms import ServiceForm
from accounts.policy import Action, Target, can
from common.errors import FieldProblem, InvalidInput
from common.ids import new_ulid
from jobs import labels
from jobs.domain.words import Framework, Kind, Priority
from jobs.models import Job
from jobs.supply_fields import CODE_ATTRS, SupplyFields
from quotas.selectors.choices import QueueChoice, offered_groups, queue_choices

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

CARD_COUNTS = (1, 2, 4, 8, 16, 32)
RUN_UNITS = {"60": gettext_lazy("minutes"), "3600": gettext_lazy("hours"), "86400": gettext_lazy("days")}

Choices = Sequence[tuple[str, "str | _StrPromise"]]


class SegmentedChoice(forms.RadioSelect):
    """Radios in a row; values in ``closed`` are shown but cannot be chosen."""

    def __init__(self, choices: Choices, closed: frozenset[str] = frozenset()) -> None:
        super().__init__(choices=choices)
        self.closed = closed

    def create_option(self, name: str, value: Any, *args: Any, **options: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(name, value, *args, **options)
        if str(value) in self.closed:
            option["attrs"]["disabled"] = True
        return option


def _text(label: str | _StrPromise, *, help_text: str | _StrPromise = "", **attrs: Any) -> forms.CharField:
    return forms.CharField(label=label, help_text=help_text, required=False, widget=forms.TextInput(attrs=attrs))


class JobForm(SupplyFields, ServiceForm):
    """Four facts, and the rest behind a fold. Nothing is required here: the service says what is missing."""

    token = forms.CharField(widget=forms.HiddenInput, required=False)
    framework = forms.CharField(label=gettext_lazy("Framework"), required=False)
    image = _text(gettext_lazy("Image"), autocomplete="off", spellcheck="false", autocapitalize="none")
    cards_pick = forms.CharField(label=gettext_lazy("Cards"), required=False)
    cards = _text(gettext_lazy("Another number of cards"), inputmode="numeric", size=6, autocomplete="off")
    priority = forms.CharField(label=gettext_lazy("Priority"), required=False)
    priority_reason = _text(
        gettext_lazy("Why it is urgent"), help_text=gettext_lazy("Only for urgent; kept in the audit trail.")
    )
    name = forms.CharField(
        label=gettext_lazy("Name"),
        required=False,
        strip=False,
        help_text=gettext_lazy("In any script. Left empty, the job is named after its image."),
    )
    kind = forms.CharField(label=gettext_lazy("Kind"), required=False)
    card_model = forms.CharField(label=gettext_lazy("Card model"), required=False)
    place = forms.CharField(label=gettext_lazy("Team and local queue"), required=False)
    run_amount = _text(gettext_lazy("Longest run"), inputmode="numeric", size=5)
    run_unit = forms.CharField(label=gettext_lazy("Unit of the longest run"), required=False)
    retry_limit = _text(
        gettext_lazy("Retries when the program fails"),
        help_text=gettext_lazy("0 to 10. After a lost node the job is tried again anyway."),
        inputmode="numeric",
        size=3,
    )
    replicas = _text(
        gettext_lazy("Replicas"),
        help_text=gettext_lazy("Only for inference: 1 to 64, each with its own cards on one node."),
        inputmode="numeric",
        size=3,
        autocomplete="off",
    )
    command = forms.CharField(
        label=gettext_lazy("Command"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy("Left empty, the image's own command runs."),
    )
    env = forms.CharField(
        label=gettext_lazy("Environment"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy("One NAME=value a line. Only you can read the values later."),
    )
    cpu = _text(gettext_lazy("CPU cores"), help_text=gettext_lazy("Only for a job of 0 cards, such as 4 or 500m."))
    memory = _text(gettext_lazy("Memory"), help_text=gettext_lazy("Only for a job of 0 cards, such as 16Gi."))

    FACTS = ("framework", "image", "cards_pick", "cards", "priority")
    ATTRS = {
        "team": "place",
        "local_queue": "place",
        "cluster": "place",
        "max_run_seconds": "run_amount",
        **CODE_ATTRS,
    }

    def __init__(
        self, data: Any = None, files: Any = None, *, actor: Actor, initial: dict[str, Any] | None = None
    ) -> None:
        start = {
            "token": new_ulid(),
            "framework": Framework.PYTORCH.value,
            "cards_pick": "1",
            "priority": Priority.NORMAL.value,
            "kind": Kind.TRAINING.value,
            "run_unit": "3600",
            "retry_limit": "0",
            "replicas": "1",
        }
        super().__init__(data, files, initial={**start, **(initial or {})})
        self.offer_supplies(actor.team_ids)
        groups = offered_groups(actor.team_ids)
        queues = queue_choices(actor.team_ids)
        closed = closed_priorities(actor, actor.team_ids)
        self._widget("framework", SegmentedChoice([(f.value, labels.FRAMEWORKS[f]) for f in Framework]))
        self._widget("cards_pick", SegmentedChoice([(str(n), str(n)) for n in CARD_COUNTS]))
        self._widget(
            "priority",
            SegmentedChoice([(p.value, labels.PRIORITIES[p]) for p in Priority], closed=closed),
        )
        self._widget("kind", SegmentedChoice([(k.value, labels.KINDS[k]) for k in Kind]))
        if Priority.HIGH.value in closed:
            self.fields["priority"].help_text = _("High and urgent are for team leads; ask yours when it matters.")
        self.fields["kind"].help_text = _("Inference serves until it is stopped; its cards are those of each replica.")
        any_model = pgettext_lazy("card model", "Chosen for you")
        self._widget("card_model", forms.Select(choices=[("", any_model), *groups]))
        self._widget("run_unit", forms.Select(choices=list(RUN_UNITS.items())))
        if len(queues) > 1:
            several = len({(choice.team.pk, choice.cluster_name) for choice in queues}) > 1
            choices = [(_place_value(choice), _place_label(choice)) for choice in queues]
            self._widget("place", forms.Select(choices=[("", "")] * several + choices))
        else:
            del self.fields["place"]

    def _widget(self, name: str, widget: forms.Widget) -> None:
        self.fields[name].widget = widget

    @property
    def priority_hints(self) -> list[tuple[str, str | _StrPromise]]:
        """What each priority means; the page shows that of the chosen one."""
        return [(priority.value, labels.PRIORITY_HINTS[priority]) for priority in Priority]

    @property
    def has_problems_in_the_fold(self) -> bool:
        return any(name not in self.FACTS for name in self.errors if name != "__all__")

    def renew_token(self) -> None:
        """Make the form a new one to the service, when its token already made another job."""
        self.put("token", new_ulid())

    @property
    def where(self) -> tuple[str, str, str]:
        """Team, local queue and cluster as chosen; '' for what was left to the service."""
        team, local_queue, cluster = [*self.cleaned_data.get("place", "").split("/"), "", "", ""][:3]
        return team, local_queue, cluster

    def job_data(self) -> dict[str, Any]:
        """What the service takes, in its own names. Raises InvalidInput for an environment that cannot be read."""
        typed = self.cleaned_data
        team, local_queue, cluster = self.where
        data: dict[str, Any] = {
            "framework": typed["framework"],
            "image": typed["image"],
            "cards": typed["cards"] or typed["cards_pick"],
            "priority": typed["priority"],
            "kind": typed["kind"],
        }
        optional = {
            "priority_reason": typed["priority_reason"],
            "name": typed["name"],
            "card_model": typed["card_model"],
            "team": team,
            "local_queue": local_queue,
            "cluster": cluster,
            "max_run_seconds": _run_seconds(typed["run_amount"], typed["run_unit"]),
            "retry_limit": typed["retry_limit"],
            "command": typed["command"].replace("\r\n", "\n"),
            "env": _environment(typed["env"]),
            "cpu": typed["cpu"],
            "memory": typed["memory"],
            "replicas": typed["replicas"] if typed["kind"] == Kind.INFERENCE.value else "",
            **self.supply_data(),
        }
        return data | {name: value for name, value in optional.items() if value not in ("", {})}


def _place_value(choice: QueueChoice) -> str:
    """The cluster is named only where there is a choice: left out, a card model of another cluster leads there."""
    parts = [choice.team.slug, choice.local.slug, *([choice.cluster_slug] if choice.cluster_name else [])]
    return "/".join(parts)


def _place_label(choice: QueueChoice) -> str:
    return " / ".join(part for part in (choice.team.name, choice.cluster_name, choice.local.name) if part)


REST_MINUTES = ("5", "10", "15")


class PreemptForm(ServiceForm):
    """Who shall get the cards, and for how long the job gives way at most."""

    beneficiary = forms.CharField(label=gettext_lazy("The job that gets the cards"), required=False)
    minutes = forms.CharField(label=gettext_lazy("Gives way for at most"), required=False)

    ATTRS: ClassVar[dict[str, str]] = {"until": "minutes"}

    def __init__(self, data: Any = None, *, waiting: Sequence[Job]) -> None:
        super().__init__(data, initial={"minutes": REST_MINUTES[-1]})
        choices = [(job.public_id, _beneficiary_label(job)) for job in waiting]
        nobody = _("none: only for the time") if waiting else _("none: no job waits for these cards")
        self.fields["beneficiary"].widget = forms.Select(choices=[("", nobody), *choices])
        minutes = [(n, ngettext("%(n)s minute", "%(n)s minutes", int(n)) % {"n": n}) for n in REST_MINUTES]
        self.fields["minutes"].widget = forms.Select(choices=minutes)

    def data_for_service(self) -> dict[str, Any]:
        """What the service takes; an amount that was not offered goes on as it was typed and is refused."""
        typed = self.cleaned_data
        amount = typed["minutes"]
        until = (timezone.now() + timedelta(minutes=int(amount))).isoformat() if amount in REST_MINUTES else amount
        return {"beneficiary": typed["beneficiary"], "until": until}


def _beneficiary_label(job: Job) -> str:
    values = {"name": job.display_name, "cards": job.cards, "person": job.owner.display_name}
    return ngettext("%(name)s, %(cards)s card, %(person)s", "%(name)s, %(cards)s cards, %(person)s", job.cards) % values


class PriorityForm(ServiceForm):
    """A new priority, up to the person's maximum in the job's team."""

    priority = forms.CharField(label=gettext_lazy("Priority"), required=False)
    priority_reason = _text(
        gettext_lazy("Why it is urgent"), help_text=gettext_lazy("Only for urgent; kept in the audit trail.")
    )

    ATTRS: ClassVar[dict[str, str]] = {}

    def __init__(self, data: Any = None, *, actor: Actor, team_id: int, present: str) -> None:
        super().__init__(data, initial={"priority": present})
        closed = closed_priorities(actor, [team_id])
        self.fields["priority"].widget = SegmentedChoice(
            [(p.value, labels.PRIORITIES[p]) for p in Priority], closed=closed
        )
        if closed:
            self.fields["priority"].help_text = _("High and urgent are for team leads; ask yours when it matters.")

    def data_for_service(self) -> dict[str, Any]:
        return dict(self.cleaned_data)


class ScaleForm(ServiceForm):
    """How many replicas a service shall have."""

    replicas = _text(gettext_lazy("Replicas"), inputmode="numeric", size=3, autocomplete="off")

    ATTRS: ClassVar[dict[str, str]] = {}

    def __init__(self, data: Any = None, *, present: int) -> None:
        super().__init__(data, initial={"replicas": str(present)})

    def data_for_service(self) -> dict[str, Any]:
        return dict(self.cleaned_data)


def closed_priorities(actor: Actor, team_ids: Iterable[int]) -> frozenset[str]:
    """Priorities that the person may give in none of the teams."""
    teams = list(team_ids)
    needed = {Priority.HIGH: Action.PRIORITY_HIGH, Priority.URGENT: Action.PRIORITY_URGENT}
    return frozenset(
        priority.value
        for priority, action in needed.items()
        if not any(can(actor, action, Target(team_id=team)) for team in teams)
    )


def _run_seconds(amount: str, unit: str) -> int | str:
    """Seconds, or what was typed when that is no number: the service refuses it at its field."""
    if not amount.isascii() or not amount.isdigit() or len(amount) > 9:
        return amount
    return int(amount) * int(unit if unit in RUN_UNITS else 1)


def _environment(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        if not equals:
            message = _("Line %(number)d has no = sign. Write one NAME=value a line.") % {"number": number}
            raise InvalidInput([FieldProblem("env", "not_pairs", message)])
        pairs[name.strip()] = value
    return pairs
