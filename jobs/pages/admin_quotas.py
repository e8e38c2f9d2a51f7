"""The admin's console: shares in percent, quotas in cards, and what they are used for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.policy import Action
from clusters.contract import BackendError
from clusters.models import Cluster
from jobs.pages.admin import for_admins
from quotas.charts import ShareBar, share_bars
from quotas.domain.shares import percent_text
from quotas.plans.history import waiting_groups
from quotas.selectors import GroupRows, QuotaRow, quota_groups
from quotas.selectors.sheets import quota_sheets, sheet_of
from quotas.services import quotas_bring


@dataclass(frozen=True, slots=True)
class GroupSection:
    """One node group on the page, with a bar beside each row."""

    found: GroupRows
    bars: list[ShareBar]
    local_rows: list[QuotaRow]
    pool_percent: str


@for_admins(Action.SHARES_MANAGE)
@require_safe
def quotas(request: HttpRequest) -> HttpResponse:
    """Groups with their teams, a sheet at a time, and what waits for an admin's word."""
    sheets, starts = quota_sheets()
    number = sheet_of(sheets, request.GET.get("page"))
    sheet = sheets[number - 1]
    context = {
        "sections": [_section(found) for found in quota_groups(level="local", groups=sheet.groups, teams=sheet.teams)],
        "waiting": waiting_groups(),
        "starts": starts if len(sheets) > 1 else [],
        "number": number,
        "sheets": len(sheets),
        "newer": f"page={number - 1}" if number > 1 else None,
        "older": f"page={number + 1}" if number < len(sheets) else None,
    }
    return render(request, "jobs/quotas.html", context)


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


def _section(found: GroupRows) -> GroupSection:
    return GroupSection(
        found=found,
        bars=share_bars(_team_rows(found)),
        local_rows=[row for row in found.rows if row.level == "local"],
        pool_percent=percent_text(found.pool_basis_points),
    )
