"""Whose a found queue may be, by names alone: a proposal, never a decision. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_WORDS = re.compile(r"[^\W_]+")
_SAY_NOTHING = frozenset(
    ("cluster", "cq", "default", "gpu", "gpus", "group", "local", "lq", "main", "prod", "queue", "q", "team", "user")
)
_SHORTEST = 3
"""Letters: a shorter beginning of a word says nothing."""


def proposed_team(queue: str, spaces: Iterable[str], teams: Mapping[str, str]) -> str:
    """The slug of the one team whose name is most like the queue's, or that of the spaces that use it; '' if none.

    ``teams`` are names by slug. Two teams that are as much alike are none.
    """
    places = [_words(queue), *(_words(space) for space in spaces)]
    scores = {slug: max(_likeness(place, _words(f"{slug} {name}")) for place in places) for slug, name in teams.items()}
    best = max(scores.values(), default=0)
    alike = [slug for slug, score in scores.items() if score == best]
    return alike[0] if best and len(alike) == 1 else ""


def _words(name: str) -> frozenset[str]:
    return frozenset(_WORDS.findall(name.lower())) - _SAY_NOTHING


def _likeness(place: frozenset[str], team: frozenset[str]) -> int:
    """Two for each word that is the same, one for each that begins alike."""
    same = place & team
    begins = sum(
        any(
            min(len(word), len(other)) >= _SHORTEST and (word.startswith(other) or other.startswith(word))
            for other in team
        )
        for word in place - same
    )
    return 2 * len(same) + begins
