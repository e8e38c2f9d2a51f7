"""Why a job has no cards yet, in numbers: quota, places on nodes, and what is out of service there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from common.phrases import close_up

Facts = Mapping[str, Any]
Sentence = Callable[[Facts], str]


class Known(dict[str, Any]):
    """Facts for a sentence: one that is missing shows as a question mark, never as an error."""

    def __missing__(self, key: str) -> str:
        return "?"


def _with_out(sentence: Sentence) -> Sentence:
    """Cards that nobody can get are part of the cause."""

    @wraps(sentence)
    def render(facts: Facts) -> str:
        out = facts.get("out")
        if not isinstance(out, int) or out < 1 or facts.get("misfit"):
            return sentence(facts)
        return close_up(sentence(facts) + " " + _("Out of service there: %(out)s.") % facts)

    return render


def _blocks(facts: Facts) -> str:
    blocks = facts.get("blocks") or []
    return " + ".join(str(block) for block in blocks) if isinstance(blocks, list) and blocks else "0"


@_with_out
def split_over_nodes(facts: Facts) -> str:
    values = Known({**facts, "split": _blocks(facts)})
    if facts.get("pods") == 1:
        return _("Needs %(per_pod)s cards on one node. %(group)s has %(free)s free, split %(split)s.") % values
    return (
        _("Needs %(pods)s nodes with %(per_pod)s free cards each. %(group)s has %(free)s free, split %(split)s.")
        % values
    )


@_with_out
def no_place(facts: Facts) -> str:
    if facts.get("pods") == 1:
        return _("Needs %(per_pod)s cards on one node. %(group)s has %(free)s free.") % facts
    return _("Needs %(pods)s nodes with %(per_pod)s free cards each. %(group)s has %(free)s free.") % facts


@_with_out
def waiting_for_quota(facts: Facts) -> str:
    asked, nominal, used = (facts.get(name) for name in ("asked", "nominal", "used"))
    told = facts.get("more")
    more = told if isinstance(told, int) and told >= 1 else 0  # 0: freed since the gate looked, or not told
    if isinstance(asked, int) and isinstance(nominal, int) and isinstance(used, int) and used + asked <= nominal:
        if more:
            return (
                _(
                    "Needs %(cards)s cards of %(group)s. The team's own share of %(nominal)s covers them, but others "
                    "borrow %(more)s of it now."
                )
                % facts
            )
        return (
            _("Needs %(cards)s cards of %(group)s. The team's own share covers them, but others borrow them now.")
            % facts
        )
    if not more:
        return _("Needs %(cards)s cards; the quota of %(group)s has fewer left.") % facts
    return (
        ngettext(
            "Needs %(cards)s cards of %(group)s; %(more)s more has to come free.",
            "Needs %(cards)s cards of %(group)s; %(more)s more have to come free.",
            more,
        )
        % facts
    )


def never_fits(facts: Facts) -> str:
    if facts.get("nominal") is None:
        return _("Can never start as asked: %(cards)s cards wanted, at most %(maximum)s exist for this team.") % facts
    return (
        _(
            "Can never start as asked: %(cards)s cards of %(group)s wanted; the team's share is %(nominal)s, and with "
            "all that it may borrow at most %(maximum)s."
        )
        % facts
    )


@_with_out
def not_placed(facts: Facts) -> str:
    if facts.get("misfit"):
        return _("Admitted, but no machine of %(group)s has cards of the wanted type. Tell an admin.") % facts
    return (
        _("Admitted, but no set of nodes holds all %(pods)s pods together: %(per_pod)s cards each, %(free)s free.")
        % facts
    )


@_with_out
def above_share(facts: Facts) -> str:
    first = _("Needs %(cards)s cards; the team's own share of %(group)s is %(nominal)s, with %(used)s in use.") % facts
    return close_up(first + " " + _("It starts when others leave enough idle."))
