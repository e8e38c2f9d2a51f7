"""Lengths of time in the reader's words: at most two units, never a false precision."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext, ngettext


def duration_words(length: timedelta | float) -> str:
    """A length, in seconds or as a timedelta: `42 s`, `18 min`, `1 h 58 min`, `3 days`. Negative counts as none."""
    seconds = max(0, int(length.total_seconds() if isinstance(length, timedelta) else length))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 60:
        return gettext("%(count)d s") % {"count": seconds}
    if hours < 1:
        return gettext("%(count)d min") % {"count": minutes}
    if hours < 48:
        if minutes % 60 == 0:
            return gettext("%(count)d h") % {"count": hours}
        return gettext("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": minutes % 60}
    return ngettext("%(count)d day", "%(count)d days", days) % {"count": days}
