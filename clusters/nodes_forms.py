"""Forms about nodes: the services check, a form carries what was typed and shows problems."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.forms import ServiceForm


class ReasonForm(ServiceForm):
    """Why something is done; others read it."""

    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        help_text=_("Shown with the node, and kept in the audit trail."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": 300}),
    )
