"""One operation on the jobs chosen in a list: a page that says what happens to each, then the doing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from accounts.actors import Actor
from accounts.policy import Action, can
from accounts.web import actor_of_page, signed_in
from common.errors import InvalidInput, NotFound
from common.phrases import close_up
from common.ways_back import path_back
from jobs import labels, selectors
from jobs.domain.operations import Operation
from jobs.forms import PreemptForm, PriorityForm
from jobs.models import Job
from jobs.pages.operate import effects_of
from jobs.services.bulk_operate import Outcome, Outlook, Result, jobs_operate, jobs_outlook


@dataclass(frozen=True, slots=True)
class Wording:
    """What the question is called, and its button."""

    title: str | Promise
    do_label: str | Promise
    risky: bool = False


WORDINGS = {
    Operation.CANCEL: Wording(gettext_lazy("Cancel these jobs?"), gettext_lazy("Cancel the jobs"), risky=True),
    Operation.HOLD: Wording(gettext_lazy("Hold these jobs?"), gettext_lazy("Hold the jobs")),
    Operation.RESUME: Wording(gettext_lazy("Resume these jobs?"), gettext_lazy("Resume the jobs")),
    Operation.REQUEUE: Wording(gettext_lazy("Requeue these jobs?"), gettext_lazy("Requeue the jobs")),
    Operation.RESTART: Wording(gettext_lazy("Restart these jobs?"), gettext_lazy("Restart the jobs")),
    Operation.PRIORITY: Wording(
        gettext_lazy("Change the priority of these jobs?"), gettext_lazy("Change the priorities")
    ),
    Operation.PREEMPT: Wording(gettext_lazy("Preempt these jobs?"), gettext_lazy("Preempt the jobs"), risky=True),
}
"""What can be done to several jobs at once."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One operation in the bar below a list."""

    operation: Operation
    label: str | Promise


def choices_for(viewer: Actor) -> list[Choice]:
    """What the bar offers to this person."""
    operations = [op for op in WORDINGS if op is not Operation.PREEMPT or can(viewer, Action.JOB_PREEMPT)]
    return [Choice(operation, labels.OPERATIONS[operation]) for operation in operations]


@dataclass(frozen=True, slots=True)
class Row:
    """One chosen job: what happens to it, or why nothing does."""

    job: Job | None
    public_id: str
    what: str
    changes: bool


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def operate(request: HttpRequest) -> HttpResponse:
    """Ask first; with ``confirmed`` do it. Jobs that moved on meanwhile are decided as they stand then.

    But for one that would lose work by now, and would not have when that was asked: then the question comes again.
    Who is led here anew, by another language or a sign-in on the way, chooses in the list again.
    """
    if request.method != "POST":
        return redirect("jobs:list")
    actor = actor_of_page(request)
    operation = _operation(request.POST.get("operation", ""))
    ids = request.POST.getlist("ids")
    if not ids:
        messages.warning(request, _("Choose at least one job first."))
        return HttpResponseRedirect(_back(request))
    outlooks = jobs_outlook(actor=actor, operation=operation, ids=ids)
    form = _form_of(request, actor, operation, outlooks)
    if "confirmed" not in request.POST:
        return _question(request, operation, outlooks, form)
    if "loses" in request.POST and not _losing(outlooks) <= set(request.POST["loses"].split()):
        messages.warning(request, _("Jobs have moved on since you were asked. This is what happens now."))
        return _question(request, operation, outlooks, form, status=409)
    data = form.data_for_service() if form is not None and form.is_valid() else {}
    try:
        results = jobs_operate(actor=actor, operation=operation, ids=ids, data=data)
    except InvalidInput as error:
        if form is not None:
            form.add_problems(error, form.ATTRS)
        return _question(request, operation, outlooks, form, status=422)
    if form is not None and (problem := _of_the_form(results)) is not None:
        form.add_problems(problem, form.ATTRS)
        return _question(request, operation, outlooks, form, status=422)
    _tell(request, results)
    return HttpResponseRedirect(_back(request))


def _operation(word: str) -> Operation:
    operation = next((operation for operation in WORDINGS if operation.value == word), None)
    if operation is None:
        raise NotFound("not_found", _("There is no such operation."))
    return operation


def _losing(outlooks: list[Outlook]) -> set[str]:
    """Ids of the jobs that would lose work."""
    return {outlook.public_id for outlook in outlooks if outlook.found is not None and outlook.found.loses_work}


def _form_of(
    request: HttpRequest, actor: Actor, operation: Operation, outlooks: list[Outlook]
) -> PreemptForm | PriorityForm | None:
    typed = request.POST if "confirmed" in request.POST else None
    jobs = [each.job for each in outlooks if each.job is not None and each.changes]
    if not jobs:
        return None
    if operation is Operation.PREEMPT:
        return PreemptForm(typed, waiting=selectors.beneficiaries(viewer=actor, job=jobs[0]))
    if operation is Operation.PRIORITY:
        return PriorityForm(typed, actor=actor, team_id=jobs[0].team_id, present=jobs[0].priority)
    return None


def _of_the_form(results: list[Result]) -> InvalidInput | None:
    """A problem with what was typed, when it kept every job from being changed: it belongs at its field."""
    if any(result.outcome is Outcome.DONE for result in results):
        return None
    return next((result.error for result in results if isinstance(result.error, InvalidInput)), None)


def _question(
    request: HttpRequest, operation: Operation, outlooks: list[Outlook], form: Any, *, status: int = 200
) -> HttpResponse:
    rows = [_row(outlook) for outlook in outlooks]
    wording = WORDINGS[operation]
    losing = _losing(outlooks)
    context = {
        "operation": operation.value,
        "title": wording.title,
        "do_label": wording.do_label,
        "rows": rows,
        "changing": [row for row in rows if row.changes],
        "losing": " ".join(sorted(losing)),
        "risky": wording.risky or bool(losing),
        "form": form,
        "back_url": _back(request),
    }
    return render(request, "jobs/bulk.html", context, status=status)


def _row(outlook: Outlook) -> Row:
    if outlook.error is not None:
        return Row(outlook.job, outlook.public_id, str(outlook.error.message), changes=False)
    sentences = [sentence for _icon, sentence in effects_of(outlook.found)] if outlook.found is not None else []
    return Row(outlook.job, outlook.public_id, close_up(" ".join(sentences)), outlook.changes)


def _tell(request: HttpRequest, results: list[Result]) -> None:
    """How many were done, and the names of those that were not."""
    done = sum(result.outcome is Outcome.DONE for result in results)
    if done:
        sentence = ngettext("It is asked for %(count)d job.", "It is asked for %(count)d jobs.", done)
        messages.success(request, sentence % {"count": done})
    for result in results:
        if result.error is not None:
            name = result.job.display_name if result.job is not None else result.public_id[:26]
            messages.warning(request, _("%(name)s: %(why)s") % {"name": name, "why": result.error.message})


def _back(request: HttpRequest) -> str:
    return path_back(request, otherwise=reverse("jobs:list"))
