"""The form in which an admin says whose a found queue is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.forms import ServiceForm
from common.errors import DomainError
from quotas.adopting import FoundView
from quotas.forms import VersionForm


@dataclass(frozen=True, slots=True)
class FoundLine:
    """One found queue; ``field`` is None for one that nobody can take over (any more)."""

    view: FoundView
    field: forms.BoundField | None


class AdoptForm(VersionForm):
    """A team, or nobody, for each found queue that is open."""

    def __init__(self, data: Any = None, *, views: Sequence[FoundView], teams: Mapping[str, str], version: int) -> None:
        super().__init__(data, initial={"expected_version": version})
        self.views = views
        choices = [("", _("Leave it alone")), *teams.items()]
        for name, view in self._open():
            label = _("Team that takes over %(queue)s") % {"queue": view.name}
            self.fields[name] = forms.ChoiceField(label=label, required=False, choices=choices, initial=view.proposed)

    def _open(self) -> list[tuple[str, FoundView]]:
        return [(f"team_{view.name}", view) for view in self.views if view.is_open]

    def choice(self) -> dict[str, str]:
        """Found queue → team, of a valid form."""
        return {view.name: self.cleaned_data[name] for name, view in self._open()}

    def choice_text(self) -> str:
        """The choice as one text, to tell two apart."""
        return json.dumps(self.choice(), sort_keys=True)

    def lines(self) -> list[FoundLine]:
        return [
            FoundLine(view, self[f"team_{view.name}"] if f"team_{view.name}" in self.fields else None)
            for view in self.views
        ]

    def add_adopting_problems(self, error: DomainError) -> None:
        """Those of a queue stand at its line."""
        self.add_problems(error, {f"queues.{view.name}": name for name, view in self._open()})


class StopManagingForm(ServiceForm):
    """What goes with stopping to manage a cluster on which something of ours is empty."""

    take_away = forms.BooleanField(label=gettext_lazy("Take away what is empty"), required=False)


class ManageForm(ServiceForm):
    """What goes with starting to manage a cluster of which something is not settled."""

    confirmed = forms.BooleanField(label=gettext_lazy("I have read what is not settled yet"), required=False)
