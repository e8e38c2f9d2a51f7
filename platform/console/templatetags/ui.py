"""Small words and signs that every page uses: icons, times, durations, amounts.

Templates say what is meant (`{% icon "clock" %}`, `{{ job.state_since|since }}`); how it looks is decided here
and in templates/components. Times are shown in the active time zone; scripts may move them to the reader's own.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import lru_cache

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext, pgettext

from common import phrases
from common.durations import duration_words

register = template.Library()


# --- icons --------------------------------------------------------------------


@lru_cache(maxsize=1)
def _sprite() -> str:
    return static("sluice/icons.svg")


@register.simple_tag
def icon(name: str, classes: str = "") -> SafeString:
    """An outline of the sprite as decoration: the word beside it, or the label of its button, says what it means."""
    return format_html(
        '<svg class="sl-icon{}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        f" {classes}" if classes else "",
        _sprite(),
        name,
    )


# --- durations and amounts --------------------------------------------------------


@register.filter
def duration(length: timedelta | float | None) -> str:
    return "" if length is None else duration_words(length)


@register.filter
def since(start: datetime | None, end: datetime | None = None) -> str:
    """How long ago ``start`` is past, seen from ``end`` or from now."""
    return "" if start is None else duration_words((end or timezone.now()) - start)


@register.filter
def amount(count: int, unit: str) -> str:
    """A number of cards, or of what a shared pool counts, in words: `8 cards`, `1 slice`."""
    if unit == "slice":
        return ngettext("%(count)d slice", "%(count)d slices", count) % {"count": count}
    return ngettext("%(count)d card", "%(count)d cards", count) % {"count": count}


@register.filter
def figures(row: object, names: str) -> list[int]:
    """Several figures of a row, by their names, for cells that look alike."""
    return [getattr(row, name) for name in names.split()]


# --- sentences side by side -------------------------------------------------------


@register.filter(is_safe=True)
def close_up(text: str) -> str:
    """For `{% filter close_up %}` around several sentences: no blanks between them where the language sets none."""
    return phrases.close_up(text)


# --- points in time ---------------------------------------------------------------


def _day_words(day: date) -> str:
    today = timezone.localdate()
    if day == today:
        return gettext("today")
    if day == today - timedelta(days=1):
        return gettext("yesterday")
    if day.year != today.year:
        return date_format(day, pgettext("date format", "j M Y"))
    return date_format(day, pgettext("date format", "j M"))


def moment_words(at: datetime, shape: str) -> str:
    """``at`` as a clock (08:52), a second (08:52:14), a day (today, 28 Nov) or a stamp (28 Nov, 08:52)."""
    local = timezone.localtime(at)
    match shape:
        case "clock":
            return date_format(local, "H:i")
        case "second":
            return date_format(local, "H:i:s")
        case "day":
            return _day_words(local.date())
        case "stamp" if local.date() == timezone.localdate():
            return date_format(local, "H:i")
        case "stamp":
            return date_format(local, pgettext("date format", "j M, H:i"))
    raise template.TemplateSyntaxError(f"moment knows clock, second, day and stamp, not {shape!r}.")


@register.simple_tag
def moment(at: datetime | None, shape: str = "stamp") -> str | SafeString:
    """A point in time, with its full form on hover. Nothing for None."""
    if at is None:
        return ""
    local = timezone.localtime(at)
    return format_html(
        '<time datetime="{}" title="{}" data-shape="{}">{}</time>',
        at.isoformat(timespec="seconds"),
        date_format(local, pgettext("date format", "j M Y, H:i:s T")),
        shape,
        moment_words(at, shape),
    )


@register.simple_tag
def ago(at: datetime) -> SafeString:
    """How long ago, counted on by scripts in the same words."""
    words = {"s": gettext("%(count)s s ago"), "min": gettext("%(count)s min ago"), "h": gettext("%(count)s h ago")}
    seconds = max(0, int((timezone.now() - at).total_seconds()))
    if seconds < 60:
        now = words["s"] % {"count": seconds}
    elif seconds < 7200:
        now = words["min"] % {"count": seconds // 60}
    else:
        now = words["h"] % {"count": seconds // 3600}
    return format_html(
        '<time datetime="{}" data-ago-s="{}" data-ago-min="{}" data-ago-h="{}">{}</time>',
        at.isoformat(timespec="seconds"),
        *(text % {"count": "{n}"} for text in words.values()),
        now,
    )
