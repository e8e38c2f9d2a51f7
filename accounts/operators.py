"""Breaking the glass: what an operator may do from Django's own admin. Each act is a service's, and needs a reason.

A remedy has a page of its own for one row: it says what will happen, asks why, and on POST does it. The reason stands
in the one audit row of the act.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.actors import Actor, actor_of
from accounts.models import User
from common.admin import ReadOnlyAdmin
from common.errors import DomainError

BECAUSE_MAX = 300


@dataclass(frozen=True, slots=True)
class Remedy:
    """One act on one row. ``act`` calls the service; ``effect`` says what will happen, before it does."""

    name: str
    label: Promise
    effect: Promise
    act: Callable[[Actor, Any], object]


class BecauseForm(forms.Form):
    because = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=BECAUSE_MAX,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("It stands in the audit trail, beside your name."),
    )


class OperatorAdmin(ReadOnlyAdmin):
    """A window with remedies. Rows are named in addresses by ``reference``, a unique field that is no secret."""

    remedies: ClassVar[tuple[Remedy, ...]] = ()
    reference = "pk"

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return [*super().get_list_display(request), "break_glass"]

    @property
    def _base(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}"

    def break_glass(self, row: Any) -> SafeString:
        """Links to the remedies of a row, for the list."""
        return format_html_join(
            " · ",
            '<a href="{}">{}</a>',
            ((self.address_of(remedy, row), remedy.label) for remedy in self.remedies),
        )

    break_glass.short_description = gettext_lazy("Break the glass")  # type: ignore[attr-defined]

    def address_of(self, remedy: Remedy, row: Any) -> str:
        return reverse(f"admin:{self._base}_remedy", args=[getattr(row, self.reference), remedy.name])

    def get_urls(self) -> list[URLPattern]:
        page = self.admin_site.admin_view(self.remedy_page)
        own = path("<str:reference>/remedy/<slug:name>/", page, name=f"{self._base}_remedy")
        return [own, *super().get_urls()]

    def remedy_page(self, request: HttpRequest, reference: str, name: str) -> HttpResponse:
        """The question and, on POST with a reason, the act."""
        remedy = next((remedy for remedy in self.remedies if remedy.name == name), None)
        row = self._row(reference)
        if remedy is None or row is None:
            raise Http404
        form = BecauseForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            assert isinstance(request.user, User)  # the site lets nobody else in
            actor = replace(actor_of(request.user), because=form.cleaned_data["because"])
            try:
                remedy.act(actor, row)
            except DomainError as error:
                form.add_error(None, str(error.message))
            else:
                messages.success(request, _("Done. It stands in the audit trail with your reason."))
                return redirect(f"admin:{self._base}_changelist")
        context = {
            **self.admin_site.each_context(request),
            "title": format_html("{}: {}", remedy.label, row),
            "remedy": remedy,
            "row": row,
            "form": form,
            "opts": self.opts,
            "back": reverse(f"admin:{self._base}_changelist"),
        }
        return render(request, "admin/break_glass.html", context, status=422 if form.errors else 200)

    def _row(self, reference: str) -> Any:
        try:
            return self.model._default_manager.filter(**{self.reference: reference}).first()
        except ValueError:
            return None
