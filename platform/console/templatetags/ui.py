"""Small words and signs that every page uses: icons, times, durations, amounts.

Templates say what is meant (`{% icon "clock" %}`, `{{ job.state_since|since }}`); how it looks is decided here
and in common.signs and templates/components.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from common import phrases, signs
from common.durations import duration_words

register = template.Library()
register.simple_tag(signs.icon, name="icon")
register.simple_tag(signs.moment, name="moment")


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
