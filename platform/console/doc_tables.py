"""Docs that are generated from the tables they describe, so that they cannot drift.

`manage.py docs_tables` writes docs/states.md, docs/operations.md, docs/permissions.md, docs/settings.md,
docs/capabilities.md and their Chinese twins; `--check` fails when one of them is not what the tables say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from accounts.policy import TABLE, PolicyRole, Scope
from clusters.contract import INFRASTRUCTURE_FAILURES
from clusters.domain.reasons import ReasonCode
from clusters.domain.states import RULES, ObservedState
from clusters.labels import KINDS as CLUSTER_KINDS
from clusters.preflight.table import PROBLEMS
from clusters.preflight.texts import FEATURES, VERDICTS
from clusters.preflight.texts import PROBLEMS as PROBLEM_TEXTS
from clusters.preflight.words import Feature, Problem, Verdict
from clusters.registry import backend_class, kinds
from common.phrases import close_up, listed
from console import doc_settings
from jobs.domain.operations import NEEDS, Cell, Operation, Situation, cell, situations
from jobs.domain.words import INFRA_RETRY_LIMIT, JobState
from jobs.labels import EFFECTS, FLAGS, LOSES_WORK, MAKES, OPERATIONS, PLACES, REFUSALS, STATES
from jobs.reasons import reason_text
from jobs.services.operations import ACTIONS

LANGUAGES = {"en": "", "zh-hans": ".zh-CN"}
TWINS = {"en": ("简体中文", ".zh-CN"), "zh-hans": ("English", "")}
"""The other language of a page, in its own words, and the ending of its file."""


def write(folder: Path) -> None:
    """Write every page."""
    for path, text in pages(folder):
        path.write_text(text)


def stale(folder: Path) -> list[str]:
    """Names of pages that differ from what the tables say."""
    return [path.name for path, text in pages(folder) if not path.exists() or path.read_text() != text]


def pages(folder: Path) -> Iterable[tuple[Path, str]]:
    makers: dict[str, Callable[[], str]] = {
        "states": _states,
        "operations": _operations,
        "permissions": _permissions,
        "settings": _settings,
        "capabilities": _capabilities,
    }
    for language, suffix in LANGUAGES.items():
        with translation.override(language):
            for name, make in makers.items():
                other, other_suffix = TWINS[language]
                title, rest = make().split("\n", 1)
                yield folder / f"{name}{suffix}.md", f"{title}\n\n[{other}]({name}{other_suffix}.md)\n{rest}"


def _table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    def line(cells: Iterable[object]) -> str:
        return "| " + " | ".join(str(text).replace("|", "\\|") for text in cells) + " |"

    head = list(head)
    return "\n".join([line(head), line(["---"] * len(head)), *(line(row) for row in rows)])


def _heading(text: object) -> str:
    return f"## {text}"


def _page(title: str, answer: str, *parts: str) -> str:
    note = _("This page is generated from the tables in the code; `manage.py docs_tables` writes it anew.")
    return "\n\n".join([f"# {title}", answer, f"*{note}*", *parts]) + "\n"


# --------------------------------------------------------------------------- states


def _states() -> str:
    rows = []
    for number, rule in enumerate(RULES, start=1):
        state = _("as before") if rule.state is ObservedState.UNKNOWN else STATES[JobState(rule.state.value)]
        flags = [FLAGS[flag] for flag in FLAGS if getattr(rule, flag.value, False)]
        between = pgettext("between conditions", "; ")
        when = between.join(_CONDITION_WORDS[name]() for name in rule.when) or _("anything else")
        code = f"`{rule.code.value}`" if rule.code else _("the failure's own")
        rows.append([number, when, state, listed(flags), code])
    rules = _table([_("No."), _("When all of this holds"), _("State"), _("Flag"), _("Reason")], rows)
    reasons = _table(
        [_("Reason"), _("What people read")], [[f"`{code.value}`", reason_text(code.value, {})] for code in ReasonCode]
    )
    causes = listed(f"`{code.value}`" for code in sorted(INFRASTRUCTURE_FAILURES))
    retries = _(
        "Infrastructure causes are %(causes)s: they are retried %(limit)s times by default. Every other cause is the"
        " application's and is retried as often as the job asks for, by default not at all."
    ) % {"causes": causes, "limit": INFRA_RETRY_LIMIT}
    return _page(
        _("States and reasons"),
        _("Which facts of a cluster give which state, and why a person reads what they read."),
        _heading(_("From facts to a state")),
        _("Rows are tried in order; the first whose conditions all hold decides. A question mark stands for a number."),
        rules,
        _heading(_("Retries")),
        retries,
        _heading(_("Reasons")),
        reasons,
    )


# --------------------------------------------------------------------------- operations


_FLAG_WORDS: dict[str, Callable[[], str]] = {
    "held": lambda: _("held"),
    "resting": lambda: _("giving way"),
    "requeuing": lambda: _("being requeued"),
    "cancelling": lambda: _("being cancelled"),
}


def _situations(same: Iterable[Situation]) -> str:
    """Situations with the same outcome: first by what is under way, then those with the same states together."""
    states: dict[str, list[object]] = {}
    for situation in same:
        flags = listed(words() for name, words in _FLAG_WORDS.items() if getattr(situation, name))
        states.setdefault(flags, []).append(STATES[situation.state])
    flags_of: dict[str, list[str]] = {}
    for flags, names in states.items():
        flags_of.setdefault(listed(names), []).append(flags)
    between = pgettext("between conditions", "; ")
    return between.join(_with_flags(names, flags) for names, flags in flags_of.items())


def _with_flags(states: str, flags: list[str]) -> str:
    """States with what may be under way besides; an empty flag is nothing."""
    words = pgettext("between conditions", "; ").join(flag for flag in flags if flag)
    if not words:
        return states
    if "" in flags:
        return _("%(states)s (also %(flags)s)") % {"states": states, "flags": words}
    return _("%(states)s (%(flags)s)") % {"states": states, "flags": words}


def _outcome(found: Cell) -> str:
    if found.refusal is not None:
        return _("Refused (`%(code)s`): %(why)s") % {"code": found.refusal.value, "why": REFUSALS[found.refusal]}
    assert found.effect is not None
    parts = [str(EFFECTS[found.effect]), str(PLACES[found.place]), str(LOSES_WORK) if found.loses_work else ""]
    return close_up(" ".join(part for part in parts if part))


def _operations() -> str:
    sections = []
    for operation in Operation:
        sections.append(_heading(OPERATIONS[operation]))
        sections.append(_("Who may: %(who)s. Where: %(where)s.") % {"who": _who(operation), "where": _where(operation)})
        same: dict[Cell, list[Situation]] = {}
        for situation in situations():
            same.setdefault(cell(operation, situation), []).append(situation)
        rows = [[_situations(found), _outcome(each), MAKES[each.makes] or "–"] for each, found in same.items()]
        sections.append(_table([_("State"), _("What happens"), _("Makes")], rows))
    return _page(
        _("Operations"),
        _("What each operation does in each state, who may do it, and on which kinds of cluster."),
        _(
            "A preempted job gives way: it is out of the queue until the job named as its beneficiary has its cards or"
            " waits for them no more, for at most 15 minutes. Then it is in the queue again, in its old place. Whoever"
            " may preempt it may also resume it before."
        ),
        _("Of several jobs that are operated on at once, each is decided by these tables on its own."),
        *sections,
    )


def _who(operation: Operation) -> str:
    row, roles, scopes = TABLE[ACTIONS[operation]], _roles(), _scopes()
    told = (
        _("%(role)s (%(scope)s)") % {"role": roles[role], "scope": scopes[row[role]]}
        for role in roles
        if row[role] is not Scope.NONE
    )
    return listed(told)


def _where(operation: Operation) -> str:
    """Kinds of cluster whose backend has what the operation needs."""
    needed = NEEDS.get(operation)
    return listed(
        str(CLUSTER_KINDS[kind]) for kind in kinds() if needed is None or needed in backend_class(kind).capabilities
    )


# --------------------------------------------------------------------------- permissions


def _roles() -> dict[PolicyRole, str]:
    return {
        PolicyRole.ENGINEER: _("Engineer"),
        PolicyRole.LEAD: _("Team lead"),
        PolicyRole.ADMIN: _("Platform admin"),
    }


def _scopes() -> dict[Scope, str]:
    return {Scope.NONE: "–", Scope.OWN: _("own"), Scope.TEAM: _("the team's"), Scope.ALL: _("everybody's")}


def _permissions() -> str:
    roles, scopes = _roles(), _scopes()
    rows = [[f"`{action.value}`", *(scopes[row[role]] for role in roles)] for action, row in TABLE.items()]
    return _page(
        _("Permissions"),
        _("Who may do what, and on whose things. What one may not see does not exist for them: 404, not 403."),
        _table([_("Action"), *roles.values()], rows),
        _("A lead is also an engineer of the same team. A platform admin submits jobs only as a member of a team."),
    )


# --------------------------------------------------------------------------- settings


def _settings() -> str:
    sections = []
    for title, section in doc_settings.SECTIONS:
        sections.append(_heading(title()))
        sections.append(_table([_("Variable"), _("Without it"), _("What for")], doc_settings.rows(section)))
    return _page(
        _("Settings"),
        _("Which environment variables the console reads. Each value may instead lie in a file: `NAME_FILE=/path`."),
        *sections,
    )


# --------------------------------------------------------------------------- capabilities


class _Anything(dict[str, str]):
    """Stands for the facts of any cluster."""

    def __missing__(self, name: str) -> str:
        return "…"


def _capabilities() -> str:
    features = _table(
        [_("Feature"), _("What the cluster needs for it"), _("What is lost without it")],
        [[FEATURES[each].title, FEATURES[each].needs, FEATURES[each].lost] for each in Feature],
    )
    return _page(
        _("What a cluster can do"),
        _(
            "Which abilities of a cluster each part of the console needs, what is lost where one is not there, and how"
            " that is mended. The page of a cluster shows these rows as they were last found."
        ),
        _heading(_("What each part needs")),
        features,
        _heading(_("What may be found, and how to mend it")),
        _("Dots stand for what is found on the cluster."),
        _table(
            [_("Feature"), _("What was found"), _("What to do")],
            [
                [FEATURES[each].title, *_problem_texts(problem)]
                for each, problems in PROBLEMS.items()
                for problem in problems
            ],
        ),
        close_up(f"**{VERDICTS[Verdict.UNKNOWN]}**: {' '.join(_problem_texts(Problem.NOT_READ))}"),
    )


def _problem_texts(problem: Problem) -> tuple[str, str]:
    """What was found and how to mend it."""
    text = PROBLEM_TEXTS[problem]
    return (str(text.found) % _Anything()).replace("….", "…"), str(text.mend)


# The conditions of the rule table, as people read them; a test compares the keys with the table.
_CONDITION_WORDS: dict[str, Callable[[], str]] = {
    "another owner has the name": lambda: _("another owner has the object's name"),
    "ended well": lambda: _("it ended well"),
    "ended by its launcher": lambda: _("its launcher ended and the rest was stopped"),
    "ended badly": lambda: _("it failed"),
    "held": lambda: _("it is held"),
    "admitted": lambda: _("it is admitted"),
    "not admitted": lambda: _("it is not admitted"),
    "quota reserved": lambda: _("its quota is reserved"),
    "evicted by a higher priority": lambda: _("a higher priority of the team took its cards"),
    "evicted by the owner of the cards": lambda: _("the owner took its borrowed cards back"),
    "evicted while borrowing": lambda: _("its borrowed cards went to a higher priority"),
    "evicted for a fair share": lambda: _("borrowed cards were divided anew"),
    "evicted with its queue": lambda: _("its queue was emptied"),
    "the queue is held": lambda: _("the queue is stopped"),
    "the queue is missing": lambda: _("the queue is missing"),
    "the queue is misconfigured": lambda: _("the queue is set up wrongly"),
    "the group is not offered": lambda: _("the queue has no share of the node group"),
    "it can never fit": lambda: _("it asks for more than exists"),
    "victims are ending": lambda: _("jobs that make room are ending"),
    "no set of nodes can hold it": lambda: _("no set of nodes can hold it"),
    "enough cards are free in pieces": lambda: _("enough cards are free, but in pieces"),
    "it would have to borrow": lambda: _("it would have to borrow, and what can be taken back is not enough"),
    "quota is short": lambda: _("too little quota is unused"),
    "a check has not answered": lambda: _("a check has not answered"),
    "the gate says something else": lambda: _("the cluster gives another cause"),
    "no word from the gate": lambda: _("the cluster has said nothing yet"),
    "waiting for a minute": lambda: _("it has waited for a minute"),
    "an image cannot be pulled": lambda: _("an image cannot be pulled"),
    "the gang does not fit": lambda: _("its pods do not fit together"),
    "for too long": lambda: _("for longer than two minutes, or five where nodes are chosen at admission"),
    "its nodes are not free yet": lambda: _("its nodes are not free yet"),
    "a pod pulls": lambda: _("a pod pulls its image"),
    "all pods run": lambda: _("all pods run"),
    "some pods run": lambda: _("some pods run"),
    "it was complete before": lambda: _("all pods ran before"),
    "no pod is to come": lambda: _("no pod runs or is to come"),
    "no pod has a node": lambda: _("no pod has a node"),
    "pods exist": lambda: _("pods exist"),
    "it is a service": lambda: _("it is an inference service"),
    "a program ends again and again": lambda: _("the program of a replica ended and is started again"),
    "none is ready for ten minutes": lambda: _("all replicas are admitted and for 10 minutes none has been ready"),
    "a signal no rule knows": lambda: _("the cluster gives a signal that no rule knows"),
}
