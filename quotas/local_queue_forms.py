"""Forms of a lead about local queues; the rules are in `quotas.local_queues`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.forms import ServiceForm
from quotas.local_queues import NAME_MAX, REASON_MAX, WEIGHT_MAX


class LocalQueueForm(ServiceForm):
    """Name, limits, weight where the cluster goes by it, and cluster where the team has queues on several."""

    name = forms.CharField(label=_("Name"), required=False, max_length=NAME_MAX)
    weight = forms.IntegerField(
        label=_("Weight"),
        required=False,
        min_value=1,
        max_value=WEIGHT_MAX,
        initial=1,
        help_text=_("From 1 to 100. Of two queues that wait, the one that used less for its weight goes first."),
    )
    most_cards = forms.IntegerField(
        label=_("Most cards at once"),
        required=False,
        help_text=_("Of all node groups together; empty for no limit. What is above it waits until cards come free."),
    )
    most_cards_each = forms.IntegerField(
        label=_("Most cards of one person"), required=False, help_text=_("In this queue; empty for no limit.")
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
        """What was said of name, weight and limits, for the service."""
        found = {name: self.cleaned_data[name] for name in ("name", "most_cards", "most_cards_each")}
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
