"""The API about quota rows: both levels, and the sums of node groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from common.api import errors, field_names, page_address, page_of
from common.errors import FieldProblem, InvalidInput, NotFound
from quotas.selectors import LEVELS, QuotaFilters, QuotaRow, queue_rows, quota_page


class QuotaOut(serializers.Serializer[Any]):
    """usable = nominal - lent - down + borrowed + over; used + reserved + free = usable. Whole numbers, in `unit`.

    The rows of a team's local queues add up to the team's (borrowed and lent after what they lend each other). Those
    of the teams and the common pool add up to the row of the level `cluster`, for which capacity + missing + over =
    used + reserved + free + down + aside.
    """

    queue = serializers.CharField(
        allow_blank=True, help_text="Team queue, or team queue/local queue; empty at the level `cluster`."
    )
    level = serializers.ChoiceField(choices=LEVELS)
    team = serializers.CharField(allow_blank=True)
    cluster = serializers.CharField()
    node_group = serializers.CharField()
    unit = serializers.CharField()
    nominal = serializers.IntegerField()
    usable = serializers.IntegerField()
    used = serializers.IntegerField()
    reserved = serializers.IntegerField()
    free = serializers.IntegerField()
    borrowed = serializers.IntegerField()
    lent = serializers.IntegerField()
    over = serializers.IntegerField()
    down = serializers.IntegerField()
    borrowable = serializers.IntegerField()
    pending = serializers.IntegerField()
    pending_jobs = serializers.IntegerField()
    pending_stopped = serializers.IntegerField(
        help_text="Of pending: it waits in local queues that are held or drain, so nothing of it starts."
    )
    pending_jobs_stopped = serializers.IntegerField(help_text="The same of pending_jobs.")
    is_guide = serializers.BooleanField(
        help_text="Local queues: used, reserved and pending are exact; the rest is the team's, divided by weight."
    )
    capacity = serializers.IntegerField(
        allow_null=True, help_text="Installed cards. This and the figures below: only at the level `cluster`."
    )
    pool = serializers.IntegerField(allow_null=True, help_text="What belongs to no team and everybody may borrow.")
    pool_lent = serializers.IntegerField(allow_null=True, help_text="Of the pool: borrowed by teams.")
    pool_down = serializers.IntegerField(allow_null=True, help_text="Of the pool: out of service.")
    pool_free = serializers.IntegerField(allow_null=True, help_text="Of the pool: pool - pool_lent - pool_down.")
    missing = serializers.IntegerField(allow_null=True, help_text="Divided, and no longer installed.")
    down_held = serializers.IntegerField(
        allow_null=True, help_text="Out of service while jobs hold all quota that could bear it; in no sum."
    )
    releasing = serializers.IntegerField(
        allow_null=True, help_text="Quota is freed and pods are still ending; in no sum, and not free yet."
    )
    outside = serializers.IntegerField(allow_null=True, help_text="Held by pods of no queue; in no sum.")
    aside = serializers.IntegerField(allow_null=True, help_text="Kept for queues of others found on the cluster.")


_PAGE = page_of("QuotaPage", QuotaOut)
FILTERS = [
    OpenApiParameter("level", str, enum=LEVELS, default="team"),
    OpenApiParameter("cluster", str),
    OpenApiParameter("node_group", str),
    OpenApiParameter("cursor", str),
]


class QuotasView(APIView):
    @extend_schema(
        operation_id="quotas_list",
        parameters=FILTERS,
        responses={200: _PAGE, **errors(400, 401)},
        tags=["quotas"],
    )
    def get(self, request: Request) -> Response:
        """Used, reserved, free, borrowed and lent, per team queue (or local queue) and node group; or their sums."""
        query = request.query_params
        level = query.get("level") or "team"
        if level not in LEVELS:
            raise InvalidInput([FieldProblem("level", "unknown_choice", _("Choose team, local or cluster."))])
        filters = QuotaFilters(level, query.get("cluster", ""), query.get("node_group", ""))
        page = quota_page(viewer=actor_of_request(request), filters=filters, cursor=query.get("cursor", ""))
        return Response(
            {
                "next": page_address(request, page.next),
                "previous": page_address(request, page.previous),
                "results": _bodies(page.rows),
            }
        )


class QueueQuotasView(APIView):
    @extend_schema(
        operation_id="quotas_of_queue",
        responses={200: _PAGE, **errors(401, 404)},
        tags=["quotas"],
    )
    def get(self, request: Request, queue: str, local: str = "") -> Response:
        """The rows of one team queue, one for each node group."""
        rows = queue_rows(viewer=actor_of_request(request), queue=queue, local=local)
        if not rows:
            raise NotFound("not_found", _("There is no such queue, or you may not see it."))
        return Response({"next": None, "previous": None, "results": _bodies(rows)})


class LocalQueueQuotasView(QueueQuotasView):
    @extend_schema(
        operation_id="quotas_of_local_queue",
        responses={200: _PAGE, **errors(401, 404)},
        tags=["quotas"],
    )
    def get(self, request: Request, queue: str, local: str = "") -> Response:
        """The rows of one local queue, one for each node group."""
        return super().get(request, queue, local)


_NAMES = field_names(QuotaOut)


def _bodies(rows: Sequence[QuotaRow]) -> list[dict[str, Any]]:
    return [{name: getattr(row, name) for name in _NAMES} | {"team": row.team_slug} for row in rows]
