"""Many jobs in one request: submit, and one operation on many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.actors import Actor
from accounts.api.base import actor_of_request
from common.api import errors, object_body
from common.errors import FieldProblem, InvalidInput, error_body
from jobs import selectors
from jobs.api import schemas
from jobs.domain.operations import Cell, Effect, Operation
from jobs.labels import EFFECTS
from jobs.models import Job
from jobs.services.bulk import Entry, jobs_submit, place_of
from jobs.services.bulk_operate import Outcome, Result, jobs_operate

_SUBMIT_FIELDS = frozenset({"jobs", "all_or_nothing"})


class BulkSubmitView(APIView):
    @extend_schema(
        operation_id="jobs_submit_many",
        request=schemas.BulkIn,
        parameters=[
            OpenApiParameter(
                "Idempotency-Key",
                str,
                OpenApiParameter.HEADER,
                description="The same key with the same body never makes a job twice, for a day.",
            )
        ],
        responses={201: schemas.BulkOut, 207: schemas.BulkOut, **errors(400, 401, 403, 413, 422)},
        tags=["jobs"],
    )
    def post(self, request: Request) -> Response:
        """Submit up to 100 jobs at once: all of them, or by request those that are right (207 if some are not)."""
        actor, body = actor_of_request(request), object_body(request)
        if unknown := sorted(set(body) - _SUBMIT_FIELDS):
            raise InvalidInput([FieldProblem(unknown[0], "unknown_field", _("This field is not known."))])
        entries = jobs_submit(
            actor=actor,
            bodies=body.get("jobs"),
            all_or_nothing=body.get("all_or_nothing", True),
            idempotency_key=request.headers.get("Idempotency-Key"),
        )
        bodies = _job_bodies(actor, [entry.job for entry in entries if entry.job is not None])
        refused = sum(entry.job is None for entry in entries)
        results = [_entry(index, entry, bodies) for index, entry in enumerate(entries)]
        answer = {"stored": len(entries) - refused, "refused": refused, "results": results}
        return Response(answer, status=207 if refused else 201)


def _entry(index: int, entry: Entry, bodies: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if entry.job is not None:
        return {"status": 201, "job": bodies[entry.job.public_id], "errors": []}
    problems = [FieldProblem(place_of(index, p.attr), p.code, p.message) for p in entry.problems]
    return {"status": 400, "job": None, "errors": error_body(InvalidInput(problems))["errors"]}


def _job_bodies(viewer: Actor, jobs: Sequence[Job]) -> dict[str, dict[str, Any]]:
    """By id; of new jobs everything is at hand, those of an earlier request are read again."""
    complete = [job for job in jobs if "local_queue" in job._state.fields_cache]
    old = {job.public_id for job in jobs} - {job.public_id for job in complete}
    if old:
        complete += selectors.jobs_by_ulid(viewer=viewer, ulids=old).values()
    reasons = selectors.reasons_of(viewer, complete)
    return {job.public_id: schemas.job_body(job, reasons[job.pk]) for job in complete}


class BulkOperateView(APIView):
    @extend_schema(
        operation_id="jobs_operate_many",
        request=schemas.BulkOperateIn,
        responses={200: schemas.BulkOperateOut, **errors(400, 401)},
        tags=["jobs"],
    )
    def post(self, request: Request) -> Response:
        """One operation on up to 200 jobs; each has its own result, and one that is refused stops no other.

        With `dry_run` nothing is done: the results say what would become of each job as it stands.
        """
        body = object_body(request)
        dry_run = body.get("dry_run", False)
        if not isinstance(dry_run, bool):
            raise InvalidInput([FieldProblem("dry_run", "not_a_boolean", _("Send true or false."))])
        results = jobs_operate(
            actor=actor_of_request(request),
            operation=_operation(body.get("operation")),
            ids=body.get("ids"),
            data=body,
            dry_run=dry_run,
        )
        counts = {outcome.value: sum(result.outcome is outcome for result in results) for outcome in Outcome}
        return Response({"dry_run": dry_run, **counts, "results": [_result(result) for result in results]})


def _operation(word: Any) -> Operation:
    try:
        return Operation(word)
    except ValueError:
        words = ", ".join(operation.value for operation in Operation)
        sentence = _("Choose one of %(words)s.") % {"words": words}
        raise InvalidInput([FieldProblem("operation", "unknown_choice", sentence)]) from None


def _result(result: Result) -> dict[str, Any]:
    return {
        "id": result.public_id,
        "outcome": result.outcome.value,
        "status": result.error.status if result.error else 200,
        "effect": _effect(result),
        "errors": error_body(result.error)["errors"] if result.error else [],
    }


def _effect(result: Result) -> dict[str, Any] | None:
    """What the table says happens to the job; None for one that is refused."""
    if result.found is None or result.found.effect is None:
        return None
    found, effect = result.found, result.found.effect
    if result.outcome is Outcome.UNCHANGED and effect is not Effect.NO_CHANGE:  # the wished value is the present one
        found, effect = Cell(Effect.NO_CHANGE), Effect.NO_CHANGE
    return {
        "code": effect.value,
        "text": str(EFFECTS[effect]),
        "place": found.place.value,
        "makes": found.makes.value,
        "loses_work": found.loses_work,
    }
