"""Reasons → sentences, in the reader's language (decision 56). One sentence per code; a test compares the lists.

Facts are filled in by name. What a reader may not know is taken out before (`privacy`): another team's job or
person never appears in a sentence or in the facts beside it (decision 36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.utils.formats import date_format, time_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters.domain.reasons import ReasonCode
from common.durations import duration_words
from common.phrases import close_up
from jobs.domain.words import Priority
from jobs.labels import PRIORITIES
from jobs.limit_reasons import local_limit, personal_limit
from jobs.waiting_reasons import (
    Known,
    above_share,
    never_fits,
    no_place,
    not_placed,
    split_over_nodes,
    waiting_for_quota,
)

Facts = Mapping[str, Any]


def reason_text(code: str, facts: Facts) -> str:
    """One sentence or two for a reason. An unknown code of a newer version shows its code."""
    render = _SENTENCES.get(code)
    return render(Known(facts)) if render else code


def _plain(sentence: Callable[[], str]) -> Callable[[Known], str]:
    return lambda facts: sentence() % facts


def _preempting(facts: Known) -> str:
    victims = facts.get("victims")
    count = victims if isinstance(victims, int) else 1
    return ngettext(
        "%(victims)s job of lower rank is ending to make room.",
        "%(victims)s jobs of lower rank are ending to make room.",
        count,
    ) % Known({**facts, "victims": count})


def _pulling(facts: Known) -> str:
    pods = facts.get("pods")
    if pods == 1:
        return _("Pulling the image.")
    return _("Pulling the image: %(ready)s of %(pods)s pods are up.") % facts


def _partly(facts: Known) -> str:
    first = _("Only %(ready)s of %(pods)s pods run.") % facts
    waiting = facts.get("waiting")
    if not isinstance(waiting, int):
        return first
    rest = ngettext("%(waiting)s waits for cards.", "%(waiting)s wait for cards.", waiting) % facts
    return close_up(first + " " + rest)


def _crashes(facts: Known) -> str:
    restarts = facts.get("restarts")
    return (
        ngettext(
            "Replica %(rank)s was started again %(restarts)s time; its program ended with exit code %(exit_code)s.",
            "Replica %(rank)s was started again %(restarts)s times; its program ended with exit code %(exit_code)s.",
            restarts if isinstance(restarts, int) else 2,
        )
        % facts
    )


def _with_rank(one: Callable[[], str], ranked: Callable[[], str]) -> Callable[[Known], str]:
    """Name the rank where there are several pods."""

    def render(facts: Known) -> str:
        several = isinstance(facts.get("pods"), int) and facts["pods"] > 1 and facts.get("rank") is not None
        return (ranked() if several else one()) % facts

    return render


def _on_node(known: Callable[[], str], unknown: Callable[[], str]) -> Callable[[Known], str]:
    return lambda facts: (known() if facts.get("node") else unknown()) % facts


def _preempted(own: Callable[[], str]) -> Callable[[Known], str]:
    """The rule, and by which job where the reader may know it."""

    def render(facts: Known) -> str:
        if facts.get("by_name"):
            return close_up(own() % facts + " " + _("The cards went to %(by_name)s.") % facts)
        return own() % facts

    return render


def _held(facts: Known) -> str:
    if facts.get("by_person"):
        return _("Held by %(by_person)s. It does not wait in the queue until somebody resumes it.") % facts
    return _("Held. It does not wait in the queue until somebody resumes it.")


def _queue_held(facts: Known) -> str:
    """Of a local queue by whom and why; the whole queue is stopped on the cluster itself."""
    if not facts.get("queue"):
        return _("The team's queue is stopped by a platform admin. Running jobs go on.")
    if facts.get("queue_state") == "draining":
        return _("The team's queue %(queue)s is being emptied by %(by_person)s: %(why)s") % facts
    return _("The team's queue %(queue)s is held by %(by_person)s: %(why)s") % facts


def _gave_way(facts: Known) -> str:
    values = Known({**facts, "until": _clock(facts.get("until"))})
    if facts.get("by_person"):
        who = _("Preempted by %(by_person)s.") % values
    else:
        who = _("Preempted by a team lead or a platform admin.")
    if facts.get("by_name"):
        how = _("It gives way to %(by_name)s and is in the queue again by %(until)s, in its old place.") % values
    else:
        how = _("It gives way and is in the queue again by %(until)s, in its old place.") % values
    return close_up(who + " " + how)


def _maintenance(facts: Known) -> str:
    values = Known({**facts, "until": _day_and_clock(facts.get("until"))})
    why = _("It would not end before maintenance of the nodes that could hold it; it is kept here until %(until)s.")
    longest = facts.get("max_run_seconds")
    if isinstance(longest, int) and longest > 0:
        way_out = _("With a longest run below %(length)s it may start before.")
        way_out %= {"length": duration_words(longest)}
    else:
        way_out = _("With a longest run it may start before.")
    return close_up(why % values + " " + way_out)


def _not_sent(facts: Known) -> str:
    if facts.get("error") == "internal_error":
        return _("Sending it fails again and again. The job is kept and tried each minute; the server's log says why.")
    return _("The cluster cannot be reached now. The job is kept and sent as soon as it answers.")


def _clock(until: object) -> str:
    """A stored moment as the reader's clock shows it."""
    try:
        moment = datetime.fromisoformat(str(until))
    except ValueError:
        return "?"
    return time_format(localtime(moment), "H:i") if moment.tzinfo else "?"


def _day_and_clock(until: object) -> str:
    """The same with its day, for what may be far away."""
    try:
        moment = datetime.fromisoformat(str(until))
    except ValueError:
        return "?"
    return date_format(localtime(moment), "Y-m-d H:i") if moment.tzinfo else "?"


C = ReasonCode
_SENTENCES: dict[str, Callable[[Known], str]] = {
    C.SUBMITTED: _plain(lambda: _("Submitted, about to be looked at.")),
    C.NOT_PICKED_UP: _plain(
        lambda: _("The cluster has not answered for a minute. Nothing is lost; platform admins can see it.")
    ),
    C.NOT_SENT: _not_sent,
    C.WAITING_FOR_QUOTA: waiting_for_quota,
    C.WAITING_ABOVE_SHARE: above_share,
    C.SPLIT_OVER_NODES: split_over_nodes,
    C.NO_PLACE: no_place,
    C.NEVER_FITS: never_fits,
    C.NOT_OFFERED: _plain(
        lambda: _("The team's queue offers no cards of %(group)s. Ask a platform admin for a share.")
    ),
    C.WAITING_FOR_PREEMPTION: _preempting,
    C.QUEUE_HELD: _queue_held,
    C.QUEUE_MISSING: _plain(lambda: _("The team's queue is missing on the cluster. A platform admin must restore it.")),
    C.QUEUE_MISCONFIGURED: _plain(
        lambda: _("The team's queue is set up wrongly on the cluster. A platform admin has to mend it.")
    ),
    C.WAITING_FOR_CHECK: _plain(lambda: _("Cards are reserved; a check of the cluster has not answered yet.")),
    C.WAITING: _plain(lambda: _("Waiting in the team's queue.")),
    C.LOCAL_LIMIT: local_limit,
    C.PERSONAL_LIMIT: personal_limit,
    C.HELD: _held,
    C.PREEMPTED_HIGHER_PRIORITY: _preempted(
        lambda: _("Preempted: inside a team, a higher priority may take cards. It keeps its place in the queue.")
    ),
    C.PREEMPTED_QUOTA_RECLAIMED: _preempted(
        lambda: _("Preempted: the cards were borrowed and their owner took them back. It keeps its place in the queue.")
    ),
    C.PREEMPTED_WHILE_BORROWING: _preempted(
        lambda: _("Preempted: borrowed cards went to a job of higher priority. It keeps its place in the queue.")
    ),
    C.PREEMPTED_FAIR_SHARE: _preempted(
        lambda: _("Preempted: borrowed cards were divided anew between the teams. It keeps its place in the queue.")
    ),
    C.PREEMPTED_BY_PERSON: _gave_way,
    C.WAITING_FOR_MAINTENANCE: _maintenance,
    C.QUEUE_DRAINED: _plain(lambda: _("Stopped because a platform admin emptied the team's queue. It waits there.")),
    C.REQUEUING: _plain(lambda: _("Being requeued; its pods are ending.")),
    C.REQUEUED_BY_PERSON: _plain(
        lambda: _("Stopped to be requeued: a new attempt waits at the end of the queue of its priority.")
    ),
    C.NAME_CONFLICT: _plain(
        lambda: _("Another program owns an object of this job's name on the cluster. A platform admin has to look.")
    ),
    C.STARTING: _plain(lambda: _("Admitted; its pods are being made.")),
    C.PLACING: _plain(lambda: _("Admitted; looking for nodes that hold all pods together.")),
    C.RELEASED_NOT_PLACED: _plain(
        lambda: _(
            "It had its cards, but no nodes could take its pods for 15 minutes. It gave them back and queues again."
        )
    ),
    C.HELD_NOT_PLACED: _plain(
        lambda: _(
            "Held: three times it had its cards and no nodes could take its pods. Resume it when enough cards are free "
            "together, or ask for a smaller shape."
        )
    ),
    C.NOT_PLACED: not_placed,
    C.WAITING_FOR_RELEASE: _plain(lambda: _("Admitted; the jobs before it are still leaving its nodes.")),
    C.PULLING_IMAGE: _pulling,
    C.IMAGE_NAME_INVALID: _plain(lambda: _("The image name is not valid. Correct it and submit again.")),
    C.IMAGE_NOT_FOUND: _plain(lambda: _("The image does not exist in its registry. Check its name and tag.")),
    C.IMAGE_UNAUTHORIZED: _plain(lambda: _("The registry refuses this image. Ask for access, or check its name.")),
    C.IMAGE_TIMEOUT: _plain(lambda: _("The registry does not answer, so the image cannot be pulled.")),
    C.WAITING_FOR_PODS: _plain(lambda: _("%(ready)s of %(pods)s pods are up; the others are starting.")),
    C.RUNNING: _plain(lambda: _("All pods run.")),
    C.PARTLY_READY: _partly,
    C.FINISHING: _plain(lambda: _("Its pods are ending.")),
    C.CRASH_LOOP: _crashes,
    C.ROLLOUT_STUCK: _plain(
        lambda: _("Its replicas have their cards and none comes up. See their logs. After an hour it is stopped.")
    ),
    C.COMPLETED: _plain(lambda: _("Ended well.")),
    C.COMPLETED_BY_LAUNCHER: _plain(lambda: _("Ended well: its launcher ended, and the other pods were stopped.")),
    C.STOPPED_AT_LIMIT: _plain(lambda: _("Stopped at its longest run time.")),
    C.APP_EXIT: _with_rank(
        lambda: _("The program ended with exit code %(exit_code)s. See the end of its log."),
        lambda: _("Rank %(rank)s ended first, with exit code %(exit_code)s. See the end of its log."),
    ),
    C.OUT_OF_MEMORY: _with_rank(
        lambda: _("The program ran out of memory on its node."),
        lambda: _("Rank %(rank)s ran out of memory on its node."),
    ),
    C.TIME_LIMIT: _plain(lambda: _("Stopped at its longest run time. Set a longer one and restart to go on.")),
    C.BAD_CONFIG: _plain(lambda: _("The container could not be started as configured. Check command and image.")),
    C.NODE_LOST: _on_node(
        lambda: _("Node %(node)s stopped answering. Not the program's fault."),
        lambda: _("A node stopped answering. Not the program's fault."),
    ),
    C.NODE_SHUTDOWN: _on_node(
        lambda: _("Node %(node)s was shut down. Not the program's fault."),
        lambda: _("A node was shut down. Not the program's fault."),
    ),
    C.EVICTED_NODE_PRESSURE: _on_node(
        lambda: _("Node %(node)s was short of memory or disk and ended a pod."),
        lambda: _("A node was short of memory or disk and ended a pod."),
    ),
    C.DEVICE_ADMISSION_ERROR: _on_node(
        lambda: _("Node %(node)s could not give the cards it had promised. Not the program's fault."),
        lambda: _("A node could not give the cards it had promised. Not the program's fault."),
    ),
    C.DISRUPTION: _plain(lambda: _("The cluster took a pod away, so the whole job was stopped. Not its own fault.")),
    C.NEVER_READY: _plain(lambda: _("It was started several times and never came up.")),
    C.REJECTED: _plain(lambda: _("The cluster refused the job: %(raw)s")),
    C.UNKNOWN_FAILURE: _plain(lambda: _("It failed, and the cluster gave no cause.")),
    C.OUTCOME_NOT_RECORDED: _plain(
        lambda: _("Its object vanished from the cluster before the outcome was seen. It may have been deleted by hand.")
    ),
    C.CANCELLING: _plain(lambda: _("Being cancelled; its pods are ending.")),
    C.CANCELLED_BY_PERSON: lambda facts: (
        _("Cancelled by %(by_person)s.") % facts if facts.get("by_person") else _("Cancelled.")
    ),
    C.UNKNOWN_SIGNAL: _plain(lambda: _("The cluster says something this version does not know: %(raw)s")),
}


def _asked_to_give_way(facts: Known) -> str:
    values = Known({**facts, "until": _clock(facts.get("until"))})
    if facts.get("by_name"):
        return _("Asked to give way to %(by_name)s until %(until)s at the latest.") % values
    return _("Asked to give way until %(until)s at the latest.") % values


def _asked_for_priority(facts: Known) -> str:
    values = Known({**facts, "from": _priority(facts.get("from")), "to": _priority(facts.get("to"))})
    change = _("Asked to change the priority from %(from)s to %(to)s.") % values
    return close_up(change + " " + _("Reason: %(reason)s") % values) if facts.get("reason") else change


def _priority(word: object) -> str:
    return str(PRIORITIES[Priority(str(word))]).lower() if word in set(Priority) else "?"


def _maintenance_ahead(facts: Known) -> str:
    values = Known({**facts, "until": _day_and_clock(facts.get("until"))})
    return _("Maintenance takes its nodes at %(until)s, before it would end.") % values


_EVENTS: dict[str, Callable[[Known], str]] = {
    "submitted": _plain(lambda: _("Submitted.")),
    "attempt_adopted": _plain(lambda: _("The cluster runs an attempt that was not recorded here: it is taken over.")),
    "maintenance_ahead": _maintenance_ahead,
    "asked_cancel": _plain(lambda: _("Asked to cancel.")),
    "asked_restart": _plain(lambda: _("Asked to restart: a new attempt at the end of the queue.")),
    "asked_hold": _plain(lambda: _("Asked to hold.")),
    "asked_resume": _plain(lambda: _("Asked to resume.")),
    "asked_preempt": _asked_to_give_way,
    "asked_requeue": _plain(lambda: _("Asked to requeue: a new attempt at the end of the queue.")),
    "asked_priority": _asked_for_priority,
    "asked_scale": _plain(lambda: _("Asked to change the replicas from %(from)s to %(to)s.")),
}


def event_text(code: str, facts: Facts) -> str:
    """The sentence of a timeline entry: an act of a person, or a reason that was seen."""
    act = _EVENTS.get(code)
    return act(Known(facts)) if act else reason_text(code, facts)


def known_codes() -> frozenset[str]:
    """Codes that have a sentence."""
    return frozenset(_SENTENCES)
