"""The API about node groups and nodes, for platform admins."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from clusters.contract import NodeHealth
from clusters.selectors import group_views
from common.api import errors, field_names


class NodeOut(serializers.Serializer[Any]):
    """used + reserved + ending + outside + free + out = installed."""

    name = serializers.CharField()
    health = serializers.ChoiceField(choices=[health.value for health in NodeHealth])
    installed = serializers.IntegerField()
    used = serializers.IntegerField()
    reserved = serializers.IntegerField()
    ending = serializers.IntegerField()
    outside = serializers.IntegerField()
    free = serializers.IntegerField()
    out = serializers.IntegerField()
    sick = serializers.IntegerField()
    since = serializers.DateTimeField(allow_null=True)


class GroupOut(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    node_group = serializers.CharField()
    title = serializers.CharField()
    vendor = serializers.CharField()
    card_model = serializers.CharField()
    interconnect = serializers.CharField(allow_blank=True)
    sharing = serializers.CharField()
    unit = serializers.CharField()
    cards_per_node = serializers.IntegerField()
    nodes = NodeOut(many=True)


class GroupsView(APIView):
    @extend_schema(operation_id="groups_list", responses={200: GroupOut(many=True), **errors(401, 403)}, tags=["nodes"])
    def get(self, request: Request) -> Response:
        """All node groups with their nodes and what their cards do."""
        fields = field_names(NodeOut)
        return Response(
            [
                {
                    "cluster": view.cluster.slug,
                    "node_group": view.group.slug,
                    "title": view.group.title,
                    "vendor": view.group.vendor,
                    "card_model": view.group.card_model,
                    "interconnect": view.group.interconnect,
                    "sharing": view.group.sharing,
                    "unit": view.group.unit,
                    "cards_per_node": view.group.cards_per_node,
                    "nodes": [{name: getattr(node, name) for name in fields} for node in view.nodes],
                }
                for view in group_views(viewer=actor_of_request(request))
            ]
        )
