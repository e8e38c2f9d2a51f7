"""The admin's console: cards that do nothing, and what held cards led to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from accounts.policy import Action
from accounts.web import actor_of_page
from common.htmx import render_page
from jobs.domain.waste import Account, Waste
from jobs.pages.admin import for_admins
from jobs.waste import TeamWaste, idle_now, waste_lately

CAUSES: dict[Waste, str | Promise] = {
    Waste.NOT_PLACED: _("not placed"),
    Waste.PULLING: _("pulling"),
    Waste.FAILED: _("failed"),
    Waste.PREEMPTED: _("preempted"),
    Waste.STOPPED: _("stopped by a person"),
}
PERIODS = {
    "24h": (_("24 h"), timedelta(hours=24)),
    "7d": (_("7 d"), timedelta(days=7)),
    "30d": (_("30 d"), timedelta(days=30)),
}
DEFAULT_PERIOD = "7d"


@dataclass(frozen=True, slots=True)
class Row:
    """A team, or all of them, in card-hours."""

    name: str
    held: float
    waste: float
    percent: int
    causes: tuple[float, ...]  # in the order of CAUSES
    open: float


def _row(name: str, account: Account) -> Row:
    return Row(
        name,
        _hours(account.held),
        _hours(account.waste),
        account.percent,
        tuple(_hours(account.wasted[cause]) for cause in CAUSES),
        _hours(account.open),
    )


def _hours(card_seconds: int) -> float:
    return round(card_seconds / 3600, 1)


@for_admins(Action.NODE_VIEW)
@require_safe
def idle(request: HttpRequest) -> HttpResponse:
    """Nodes that hold nothing, cards held and not running, teams by waste over a `period`."""
    viewer = actor_of_page(request)
    period = request.GET.get("period", DEFAULT_PERIOD)
    period = period if period in PERIODS else DEFAULT_PERIOD
    found = idle_now(viewer=viewer)
    ranking = waste_lately(viewer=viewer, length=PERIODS[period][1])
    context = {
        "nodes": found.nodes,
        "nodes_count": found.nodes_count,
        "held": found.held,
        "held_jobs": found.held_jobs,
        "held_cards": found.held_cards,
        "causes": CAUSES.values(),
        "teams": [_row(_name(each), each.account) for each in ranking.teams],
        "total": _row("", ranking.total),
        "periods": [(key, label) for key, (label, _length) in PERIODS.items()],
        "period": period,
    }
    return render_page(request, "jobs/idle.html", context)


def _name(each: TeamWaste) -> str:
    return each.team.name
