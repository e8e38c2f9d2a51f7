"""Forms of a lead about local queues; the rules are in `quotas.local_queues`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.forms import ServiceForm
from quotas.local_queues import NAME_MAX, REASON_MAX, WEIGHT_MAX


class LocalQueueForm(ServiceForm):
    """Name, weight where the cluster goes by it, and cluster where the team has queues on several."""

    name = forms.CharField(label=_("Name"), required=False, max_length=NAME_MAX)
    weight = forms.IntegerField(
        label=_("Weight"),
        required=False,
        min_value=1,
        max_value=WEIGHT_MAX,
        initial=1,
        help_text=_("From 1 to 100. Of two queues that wait, the one that used less for its weight goes first."),
    )
    cluster = forms.ChoiceField(label=_("Cluster"), required=False)

    def __init__(self, data: Any = None, *, weighs: bool, clusters: Sequence[tuple[str, str]] = (), **options: Any):
        super().__init__(data, **options)
        if not weighs:
            del self.fields["weight"]
        if len(clusters) > 1:
            self.fields["cluster"].choices = clusters  # type: ignore[attr-defined]
        else:
            del self.fields["cluster"]

    def values(self) -> dict[str, Any]:
        """What was said of name and weight, for the service."""
        found = {"name": self.cleaned_data["name"]}
        if self.cleaned_data.get("weight") is not None:
            found["weight"] = self.cleaned_data["weight"]
        return found


class StopForm(ServiceForm):
    """Why nothing starts in a local queue for a while."""

    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=REASON_MAX,
        help_text=_("People whose jobs wait read it, with your name."),
    )


class NoForm(ServiceForm):
    """Nothing more has to be said."""
