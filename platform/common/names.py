"""Names that a cluster accepts, made from names that people type (cases C-01 and C-03).

An object name is a DNS label that also is a legal service name: it begins with a letter, has lower-case
letters, digits and single dashes, and ends with a letter or digit. The typed name stays the display name.
"""

from __future__ import annotations

import re
import unicodedata

SLUG_MAX = 18
OBJECT_NAME_MAX = 40
DISPLAY_NAME_MAX = 300
SPACE_SLUG_MAX = 40
_DECEIVING = re.compile("[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]")
"""Joiners (U+200C, U+200D) are none of them: scripts and emoji need them."""


def slug(text: str, limit: int = SLUG_MAX, fallback: str = "job") -> str:
    """Lower-case ASCII of ``text`` with single dashes, at most ``limit`` long; ``fallback`` if nothing is left."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    cleaned = re.sub(r"[^a-z0-9]+", "-", ascii_text.lower()).strip("-")
    return cleaned[:limit].strip("-") or fallback


def object_name(job_slug: str, salt: str, attempt: int) -> str:
    """The cluster object of one attempt: `j-<slug>-<salt>-<attempt>`, at most 40 characters (decision 47).

    ``salt`` is the last ten characters of the job's ULID, or a fresh one after a name conflict.
    """
    return f"j-{job_slug}-{salt.lower()}-{attempt}"


def space_name(team_slug: str, team_ulid: str) -> str:
    """A team's space on a cluster, never used again for another team (decision 17)."""
    return f"slu-{slug(team_slug, SPACE_SLUG_MAX, 'team')}-{team_ulid[-6:].lower()}"


def clean_display_name(text: str) -> str:
    """The typed name without surrounding blanks and control characters; empty if nothing can be seen of it.

    Marks that turn the direction of what follows, and widths of nothing, go too: with them one name looks like another.
    """
    kept = "".join(ch for ch in _DECEIVING.sub("", text) if unicodedata.category(ch) not in {"Cc", "Cs"})
    if all(ch.isspace() or unicodedata.category(ch) == "Cf" for ch in kept):  # such as zero-width spaces
        return ""
    return kept.strip()[:DISPLAY_NAME_MAX].rstrip()
