"""The water level is written down: a sample per group and minute, hours and days made of them, old parts dropped.

Everything may run twice: a minute is kept as it was first seen, hours and days are made anew from what is below them.
A minute in which nobody looked, or whose cluster did not answer, has no row. It is a gap, never a zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection, models

from clusters.domain.water import FIGURES
from clusters.models import Cluster
from clusters.waiting import Waiting
from clusters.water_models import WaterDay, WaterHour, WaterSample
from clusters.water_selectors import GroupLevel, group_levels
from common.partitions import month_after, month_of, months_drop, months_ensure

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SAMPLES, HOURS = WaterSample._meta.db_table, WaterHour._meta.db_table


# --------------------------------------------------------------------------- minutes


def water_sample(waiting: Waiting, now: datetime) -> int:
    """Write down the level of this minute for every group whose cluster answers; returns how many."""
    at = now.astimezone(UTC).replace(second=0, microsecond=0)
    months_ensure(SAMPLES, at)
    fresh = _answering(now)
    rows = [_sample(found, at) for found in group_levels(waiting) if found.group.cluster_id in fresh]
    WaterSample.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def water_put(samples: Sequence[WaterSample]) -> None:
    """Keep samples of the past, oldest first, with their hours and days. Minutes that are known stay as they are."""
    if not samples:
        return
    month = month_of(samples[0].at)
    while month <= samples[-1].at:
        months_ensure(SAMPLES, month, ahead=0)
        month = month_after(month)
    WaterSample.objects.bulk_create(samples, ignore_conflicts=True, batch_size=1_000)
    water_roll_up()


def _answering(now: datetime) -> set[int]:
    """Clusters whose last look is young enough to speak for this minute."""
    limit = timedelta(seconds=settings.SLUICE["STALE_AFTER_SECONDS"])
    return set(Cluster.objects.filter(synced_at__gte=now - limit).values_list("pk", flat=True))


def _sample(found: GroupLevel, at: datetime) -> WaterSample:
    return WaterSample(group=found.group, at=at, **{name: getattr(found.level, name) for name in FIGURES})


# --------------------------------------------------------------------------- hours and days

_NAMED = ", ".join(f"('{name}', {name})" for name in FIGURES)
_ROLL_UP = """
INSERT INTO {above} (group_id, at, figure, seconds, card_seconds, least, most)
SELECT group_id, date_bin(%(length)s::interval, at, 'epoch'::timestamptz) AS span, figure, {sums}
  FROM {below}
 WHERE at >= %(begin)s {known}
 GROUP BY group_id, span, figure
ON CONFLICT (group_id, at, figure) DO UPDATE
   SET seconds = excluded.seconds, card_seconds = excluded.card_seconds, least = excluded.least, most = excluded.most
"""
_HOURS = _ROLL_UP.format(
    above=HOURS,
    sums="60 * count(*), 60 * sum(cards), min(cards), max(cards)",
    below=f"{SAMPLES} CROSS JOIN LATERAL (VALUES {_NAMED}) AS f(figure, cards)",
    known="AND cards IS NOT NULL",
)
_DAYS = _ROLL_UP.format(
    above=WaterDay._meta.db_table,
    sums="sum(seconds), sum(card_seconds), min(least), max(most)",
    below=HOURS,
    known="",
)


def water_roll_up() -> None:
    """Make the hours and days that have begun since the last time, and the newest ones again."""
    begin, newest = _first_to_make(WaterSample, WaterHour), _newest(WaterSample)
    if begin is None or newest is None:
        return
    month = month_of(begin)
    while month <= newest:
        months_ensure(HOURS, month, ahead=0)
        month = month_after(month)
    _execute(_HOURS, HOUR, begin)
    first_day = _first_to_make(WaterHour, WaterDay)
    if first_day is not None:
        _execute(_DAYS, DAY, first_day)


def _first_to_make(below: type[models.Model], above: type[models.Model]) -> datetime | None:
    """The newest span that is there, else the oldest row to make one of."""
    return _newest(above) or below._default_manager.order_by("at").values_list("at", flat=True).first()


def _newest(model: type[models.Model]) -> datetime | None:
    return model._default_manager.order_by("-at").values_list("at", flat=True).first()


def _execute(statement: str, length: timedelta, begin: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"length": f"{length.total_seconds()} s", "begin": begin})


# --------------------------------------------------------------------------- what is kept


def water_keep(now: datetime) -> list[str]:
    """Drop the months whose rows are all older than they are kept, and make the parts for the next months."""
    minutes_from = now - timedelta(days=settings.SLUICE["WATER_MINUTES_DAYS"])
    hours_from = month_of(now)
    for _ in range(settings.SLUICE["WATER_HOURS_MONTHS"]):
        hours_from = month_of(hours_from - DAY)
    months_ensure(SAMPLES, now, ahead=2)
    months_ensure(HOURS, now, ahead=2)
    return months_drop(SAMPLES, minutes_from) + months_drop(HOURS, hours_from)
