"""The API about cards that do nothing, for platform admins."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from common.api import errors, page_of, page_out
from common.errors import FieldProblem, InvalidInput
from jobs.domain.waste import Account, Waste
from jobs.waste import IdleNode, idle_node, idle_nodes, idle_now, waste_lately

DAYS_MAX = 90
DAYS_DEFAULT = 7


class IdleNodeOut(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    node_group = serializers.CharField()
    node = serializers.CharField()
    unit = serializers.CharField()
    free = serializers.IntegerField(help_text="0 where a cordon or a taint keeps work out.")
    since = serializers.DateTimeField(allow_null=True)


class HeldIdleOut(serializers.Serializer[Any]):
    job = serializers.CharField()
    team = serializers.CharField()
    cards = serializers.IntegerField()
    since = serializers.DateTimeField()
    is_placed = serializers.BooleanField(help_text="False: its pods have no nodes yet.")


class IdleOut(serializers.Serializer[Any]):
    nodes = serializers.IntegerField(help_text="That hold nothing; `/idle/nodes` lists them.")
    held = HeldIdleOut(many=True, help_text="Cards held and not running, the most first; at most 50 jobs.")
    held_jobs = serializers.IntegerField()
    held_cards = serializers.IntegerField(help_text="Whole cards.")


class WastedOut(serializers.Serializer[Any]):
    """Card-seconds by cause, each second in the first that fits."""

    not_placed = serializers.IntegerField()
    pulling = serializers.IntegerField()
    failed = serializers.IntegerField()
    preempted = serializers.IntegerField()
    stopped = serializers.IntegerField()


class WasteAccountOut(serializers.Serializer[Any]):
    """Card-seconds: held = useful + open + waste."""

    held = serializers.IntegerField()
    useful = serializers.IntegerField()
    open = serializers.IntegerField(help_text="Of runs whose end has not shown yet what they led to.")
    waste = serializers.IntegerField()
    percent = serializers.IntegerField(help_text="Waste of what was held.")
    causes = WastedOut()


class TeamWasteOut(WasteAccountOut):
    team = serializers.CharField()


class WasteOut(serializers.Serializer[Any]):
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    teams = TeamWasteOut(many=True, help_text="The most waste first.")
    total = WasteAccountOut()


class IdleView(APIView):
    @extend_schema(operation_id="idle", responses={200: IdleOut, **errors(401, 403)}, tags=["nodes"])
    def get(self, request: Request) -> Response:
        """How many nodes hold nothing, and cards that are held and do not run."""
        idle = idle_now(viewer=actor_of_request(request))
        return Response(
            {
                "nodes": idle.nodes_count,
                "held": [
                    {
                        "job": each.job.public_id,
                        "team": each.job.team.slug,
                        "cards": each.cards,
                        "since": each.since,
                        "is_placed": each.is_placed,
                    }
                    for each in idle.held
                ],
                "held_jobs": idle.held_jobs,
                "held_cards": idle.held_cards,
            }
        )


class IdleNodesView(APIView):
    @extend_schema(
        operation_id="idle_nodes",
        parameters=[OpenApiParameter("cursor", str)],
        responses={200: page_of("IdleNodePage", IdleNodeOut), **errors(400, 401, 403)},
        tags=["nodes"],
    )
    def get(self, request: Request) -> Response:
        """Nodes that hold nothing and since when, the longest first, 100 a page."""
        page = idle_nodes(viewer=actor_of_request(request), cursor=request.query_params.get("cursor"))
        return page_out(request, page, lambda rows: [_idle_node(idle_node(row)) for row in rows])


def _idle_node(each: IdleNode) -> dict[str, Any]:
    return {
        "cluster": each.cluster.slug,
        "node_group": each.group.slug,
        "node": each.node.name,
        "unit": each.group.unit,
        "free": each.node.free,
        "since": each.since,
    }


class WasteView(APIView):
    @extend_schema(
        operation_id="waste",
        parameters=[
            OpenApiParameter(
                "days", OpenApiTypes.INT, description=f"How far back, 1 to {DAYS_MAX}; {DAYS_DEFAULT} when left out."
            )
        ],
        responses={200: WasteOut, **errors(400, 401, 403)},
        tags=["nodes"],
    )
    def get(self, request: Request) -> Response:
        """Teams by the card-seconds that led to nothing. Whole cards only; idle use is not measured here."""
        ranking = waste_lately(viewer=actor_of_request(request), length=timedelta(days=_days(request)))
        return Response(
            {
                "since": ranking.since,
                "until": ranking.until,
                "teams": [{"team": each.team.slug, **_account(each.account)} for each in ranking.teams],
                "total": _account(ranking.total),
            }
        )


def _days(request: Request) -> int:
    text = request.query_params.get("days", str(DAYS_DEFAULT))
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= DAYS_MAX):
        message = _("Choose between 1 and %(max)d days.") % {"max": DAYS_MAX}
        raise InvalidInput([FieldProblem("days", "out_of_range", message)])
    return int(text)


def _account(account: Account) -> dict[str, Any]:
    return {
        "held": account.held,
        "useful": account.useful,
        "open": account.open,
        "waste": account.waste,
        "percent": account.percent,
        "causes": {cause.value: account.wasted[cause] for cause in Waste},
    }
