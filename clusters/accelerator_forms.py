"""The form that says what an accelerator is."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.forms import ServiceForm
from clusters.accelerator_names import MODEL_MAX, VENDOR_MAX, AcceleratorView
from clusters.contract import SharingMode
from clusters.labels import SHARING


class AcceleratorForm(ServiceForm):
    """One for each resource of the page; ``resource`` says which was sent."""

    resource = forms.CharField(widget=forms.HiddenInput)
    vendor = forms.CharField(
        label=_("Vendor"),
        required=False,
        max_length=VENDOR_MAX,
        help_text=_("A word in small letters, such as nvidia or ascend."),
    )
    card_model = forms.CharField(
        label=_("Model"), required=False, max_length=MODEL_MAX, help_text=_("As people call the card.")
    )
    sharing = forms.ChoiceField(
        label=_("What one of them is"), choices=[(mode.value, SHARING[mode]) for mode in SharingMode], required=False
    )
    is_other = forms.BooleanField(label=_("This is no card: do not count it"), required=False)

    def said(self) -> dict[str, Any]:
        """As the service takes it."""
        typed = self.cleaned_data
        names = ("vendor", "card_model", "sharing")
        return {"is_card": not typed["is_other"], **{name: typed[name] for name in names}}


def form_of(view: AcceleratorView, number: int) -> AcceleratorForm:
    """The form of one resource as it stands; ``number`` keeps the fields of a page apart."""
    named = view.named
    initial = {"resource": view.resource, "vendor": view.resource.partition("/")[0].split(".")[0]}
    if named is not None:
        initial |= {"vendor": named.vendor, "card_model": named.card_model, "sharing": named.sharing}
        return AcceleratorForm(initial={**initial, "is_other": not named.is_card}, auto_id=f"id_{number}_%s")
    return AcceleratorForm(initial=initial, auto_id=f"id_{number}_%s")
