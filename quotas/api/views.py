"""The API about shares."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from accounts.policy import Action, require
from clusters.models import NodeGroup
from common.api import errors, known_body
from common.errors import FieldProblem, InvalidInput, NotFound
from common.texts import storable
from quotas.api.plan_bodies import PlanPreviewOut, preview_body
from quotas.api.plans import body_expected, body_is_dry_run
from quotas.models import TeamQueue
from quotas.plans.services import require_savable
from quotas.services import quotas_bring, shares_preview, shares_set


class SharesIn(serializers.Serializer[Any]):
    shares = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=10_000),
        help_text="Basis points (100 = 1 %) by team; the rest of 10,000 is the common pool.",
    )
    expected_version = serializers.IntegerField(
        required=False, min_value=0, help_text="Of the plan that you read; left out, the newest one is changed."
    )
    dry_run = serializers.BooleanField(required=False, help_text="Only say what it would do.")


class SharesOut(serializers.Serializer[Any]):
    shares = serializers.DictField(child=serializers.IntegerField())
    dry_run = serializers.BooleanField()
    preview = PlanPreviewOut(allow_null=True)


class SharesView(APIView):
    @extend_schema(
        operation_id="shares_set",
        request=SharesIn,
        responses={200: SharesOut, **errors(400, 401, 403, 404, 409)},
        tags=["quotas"],
    )
    def put(self, request: Request, cluster: str, group: str) -> Response:
        """Set the shares of one node group. It stops no job by itself; the preview says which could be taken back.

        409 `changed_meanwhile`: another version was saved since the one you read, and nothing was overwritten.
        """
        actor = actor_of_request(request)
        require(actor, Action.SHARES_MANAGE)
        found = NodeGroup.objects.select_related("cluster").filter(cluster__slug=cluster, slug=group).first()
        if found is None:
            raise NotFound("not_found", _("There is no node group of this name."))
        body = known_body(request, SharesIn)
        points = _points(body.get("shares"))
        seen = body_expected(body) if "expected_version" in body else None
        queues = {q.team.slug: q for q in TeamQueue.objects.filter(cluster=found.cluster).select_related("team")}
        if unknown := sorted(set(points) - set(queues)):
            message = _("There is no team of the name %(name)s.") % {"name": storable(unknown[0])}
            raise InvalidInput([FieldProblem("shares", "unknown_team", message)])
        by_queue = {queues[slug].pk: value for slug, value in points.items()}
        if body_is_dry_run(body):
            require_savable(found.cluster, seen)
            preview = shares_preview(viewer=actor, group=found, basis_points=by_queue)
            return Response({"shares": points, "dry_run": True, "preview": preview_body(preview)})
        shares_set(actor=actor, group=found, basis_points=by_queue, expected_version=seen)
        quotas_bring(found.cluster)
        return Response({"shares": points, "dry_run": False, "preview": None})


def _points(value: Any) -> dict[str, int]:
    good = isinstance(value, dict) and all(
        isinstance(key, str) and isinstance(points, int) and not isinstance(points, bool)
        for key, points in value.items()
    )
    if not good:
        raise InvalidInput(
            [FieldProblem("shares", "not_pairs", _("Write the shares as team names with whole basis points."))]
        )
    return dict(value)
