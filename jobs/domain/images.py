"""Is this text an image reference? Grammar of the OCI distribution reference, without asking a registry. Pure."""

from __future__ import annotations

import re

IMAGE_MAX = 500

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*(?::[0-9]{1,5})?"
_REFERENCE = re.compile(
    rf"(?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-fA-F]{32,})?"
)


def image_problem(text: str) -> str | None:
    """None for a well-formed reference, else blank, too_long, spaces, scheme, upper_case or malformed."""
    if not text.strip():
        return "blank"
    if len(text) > IMAGE_MAX:
        return "too_long"
    if re.search(r"\s", text):
        return "spaces"
    if "://" in text:
        return "scheme"
    if _REFERENCE.fullmatch(text):
        return None
    path = text.split("@", 1)[0].rsplit(":", 1)[0]
    first, _, rest = path.partition("/")
    is_host = bool(rest) and ("." in first or ":" in first or first == "localhost")
    if re.search(r"[A-Z]", rest if is_host else path):
        return "upper_case"
    return "malformed"
