"""The API about the water level of a cluster, now and over time. For platform admins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from clusters.connected import cluster_get
from clusters.domain.water import FIGURES, Level
from clusters.waiting import waiting
from clusters.water_selectors import POINTS_MAX, ClusterLevel, GroupHistory, GroupLevel, water_history, water_now
from common.api import errors, field_names
from common.errors import FieldProblem, InvalidInput

STEPS = (60, 600, 3_600, 10_800, 86_400)
DEFAULT_STEP, DEFAULT_LENGTH = 600, timedelta(hours=24)


class LevelOut(serializers.Serializer[Any]):
    """capacity = healthy + down; healthy = used + reserved + free + releasing + outside; unusable is a part of free."""

    capacity = serializers.IntegerField()
    healthy = serializers.IntegerField()
    down = serializers.IntegerField(help_text="Held by nobody, and out of service.")
    used = serializers.IntegerField()
    busy = serializers.IntegerField(allow_null=True, help_text="Of the used ones; null: not measured.")
    reserved = serializers.IntegerField()
    free = serializers.IntegerField()
    unusable = serializers.IntegerField(help_text="Free and asked for, in blocks too small for what waits.")
    releasing = serializers.IntegerField(help_text="Freed, while pods still leave.")
    outside = serializers.IntegerField(help_text="Held by pods of no queue.")


class GroupLevelOut(LevelOut):
    node_group = serializers.CharField()
    title = serializers.CharField()
    unit = serializers.CharField()
    is_shared = serializers.BooleanField(help_text="Slices of cards: in no sum of cards.")
    physical = serializers.IntegerField(
        allow_null=True, help_text="Cards behind the capacity; null: not known of every node."
    )
    nodes = serializers.IntegerField()
    waiting = serializers.IntegerField(help_text="Asked for by queued jobs.")
    unusable_exact = serializers.BooleanField(help_text="False: at least so many are unusable.")
    free_blocks = serializers.ListField(
        child=serializers.IntegerField(), help_text="Free on each node that has any, the most first."
    )
    held_on_lost = serializers.IntegerField(help_text="Held on nodes that do not answer; part of the other figures.")


class WaterLevelOut(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    read_at = serializers.DateTimeField(allow_null=True)
    is_stale = serializers.BooleanField(help_text="The cluster does not answer: figures of the last look.")
    cards = LevelOut(allow_null=True, help_text="The sum of whole cards of all vendors; null where there are none.")
    physical = serializers.IntegerField(
        allow_null=True, help_text="Whole cards and those behind shares; null: not known of every node group."
    )
    vendors = serializers.DictField(
        child=serializers.IntegerField(), help_text="Whole cards of each vendor, of which that sum is."
    )
    node_groups = GroupLevelOut(many=True)


class FigureOut(serializers.Serializer[Any]):
    seconds = serializers.IntegerField(help_text="For how long it is known in this span.")
    card_seconds = serializers.IntegerField(help_text="Divided by the seconds: cards on average.")
    least = serializers.IntegerField()
    most = serializers.IntegerField()


class PointOut(serializers.Serializer[Any]):
    at = serializers.DateTimeField(help_text="Beginning of the span.")
    figures = serializers.DictField(child=FigureOut(), help_text=f"By name: {', '.join(FIGURES)}.")


class GroupHistoryOut(serializers.Serializer[Any]):
    node_group = serializers.CharField()
    title = serializers.CharField()
    unit = serializers.CharField()
    points = PointOut(many=True, help_text="Oldest first. A span in which nobody looked has none.")


class WaterHistoryOut(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    step = serializers.IntegerField()
    node_groups = GroupHistoryOut(many=True)


class WaterLevelView(APIView):
    @extend_schema(
        operation_id="water_level", responses={200: WaterLevelOut, **errors(401, 403, 404)}, tags=["clusters"]
    )
    def get(self, request: Request, cluster: str) -> Response:
        """What the cards of a cluster do now, by node group, and its whole cards together."""
        actor = actor_of_request(request)
        found = cluster_get(viewer=actor, slug=cluster)
        levels = water_now(viewer=actor, waiting=waiting())
        return Response(_now(next(level for level in levels if level.cluster.pk == found.pk)))


def _now(found: ClusterLevel) -> dict[str, Any]:
    return {
        "cluster": found.cluster.slug,
        "read_at": found.cluster.synced_at,
        "is_stale": found.stale,
        "cards": _level(found.cards) if found.cards else None,
        "physical": found.physical,
        "vendors": found.by_vendor,
        "node_groups": [_group(row) for row in found.groups],
    }


def _level(level: Level) -> dict[str, Any]:
    return {name: getattr(level, name) for name in field_names(LevelOut)}


def _group(row: GroupLevel) -> dict[str, Any]:
    names = ("is_shared", "physical", "nodes", "waiting", "unusable_exact", "free_blocks", "held_on_lost")
    about = {"node_group": row.group.slug, "title": row.group.title, "unit": row.group.unit}
    return {**about, **_level(row.level), **{name: getattr(row, name) for name in names}}


# --------------------------------------------------------------------------- over time


@dataclass(frozen=True, slots=True)
class Asked:
    """The time that is asked about."""

    start: datetime
    end: datetime
    step: int


class WaterHistoryView(APIView):
    @extend_schema(
        operation_id="water_level_history",
        parameters=[
            OpenApiParameter("from", OpenApiTypes.DATETIME, description="Left out: 24 hours before `to`."),
            OpenApiParameter("to", OpenApiTypes.DATETIME, description="Left out: now."),
            OpenApiParameter("step", int, enum=STEPS, description=f"Seconds of one span, by default {DEFAULT_STEP}."),
        ],
        responses={200: WaterHistoryOut, **errors(400, 401, 403, 404)},
        tags=["clusters"],
    )
    def get(self, request: Request, cluster: str) -> Response:
        """What they did over time. Card-seconds are exact: sums over small spans are those over large ones."""
        actor = actor_of_request(request)
        found = cluster_get(viewer=actor, slug=cluster)
        asked = _asked(request)
        histories = water_history(viewer=actor, cluster=found, start=asked.start, end=asked.end, step=asked.step)
        return Response({"cluster": found.slug, "step": asked.step, "node_groups": [_history(h) for h in histories]})


def _asked(request: Request) -> Asked:
    """Raises InvalidInput for every parameter that is wrong."""
    problems: list[FieldProblem] = []
    end = _time(request, "to", timezone.now(), problems)
    start = _time(request, "from", end - DEFAULT_LENGTH if end.year > 1 else end, problems)
    given = request.query_params.get("step", str(DEFAULT_STEP))
    step = next((each for each in STEPS if str(each) == given), None)
    if step is None:
        problems.append(
            FieldProblem("step", "invalid_choice", _("Give one of 60, 600, 3600, 10800 and 86400 seconds."))
        )
    elif not problems and start >= end:
        problems.append(FieldProblem("from", "not_before_end", _("This is not before the end of the time.")))
    elif not problems and (end - start).total_seconds() > step * POINTS_MAX:
        problems.append(
            FieldProblem("step", "too_many_points", _("These are more than 1,500 spans: take a longer step."))
        )
    if problems or step is None:
        raise InvalidInput(problems)
    return Asked(start, end, step)


def _time(request: Request, name: str, default: datetime, problems: list[FieldProblem]) -> datetime:
    given = request.query_params.get(name)
    if given is None:
        return default
    try:
        at: datetime = serializers.DateTimeField().run_validation(given)
    except (ValidationError, OverflowError):
        problems.append(FieldProblem(name, "invalid", _("Give a time as 2026-11-30T09:00:00Z.")))
        return default
    return at


def _history(history: GroupHistory) -> dict[str, Any]:
    group, names = history.group, field_names(FigureOut)
    points = [
        {"at": at, "figures": {name: {key: getattr(figure, key) for key in names} for name, figure in point.items()}}
        for at, point in history.points.items()
    ]
    return {"node_group": group.slug, "title": group.title, "unit": group.unit, "points": points}
