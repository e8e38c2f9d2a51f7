"""Local queues: the lead's page that makes, holds, drains, reopens and closes them, and the admin's that shows all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.actors import Actor
from accounts.forms import ServiceForm
from accounts.models import Team
from accounts.policy import Action
from accounts.selectors import team_led
from accounts.web import actor_of_page, signed_in
from clusters.contract import BackendError
from clusters.models import Cluster
from common.errors import DomainError, NotFound
from jobs.pages.admin import for_admins
from jobs.pages.queue_limits import SEEN, limits_key, limits_seen, limits_sentences
from quotas.limits import LimitsEffect, limits_effects
from quotas.local_queue_forms import LocalQueueForm, NoForm, StopForm
from quotas.local_queues import (
    local_queue_change,
    local_queue_close,
    local_queue_create,
    local_queue_drain,
    local_queue_hold,
    local_queue_reopen,
)
from quotas.models import LocalQueue
from quotas.selectors.local_queues import LocalQueueView, local_queue_get, local_queue_views, team_queue_get
from quotas.services import quotas_bring

ROWS, PAGES = 50, 10_000
"""Local queues on a page of the admin's, and more pages than there are."""


class QueueAct(StrEnum):
    HOLD = "hold"
    DRAIN = "drain"
    REOPEN = "reopen"
    CHANGE = "change"
    DEFAULT = "default"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class QueueLine:
    """One row of the page: the queue, and what can be done with it."""

    view: LocalQueueView
    acts: tuple[tuple[str, str], ...] = ()


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def queues(request: HttpRequest, team: str) -> HttpResponse:
    """A team's own local queues. `do` and `queue` ask one question; a POST with them does it, without them adds."""
    actor = actor_of_page(request)
    found = team_led(viewer=actor, slug=team)
    views = local_queue_views(viewer=actor, team_id=found.pk)
    act, target = _asked(request, views)
    if request.method != "POST":
        question = _question(act, target, _form(act, target), found) if act and target else None
        return _page(request, found, views, question=question)
    if act is None or target is None:
        return _added(request, actor, found, views)
    form = _form(act, target, request.POST)
    if form.is_valid():
        try:
            if (effect := _untold(request, actor, act, target, form)) is not None:
                return _page(
                    request,
                    found,
                    views,
                    question=_question(act, target, form, found, (effect, limits_sentences(actor, effect))),
                )
            changed = _do(actor, act, target, form)
        except DomainError as error:
            form.add_problems(error)
        else:
            _bring(request, changed.queue.cluster)
            messages.success(request, _done(act) % {"queue": changed.name})
            return redirect("team:queues", team=found.slug)
    return _page(request, found, views, question=_question(act, target, form, found), status=422)


def _untold(
    request: HttpRequest, actor: Actor, act: QueueAct, view: LocalQueueView, form: ServiceForm
) -> LimitsEffect | None:
    """What new limits would do, as long as the lead has not been told; None where nothing is to be told."""
    if act is not QueueAct.CHANGE:
        return None
    would_be = _do(actor, act, view, form, dry_run=True)
    if (would_be.most_cards, would_be.most_cards_each) == (view.most_cards, view.most_cards_each):
        return None
    effect = limits_effects([would_be], timezone.now()).get(would_be.pk)
    return None if limits_seen(request, effect) else effect


@for_admins(Action.QUEUES_MANAGE)
@require_safe
def all_queues(request: HttpRequest) -> HttpResponse:
    """The local queues of all teams, to look at."""
    viewer = actor_of_page(request)
    number = request.GET.get("page", "")
    place = (int(number) - 1) * ROWS if number.isascii() and number.isdecimal() and 0 < int(number) < PAGES else 0
    views = local_queue_views(viewer=viewer, begin=place, end=place + ROWS + 1)
    context = {
        "lines": [QueueLine(view) for view in views[:ROWS]],
        "previous": place // ROWS if place else None,
        "next": place // ROWS + 2 if len(views) > ROWS else None,
    }
    return render(request, "jobs/local_queues_of_all.html", context)


# --------------------------------------------------------------------------- acts


def _asked(request: HttpRequest, views: Sequence[LocalQueueView]) -> tuple[QueueAct | None, LocalQueueView | None]:
    """The act and the queue that the address or the form names. Raises NotFound for what does not exist."""
    asked = request.POST if request.method == "POST" else request.GET
    word, pk = asked.get("do", ""), asked.get("queue", "")
    if not word:
        return None, None
    act = next((each for each in QueueAct if each.value == word), None)
    view = next((each for each in views if str(each.pk) == pk), None)
    if act is None or view is None:
        raise NotFound("not_found", _("There is no such queue, or nothing of this name to do."))
    return act, view


def _form(act: QueueAct | None, view: LocalQueueView | None, data: Any = None) -> ServiceForm:
    if act in (QueueAct.HOLD, QueueAct.DRAIN):
        return StopForm(data)
    if act is QueueAct.CHANGE and view is not None:
        return LocalQueueForm(data, weighs=view.weighs, initial={name: getattr(view, name) for name in _CHANGED})
    return NoForm(data)


_CHANGED = ("name", "weight", "most_cards", "most_cards_each")


def _do(actor: Actor, act: QueueAct, view: LocalQueueView, form: ServiceForm, *, dry_run: bool = False) -> LocalQueue:
    local = local_queue_get(viewer=actor, queue=view.queue, local=view.slug, cluster=view.cluster_slug)
    named: dict[str, Any] = {"actor": actor, "local": local, "dry_run": dry_run}
    match act:
        case QueueAct.HOLD:
            changed = local_queue_hold(**named, reason=form.cleaned_data["reason"])
        case QueueAct.DRAIN:
            changed = local_queue_drain(**named, reason=form.cleaned_data["reason"])
        case QueueAct.REOPEN:
            changed = local_queue_reopen(**named)
        case QueueAct.CHANGE:
            assert isinstance(form, LocalQueueForm)
            changed = local_queue_change(**named, **form.values())
        case QueueAct.DEFAULT:
            changed = local_queue_change(**named, is_default=True)
        case QueueAct.CLOSE:
            changed = local_queue_close(**named)
    changed.queue = local.queue
    return changed


def _added(request: HttpRequest, actor: Actor, team: Team, views: Sequence[LocalQueueView]) -> HttpResponse:
    form = _new_form(views, request.POST)
    if form.is_valid():
        cluster = form.cleaned_data.get("cluster", "")
        try:
            queue = team_queue_get(viewer=actor, queue=_queue_name(views, cluster), cluster=cluster)
            made = local_queue_create(actor=actor, queue=queue, **form.values())
        except DomainError as error:
            form.add_problems(error)
        else:
            _bring(request, queue.cluster)
            messages.success(request, _("%(queue)s is there. Jobs may be sent to it.") % {"queue": made.name})
            return redirect("team:queues", team=team.slug)
    return _page(request, team, views, form=form, status=422)


def _queue_name(views: Sequence[LocalQueueView], cluster: str) -> str:
    return next((view.queue for view in views if cluster in ("", view.cluster_slug)), "")


def _new_form(views: Sequence[LocalQueueView], data: Any = None) -> LocalQueueForm:
    clusters = dict.fromkeys((view.cluster_slug, view.cluster) for view in views)
    return LocalQueueForm(data, weighs=any(view.weighs for view in views), clusters=list(clusters), prefix="new")


def _bring(request: HttpRequest, cluster: Cluster) -> None:
    """One that does not answer is told of; what is stored reaches it later."""
    try:
        quotas_bring(cluster)
    except BackendError:
        sentence = _("%(cluster)s does not answer now. The change is stored and reaches it as soon as it does.")
        messages.warning(request, sentence % {"cluster": cluster.name})


# --------------------------------------------------------------------------- what is shown


def _page(
    request: HttpRequest,
    team: Team,
    views: Sequence[LocalQueueView],
    *,
    question: dict[str, Any] | None = None,
    form: LocalQueueForm | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "team": team,
        "lines": [QueueLine(view, _acts(view)) for view in views],
        "several_clusters": len({view.cluster_slug for view in views}) > 1,
        "weighs": any(view.weighs for view in views),
        "form": form or _new_form(views),
        "confirm": question,
    }
    return render(request, "jobs/local_queues.html", context, status=status)


def _acts(view: LocalQueueView) -> tuple[tuple[str, str], ...]:
    labels = {act: label() for act, label in _LABELS.items()}
    offered = [QueueAct.CHANGE]
    if view.state == LocalQueue.State.OPEN:
        offered += [QueueAct.HOLD, QueueAct.DRAIN]
    elif view.state == LocalQueue.State.HELD:
        offered += [QueueAct.REOPEN, QueueAct.DRAIN]
    else:
        offered += [QueueAct.REOPEN, QueueAct.HOLD]
    if not view.is_default:
        offered.append(QueueAct.DEFAULT)
    if view.can_close:
        offered.append(QueueAct.CLOSE)
    return tuple((act.value, labels[act]) for act in offered)


_LABELS: dict[QueueAct, Callable[[], str]] = {
    QueueAct.HOLD: lambda: _("Hold"),
    QueueAct.DRAIN: lambda: _("Drain"),
    QueueAct.REOPEN: lambda: _("Reopen"),
    QueueAct.CHANGE: lambda: _("Change"),
    QueueAct.DEFAULT: lambda: _("Make default"),
    QueueAct.CLOSE: lambda: _("Close"),
}


def _done(act: QueueAct) -> str:
    return {
        QueueAct.HOLD: _("%(queue)s is held. What runs goes on."),
        QueueAct.DRAIN: _("%(queue)s takes no new jobs. What runs goes on to its end."),
        QueueAct.REOPEN: _("%(queue)s is open again."),
        QueueAct.CHANGE: _("%(queue)s is changed."),
        QueueAct.DEFAULT: _("Jobs that name no local queue go to %(queue)s now."),
        QueueAct.CLOSE: _("%(queue)s is closed. Jobs that ended there still name it."),
    }[act]


def _question(
    act: QueueAct,
    view: LocalQueueView,
    form: ServiceForm,
    team: Team,
    effect: tuple[LimitsEffect, list[tuple[str, str]]] | None = None,
) -> dict[str, Any]:
    """What happens, and what has to be said."""
    title, effects, label = _texts(act)
    told = []
    if effect is not None:
        told, effects = [(SEEN, limits_key(effect[0]))], [*effects, *effect[1]]
    return {
        "title": title % {"queue": view.name},
        "note": "",
        "is_possible": True,
        "effects": effects,
        "hidden": [("do", act.value), ("queue", view.pk), *told],
        "form": form,
        "action_url": reverse("team:queues", args=[team.slug]),
        "back_url": reverse("team:queues", args=[team.slug]),
        "back_label": _("Leave it as it is"),
        "do_label": label,
        "risky": act is QueueAct.CLOSE,
    }


def _texts(act: QueueAct) -> tuple[str, list[tuple[str, str]], str]:
    goes_on = ("player-play", _("Jobs that run go on."))
    keep = ("clock", _("Jobs that wait keep their place and read your reason."))
    match act:
        case QueueAct.HOLD:
            new = ("inbox", _("New jobs are taken, and wait too."))
            return _("Hold %(queue)s?"), [goes_on, keep, new], _("Hold it")
        case QueueAct.DRAIN:
            none = ("ban", _("New jobs are refused, with a sentence that says so."))
            return _("Drain %(queue)s?"), [goes_on, keep, none], _("Drain it")
        case QueueAct.REOPEN:
            starts = ("player-play", _("Jobs that wait are started again in their old order."))
            return _("Reopen %(queue)s?"), [starts], _("Reopen it")
        case QueueAct.CHANGE:
            return _("Change %(queue)s"), [], _("Save")
        case QueueAct.DEFAULT:
            goes = ("inbox", _("New jobs that name no local queue go here. Others stay where they are."))
            return _("Make %(queue)s the default?"), [goes], _("Make it the default")
        case QueueAct.CLOSE:
            gone = ("x", _("Nobody can send jobs to it any more. Its history stays."))
            back = ("arrow-back-up", _("Adding a queue of the same name brings it back."))
            return _("Close %(queue)s?"), [gone, back], _("Close it")
