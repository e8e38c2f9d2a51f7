"""The editor of a cluster's division: what was typed, exact in basis points, never a float."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.forms import ServiceForm
from common.errors import DomainError
from common.plain_widgets import PlainCheckboxInput, PlainSelect, PlainTextInput
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

    widget = PlainTextInput(attrs={"inputmode": "decimal", "size": 6, "autocomplete": "off"})

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
class PartLine:
    """The fields of one team in one node group."""

    queue: str
    team: str
    percent: forms.BoundField
    borrow: forms.BoundField
    lend: forms.BoundField


@dataclass(frozen=True, slots=True)
class RuleLine:
    """The fields of one team that hold in every node group."""

    queue: str
    team: str
    rank: forms.BoundField
    reclaims: forms.BoundField
    strict: forms.BoundField


class PlanForm(ServiceForm):
    """A sheet of a plan: teams' parts of some node groups, and these teams' rules. The rest of 100 % is the pool.

    ``sheet`` has the queues of each node group that is on it; ``teams`` and ``titles`` the names for people.
    """

    expected_version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=REASON_MAX,
        help_text=gettext_lazy("Kept in the history beside your name."),
    )

    def __init__(
        self,
        data: Any = None,
        *,
        sheet: Mapping[str, Sequence[str]],
        teams: Mapping[str, str],
        titles: Mapping[str, str],
        plan: Plan,
        version: int,
        reason: str = "",
    ) -> None:
        super().__init__(data, initial={"expected_version": version, "reason": reason})
        self.sheet, self.teams, self.titles = sheet, teams, titles
        on_sheet = {queue for queues in sheet.values() for queue in queues}
        self.queues = [queue for queue in teams if queue in on_sheet]
        for group, queues in sheet.items():
            for queue in queues:
                self._add_part(group, queue, plan.queue(queue).part(group))
        for queue in self.queues:
            self._add_rules(queue, plan.queue(queue))

    def _add_part(self, group: str, queue: str, part: GroupPart) -> None:
        names = {"team": self.teams[queue], "group": self.titles[group]}
        self.fields |= {
            f"percent.{group}.{queue}": PercentField(
                label=_("Percent of %(group)s for %(team)s") % names, initial=percent_text(part.basis_points)
            ),
            f"borrow.{group}.{queue}": PercentField(
                label=_("%(team)s borrows at most, in percent of %(group)s") % names,
                required=False,
                initial=_limit_text(part.borrow_basis_points),
            ),
            f"lend.{group}.{queue}": PercentField(
                label=_("%(team)s lends at most, in percent of %(group)s") % names,
                required=False,
                initial=_limit_text(part.lend_basis_points),
            ),
        }

    def _add_rules(self, queue: str, part: QueuePart) -> None:
        names = {"team": self.teams[queue]}
        self.fields |= {
            f"rank.{queue}": forms.TypedChoiceField(
                label=_("What %(team)s takes back") % names,
                choices=RANKS,
                coerce=int,
                initial=part.rank,
                widget=PlainSelect,
            ),
            f"reclaims.{queue}": forms.BooleanField(
                label=_("%(team)s takes back what it lent") % names,
                required=False,
                initial=part.reclaims,
                widget=PlainCheckboxInput,
            ),
            f"strict.{queue}": forms.BooleanField(
                label=_("The first job of %(team)s blocks those behind it") % names,
                required=False,
                initial=part.strict,
                widget=PlainCheckboxInput,
            ),
        }

    def part_lines(self, group: str) -> list[PartLine]:
        """The teams of a node group with their fields."""
        return [
            PartLine(queue, self.teams[queue], *(self[f"{name}.{group}.{queue}"] for name in PARTS.values()))
            for queue in self.sheet[group]
        ]

    def rule_lines(self) -> list[RuleLine]:
        """The teams with the fields of their rules."""
        return [
            RuleLine(queue, self.teams[queue], *(self[f"{name}.{queue}"] for name in RULES)) for queue in self.queues
        ]

    def plan(self) -> Plan:
        """What was typed, as a plan of this sheet."""
        data = self.cleaned_data
        parts: dict[str, dict[str, GroupPart]] = {queue: {} for queue in self.queues}
        for group, queues in self.sheet.items():
            for queue in queues:
                points = {field: data[f"{name}.{group}.{queue}"] for field, name in PARTS.items()}
                parts[queue][group] = GroupPart(**points)
        return Plan(
            {
                queue: QueuePart(**{name: data[f"{name}.{queue}"] for name in RULES}, groups=parts[queue])
                for queue in self.queues
            }
        )

    def add_plan_problems(self, error: DomainError) -> None:
        """Put what the services refuse at the field it is about; above the form what is on another sheet."""
        attrs = {f"queues.{queue}.{name}": f"{name}.{queue}" for queue in self.queues for name in RULES}
        for group, queues in self.sheet.items():
            for queue in queues:
                place = f"queues.{queue}.groups.{group}"
                attrs |= {f"{place}.{field}": f"{name}.{group}.{queue}" for field, name in PARTS.items()}
        self.add_problems(error, attrs)


PARTS = {"basis_points": "percent", "borrow_basis_points": "borrow", "lend_basis_points": "lend"}
"""Fields of a team's part of a node group: their names in a plan and on the page."""
RULES = ("rank", "reclaims", "strict")


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
