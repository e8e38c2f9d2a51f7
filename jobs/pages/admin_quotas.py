"""The admin's console: shares in percent, quotas in cards, and what they are used for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.contract import BackendError
from clusters.models import Cluster
from common.errors import DomainError, NotFound
from jobs.pages.admin import for_admins
from quotas.charts import ShareBar, share_bars
from quotas.domain.shares import percent_text
from quotas.forms import SharesForm
from quotas.selectors import GroupRows, QuotaRow, quota_groups
from quotas.selectors.choices import queue_ids
from quotas.services import quotas_bring, shares_set


@dataclass(frozen=True, slots=True)
class GroupSection:
    """One node group on the page: its form, and a bar beside each row."""

    found: GroupRows
    form: SharesForm
    bars: list[ShareBar]
    local_rows: list[QuotaRow]
    pool_percent: str

    @property
    def lines(self) -> list[tuple[QuotaRow, object, ShareBar]]:
        return [(row, field, bar) for (row, field), bar in zip(self.form.lines(), self.bars, strict=True)]


@for_admins(Action.SHARES_MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def quotas(request: HttpRequest) -> HttpResponse:
    """All groups with their teams; the form of one group changes its percents."""
    groups = quota_groups(level="local")
    ids = queue_ids()
    forms = {found.group.pk: _form(found, ids) for found in groups}
    status = 200
    if request.method == "POST":
        target = next((found for found in groups if str(found.group.pk) == request.POST.get("group")), None)
        if target is None:
            raise NotFound("not_found", _("There is no node group of this name."))
        form = forms[target.group.pk] = _form(target, ids, request)
        if form.is_valid() and _saved(request, target, form):
            return redirect("admin_console:quotas")
        status = 422
    sections = [_section(found, forms[found.group.pk]) for found in groups]
    return render(request, "jobs/quotas.html", {"sections": sections}, status=status)


def _saved(request: HttpRequest, target: GroupRows, form: SharesForm) -> bool:
    """Store the shares, then bring the quotas to the cluster; False with the problems in the form."""
    try:
        shares_set(actor=actor_of_page(request), group=target.group, basis_points=form.basis_points())
    except DomainError as error:
        form.add_problems(error)
        return False
    apply_quotas(request, [target.group.cluster])
    messages.success(request, _("The shares of %(group)s are saved.") % {"group": target.group.title})
    return True


def apply_quotas(request: HttpRequest, clusters: Sequence[Cluster]) -> None:
    """Bring the stored quotas to the clusters; one that does not answer is named, and nothing stored is lost."""
    for cluster in clusters:
        try:
            quotas_bring(cluster)
        except BackendError:
            sentence = _("%(cluster)s does not answer now. The quotas are stored; save again when it is back.")
            messages.warning(request, sentence % {"cluster": cluster.name})


def _team_rows(found: GroupRows) -> list[QuotaRow]:
    return [row for row in found.rows if row.level == "team"]


def _form(found: GroupRows, ids: dict[tuple[str, str], int], request: HttpRequest | None = None) -> SharesForm:
    rows = [(ids[row.cluster, row.queue], row) for row in _team_rows(found)]
    return SharesForm(request.POST if request else None, group_id=found.group.pk, rows=rows)


def _section(found: GroupRows, form: SharesForm) -> GroupSection:
    return GroupSection(
        found=found,
        form=form,
        bars=share_bars(_team_rows(found)),
        local_rows=[row for row in found.rows if row.level == "local"],
        pool_percent=percent_text(found.pool_basis_points),
    )
