"""Forms about oneself and about people: services check, a form carries what was typed and shows problems."""

from __future__ import annotations

from collections.abc import Iterable

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import Role, Team
from accounts.services import TOKEN_DAYS
from common.errors import DomainError, InvalidInput


class ServiceForm(forms.Form):
    """A form whose rules live in a service."""

    def add_problems(self, error: DomainError, attrs: dict[str, str] | None = None) -> None:
        """Put a service's problems at their fields; one that has no field here stands above the form.

        ``attrs`` maps the service's names to this form's where they differ.
        """
        renamed = attrs or {}
        problems = error.problems if isinstance(error, InvalidInput) else ()
        for problem in problems:
            field = renamed.get(problem.attr, problem.attr)
            self.add_error(field if field in self.fields else None, str(problem.message))
        if not problems:
            self.add_error(None, str(error.message))


class TokenForm(ServiceForm):
    name = forms.CharField(
        label=_("Name"), required=False, max_length=100, help_text=_("What will use it, such as nightly-sweep.")
    )
    days = forms.IntegerField(label=_("Valid for, in days"), required=False, initial=TOKEN_DAYS)


class TeamForm(ServiceForm):
    name = forms.CharField(label=_("Name of the team"), required=False, max_length=100)


class MemberForm(ServiceForm):
    """Somebody who has an account already gets a role in a team."""

    username = forms.CharField(label=_("User name"), required=False, max_length=150)
    team = forms.ChoiceField(label=_("Team"), required=False)
    role = forms.ChoiceField(
        label=_("Role"), required=False, choices=Role.choices, widget=forms.RadioSelect, initial=Role.ENGINEER
    )

    def __init__(self, data: object = None, *, teams: Iterable[Team], **options: object) -> None:
        super().__init__(data, **options)  # type: ignore[arg-type]
        self.fields["team"].choices = [(team.slug, team.name) for team in teams]  # type: ignore[attr-defined]


class PersonForm(MemberForm):
    """A new person, put into a team at once."""

    username = forms.CharField(
        label=_("User name"), required=False, max_length=150, help_text=_("What the person signs in with.")
    )
    full_name = forms.CharField(label=_("Full name"), required=False, max_length=150)
    field_order = ("username", "full_name", "team", "role")
