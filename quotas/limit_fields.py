"""What a lead writes as limits of a local queue, and the problem where nothing can be made of it."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from common.errors import FieldProblem
from common.units import BadQuantity, parse_cards

UNCHANGED: Final = object()
"""Nothing was said of a limit; None takes it away."""

_PROBLEMS = {
    "not_a_number": _("Write a whole number of cards, or nothing for no limit."),
    "not_whole": _("Write a whole number of cards, or nothing for no limit."),
    "negative": _("Write at least 1 card, or nothing for no limit."),
    "zero": _("Write at least 1 card, or nothing for no limit. To let nothing start, hold the queue."),
    "too_large": _("Write at most 100,000 cards, or nothing for no limit."),
}


def checked_limits(whole: object, each: object, problems: list[FieldProblem]) -> dict[str, int | None]:
    """The limit of the queue and of a person in it by their columns; None = no limit."""
    limits = {
        "most_cards": _limit("most_cards", whole, problems),
        "most_cards_each": _limit("most_cards_each", each, problems),
    }
    most, most_each = limits.values()
    if most is not None and most_each is not None and most_each > most:
        message = _("One person cannot hold more than the whole queue may, which is %(cards)d.") % {"cards": most}
        problems.append(FieldProblem("most_cards_each", "above_queue", message))
    return limits


def _limit(field: str, value: object, problems: list[FieldProblem]) -> int | None:
    if value is None:
        return None
    try:
        cards = parse_cards(value)
    except BadQuantity as error:
        problems.append(FieldProblem(field, error.code, _PROBLEMS[error.code]))
        return None
    if cards == 0:
        problems.append(FieldProblem(field, "zero", _PROBLEMS["zero"]))
        return None
    return cards
