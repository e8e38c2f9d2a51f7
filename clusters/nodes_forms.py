"""Forms about nodes: the services check, a form carries what was typed and shows problems."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.forms import ServiceForm
from clusters.connected import cluster_get
from clusters.nodes_maintenance import maintenance_plan
from common.errors import FieldProblem, InvalidInput


class ReasonForm(ServiceForm):
    """Why something is done; others read it."""

    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        help_text=_("Shown with the node, and kept in the audit trail."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": 300}),
    )


class MaintenanceForm(ServiceForm):
    """A node group, or one node of its cluster, from when until when, and why."""

    place = forms.CharField(label=_("Node group"), required=False)
    node = forms.CharField(
        label=_("Only this node"),
        required=False,
        help_text=_("Left out: every node of the group."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    starts_at = forms.DateTimeField(
        label=_("From"), required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    ends_at = forms.DateTimeField(
        label=_("Until"), required=False, widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        help_text=_("People whose jobs are on these nodes read it."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": 300}),
    )

    def __init__(self, data: Any = None, *, places: Sequence[tuple[str, str]], **options: Any) -> None:
        """``places``: `cluster/group` and what people call it."""
        super().__init__(data, **options)
        self.fields["place"].widget = forms.Select(choices=places)

    def save(self, actor: Actor) -> None:
        """Raises DomainError."""
        typed = self.cleaned_data
        cluster, _slash, group = typed["place"].partition("/")
        node = typed["node"].strip()
        maintenance_plan(
            actor=actor,
            cluster=cluster_get(viewer=actor, slug=cluster),
            node=node,
            group="" if node else group,
            starts_at=_given(typed, "starts_at"),
            ends_at=_given(typed, "ends_at"),
            reason=typed["reason"],
        )


def _given(typed: dict[str, Any], name: str) -> datetime:
    if typed.get(name) is None:
        raise InvalidInput([FieldProblem(name, "required", _("Say when."))])
    found: datetime = typed[name]
    return found
