"""The form of one node group: what it is called, where it stands, and which labels a node of it carries."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.forms import ServiceForm
from clusters.group_checks import INTERCONNECT_MAX, POSITION_MAX, TITLE_MAX
from clusters.group_selectors import CONFIRMED, GroupRow
from clusters.models import NodeGroup


class GroupForm(ServiceForm):
    """``version`` is the one that was read, so that nobody saves over another's head."""

    version = forms.IntegerField(widget=forms.HiddenInput, required=False)
    title = forms.CharField(
        label=_("Name"), required=False, help_text=_("What people choose from when they submit a job."), strip=False
    )
    interconnect = forms.CharField(
        label=_("Between the cards of a node"), required=False, help_text=_("Such as NVLink or PCIe."), strip=False
    )
    position = forms.IntegerField(
        label=_("Place in lists"), required=False, help_text=_("0 comes first."), max_value=POSITION_MAX, min_value=0
    )
    labels = forms.CharField(
        label=_("Labels that make a node a member"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=_("One in a line, as label=value. A node has to carry all of them."),
        max_length=4_000,
    )

    def __init__(self, data: object = None, *, row: GroupRow, has_labels: bool, **options: object) -> None:
        super().__init__(data, initial=_initial(row), **options)  # type: ignore[arg-type]
        self.fields["title"].widget.attrs["maxlength"] = TITLE_MAX
        self.fields["interconnect"].widget.attrs["maxlength"] = INTERCONNECT_MAX
        if row.state != CONFIRMED:
            del self.fields["position"]
        if not has_labels:
            del self.fields["labels"]

    def said(self) -> dict[str, Any]:
        """As the service takes it. A line without a sign of equality is a label without a value."""
        typed = self.cleaned_data
        data = {name: typed[name] for name in ("title", "interconnect")}
        if typed.get("position") is not None:
            data["position"] = typed["position"]
        if "labels" in typed:
            data["selector"] = dict(typed["labels"])
        return data

    def clean_labels(self) -> list[tuple[str, str]]:
        lines = (line.strip() for line in self.cleaned_data["labels"].splitlines())
        pairs = [(key.strip(), value.strip()) for key, _sign, value in (line.partition("=") for line in lines if line)]
        keys = [key for key, _value in pairs]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise forms.ValidationError(_("The label %(label)s stands here twice."), params={"label": twice})
        return pairs

    @property
    def expected_version(self) -> int:
        """Of no sent version it is one that nothing has."""
        version = self.cleaned_data.get("version")
        return -1 if version is None else version


def _initial(row: GroupRow) -> dict[str, Any]:
    group = row.row
    return {
        "version": group.version,
        "title": group.title,
        "interconnect": group.interconnect,
        "position": group.position if isinstance(group, NodeGroup) else 0,
        "labels": "\n".join(f"{key}={value}" for key, value in row.labels),
    }
