"""The jobs API: thin doors to services and selectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import StreamingHttpResponse
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from accounts.policy import Action, require
from common.api import errors, field_names, object_body, page_of, page_out
from common.errors import FieldProblem, InvalidInput, NotFound
from jobs import selectors
from jobs.api import schemas
from jobs.logs import raw_log, read_logs
from jobs.models import Attempt, Job
from jobs.privacy import visible_names
from jobs.services.submit import job_submit

_FILTERS = ("state", "search", "group", "team", "owner", "priority", "kind")


def detail_of(request: Request, public_id: str) -> dict[str, Any]:
    """The whole body of one job the caller may see."""
    job = selectors.job_get(viewer=actor_of_request(request), public_id=public_id)
    return _detail(request, job, selectors.attempts_of(job))


def _detail(request: Request, job: Job, attempts: Sequence[Attempt]) -> dict[str, Any]:
    viewer = actor_of_request(request)
    reason = selectors.reasons_of(viewer, [job])[job.pk]
    names = visible_names(viewer, (attempt.end_facts for attempt in attempts))
    return schemas.job_detail_body(viewer, job, reason, attempts, names)


class JobsView(APIView):
    @extend_schema(
        operation_id="jobs_list",
        parameters=[OpenApiParameter(name, str) for name in _FILTERS] + [OpenApiParameter("cursor", str)],
        responses={200: page_of("JobPage", schemas.JobOut), **errors(400, 401)},
        tags=["jobs"],
    )
    def get(self, request: Request) -> Response:
        """Jobs the caller may see, newest first, 50 a page."""
        viewer = actor_of_request(request)
        filters = selectors.JobFilters(**{name: request.query_params.get(name, "") for name in _FILTERS})
        page = selectors.job_list(viewer=viewer, filters=filters, cursor=request.query_params.get("cursor"))
        reasons = selectors.reasons_of(viewer, page.rows)
        return page_out(request, page, lambda rows: [schemas.job_body(job, reasons[job.pk]) for job in rows])

    @extend_schema(
        operation_id="jobs_submit",
        request=schemas.JobIn,
        parameters=[
            OpenApiParameter(
                "Idempotency-Key",
                str,
                OpenApiParameter.HEADER,
                description="The same key with the same body gives the same job for a day.",
            )
        ],
        responses={201: schemas.JobDetailOut, **errors(400, 401, 403, 409, 422)},
        tags=["jobs"],
    )
    def post(self, request: Request) -> Response:
        """Submit a job with four facts. Nothing is stored unless all of it is right."""
        done = job_submit(
            actor=actor_of_request(request),
            data=object_body(request),
            idempotency_key=request.headers.get("Idempotency-Key"),
        )
        if done.attempt is None:
            return Response(detail_of(request, done.job.public_id), status=201)
        return Response(_detail(request, done.job, [done.attempt]), status=201)  # known as stored: no need to read it


class JobView(APIView):
    @extend_schema(operation_id="jobs_read", responses={200: schemas.JobDetailOut, **errors(401, 404)}, tags=["jobs"])
    def get(self, request: Request, public_id: str) -> Response:
        """One job: state and why, attempts and their runs, what can be done."""
        return Response(detail_of(request, public_id))


class JobTimelineView(APIView):
    @extend_schema(
        operation_id="jobs_timeline",
        responses={200: schemas.TimelineOut(many=True), **errors(401, 404)},
        tags=["jobs"],
    )
    def get(self, request: Request, public_id: str) -> Response:
        """What happened to the job, in order."""
        viewer = actor_of_request(request)
        job = selectors.job_get(viewer=viewer, public_id=public_id)
        fields = field_names(schemas.TimelineOut)
        entries = selectors.timeline(viewer=viewer, job=job)
        return Response([{name: getattr(entry, name) for name in fields} for entry in entries])


def _attempt_of(job: Job, text: str | None) -> Attempt:
    number = job.attempt_no if not text else _number("attempt", text)
    attempt = job.attempts.filter(number=number).first()
    if attempt is None:
        raise NotFound("not_found", _("The job has no attempt of this number."))
    return attempt


def _number(name: str, text: str) -> int:
    try:
        value = int(text) if text.isascii() and len(text) <= 18 else None
    except ValueError:
        value = None
    if value is None:
        raise InvalidInput([FieldProblem(name, "not_a_number", _("Write a whole number."))])
    return value


class JobLogsView(APIView):
    @extend_schema(
        operation_id="jobs_logs",
        parameters=[
            OpenApiParameter("attempt", int, description="The newest by default."),
            OpenApiParameter("pod", str, description="A pod's name or rank; all by default."),
            OpenApiParameter("cursor", str, description="`next` of the answer before."),
        ],
        responses={200: schemas.LogsOut, **errors(400, 401, 404)},
        tags=["jobs"],
    )
    def get(self, request: Request, public_id: str) -> Response:
        """Log lines after a cursor, at most 1,000; ask again with `next` until `complete`."""
        viewer = actor_of_request(request)
        job = selectors.job_get(viewer=viewer, public_id=public_id)
        require(viewer, Action.LOG_VIEW, job)
        attempt = _attempt_of(job, request.query_params.get("attempt"))
        pod = request.query_params.get("pod", "")
        rank = _number("pod", pod.rsplit("-", 1)[-1]) if pod else None
        cursor = request.query_params.get("cursor", "")
        page = read_logs(attempt, after=_number("cursor", cursor) if cursor else -1, rank=rank)
        lines = [{"seq": line.seq, "at": line.at, "pod": line.pod, "text": line.text} for line in page.lines]
        return Response({"lines": lines, "next": str(page.next), "complete": page.complete})


class JobLogFileView(APIView):
    @extend_schema(
        operation_id="jobs_log_file",
        parameters=[OpenApiParameter("attempt", int)],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, **errors(400, 401, 404)},
        tags=["jobs"],
    )
    def get(self, request: Request, public_id: str) -> StreamingHttpResponse:
        """The whole log of an attempt as written, byte for byte."""
        viewer = actor_of_request(request)
        job = selectors.job_get(viewer=viewer, public_id=public_id)
        require(viewer, Action.LOG_VIEW, job)
        attempt = _attempt_of(job, request.query_params.get("attempt"))
        response = StreamingHttpResponse(raw_log(attempt), content_type="application/octet-stream")
        response["Content-Disposition"] = f'attachment; filename="{attempt.object_name}.log"'
        return response
