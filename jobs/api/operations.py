"""Operations on one job: thin doors to `jobs.services.operations`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from common.api import errors, object_body
from jobs import selectors
from jobs.api import schemas
from jobs.api.views import detail_of
from jobs.domain.operations import Operation
from jobs.services.operations import job_operate

_Post = TypeVar("_Post", bound=Callable[..., Response])


def _operate(request: Request, public_id: str, operation: Operation, data: dict[str, Any] | None = None) -> Response:
    viewer = actor_of_request(request)
    job = selectors.job_get(viewer=viewer, public_id=public_id)
    job_operate(actor=viewer, job=job, operation=operation, data=data)
    return Response(detail_of(request, public_id))


def _schema(operation: Operation, body: type[Any] | None = None) -> Callable[[_Post], _Post]:
    return extend_schema(
        operation_id=f"jobs_{operation.value}",
        request=body,
        responses={200: schemas.JobDetailOut, **errors(*((400,) if body else ()), 401, 403, 404, 409)},
        tags=["jobs"],
    )


class JobCancelView(APIView):
    @_schema(Operation.CANCEL)
    def post(self, request: Request, public_id: str) -> Response:
        """Stop the job for good. It ends as cancelled when its pods are gone."""
        return _operate(request, public_id, Operation.CANCEL)


class JobRestartView(APIView):
    @_schema(Operation.RESTART)
    def post(self, request: Request, public_id: str) -> Response:
        """Run an ended job again: a new attempt at the end of the queue."""
        return _operate(request, public_id, Operation.RESTART)


class JobHoldView(APIView):
    @_schema(Operation.HOLD)
    def post(self, request: Request, public_id: str) -> Response:
        """Take the job out of the queue; a running one gives its cards back."""
        return _operate(request, public_id, Operation.HOLD)


class JobResumeView(APIView):
    @_schema(Operation.RESUME)
    def post(self, request: Request, public_id: str) -> Response:
        """Let a held job wait again, in its old place. Whoever may preempt ends a preemption early with it."""
        return _operate(request, public_id, Operation.RESUME)


class JobPreemptView(APIView):
    @_schema(Operation.PREEMPT, schemas.PreemptIn)
    def post(self, request: Request, public_id: str) -> Response:
        """Make the job give its cards to another one, or until a time; it comes back by itself within 15 minutes."""
        return _operate(request, public_id, Operation.PREEMPT, object_body(request))


class JobRequeueView(APIView):
    @_schema(Operation.REQUEUE)
    def post(self, request: Request, public_id: str) -> Response:
        """Stop the present attempt; a new one goes to the end of the queue and counts as no retry."""
        return _operate(request, public_id, Operation.REQUEUE)


class JobPriorityView(APIView):
    @_schema(Operation.PRIORITY, schemas.PriorityIn)
    def post(self, request: Request, public_id: str) -> Response:
        """Change the priority of a live job, up to one's own maximum; its time in the queue is kept."""
        return _operate(request, public_id, Operation.PRIORITY, object_body(request))


class JobScaleView(APIView):
    @_schema(Operation.SCALE, schemas.ScaleIn)
    def post(self, request: Request, public_id: str) -> Response:
        """Change the number of replicas of an inference service; the others go on."""
        return _operate(request, public_id, Operation.SCALE, object_body(request))
