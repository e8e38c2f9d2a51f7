"""What a person reads whose job is kept back by a limit of its local queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

Facts = Mapping[str, Any]


def local_limit(facts: Facts) -> str:
    """By what keeps it back: the limit itself, the cards that are taken, or those before it."""
    cards, limit, taken = (_count(facts.get(name)) for name in ("cards", "limit", "taken"))
    if "has" in facts:
        return _grows_no_more(
            facts,
            _(
                "Has %(has)s of the %(cards)s cards it is to have, and does not grow now: the team's queue %(queue)s"
                " may hold %(limit)s at once, and %(taken)s are taken."
            ),
        )
    if cards > limit:
        return (
            _("Needs %(cards)s cards; the team's queue %(queue)s may hold only %(limit)s. Ask the team lead for more.")
            % facts
        )
    if taken + cards <= limit:
        return _("Jobs before it wait for cards too: the team's queue %(queue)s may hold %(limit)s at once.") % facts
    return (
        _("Needs %(cards)s cards; the team's queue %(queue)s may hold %(limit)s at once, and %(taken)s are taken.")
        % facts
    )


def personal_limit(facts: Facts) -> str:
    """The same of the limit of a person."""
    cards, limit, taken = (_count(facts.get(name)) for name in ("cards", "limit", "taken"))
    if "has" in facts:
        return _grows_no_more(
            facts,
            _(
                "Has %(has)s of the %(cards)s cards it is to have, and does not grow now: one person may hold %(limit)s"
                " in the queue %(queue)s, and the owner has %(taken)s."
            ),
        )
    if cards > limit:
        return (
            _("Needs %(cards)s cards; one person may hold only %(limit)s in the queue %(queue)s. Ask the team lead.")
            % facts
        )
    if taken + cards <= limit:
        return (
            _("The owner's jobs before it wait for cards too: one person may hold %(limit)s in the queue %(queue)s.")
            % facts
        )
    return (
        _("Needs %(cards)s cards; one person may hold %(limit)s in the queue %(queue)s, and the owner has %(taken)s.")
        % facts
    )


def _grows_no_more(facts: Facts, of_limit: str) -> str:
    """Of a service: its own limit, or jobs before it that wait for the cards it would take."""
    more = _count(facts.get("cards")) - _count(facts.get("has"))
    if _count(facts.get("taken")) + more > _count(facts.get("limit")):
        return of_limit % facts
    return (
        _("Has %(has)s of the %(cards)s cards it is to have, and does not grow now: jobs before it wait for cards too.")
        % facts
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
