"""The part of the form of a new job about what the team has: where the code comes from, and data sets.

What a place does not offer is greyed, with the reason; the rules are in the service.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters.contract import CodeKind
from clusters.supplies import offers
from common.errors import FieldProblem, InvalidInput

CODE_ATTRS = {
    "code": "code_address",
    "code.kind": "code_address",
    "code.address": "code_address",
    "code.revision": "code_revision",
    "code.archive": "code_file",
    "archive": "code_file",
}
"""The service's names of fields → the form's."""


class SupplyFields(forms.Form):
    """To be mixed into a form whose team is known only after it was sent."""

    code_address = forms.CharField(
        label=gettext_lazy("Code from a git address"),
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "inputmode": "url"}),
        help_text=gettext_lazy("A public https address. Left empty, the image brings the code."),
    )
    code_revision = forms.CharField(
        label=gettext_lazy("Branch, tag or commit"),
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy("Left empty, the newest of the main branch."),
    )
    code_file = forms.FileField(
        label=gettext_lazy("Code from an archive"),
        required=False,
        allow_empty_file=True,
        help_text=gettext_lazy("A zip or tar file of at most 100 MB. The job starts in its folder."),
    )
    code_archive = forms.CharField(required=False, widget=forms.HiddenInput)
    datasets = forms.MultipleChoiceField(
        label=gettext_lazy("Data sets"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Each is a read-only folder below /sluice/datasets."),
    )

    def offer_supplies(self, team_ids: Collection[int]) -> None:
        """Show what the teams have."""
        offered = offers(team_ids)
        if offered.no_git is not None:
            for name in ("code_address", "code_revision"):
                self.fields[name].disabled = True
            self.fields["code_address"].help_text = str(offered.no_git)
        if offered.no_archives is not None:
            self.fields["code_file"].disabled = True
            self.fields["code_file"].help_text = str(offered.no_archives)
        if offered.datasets:
            names = [*offered.datasets, *(name for name in self._sent_datasets() if name not in offered.datasets)]
            self.fields["datasets"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]
        else:
            del self.fields["datasets"]

    def _sent_datasets(self) -> list[str]:
        """Names that are not offered reach the service all the same, which says so."""
        return list(self.data.getlist("datasets")) if hasattr(self.data, "getlist") else []

    def keep_upload(self, archive_id: str, name: str) -> None:
        """The file is stored: the form goes on with its id, also when it comes back with problems."""
        self.put("code_archive", archive_id)
        self.cleaned_data["code_archive"] = archive_id
        sentence = _("%(name)s is uploaded. Choose another file to replace it.")
        self["code_file"].help_text = sentence % {"name": name}

    def put(self, name: str, value: str) -> None:
        """Change what was sent, for a form that comes back."""
        data: Any = self.data
        data = data.copy()
        data[name] = value
        self.data = data

    def supply_data(self) -> dict[str, Any]:
        """`code` and `datasets` for the service. Raises InvalidInput for code from two places."""
        typed = self.cleaned_data
        address, archive = typed["code_address"], typed["code_archive"]
        if address and archive:
            message = _("Take the code from a git address or from an archive, not from both.")
            raise InvalidInput([FieldProblem("code.address", "two_places", message)])
        code: dict[str, str] = {}
        if address or typed["code_revision"]:
            code = {"kind": CodeKind.GIT.value, "address": address, "revision": typed["code_revision"]}
        elif archive:
            code = {"kind": CodeKind.ARCHIVE.value, "archive": archive}
        found = {"code": code, "datasets": typed.get("datasets", [])}
        return {name: value for name, value in found.items() if value}


def supplies_like(code: dict[str, str], datasets: list[str]) -> dict[str, Any]:
    """What a copy of a job begins with."""
    return {
        "code_address": code.get("address", ""),
        "code_revision": code.get("revision", ""),
        "code_archive": code.get("archive", ""),
        "datasets": datasets,
    }
