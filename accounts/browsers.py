"""The name of a browser and its system from what it says of itself. Pure; for people to recognise, not to rely on."""

from __future__ import annotations

_BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
"""The first that fits: each says the names of those it descends from as well."""


def browser_name(user_agent: str) -> tuple[str, str]:
    """(browser, system); "" for what is not known."""

    def first(known: tuple[tuple[str, str], ...]) -> str:
        return next((name for sign, name in known if sign in user_agent), "")

    return first(_BROWSERS), first(_SYSTEMS)
