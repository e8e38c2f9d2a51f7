"""The water level as bars of one moment and as a chart over time. Geometry, numbers and words; no markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters.domain.water import Level
from clusters.water_selectors import Figure, GroupHistory, GroupLevel
from common.phrases import listed

PARTS: dict[str, str | Promise] = {
    "used": gettext_lazy("used"),
    "reserved": gettext_lazy("reserved"),
    "other": gettext_lazy("releasing or outside"),
    "unusable": gettext_lazy("free, of no use"),
    "free": gettext_lazy("free, of use"),
    "down": gettext_lazy("out of service"),
}
"""Every card once, from the bottom of the chart to its top."""
SIGNS = {"used": "used", "reserved": "reserved", "other": "track", "unusable": "nodata", "free": "free", "down": "sick"}
"""Which fill stands for a part, in bars and legends."""

BLOCKS_TOLD = 8


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a level: cards of one kind, and where they lie in the bar in percent of its width."""

    name: str
    sign: str
    label: str | Promise
    cards: int
    x: str = ""
    width: str = ""


@dataclass(frozen=True, slots=True)
class LevelBar:
    """A group with its bar; all bars are as wide as their own capacity. ``label`` says the bar in words."""

    row: GroupLevel
    parts: tuple[Part, ...]
    label: str

    @property
    def blocks_text(self) -> str:
        """The largest free blocks, most cards first."""
        sizes = [str(size) for size in self.row.free_blocks[:BLOCKS_TOLD]]
        return listed(sizes if len(sizes) == len(self.row.free_blocks) else [*sizes, "…"])


def level_bars(rows: Sequence[GroupLevel]) -> list[LevelBar]:
    return [_bar(row) for row in rows]


def _bar(row: GroupLevel) -> LevelBar:
    cards, drawn = 0, []
    for name, count in parts_of(row.level).items():
        if count:
            x, width = _percent(cards, row.level.capacity), _percent(count, row.level.capacity)
            drawn.append(Part(name, SIGNS[name], PARTS[name], count, x, width))
            cards += count
    label = _(
        "%(group)s: of %(capacity)d, used %(used)d, reserved %(reserved)d, releasing or outside %(other)d,"
        " free %(free)d and %(unusable)d more of no use to what waits, out of service %(down)d"
    )
    return LevelBar(
        row=row,
        parts=tuple(drawn),
        label=label % {"group": row.group.title, "capacity": row.level.capacity, **parts_of(row.level)},
    )


def parts_of(level: Level) -> dict[str, int]:
    """The parts of a level; together they are its capacity."""
    return {
        "used": level.used,
        "reserved": level.reserved,
        "other": level.releasing + level.outside,
        "unusable": level.unusable,
        "free": level.usable,
        "down": level.down,
    }


# --------------------------------------------------------------------------- over time


@dataclass(frozen=True, slots=True)
class Moment:
    """One span of the chart: cards on average by part, and the capacity."""

    at: datetime
    capacity: Fraction
    parts: Mapping[str, Fraction]

    @property
    def shown(self) -> list[str]:
        """For the table: capacity, then the parts."""
        return [number_text(self.capacity), *(number_text(self.parts[name]) for name in PARTS)]


@dataclass(frozen=True, slots=True)
class WaterChart:
    """A chart and the table behind it, newest span last. ``data`` is all that the script needs."""

    moments: tuple[Moment, ...]
    means: Mapping[str, str]
    data: Mapping[str, Any]


def water_chart(histories: Sequence[GroupHistory], start: datetime, end: datetime, step: int) -> WaterChart:
    """The sum of some groups of the same unit between two times, in spans of ``step`` seconds."""
    first = start.astimezone(UTC).timestamp() // step * step
    count = int((end.timestamp() - first) // step) + 1
    spans = [datetime.fromtimestamp(first, UTC) + number * timedelta(seconds=step) for number in range(count)]
    moments = [_moment(histories, at) for at in spans]
    known = [moment for moment in moments if moment is not None]
    return WaterChart(tuple(known), _means(histories), _data(spans, moments, step))


def _moment(histories: Sequence[GroupHistory], at: datetime) -> Moment | None:
    points = [history.points[at] for history in histories if at in history.points]
    if not points:
        return None
    figures = {name: sum((p[name].mean for p in points), Fraction(0)) for name in points[0] if name != "busy"}
    return Moment(at, figures["capacity"], _parts_of_means(figures))


def _parts_of_means(figures: Mapping[str, Fraction]) -> dict[str, Fraction]:
    return {
        "used": figures["used"],
        "reserved": figures["reserved"],
        "other": figures["releasing"] + figures["outside"],
        "unusable": figures["unusable"],
        "free": figures["free"] - figures["unusable"],
        "down": figures["capacity"] - figures["healthy"],
    }


def _means(histories: Sequence[GroupHistory]) -> dict[str, str]:
    """Cards on average over the whole time that is known, by part and for the capacity; empty where nothing is."""
    sums: dict[str, Fraction] = {}
    for history in histories:
        for name in {name for point in history.points.values() for name in point}:
            rows = [point[name] for point in history.points.values() if name in point]
            sums[name] = sums.get(name, Fraction(0)) + _joined(rows).mean
    if not sums:
        return {}
    means = {**_parts_of_means(sums), "capacity": sums["capacity"]}
    return {name: number_text(value) for name, value in means.items()}


def _joined(rows: Sequence[Figure]) -> Figure:
    return Figure(
        seconds=sum(row.seconds for row in rows),
        card_seconds=sum(row.card_seconds for row in rows),
        least=min(row.least for row in rows),
        most=max(row.most for row in rows),
    )


def _data(spans: Sequence[datetime], moments: Sequence[Moment | None], step: int) -> dict[str, Any]:
    """Numbers with one decimal at most; null where nobody looked, which is a gap and no zero."""

    def numbers(values: Sequence[Fraction | None]) -> list[float | int | None]:
        return [None if value is None else _short(value) for value in values]

    return {
        "start": int(spans[0].timestamp()),
        "step": step,
        "at": [f"{timezone.localtime(at):%Y-%m-%dT%H:%M}" for at in spans],
        "capacity": numbers([moment.capacity if moment else None for moment in moments]),
        "series": [
            {
                "name": name,
                "label": str(label),
                "cards": numbers([moment.parts[name] if moment else None for moment in moments]),
            }
            for name, label in PARTS.items()
        ],
        "capacityLabel": _("capacity"),
    }


def _short(value: Fraction) -> float | int:
    rounded = round(value, 1)
    return int(rounded) if rounded.denominator == 1 else float(rounded)


def number_text(value: Fraction) -> str:
    """Cards on average, with one decimal unless they are whole."""
    return f"{_short(value):,}"


def _percent(cards: int, of: int) -> str:
    """SVG wants a plain point and no more digits than a screen can show."""
    return f"{100 * cards / of:.2f}".rstrip("0").rstrip(".")
