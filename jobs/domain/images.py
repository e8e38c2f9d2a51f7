"""Is this text an image reference? Grammar of the OCI distribution reference, without asking a registry. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

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


DEFAULT_REGISTRY = "docker.io"


def repository_of(image: str) -> str:
    """Registry and repository of a reference, without tag and digest, written out as a puller understands it."""
    name = image.split("@", 1)[0]
    head, slash, last = name.rpartition("/")
    name = head + slash + last.partition(":")[0]
    return _written_out(name)


def _written_out(name: str) -> str:
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return f"{first.lower()}/{rest}"
    return f"{DEFAULT_REGISTRY}/{name}" if slash else f"{DEFAULT_REGISTRY}/library/{name}"


def is_allowed(image: str, prefixes: Sequence[str]) -> bool:
    """Whether the image's repository is one of these or lies below one; no prefixes allow every image.

    Prefixes end where a part of a name ends: `registry.example/team` is not `registry.example/team-evil`.
    """
    if not prefixes:
        return True
    repository = repository_of(image)
    return any(repository == prefix or repository.startswith(f"{prefix}/") for prefix in map(normal_prefix, prefixes))


def normal_prefix(text: str) -> str:
    """A prefix as repositories are written out: a whole registry, a project in it, or one repository."""
    trimmed = text.strip().rstrip("/")
    if "/" not in trimmed and ("." in trimmed or ":" in trimmed or trimmed == "localhost"):
        return trimmed.lower()
    if "/" not in trimmed:
        return f"{DEFAULT_REGISTRY}/{trimmed}" if text.strip().endswith("/") else _written_out(trimmed)
    return _written_out(trimmed)
