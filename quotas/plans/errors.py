"""What is wrong with a plan, in words; and that somebody else was faster."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from common.errors import DomainError, FieldProblem, InvalidInput, Text
from common.texts import storable
from quotas.domain.plan import PlanProblem
from quotas.domain.shares import percent_text
from quotas.models import QuotaVersion

_SENTENCES: dict[str, Text] = {
    "negative": _("A share cannot be negative."),
    "share_above_whole": _("A share is at most 100 %."),
    "too_fine": _("Write a percent in steps of 0.1, such as 40 or 12.5."),
    "above_whole": _("The shares of %(group)s come to %(given)s %% together. They must not exceed 100 %%."),
    "unknown_rank": _("Choose one of the offered ranks, from 0 to 3."),
    "rank_needs_reclaim": _(
        "A team that takes nothing back takes nothing while it borrows either. Choose one of both."
    ),
    "unknown_team": _("There is no team of the name %(name)s."),
    "unknown_group": _("There is no node group of the name %(name)s."),
}


def attr_of(problem: PlanProblem) -> str:
    """The API's name of the field that is wrong."""
    if problem.code == "above_whole":
        return f"cards.{storable(problem.group)}"
    place = f"queues.{storable(problem.queue)}"
    if problem.code == "unknown_team":
        return place
    if problem.code == "unknown_group":
        return f"{place}.groups.{storable(problem.group)}"
    return f"{place}.groups.{storable(problem.group)}.{problem.field}" if problem.group else f"{place}.{problem.field}"


def sentence(problem: PlanProblem) -> Text:
    """What is wrong and what to write instead."""
    text = _SENTENCES[problem.code]
    if problem.code == "above_whole":
        return text % {"group": problem.group, "given": percent_text(problem.given)}
    if problem.code in {"unknown_team", "unknown_group"}:
        return text % {"name": storable(problem.group or problem.queue)}
    return text


def refused(problems: Sequence[PlanProblem]) -> InvalidInput:
    """All problems of a plan, each at its field."""
    return InvalidInput([FieldProblem(attr_of(each), each.code, sentence(each)) for each in problems])


class ChangedMeanwhile(DomainError):
    """Somebody else saved first (409): nothing was overwritten. ``newest`` is what holds now."""

    def __init__(self, newest: QuotaVersion | None, *, expected: int) -> None:
        self.newest = newest
        self.expected = expected
        super().__init__("changed_meanwhile", _message(newest), attr="expected_version")


def _message(newest: QuotaVersion | None) -> Text:
    if newest is None:
        return _("There is no such version of this plan. Read the plan again, then save.")
    return _(
        "%(author)s saved version %(number)d meanwhile, so nothing was saved. Look at what changed, then save again."
    ) % {"author": newest.author_name, "number": newest.number}
