"""The API about maintenance of nodes, for platform admins."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from clusters.connected import cluster_get
from clusters.nodes_maintenance import maintenance_cancel, maintenance_plan, maintenances_shown
from clusters.nodes_models import Maintenance
from common.api import errors, known_body
from common.errors import FieldProblem, InvalidInput


class MaintenanceOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    cluster = serializers.CharField()
    node = serializers.CharField(allow_blank=True, help_text="Empty: every node of the group.")
    node_group = serializers.CharField(allow_blank=True)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    reason = serializers.CharField()
    by = serializers.CharField(allow_blank=True)
    begun_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    cancelled_at = serializers.DateTimeField(allow_null=True)


class MaintenanceIn(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    node = serializers.CharField(required=False, help_text="Either this or a node group.")
    node_group = serializers.CharField(required=False)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField()
    reason = serializers.CharField(max_length=300)
    dry_run = serializers.BooleanField(required=False, help_text="Only say what it would come to.")


class MaintenancePlanOut(MaintenanceOut):
    nodes = serializers.ListField(child=serializers.CharField())
    on_it = serializers.IntegerField(help_text="Attempts that hold cards of these nodes now.")
    dry_run = serializers.BooleanField()


class MaintenancesView(APIView):
    @extend_schema(
        operation_id="maintenance_list",
        responses={200: MaintenanceOut(many=True), **errors(401, 403)},
        tags=["nodes"],
    )
    def get(self, request: Request) -> Response:
        """Maintenance to come, under way, and of the last week; the soonest first."""
        return Response([_body(row) for row in maintenances_shown(viewer=actor_of_request(request))])

    @extend_schema(
        operation_id="maintenance_plan",
        request=MaintenanceIn,
        responses={200: MaintenancePlanOut, 201: MaintenancePlanOut, **errors(400, 401, 403, 404)},
        tags=["nodes"],
    )
    def post(self, request: Request) -> Response:
        """Plan maintenance: jobs that would not end before are placed elsewhere, and its nodes are closed meanwhile."""
        actor = actor_of_request(request)
        body = known_body(request, MaintenanceIn)
        dry_run = body.get("dry_run", False)
        if not isinstance(dry_run, bool):
            raise InvalidInput([FieldProblem("dry_run", "not_a_boolean", _("Send true or false."))])
        plan = maintenance_plan(
            actor=actor,
            cluster=cluster_get(viewer=actor, slug=_text(body, "cluster")),
            node=_text(body, "node"),
            group=_text(body, "node_group"),
            starts_at=_moment(body, "starts_at"),
            ends_at=_moment(body, "ends_at"),
            reason=_text(body, "reason"),
            dry_run=dry_run,
        )
        answer = {**_body(plan.row), "nodes": plan.nodes, "on_it": plan.on_it, "dry_run": dry_run}
        return Response(answer, status=200 if dry_run else 201)


class MaintenanceCancelView(APIView):
    @extend_schema(
        operation_id="maintenance_cancel",
        request=None,
        responses={200: MaintenanceOut, **errors(401, 403, 404, 409)},
        tags=["nodes"],
    )
    def post(self, request: Request, public_id: str) -> Response:
        """Call maintenance off; nodes that it has closed are opened within a minute."""
        return Response(_body(maintenance_cancel(actor=actor_of_request(request), public_id=public_id)))


def _body(row: Maintenance) -> dict[str, Any]:
    return {
        "id": row.public_id,
        "cluster": row.cluster.slug,
        "node": row.node,
        "node_group": row.group.slug if row.group else "",
        "starts_at": row.starts_at,
        "ends_at": row.ends_at,
        "reason": row.reason,
        "by": row.created_by.username if row.created_by else "",
        "begun_at": row.begun_at,
        "finished_at": row.finished_at,
        "cancelled_at": row.cancelled_at,
    }


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name, "")
    if not isinstance(value, str):
        raise InvalidInput([FieldProblem(name, "not_text", _("Write this as text."))])
    return value


def _moment(body: dict[str, Any], name: str) -> datetime:
    try:
        found = parse_datetime(_text(body, name))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        message = _("Send a time with its offset, such as 2026-05-04T12:00:00Z.")
        raise InvalidInput([FieldProblem(name, "not_a_time", message)])
    return found
