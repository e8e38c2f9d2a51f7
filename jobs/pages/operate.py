"""The question before an operation on one job, with its effect as it stands and what the operation needs to know."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from accounts.actors import Actor
from accounts.policy import require
from accounts.web import actor_of_page, signed_in
from common.errors import DomainError, InvalidInput
from common.htmx import render_page, wants_partial
from jobs import labels, selectors
from jobs.card_sharing import card_sharing
from jobs.domain.operations import Cell, Effect, Operation, Place
from jobs.forms import PreemptForm, PriorityForm, ScaleForm
from jobs.models import Job
from jobs.services.operations import actions_of, cell_of, job_operate


@dataclass(frozen=True, slots=True)
class Wording:
    """What the question of an operation is called."""

    title: str | Promise
    do_label: str | Promise
    back_label: str | Promise
    done: str | Promise
    risky: bool = False


WORDINGS = {
    Operation.CANCEL: Wording(
        gettext_lazy("Cancel %(name)s?"),
        gettext_lazy("Cancel the job"),
        gettext_lazy("Keep the job"),
        gettext_lazy("The job is being cancelled."),
        risky=True,
    ),
    Operation.HOLD: Wording(
        gettext_lazy("Hold %(name)s?"),
        gettext_lazy("Hold the job"),
        gettext_lazy("Leave it as it is"),
        gettext_lazy("The job is held until somebody resumes it."),
    ),
    Operation.RESUME: Wording(
        gettext_lazy("Resume %(name)s?"),
        gettext_lazy("Resume the job"),
        gettext_lazy("Leave it out of the queue"),
        gettext_lazy("The job is asked to go on."),
    ),
    Operation.RESTART: Wording(
        gettext_lazy("Restart %(name)s?"),
        gettext_lazy("Restart the job"),
        gettext_lazy("Leave it ended"),
        gettext_lazy("A new attempt is queued."),
    ),
    Operation.PREEMPT: Wording(
        gettext_lazy("Preempt %(name)s?"),
        gettext_lazy("Preempt the job"),
        gettext_lazy("Let it go on"),
        gettext_lazy("The job gives way and comes back by itself."),
        risky=True,
    ),
    Operation.REQUEUE: Wording(
        gettext_lazy("Requeue %(name)s?"),
        gettext_lazy("Requeue the job"),
        gettext_lazy("Leave it as it is"),
        gettext_lazy("The job is being requeued."),
    ),
    Operation.PRIORITY: Wording(
        gettext_lazy("Change the priority of %(name)s?"),
        gettext_lazy("Change the priority"),
        gettext_lazy("Leave it as it is"),
        gettext_lazy("The job has its new priority."),
    ),
    Operation.SCALE: Wording(
        gettext_lazy("Scale %(name)s?"),
        gettext_lazy("Scale the service"),
        gettext_lazy("Leave it as it is"),
        gettext_lazy("The service is being scaled."),
    ),
}
EFFECT_ICONS = {
    Effect.NO_CHANGE: "info-circle",
    Effect.STOPS: "player-stop",
    Effect.NEW_ATTEMPT: "rotate-clockwise",
    Effect.LEAVES_QUEUE: "player-pause",
    Effect.GIVES_CARDS_BACK: "player-pause",
    Effect.NOT_SENT: "player-pause",
    Effect.STAYS_OUT: "player-pause",
    Effect.ENTERS_QUEUE: "stack-2",
    Effect.GIVES_WAY_ON: "arrows-exchange",
    Effect.GIVES_WAY: "arrows-exchange",
    Effect.STARTS_ANEW: "arrow-back-up",
    Effect.NEW_PRIORITY: "stack-2",
    Effect.NEW_RANK: "stack-2",
    Effect.NEW_SIZE: "server-2",
    Effect.NEXT_SIZE: "server-2",
}


_Form = PreemptForm | PriorityForm | ScaleForm
STOP = replace(
    WORDINGS[Operation.CANCEL],
    title=gettext_lazy("Stop %(name)s?"),
    do_label=gettext_lazy("Stop the service"),
    back_label=gettext_lazy("Let it serve"),
    done=gettext_lazy("The service is being stopped."),
)
"""A service ends in no other way, so its cancel is called by that name."""


def wording_of(operation: Operation, job: Job) -> Wording:
    return STOP if operation is Operation.CANCEL and job.is_service else WORDINGS[operation]


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def operate(request: HttpRequest, public_id: str, operation: Operation) -> HttpResponse:
    """Ask with the effect as it stands, then do it. What has changed since the question is asked again (409)."""
    actor = actor_of_page(request)
    job = selectors.job_get(viewer=actor, public_id=public_id)
    for action in actions_of(operation, job):
        require(actor, action, job)
    question = _Question(request, job, operation, _form_of(request, actor, job, operation))
    if request.method != "POST":
        return question.page()
    if _is_more_than_was_asked(request, cell_of(operation, job)):
        moved_on = _("The job has moved on since you were asked. This is what happens now.")
        return question.page(note=moved_on, status=409)
    form = question.form
    data = form.data_for_service() if form is not None and form.is_valid() else {}
    try:
        job_operate(actor=actor, job=job, operation=operation, data=data)
    except InvalidInput as error:
        if form is not None:
            form.add_problems(error, form.ATTRS)
        return question.page(status=422)
    except DomainError as error:
        return question.page(note=str(error.message), status=error.status)
    messages.success(request, str(wording_of(operation, job).done))
    return redirect("jobs:detail", job.public_id)


def _is_more_than_was_asked(request: HttpRequest, found: Cell) -> bool:
    """Is it something else by now, or does it lose work that it would not have lost? A second click is neither."""
    if found.effect is None or found.effect is Effect.NO_CHANGE:
        return False
    asked = request.POST
    loses_more = found.loses_work and asked.get("loses_work", "yes") != "yes"
    return loses_more or asked.get("effect", found.effect.value) != found.effect.value


def _form_of(request: HttpRequest, actor: Actor, job: Job, operation: Operation) -> _Form | None:
    typed = request.POST if request.method == "POST" else None
    if operation is Operation.PREEMPT:
        return PreemptForm(typed, waiting=selectors.beneficiaries(viewer=actor, job=job))
    if operation is Operation.SCALE:
        return ScaleForm(typed, present=job.pods)
    if operation is Operation.PRIORITY:
        return PriorityForm(typed, actor=actor, team_id=job.team_id, present=job.priority)
    return None


@dataclass(frozen=True, slots=True)
class _Question:
    request: HttpRequest
    job: Job
    operation: Operation
    form: _Form | None

    def page(self, *, note: str = "", status: int = 200) -> HttpResponse:
        job, operation = self.job, self.operation
        found = cell_of(operation, job)
        wording = wording_of(operation, job)
        refusal = labels.REFUSALS[found.refusal] if found.refusal else ""
        confirm = {
            "title": str(wording.title) % {"name": job.display_name},
            "sharing": card_sharing(job),
            "effects": effects_of(found),
            "note": note or refusal,
            "is_possible": found.effect is not None,
            "hidden": _asked(found),
            "form": self.form if found.effect else None,
            "action_url": reverse("jobs:operate", args=[job.public_id, operation.value]),
            "back_url": reverse("jobs:detail", args=[job.public_id]),
            "back_label": wording.back_label if found.effect else _("Back"),
            "do_label": wording.do_label,
            "risky": wording.risky or found.loses_work,
        }
        heading = "h2" if wants_partial(self.request) else "h1"
        context = {"job": job, "confirm": confirm, "heading": heading}
        return render_page(self.request, "jobs/operate.html", context, partial="question", status=status)


def _asked(found: Cell) -> list[tuple[str, str]]:
    """What the question says, to be compared with what would happen when it is answered."""
    if found.effect is None:
        return []
    return [("effect", found.effect.value), ("loses_work", "yes" if found.loses_work else "no")]


def effects_of(found: Cell) -> list[tuple[str, str]]:
    """What happens, as pairs of an icon and a sentence."""
    effects: list[tuple[str, str]] = []
    if found.effect is not None:
        effects.append((EFFECT_ICONS[found.effect], str(labels.EFFECTS[found.effect])))
    if found.place is not Place.NONE:
        effects.append(("clock", str(labels.PLACES[found.place])))
    if found.loses_work:
        effects.append(("database", str(labels.LOSES_WORK)))
    return effects
