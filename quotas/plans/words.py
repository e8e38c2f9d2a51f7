"""Rules and changes of a plan in plain words: what will really happen, and no more."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _

from quotas.domain.plan import CardPart, GroupPart, PlanDiff, QueuePart
from quotas.domain.shares import percent_text
from quotas.models import QuotaVersion


def rules_in_words(queue: QueuePart) -> list[str]:
    """What a team's jobs can count on in every node group, one sentence each."""
    said = _takes_back(queue)
    if queue.strict:
        said.append(_("Its first job blocks those behind it until it starts."))
    return said


def part_in_words(queue: QueuePart, cards: CardPart) -> list[str]:
    """What follows from a team's part of one node group, one sentence each, in numbers of the group's own unit."""
    said = [_larger_jobs(queue, cards)]
    if cards.borrow_limit:
        said.append(
            _("It borrows at most %(count)d, so a job of more than %(most)d can never start.")
            % {"count": cards.borrow_limit, "most": cards.nominal + cards.borrow_limit}
        )
    if cards.lend_limit is not None and cards.lend_limit < cards.nominal:
        said.append(
            _("It lends nothing.")
            if cards.lend_limit == 0
            else _("It lends at most %(count)d.") % {"count": cards.lend_limit}
        )
    return said


def _takes_back(queue: QueuePart) -> list[str]:
    if not queue.reclaims:
        return [_("It takes nothing back: what it lent returns when the borrowers end.")]
    own = _("It takes back what others borrowed of its share: the lowest priority first, then the newest loan.")
    beyond = {
        1: _("While it borrows itself, it also takes loans of low work, for its jobs of a higher priority."),
        2: _("While it borrows itself, it also takes loans of work up to normal, for its jobs of a higher priority."),
        3: _("While it borrows itself, it also takes loans of work up to high, for its jobs of a higher priority."),
    }
    return [own, beyond[queue.rank]] if queue.rank else [own]


def _larger_jobs(queue: QueuePart, cards: CardPart) -> str:
    """What becomes of a job that asks for more than the share."""
    if cards.nominal == 0:
        return (
            _("It has no share here and borrows nothing: none of its jobs can start.")
            if cards.borrow_limit == 0
            else _("It has no share here: its jobs run on what is idle only, and any owner may take that back.")
        )
    if cards.borrow_limit == 0:
        text = _("It borrows nothing: a job of more than its %(count)d can never start.")
    elif not queue.reclaims:
        text = _("A job of more than its %(count)d starts on what is idle only.")
    elif queue.rank:
        text = _("A job of more than its %(count)d borrows, so it takes only such loans.")
    else:
        text = _("A job of more than its %(count)d starts on what is idle, but takes nothing back.")
    return text % {"count": cards.nominal}


def cause_in_words(version: QuotaVersion) -> str:
    """Why there is a version."""
    if version.cause == QuotaVersion.Cause.ROLLBACK:
        return _("Back to version %(number)d") % {"number": version.restored or 0}
    if version.cause == QuotaVersion.Cause.NODES:
        return _("Other cards to divide")
    if version.cause == QuotaVersion.Cause.ADOPT:
        return _("Found as it was")
    return _("Edited")


def changes_in_words(changed: PlanDiff, teams: Mapping[str, str], groups: Mapping[str, str]) -> list[str]:
    """Every difference in one line; ``teams`` and ``groups`` have the names for people."""
    said = [
        _("%(group)s: %(before)d to divide became %(after)d")
        % {"group": groups.get(each.group, each.group), "before": each.before, "after": each.after}
        for each in changed.groups
    ]
    for part in changed.parts:
        names = {"team": teams.get(part.queue, part.queue), "group": groups.get(part.group, part.group)}
        said.append(
            _("%(team)s, %(group)s: %(before)s became %(after)s")
            % {
                **names,
                "before": _part(part.before, part.cards_before),
                "after": _part(part.after, part.cards_after),
            }
        )
    for rule in changed.rules:
        team = teams.get(rule.queue, rule.queue)
        if (rule.before.rank, rule.before.reclaims) != (rule.after.rank, rule.after.reclaims):
            said.append(_("%(team)s: %(rule)s") % {"team": team, "rule": _takes_back(rule.after)[-1]})
        if rule.before.strict != rule.after.strict:
            said.append(
                _("%(team)s: its first job blocks the others now") % {"team": team}
                if rule.after.strict
                else _("%(team)s: smaller jobs may pass the first one now") % {"team": team}
            )
    return said


def _part(points: GroupPart, cards: CardPart) -> str:
    """`40 % (13)`, with limits where there are some."""
    text = f"{percent_text(points.basis_points)} % ({cards.nominal})"
    if points.borrow_basis_points is not None:
        text = _("%(share)s, borrows at most %(percent)s %%") % {
            "share": text,
            "percent": percent_text(points.borrow_basis_points),
        }
    if points.lend_basis_points is not None:
        text = _("%(share)s, lends at most %(percent)s %%") % {
            "share": text,
            "percent": percent_text(points.lend_basis_points),
        }
    return text
