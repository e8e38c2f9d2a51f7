"""The percent form of one node group: what was typed, exact in basis points, never a float."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from accounts.forms import ServiceForm
from quotas.domain.shares import WHOLE, percent_text
from quotas.selectors import QuotaRow

_PERCENT = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,2})?")


class PercentField(forms.Field):
    """A percent with at most two decimals, as whole basis points."""

    widget = forms.TextInput(attrs={"inputmode": "decimal", "size": 6, "autocomplete": "off"})

    def to_python(self, value: Any) -> int:
        text = str(value or "").strip().rstrip("%").strip()
        if not _PERCENT.fullmatch(text):
            raise ValidationError(_("Write a percent from 0 to 100, such as 40 or 12.5."))
        points = int(Decimal(text) * 100)
        if points > WHOLE:
            raise ValidationError(_("A share is at most 100 %."))
        return points

    def validate(self, value: Any) -> None:
        """Nothing more to ask: an empty field was refused above."""


class SharesForm(ServiceForm):
    """One field for each team queue of a node group; the rest of 100 % is the common pool."""

    def __init__(self, data: Any = None, *, group_id: int, rows: Sequence[tuple[int, QuotaRow]]) -> None:
        """``rows`` are the group's team rows with the ids of their queues."""
        super().__init__(data, auto_id=f"id_{group_id}_%s")
        self.rows = rows
        for queue_id, row in rows:
            label = _("Percent for %(team)s") % {"team": row.team}
            self.fields[f"queue_{queue_id}"] = PercentField(label=label, initial=percent_text(row.basis_points))

    def lines(self) -> list[tuple[QuotaRow, forms.BoundField]]:
        """Each row with its field."""
        return [(row, self[f"queue_{queue_id}"]) for queue_id, row in self.rows]

    def basis_points(self) -> dict[int, int]:
        return {queue_id: self.cleaned_data[f"queue_{queue_id}"] for queue_id, _row in self.rows}
