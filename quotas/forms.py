"""The editor of one node group's division: what was typed, exact in basis points, never a float."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.forms import ServiceForm
from common.errors import DomainError
from quotas.domain.plan import GroupPart, Plan, QueuePart
from quotas.domain.shares import WHOLE, percent_text
from quotas.plans.services import REASON_MAX

_PERCENT = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,2})?")

RANKS = (
    (0, gettext_lazy("only its own share")),
    (1, gettext_lazy("and loans of low work")),
    (2, gettext_lazy("and loans up to normal")),
    (3, gettext_lazy("and loans up to high")),
)


class PercentField(forms.Field):
    """A percent with at most two decimals, as whole basis points; None for an empty field that may be empty."""

    widget = forms.TextInput(attrs={"inputmode": "decimal", "size": 6, "autocomplete": "off"})

    def to_python(self, value: Any) -> int | None:
        text = str(value or "").strip().rstrip("%").strip()
        if not text and not self.required:
            return None
        if not _PERCENT.fullmatch(text):
            raise ValidationError(_("Write a percent from 0 to 100, such as 40 or 12.5."))
        points = int(Decimal(text) * 100)
        if points > WHOLE:
            raise ValidationError(_("A share is at most 100 %."))
        return points

    def validate(self, value: Any) -> None:
        """Nothing more to ask: an empty field was refused above."""


@dataclass(frozen=True, slots=True)
class PlanLine:
    """The fields of one team."""

    queue: str
    team: str
    percent: forms.BoundField
    borrow: forms.BoundField
    lend: forms.BoundField
    rank: forms.BoundField
    reclaims: forms.BoundField
    strict: forms.BoundField


class PlanForm(ServiceForm):
    """A line for each team queue: its part of one node group, and its rules. The rest of 100 % is the common pool."""

    expected_version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=REASON_MAX,
        help_text=gettext_lazy("Kept in the history beside your name."),
    )

    def __init__(self, data: Any = None, *, group: str, teams: Mapping[str, str], plan: Plan, version: int) -> None:
        """``teams`` has the names of the teams by queue, in the order of the lines."""
        super().__init__(data, initial={"expected_version": version})
        self.group = group
        self.teams = teams
        for queue, team in teams.items():
            self._add(queue, team, plan.queue(queue))

    def _add(self, queue: str, team: str, part: QueuePart) -> None:
        own = part.part(self.group)
        names = {"team": team}
        self.fields |= {
            f"percent_{queue}": PercentField(
                label=_("Percent for %(team)s") % names, initial=percent_text(own.basis_points)
            ),
            f"borrow_{queue}": PercentField(
                label=_("%(team)s borrows at most, in percent of the node group") % names,
                required=False,
                initial=_limit_text(own.borrow_basis_points),
            ),
            f"lend_{queue}": PercentField(
                label=_("%(team)s lends at most, in percent of the node group") % names,
                required=False,
                initial=_limit_text(own.lend_basis_points),
            ),
            f"rank_{queue}": forms.TypedChoiceField(
                label=_("What %(team)s takes back") % names, choices=RANKS, coerce=int, initial=part.rank
            ),
            f"reclaims_{queue}": forms.BooleanField(
                label=_("%(team)s takes back what it lent") % names, required=False, initial=part.reclaims
            ),
            f"strict_{queue}": forms.BooleanField(
                label=_("The first job of %(team)s blocks those behind it") % names, required=False, initial=part.strict
            ),
        }

    def lines(self) -> list[PlanLine]:
        """The teams with their fields."""
        names = ("percent", "borrow", "lend", "rank", "reclaims", "strict")
        return [
            PlanLine(queue, team, *(self[f"{name}_{queue}"] for name in names)) for queue, team in self.teams.items()
        ]

    def plan(self) -> Plan:
        """What was typed, as a plan of this node group."""
        data = self.cleaned_data
        return Plan(
            {
                queue: QueuePart(
                    rank=data[f"rank_{queue}"],
                    strict=data[f"strict_{queue}"],
                    reclaims=data[f"reclaims_{queue}"],
                    groups={
                        self.group: GroupPart(data[f"percent_{queue}"], data[f"borrow_{queue}"], data[f"lend_{queue}"])
                    },
                )
                for queue in self.teams
            }
        )

    def add_plan_problems(self, error: DomainError) -> None:
        """Put what the services refuse at the field it is about."""
        names = {"basis_points": "percent", "borrow_basis_points": "borrow", "lend_basis_points": "lend"}
        attrs = {f"queues.{queue}.rank": f"rank_{queue}" for queue in self.teams}
        for queue in self.teams:
            place = f"queues.{queue}.groups.{self.group}"
            attrs |= {f"{place}.{attr}": f"{name}_{queue}" for attr, name in names.items()}
        self.add_problems(error, attrs)


class VersionForm(ServiceForm):
    """What goes with going back to a version, or with taking over other cards: why, and which version one saw."""

    expected_version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=REASON_MAX,
        help_text=gettext_lazy("Kept in the history beside your name."),
    )


def _limit_text(basis_points: int | None) -> str:
    return "" if basis_points is None else percent_text(basis_points)
