"""Attempts on a common clock: one row per attempt, its runs as spans. Geometry in percent of the picture's width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from common.durations import duration_words
from common.phrases import listed
from jobs.models import Attempt, Run
from jobs.selectors import runs_of

SHORTEST = timedelta(minutes=1)
"""The clock shows at least this much, so that a job of a second is not blown up to a full line."""
TICKS_MOST = 5
WIDE_ENOUGH_FOR_TEXT = 12.0
THINNEST = 0.4
"""Percent; a span of a moment stays visible."""

_STEPS = (
    *(timedelta(seconds=s) for s in (10, 15, 30)),
    *(timedelta(minutes=m) for m in (1, 2, 5, 10, 15, 30)),
    *(timedelta(hours=h) for h in (1, 2, 3, 6, 12)),
    *(timedelta(days=d) for d in (1, 2, 7, 30, 90, 365)),
)


@dataclass(frozen=True, slots=True)
class Span:
    """One part of a run: queued, creating or running. ``text`` stands in it where it fits."""

    kind: str
    x: str
    width: str
    text: str


@dataclass(frozen=True, slots=True)
class Tick:
    x: str
    text: str
    anchor: str
    at: str  # ISO 8601, for a browser that shows its own zone
    shape: str


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt; ``cuts`` are the places where a run was ended before its time, ``label`` says it all in words."""

    title: str
    note: str
    label: str
    spans: tuple[Span, ...]
    cuts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttemptsChart:
    rows: tuple[AttemptRow, ...]
    ticks: tuple[Tick, ...]
    now: str | None  # None once everything has ended


def attempts_chart(attempts: Sequence[Attempt], endings: Mapping[int, str], now: datetime) -> AttemptsChart | None:
    """The chart of a job's attempts with their runs prefetched; None before the first run is known.

    ``endings`` says by attempt number how it ended, in the reader's words.
    """
    runs = [run for attempt in attempts for run in runs_of(attempt)]
    if not runs:
        return None
    live = any(run.ended_at is None for run in runs)
    start = min(run.queued_at for run in runs)
    end = max([start + SHORTEST, *(run.ended_at or now for run in runs)])
    clock = _Clock(start, end)
    return AttemptsChart(
        rows=tuple(_row(attempt, endings.get(attempt.number, ""), clock, now) for attempt in attempts),
        ticks=clock.ticks(),
        now=clock.at(now) if live else None,
    )


@dataclass(frozen=True, slots=True)
class _Clock:
    start: datetime
    end: datetime

    def share(self, at: datetime) -> float:
        return 100 * (min(max(at, self.start), self.end) - self.start) / (self.end - self.start)

    def at(self, at: datetime) -> str:
        return _percent(self.share(at))

    def ticks(self) -> tuple[Tick, ...]:
        """At most five, on full steps of the reader's clock."""
        length = self.end - self.start
        step = next((step for step in _STEPS if length / step <= TICKS_MOST), _STEPS[-1])
        local = timezone.localtime(self.start)
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
        at = midnight + (int((local - midnight) / step) + 1) * step
        ticks = []
        while at <= self.end:
            share = self.share(at)
            anchor = "start" if share < 5 else "end" if share > 95 else "middle"
            ticks.append(Tick(_percent(share), _tick_text(at, step), anchor, at.isoformat(), _tick_shape(step)))
            at += step
        return tuple(ticks)


def _tick_shape(step: timedelta) -> str:
    """How much of the moment a tick shows; the browser writes the same shape in its own zone."""
    if step >= timedelta(days=1):
        return "date"
    return "second" if step < timedelta(minutes=1) else "clock"


def _tick_text(at: datetime, step: timedelta) -> str:
    shapes = {"date": pgettext("date format", "j M"), "second": "H:i:s", "clock": "H:i"}
    return date_format(at, shapes[_tick_shape(step)])


def _row(attempt: Attempt, ending: str, clock: _Clock, now: datetime) -> AttemptRow:
    runs = runs_of(attempt)
    spans = [span for run in runs for span in _spans(run, clock, now)]
    title = _("Attempt %(number)d") % {"number": attempt.number}
    words = [part for run in runs for part in _words(run, now)]
    if ending:
        words.append(ending)
    label = _("%(title)s: %(parts)s") % {"title": title, "parts": listed(words)}
    cuts = tuple(clock.at(run.ended_at) for run in runs if run.ended_at and run.end_cause != "succeeded")
    return AttemptRow(title, ending or _runs(len(runs)), label, tuple(spans), cuts)


def _parts(run: Run, now: datetime) -> list[tuple[str, datetime, datetime]]:
    """(kind, from, to) of what is known of a run."""
    end = run.ended_at or now
    admitted, started = run.admitted_at, run.started_at
    parts = [("queued", run.queued_at, min(admitted or end, end))]
    if admitted is not None:
        parts.append(("creating", admitted, min(started or end, end)))
    if started is not None:
        parts.append(("running", started, end))
    return [(kind, at, until) for kind, at, until in parts if until > at]


def _spans(run: Run, clock: _Clock, now: datetime) -> list[Span]:
    spans = []
    for kind, at, until in _parts(run, now):
        width = max(THINNEST, clock.share(until) - clock.share(at))
        text = duration_words(until - at) if kind == "running" and width >= WIDE_ENOUGH_FOR_TEXT else ""
        spans.append(Span(kind, clock.at(at), _percent(width), text))
    return spans


def _words(run: Run, now: datetime) -> list[str]:
    sentences = {"queued": _("queued %(time)s"), "creating": _("creating %(time)s"), "running": _("ran %(time)s")}
    return [sentences[kind] % {"time": duration_words(until - at)} for kind, at, until in _parts(run, now)]


def _runs(count: int) -> str:
    return ngettext("%(count)d run", "%(count)d runs", count) % {"count": count}


def _percent(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
