"""The admin's console: the water level of a cluster, now and over time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from accounts.policy import Action
from accounts.web import actor_of_page
from clusters.domain.accelerators import catalogue
from clusters.domain.water import Level
from clusters.waiting import waiting
from clusters.water_selectors import ClusterLevel, GroupLevel, is_shared, water_history, water_now
from common.htmx import render_page, wants_partial
from jobs.charts.water import PARTS, SIGNS, WaterChart, level_bars, parts_of, water_chart
from jobs.pages.admin import for_admins


@dataclass(frozen=True, slots=True)
class Period:
    """How far back the chart goes, and the seconds of one of its spans."""

    key: str
    label: str | Promise
    words: str | Promise
    length: timedelta
    step: int


PERIODS = (
    Period("24h", _("24 h"), _("the last 24 hours"), timedelta(hours=24), 600),
    Period("7d", _("7 d"), _("the last 7 days"), timedelta(days=7), 3_600),
    Period("30d", _("30 d"), _("the last 30 days"), timedelta(days=30), 10_800),
)


@for_admins(Action.NODE_VIEW)
@require_safe
def water(request: HttpRequest) -> HttpResponse:
    """One cluster: `cluster` and `group` choose what is drawn, `period` how far back. Only what is now is polled."""
    found = water_now(viewer=actor_of_page(request), waiting=waiting())
    shown = next((each for each in found if each.cluster.slug == request.GET.get("cluster")), next(iter(found), None))
    period = next((each for each in PERIODS if each.key == request.GET.get("period")), PERIODS[0])
    group = _chosen(shown, request.GET.get("group"))
    level = group.level if group else (shown.cards if shown else None)
    bars = level_bars(shown.groups) if shown else []
    context: dict[str, Any] = {
        "clusters": [each.cluster for each in found],
        "shown": shown,
        "makes": _makes(shown) if shown else "",
        "bars": bars,
        "busy_is_known": any(bar.row.level.busy is not None for bar in bars),
        "group": group,
        "level": level,
        "labels": PARTS.values(),
        "periods": PERIODS,
        "period": period,
        "in_pieces": [bar for bar in bars if bar.row.level.unusable],
    }
    if shown and level and not wants_partial(request):
        chart = _chart(request, shown, group, period)
        context |= {"chart": chart, "chart_json": json.dumps(chart.data, separators=(",", ":"))}
        context["legend"] = _legend(level, chart)
    return render_page(request, "jobs/water.html", context, partial="live")


def _makes(shown: ClusterLevel) -> str:
    """What the sum of whole cards is of, where that is more than one vendor's."""
    titles, found = catalogue().vendors, shown.by_vendor
    return " + ".join(f"{titles.get(name, name)} {cards}" for name, cards in found.items()) if len(found) > 1 else ""


def _chosen(shown: ClusterLevel | None, slug: str | None) -> GroupLevel | None:
    """The group that was asked for; None stands for all whole cards. A cluster without any shows its first group."""
    if shown is None:
        return None
    asked = next((row for row in shown.groups if row.group.slug == slug), None)
    return asked or (None if shown.cards else next(iter(shown.groups), None))


def _chart(request: HttpRequest, shown: ClusterLevel, group: GroupLevel | None, period: Period) -> WaterChart:
    now = timezone.now()
    start = now - period.length
    histories = water_history(
        viewer=actor_of_page(request), cluster=shown.cluster, start=start, end=now, step=period.step
    )
    drawn = [
        history
        for history in histories
        if (history.group.pk == group.group.pk if group else not is_shared(history.group))
    ]
    return water_chart(drawn, start, now, period.step)


def _legend(level: Level, chart: WaterChart) -> list[dict[str, object]]:
    """From the top of the chart to its bottom: sign, word, cards now, cards on average."""
    now = parts_of(level)
    return [
        {"sign": SIGNS[name], "label": label, "now": now[name], "mean": chart.means.get(name)}
        for name, label in reversed(PARTS.items())
    ]
