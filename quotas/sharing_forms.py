"""The form about a group of shared card slices; the rules are in `quotas.sharing`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.forms import ServiceForm
from common.errors import DomainError
from quotas.domain.sharing import WHOLE_SPEED
from quotas.selectors.sharing import SharingView
from quotas.sharing import REASON_MAX, WHY_MAX, SharingDecision


class SharingForm(ServiceForm):
    """What is decided now, to be changed. Each team that may train has a reason and a tick that takes it away."""

    expected_version = forms.IntegerField(widget=forms.HiddenInput)
    why = forms.CharField(
        label=_("Why these cards are shared"),
        required=False,
        max_length=WHY_MAX,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Such as: notebooks need little, and a whole card each would stand idle."),
    )
    is_transitional = forms.BooleanField(
        label=_("Only for a while: these cards are to become whole again"), required=False
    )
    until = forms.DateField(
        label=_("Last day"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text=_("Only where it is for a while. Nothing changes by itself on that day; this page reminds of it."),
    )
    slowdown = forms.DecimalField(
        label=_("Run time, times that on whole cards"),
        min_value=1,
        max_value=10,
        decimal_places=3,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "size": 6, "autocomplete": "off"}),
        help_text=_("From 1 to 10. Engineers read it before they submit, and the sandbox runs that much longer."),
    )
    team = forms.ChoiceField(label=_("Let a team train here"), required=False)
    reason = forms.CharField(label=_("Why this team may"), required=False, max_length=REASON_MAX)

    def __init__(
        self,
        data: Any = None,
        *,
        view: SharingView,
        teams: Mapping[str, str],
        typed: Mapping[str, Any] | None = None,
    ) -> None:
        policy = view.policy
        initial = {
            "expected_version": view.version,
            "why": policy.why if policy else "",
            "is_transitional": bool(policy and policy.is_transitional),
            "until": policy.until if policy else None,
            "slowdown": view.times,
        }
        super().__init__(data, initial={**initial, **(typed or {})})
        self.view = view
        may = {permit.team.slug: permit for permit in view.permits}
        others = [(slug, name) for slug, name in teams.items() if slug not in may]
        self.fields["team"].choices = [("", _("No other team")), *others]  # type: ignore[attr-defined]
        for slug, permit in may.items():
            self.fields[_reason(slug)] = forms.CharField(
                label=_("Why %(team)s may") % {"team": permit.team.name},
                required=False,
                max_length=REASON_MAX,
                initial=permit.reason,
            )
            self.fields[_drop(slug)] = forms.BooleanField(
                label=_("Let %(team)s train here no more") % {"team": permit.team.name}, required=False
            )

    def decision(self) -> SharingDecision:
        typed = self.cleaned_data
        training = {
            permit.team.slug: typed[_reason(permit.team.slug)]
            for permit in self.view.permits
            if not typed[_drop(permit.team.slug)]
        }
        if typed["team"]:
            training[typed["team"]] = typed["reason"]
        return SharingDecision(
            why=typed["why"],
            is_transitional=typed["is_transitional"],
            until=typed["until"],
            slowdown=int(typed["slowdown"] * WHOLE_SPEED),
            training=training,
        )

    def laid_over(self, teams: Mapping[str, str]) -> SharingForm:
        """What was typed over what somebody else saved meanwhile; who may train is as they left it."""
        typed = {name: self.cleaned_data[name] for name in ("why", "is_transitional", "until", "slowdown", *_ADDED)}
        return SharingForm(view=self.view, teams=teams, typed=typed)

    def add_sharing_problems(self, error: DomainError) -> None:
        """Problems of teams stand at the reason of that team."""
        slugs = {permit.team.slug for permit in self.view.permits}
        names = {f"training.{slug}": _reason(slug) for slug in slugs}
        names |= {f"training.{self.cleaned_data['team']}": "reason"} if self.cleaned_data["team"] else {}
        self.add_problems(error, names)

    def permit_fields(self) -> list[tuple[Any, forms.BoundField, forms.BoundField]]:
        """Each permit with its two fields."""
        return [
            (permit, self[_reason(permit.team.slug)], self[_drop(permit.team.slug)]) for permit in self.view.permits
        ]

    @property
    def dropped(self) -> list[str]:
        """Names of the teams that are to train here no more."""
        return [permit.team.name for permit in self.view.permits if self.cleaned_data[_drop(permit.team.slug)]]


_ADDED = ("team", "reason")


def _reason(slug: str) -> str:
    return f"reason_{slug}"


def _drop(slug: str) -> str:
    return f"drop_{slug}"
