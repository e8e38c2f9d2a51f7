"""The API about local queues: a lead's own, without an admin. Every change takes `dry_run`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from common.api import errors, field_names, known_body
from common.errors import FieldProblem, InvalidInput
from common.units import CARDS_MAX
from quotas import local_queues
from quotas.limit_fields import UNCHANGED
from quotas.limits import LimitsEffect
from quotas.models import LocalQueue
from quotas.selectors.local_queues import (
    LocalQueueView,
    local_queue_get,
    local_queue_view,
    local_queue_views,
    team_queue_get,
)
from quotas.services import quotas_bring

JOBS_TOLD = 50


class LimitsOut(serializers.Serializer[Any]):
    """Jobs beyond a limit wait and have no object on the cluster. What has cards already goes on."""

    taken = serializers.IntegerField(help_text="Cards of jobs that were let in.")
    waiting = serializers.IntegerField(help_text="Jobs that wait for the limits.")
    waiting_jobs = serializers.ListField(child=serializers.CharField(), help_text="Their ids, the next 50 in order.")
    over = serializers.IntegerField(help_text="Jobs that were let in and are beyond the limits.")
    over_jobs = serializers.ListField(child=serializers.CharField(), help_text="Their ids, at most 50.")


class LocalQueueOut(serializers.Serializer[Any]):
    """What a team has below its quota. It is stopped while it is held (new jobs wait) or draining (none are taken)."""

    queue = serializers.CharField(help_text="The team queue.")
    slug = serializers.CharField()
    name = serializers.CharField()
    team = serializers.CharField()
    cluster = serializers.CharField()
    state = serializers.ChoiceField(choices=LocalQueue.State.values)
    reason = serializers.CharField(allow_blank=True)
    by = serializers.CharField(allow_blank=True, help_text="Who brought it into its state.")
    since = serializers.DateTimeField(allow_null=True)
    weight = serializers.IntegerField()
    weighs = serializers.BooleanField(help_text="Its cluster orders jobs by what local queues used and their weights.")
    is_default = serializers.BooleanField(help_text="Jobs that name no local queue go here.")
    jobs = serializers.IntegerField(help_text="Jobs that wait or run in it.")
    most_cards = serializers.IntegerField(
        allow_null=True, help_text="Cards of all node groups that its jobs may hold at once; null is no limit."
    )
    most_cards_each = serializers.IntegerField(allow_null=True, help_text="The same of one person's jobs in it.")
    limits = LimitsOut(allow_null=True, help_text="What its limits do now, or would do; null without limits.")


class ChangeIn(serializers.Serializer[Any]):
    dry_run = serializers.BooleanField(required=False, help_text="The same as in the address.")


def _limit_field() -> serializers.IntegerField:
    return serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=CARDS_MAX, help_text="null is no limit."
    )


class LocalQueueIn(ChangeIn):
    queue = serializers.CharField(help_text="The team queue.")
    cluster = serializers.CharField(required=False, help_text="Where the team has queues on several clusters.")
    name = serializers.CharField(max_length=local_queues.NAME_MAX)
    weight = serializers.IntegerField(required=False, min_value=1, max_value=local_queues.WEIGHT_MAX)
    most_cards = _limit_field()
    most_cards_each = _limit_field()


class LocalQueueChangeIn(ChangeIn):
    name = serializers.CharField(required=False, max_length=local_queues.NAME_MAX)
    weight = serializers.IntegerField(required=False, min_value=1, max_value=local_queues.WEIGHT_MAX)
    most_cards = _limit_field()
    most_cards_each = _limit_field()
    is_default = serializers.BooleanField(required=False, help_text="Only true: another one becomes it instead.")


class StopIn(ChangeIn):
    reason = serializers.CharField(max_length=local_queues.REASON_MAX)


DRY_RUN = OpenApiParameter("dry_run", bool, description="Check everything, answer what would be, and keep nothing.")
CLUSTER = OpenApiParameter("cluster", str, description="Where the team has queues on several clusters.")
_NAMES = field_names(LocalQueueOut)


class LocalQueuesView(APIView):
    @extend_schema(
        operation_id="queues_list", responses={200: LocalQueueOut(many=True), **errors(401)}, tags=["queues"]
    )
    def get(self, request: Request) -> Response:
        """The local queues of one's teams, for admins those of all, with what waits or runs in them."""
        return Response([_body(view) for view in local_queue_views(viewer=actor_of_request(request))])

    @extend_schema(
        operation_id="queues_create",
        request=LocalQueueIn,
        parameters=[DRY_RUN],
        responses={200: LocalQueueOut, 201: LocalQueueOut, **errors(400, 401, 403, 404, 409)},
        tags=["queues"],
    )
    def post(self, request: Request) -> Response:
        """Add a local queue to a team's queue; for its leads and platform admins. 200 for a dry run."""
        actor, body, dry_run = actor_of_request(request), known_body(request, LocalQueueIn), _is_dry_run(request)
        queue = team_queue_get(viewer=actor, queue=_text(body, "queue"), cluster=_text(body, "cluster"))
        local = local_queues.local_queue_create(
            actor=actor,
            queue=queue,
            name=body.get("name"),
            weight=body.get("weight", 1),
            most_cards=body.get("most_cards"),
            most_cards_each=body.get("most_cards_each"),
            dry_run=dry_run,
        )
        local.queue = queue
        return _answer(local, dry_run, status.HTTP_200_OK if dry_run else status.HTTP_201_CREATED)


class LocalQueueDetailView(APIView):
    @extend_schema(
        operation_id="queues_change",
        request=LocalQueueChangeIn,
        parameters=[CLUSTER, DRY_RUN],
        responses={200: LocalQueueOut, **errors(400, 401, 403, 404, 409)},
        tags=["queues"],
    )
    def patch(self, request: Request, queue: str, local: str) -> Response:
        """Give a local queue another name, weight or limits, or make it the default one."""
        body = known_body(request, LocalQueueChangeIn)
        is_default = body.get("is_default", False)
        if not isinstance(is_default, bool):
            raise InvalidInput([FieldProblem("is_default", "not_a_boolean", _("Send true or false."))])

        def change(found: LocalQueue, dry_run: bool) -> LocalQueue:
            return local_queues.local_queue_change(
                actor=actor_of_request(request),
                local=found,
                name=body.get("name"),
                weight=body.get("weight"),
                most_cards=body.get("most_cards", UNCHANGED),
                most_cards_each=body.get("most_cards_each", UNCHANGED),
                is_default=is_default,
                dry_run=dry_run,
            )

        return _changed(request, queue, local, change)

    @extend_schema(
        operation_id="queues_close",
        parameters=[CLUSTER, DRY_RUN],
        responses={200: LocalQueueOut, **errors(400, 401, 403, 404, 409)},
        tags=["queues"],
    )
    def delete(self, request: Request, queue: str, local: str) -> Response:
        """Close an empty local queue; jobs that ended there still name it."""
        return _changed(
            request,
            queue,
            local,
            lambda found, dry_run: local_queues.local_queue_close(
                actor=actor_of_request(request), local=found, dry_run=dry_run
            ),
        )


class LocalQueueHoldView(APIView):
    @extend_schema(
        operation_id="queues_hold",
        request=StopIn,
        parameters=[CLUSTER, DRY_RUN],
        responses={200: LocalQueueOut, **errors(400, 401, 403, 404, 409)},
        tags=["queues"],
    )
    def post(self, request: Request, queue: str, local: str) -> Response:
        """New jobs wait and nothing starts; what runs goes on."""
        return _stopped(request, queue, local, local_queues.local_queue_hold)


class LocalQueueDrainView(APIView):
    @extend_schema(
        operation_id="queues_drain",
        request=StopIn,
        parameters=[CLUSTER, DRY_RUN],
        responses={200: LocalQueueOut, **errors(400, 401, 403, 404, 409)},
        tags=["queues"],
    )
    def post(self, request: Request, queue: str, local: str) -> Response:
        """New jobs are refused and nothing starts; what runs ends."""
        return _stopped(request, queue, local, local_queues.local_queue_drain)


class LocalQueueReopenView(APIView):
    @extend_schema(
        operation_id="queues_reopen",
        request=None,
        parameters=[CLUSTER, DRY_RUN],
        responses={200: LocalQueueOut, **errors(400, 401, 403, 404, 409)},
        tags=["queues"],
    )
    def post(self, request: Request, queue: str, local: str) -> Response:
        """New jobs are taken and started again."""
        return _changed(
            request,
            queue,
            local,
            lambda found, dry_run: local_queues.local_queue_reopen(
                actor=actor_of_request(request), local=found, dry_run=dry_run
            ),
        )


def _stopped(request: Request, queue: str, local: str, stop: Callable[..., LocalQueue]) -> Response:
    reason = known_body(request, StopIn).get("reason")
    return _changed(
        request,
        queue,
        local,
        lambda found, dry_run: stop(actor=actor_of_request(request), local=found, reason=reason, dry_run=dry_run),
    )


def _changed(request: Request, queue: str, local: str, change: Callable[[LocalQueue, bool], LocalQueue]) -> Response:
    dry_run = _is_dry_run(request)
    cluster = request.query_params.get("cluster", "")
    found = local_queue_get(viewer=actor_of_request(request), queue=queue, local=local, cluster=cluster)
    changed = change(found, dry_run)
    changed.queue = found.queue
    return _answer(changed, dry_run)


def _answer(local: LocalQueue, dry_run: bool, code: int = status.HTTP_200_OK) -> Response:
    """The queue as it is now, or would be; brought to its cluster."""
    cluster = local.queue.cluster
    if not dry_run:
        quotas_bring(cluster)
    return Response(_body(local_queue_view(local)), status=code)


def _body(view: LocalQueueView) -> dict[str, Any]:
    named = {"team": view.team_slug, "cluster": view.cluster_slug, "limits": _limits(view.effect)}
    return {name: getattr(view, name) for name in _NAMES if name not in named} | named


def _limits(effect: LimitsEffect | None) -> dict[str, Any] | None:
    if effect is None:
        return None
    return {
        "taken": effect.taken,
        "waiting": len(effect.waiting),
        "waiting_jobs": effect.waiting[:JOBS_TOLD],
        "over": len(effect.over),
        "over_jobs": effect.over[:JOBS_TOLD],
    }


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name, "")
    if not isinstance(value, str) or "\x00" in value:
        raise InvalidInput([FieldProblem(name, "not_text", _("Write this as text."))])
    return value


def _is_dry_run(request: Request) -> bool:
    """As in the body, or in the address; what is neither yes nor no never changes anything."""
    body = request.data if isinstance(request.data, dict) else {}
    asked = body.get("dry_run", _WORDS.get(request.query_params.get("dry_run", "").lower()))
    if not isinstance(asked, bool):
        raise InvalidInput([FieldProblem("dry_run", "not_a_boolean", _("Send true or false."))])
    return asked


_WORDS = {"": False, "0": False, "false": False, "1": True, "true": True}
