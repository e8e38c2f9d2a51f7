"""Conflicts in sentences for admins: what is the matter, what proves it, what to do. Literal gettext only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from clusters.conflicts.drift import Decision
from clusters.conflicts.rules import NO_GROUP
from clusters.conflicts.watch import GATHERED_AGAIN, QUEUES_AGAIN
from clusters.contract import DriftField
from clusters.notices import Source
from common.errors import Text
from common.phrases import listed

Facts = Mapping[str, Any]

KINDS: Mapping[Source, Text] = {
    Source.NOT_PLACED: gettext_lazy("Admitted and not placed"),
    Source.MISSING: gettext_lazy("Missing on the cluster"),
    Source.NEVER_ENDING: gettext_lazy("Pods that do not end"),
    Source.LOOP: gettext_lazy("Jobs that interrupt each other"),
    Source.TWO_SCHEDULERS: gettext_lazy("Cards taken past the queues"),
    Source.DRIFT: gettext_lazy("Quotas set from outside"),
}
"""The conflicts in the order in which a page shows them."""

ADVICE: Mapping[Source, Text] = {
    Source.NOT_PLACED: gettext_lazy(
        "Such a job holds quota that nobody can use. After 15 minutes it is put back into the queue, after three times "
        "it is held. Requeue or cancel it earlier, or make room on the nodes."
    ),
    Source.MISSING: gettext_lazy(
        "What the console makes on the cluster is made again by itself. Find out who removed it, so that it stays."
    ),
    Source.NEVER_ENDING: gettext_lazy(
        "The quota is free again, the cards are not. Look at the node: when it is lost, remove it from the cluster, "
        "and its pods end with it."
    ),
    Source.LOOP: gettext_lazy(
        "Each start loses the work since the last checkpoint. Give both jobs the same priority, or hold one of them."
    ),
    Source.TWO_SCHEDULERS: gettext_lazy(
        "Neither side knows what the other one places, so jobs are admitted to cards that are taken. Bring these pods "
        "into a queue, or keep them off these nodes."
    ),
    Source.DRIFT: gettext_lazy(
        "Until you decide, no quotas are brought to this cluster, neither these nor those of later versions. Take over "
        "writes the plan of this console again. Adopt makes what was found a new version of the plan."
    ),
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that proves a conflict. ``since`` None: not known.

    It is about a ``job`` or a ``node``, which can be looked at, or about what ``about`` names.
    """

    text: str
    about: str = ""
    job: str = ""
    node: str = ""
    since: datetime | None = None


def conflict_text(source: Source, subject: str, facts: Facts) -> str:
    """The matter in one sentence."""
    return _SENTENCES[source](subject, facts)


def conflict_evidence(source: Source, facts: Facts) -> list[Evidence]:
    """What proves it; the sentence has the counts where this was cut."""
    if source is Source.DRIFT:
        return [
            Evidence(_change_text(change), about=change["queue"] or _("Common pool")) for change in facts["changes"]
        ]
    found = [_job(source, job) for job in facts.get("jobs", ())]
    found += [Evidence(_cards_outside(node["cards"]), node=node["node"]) for node in facts.get("nodes", ())]
    found += [Evidence(_pod_outside(pod), about=f"{pod['space']}/{pod['pod']}") for pod in facts.get("pods", ())]
    found += [Evidence(_("Its queue is made again."), about=queue["queue"]) for queue in facts.get("queues", ())]
    return found


# --------------------------------------------------------------------------- sentences


def _not_placed(subject: str, facts: Facts) -> str:
    if subject == NO_GROUP:
        return ngettext(
            "%(count)d job without cards is admitted, and no node takes it.",
            "%(count)d jobs without cards are admitted, and no node takes them.",
            facts["count"],
        ) % {"count": facts["count"]}
    return ngettext(
        "%(group)s: %(count)d job is admitted, and no node takes it. Cards free there: %(free)d.",
        "%(group)s: %(count)d jobs are admitted, and no node takes them. Cards free there: %(free)d.",
        facts["count"],
    ) % {"group": facts["group"], "count": facts["count"], "free": facts["free"]}


def _missing(subject: str, facts: Facts) -> str:
    count = facts["count"]
    if subject == QUEUES_AGAIN:
        teams = listed(queue["queue"] for queue in facts["queues"])
        return ngettext(
            "The queue of %(teams)s was gone from the cluster. It is made again.",
            "The queues of %(teams)s were gone from the cluster. They are made again.",
            count,
        ) % {"teams": teams}
    if subject == GATHERED_AGAIN:
        return ngettext(
            "What starts the pods of %(count)d job together was gone from the cluster. It is made again.",
            "What starts the pods of %(count)d jobs together was gone from the cluster. It is made again.",
            count,
        ) % {"count": count}
    return ngettext(
        "%(count)d job waits in a queue that is not on the cluster.",
        "%(count)d jobs wait in queues that are not on the cluster.",
        count,
    ) % {"count": count}


def _never_ending(subject: str, facts: Facts) -> str:
    if not facts["node"]:
        return ngettext(
            "Pods of %(count)d job were told to end and are still there.",
            "Pods of %(count)d jobs were told to end and are still there.",
            facts["count"],
        ) % {"count": facts["count"]}
    return ngettext(
        "%(node)s: pods were told to end and still hold %(cards)d card.",
        "%(node)s: pods were told to end and still hold %(cards)d cards.",
        facts["cards"],
    ) % {"node": facts["node"], "cards": facts["cards"]}


def _loop(subject: str, facts: Facts) -> str:
    return _("Two jobs have interrupted each other %(count)d times within 30 minutes.") % {"count": facts["count"]}


def _two_schedulers(subject: str, facts: Facts) -> str:
    if facts.get("schedulers"):
        return ngettext(
            "%(group)s: %(cards)d card is taken by pods of no queue, beside the jobs of teams. "
            "Placed by: %(schedulers)s.",
            "%(group)s: %(cards)d cards are taken by pods of no queue, beside the jobs of teams. "
            "Placed by: %(schedulers)s.",
            facts["cards"],
        ) % {"group": facts["group"], "cards": facts["cards"], "schedulers": listed(facts["schedulers"])}
    return ngettext(
        "%(group)s: %(cards)d card is taken by pods of no queue, beside the jobs of teams.",
        "%(group)s: %(cards)d cards are taken by pods of no queue, beside the jobs of teams.",
        facts["cards"],
    ) % {"group": facts["group"], "cards": facts["cards"]}


def _drift(subject: str, facts: Facts) -> str:
    if facts["decided"] == Decision.TAKE_OVER:
        return _("Quotas were set from outside the console. Those of the plan are being written again.")
    if facts["decided"] == Decision.ADOPT:
        return _(
            "Quotas were set from outside the console. They are now the plan, and are being brought to the cluster."
        )
    count = len(facts["changes"])
    if facts["by"]:
        return ngettext(
            "%(count)d quota is other than planned: it was set from outside the console, by %(by)s.",
            "%(count)d quotas are other than planned: they were set from outside the console, by %(by)s.",
            count,
        ) % {"count": count, "by": listed(facts["by"])}
    return ngettext(
        "%(count)d quota is other than planned: it was set from outside the console.",
        "%(count)d quotas are other than planned: they were set from outside the console.",
        count,
    ) % {"count": count}


_SENTENCES: Mapping[Source, Callable[[str, Facts], str]] = {
    Source.NOT_PLACED: _not_placed,
    Source.MISSING: _missing,
    Source.NEVER_ENDING: _never_ending,
    Source.LOOP: _loop,
    Source.TWO_SCHEDULERS: _two_schedulers,
    Source.DRIFT: _drift,
}


# --------------------------------------------------------------------------- evidence


def _job(source: Source, job: Facts) -> Evidence:
    since = datetime.fromisoformat(job["since"]) if job.get("since") else None
    return Evidence(_job_text(source, job), job=job["job"], since=since)


def _job_text(source: Source, job: Facts) -> str:
    if source is Source.NOT_PLACED:
        if job["unplaceable"]:
            return ngettext(
                "Its pod with %(cards)d cards does not fit on any free node.",
                "Its %(pods)d pods with %(cards)d cards do not fit on the free nodes.",
                job["pods"],
            ) % {"pods": job["pods"], "cards": job["cards"]}
        return ngettext(
            "Its pod with %(cards)d cards has no node.",
            "None of its %(pods)d pods with %(cards)d cards has a node.",
            job["pods"],
        ) % {"pods": job["pods"], "cards": job["cards"]}
    if source is Source.NEVER_ENDING:
        if job["ended"]:
            return _("The job has ended; its pods still hold %(cards)d cards.") % {"cards": job["cards"]}
        return _("Its admission was taken back; its pods still hold %(cards)d cards.") % {"cards": job["cards"]}
    if source is Source.MISSING and "raw" in job:
        return _("It asks for %(cards)d cards.") % {"cards": job["cards"]}
    if source is Source.LOOP:
        return ngettext(
            "It was interrupted for the other one %(count)d time.",
            "It was interrupted for the other one %(count)d times.",
            job["count"],
        ) % {"count": job["count"]}
    return _("What starts its pods together is made again.")


def _cards_outside(cards: int) -> str:
    return ngettext("%(cards)d card of pods of no queue.", "%(cards)d cards of pods of no queue.", cards) % {
        "cards": cards
    }


def _pod_outside(pod: Facts) -> str:
    return ngettext(
        "It holds %(cards)d card of %(node)s, and the scheduler %(scheduler)s has placed it.",
        "It holds %(cards)d cards of %(node)s, and the scheduler %(scheduler)s has placed it.",
        pod["cards"],
    ) % {"cards": pod["cards"], "node": pod["node"], "scheduler": pod["scheduler"]}


def _change_text(change: Facts) -> str:
    values = {
        "group": change["node_group"],
        "planned": _limit(change["planned"]),
        "found": _limit(change["found"]),
    }
    field = DriftField(change["field"])
    if field is DriftField.NOMINAL:
        return _("%(group)s: %(planned)s cards are planned, %(found)s are set.") % values
    if field is DriftField.BORROW_LIMIT:
        return _("%(group)s: may borrow %(planned)s cards by the plan, %(found)s are set.") % values
    if field is DriftField.LEND_LIMIT:
        return _("%(group)s: may lend %(planned)s cards by the plan, %(found)s are set.") % values
    return _("Its order, or from whom it takes cards back, is other than planned.")


def _limit(cards: int | None) -> str:
    return _("any number of") if cards is None else str(cards)
