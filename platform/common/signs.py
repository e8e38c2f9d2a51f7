"""Icons and points in time as HTML, for templates and for rows that are built in Python.

Times are shown in the active time zone; scripts may move them to the reader's own.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import lru_cache

from django.templatetags.static import static
from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, pgettext_lazy


@lru_cache(maxsize=256)
def icon(name: str, classes: str = "") -> SafeString:
    """An outline of the sprite as decoration: the word beside it, or the label of its button, says what it means."""
    return format_html(
        '<svg class="sl-icon{}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        f" {classes}" if classes else "",
        static("sluice/icons.svg"),
        name,
    )


_FORMS = {
    "day": pgettext_lazy("date format", "j M"),
    "year": pgettext_lazy("date format", "j M Y"),
    "stamp": pgettext_lazy("date format", "j M, H:i"),
    "full": pgettext_lazy("date format", "j M Y, H:i:s T"),
}
_CLOCK = {"H": "%(hour)02d", "i": "%(minute)02d", "s": "%(second)02d", "T": "%(zone)s"}


@lru_cache(maxsize=1_024)
def _with_day(day: date, form: str, language: str | None) -> str:
    """A form with the day written out in ``language``, the active one; its clock is left open."""
    return "".join(_CLOCK.get(letter) or date_format(day, letter).replace("%", "%%") for letter in str(_FORMS[form]))


def _written(local: datetime, form: str) -> str:
    clock = {"hour": local.hour, "minute": local.minute, "second": local.second, "zone": local.tzname()}
    return _with_day(local.date(), form, get_language()) % clock


def _day_words(day: date) -> str:
    today = timezone.localdate()
    if day == today:
        return gettext("today")
    if day == today - timedelta(days=1):
        return gettext("yesterday")
    return _with_day(day, "day" if day.year == today.year else "year", get_language()) % {}


def _moment_words(local: datetime, shape: str) -> str:
    """A clock (08:52), a second (08:52:14), a day (today, 28 Nov) or a stamp (28 Nov, 08:52)."""
    match shape:
        case "clock":
            return f"{local:%H:%M}"
        case "second":
            return f"{local:%H:%M:%S}"
        case "day":
            return _day_words(local.date())
        case "stamp" if local.date() == timezone.localdate():
            return f"{local:%H:%M}"
        case "stamp":
            return _written(local, "stamp")
    raise ValueError(f"moment knows clock, second, day and stamp, not {shape!r}.")


def moment(at: datetime | None, shape: str = "stamp") -> str | SafeString:
    """A point in time, with its full form on hover. Nothing for None."""
    if at is None:
        return ""
    local = timezone.localtime(at)
    return format_html(
        '<time datetime="{}" title="{}" data-shape="{}">{}</time>',
        at.isoformat(timespec="seconds"),
        _written(local, "full"),
        shape,
        _moment_words(local, shape),
    )
