"""The API about node groups: proposed, confirmed and put aside. For platform admins; each change has a dry run.

It lies here and not with the clusters because a group that teams have shares of is not put aside.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.actors import Actor
from accounts.api.base import actor_of_request
from clusters.connected import cluster_get
from clusters.contract import SharingMode
from clusters.group_checks import INTERCONNECT_MAX, POSITION_MAX, TITLE_MAX
from clusters.group_preview import Preview
from clusters.group_selectors import ASIDE, CONFIRMED, PROPOSED, GroupRow, group_detail, groups_view
from clusters.groups import GroupChange, group_confirm, group_edit, proposal_bring_back, proposal_put_aside
from clusters.models import Cluster, NodeGroup
from common.api import errors, known_body
from common.errors import FieldProblem, InvalidInput
from quotas.group_services import group_put_aside

_SAME = (
    "slug",
    "title",
    "vendor",
    "card_model",
    "interconnect",
    "sharing",
    "unit",
    "resource",
    "selector",
    "version",
)
_WORDS = ("title", "interconnect", "position", "selector")


class GroupIn(serializers.Serializer[Any]):
    title = serializers.CharField(max_length=TITLE_MAX, required=False)
    interconnect = serializers.CharField(max_length=INTERCONNECT_MAX, required=False, allow_blank=True)
    position = serializers.IntegerField(min_value=0, max_value=POSITION_MAX, required=False)
    selector = serializers.DictField(
        child=serializers.CharField(allow_blank=True),
        required=False,
        help_text="Labels a node has to carry, all of them.",
    )
    expected_version = serializers.IntegerField(required=False, help_text="The version that was read; left out, 0.")
    dry_run = serializers.BooleanField(required=False, help_text="Only say what it would come to.")


class GroupAsideIn(serializers.Serializer[Any]):
    expected_version = serializers.IntegerField(required=False, help_text="The version that was read; left out, 0.")


class NodeGroupOut(serializers.Serializer[Any]):
    slug = serializers.CharField()
    state = serializers.ChoiceField(
        choices=[PROPOSED, CONFIRMED, ASIDE], help_text="Only a confirmed group has jobs, shares and quota."
    )
    title = serializers.CharField()
    vendor = serializers.CharField()
    card_model = serializers.CharField()
    interconnect = serializers.CharField(allow_blank=True)
    sharing = serializers.ChoiceField(choices=[mode.value for mode in SharingMode])
    unit = serializers.ChoiceField(choices=["card", "slice"])
    resource = serializers.CharField(allow_blank=True)
    selector = serializers.DictField(child=serializers.CharField(allow_blank=True))
    position = serializers.IntegerField(allow_null=True)
    nodes = serializers.IntegerField()
    capacity = serializers.IntegerField(help_text="In the group's own unit.")
    physical = serializers.IntegerField(
        allow_null=True, help_text="Cards behind the capacity; null: not known of every node."
    )
    held = serializers.IntegerField()
    version = serializers.IntegerField()
    confirmed_at = serializers.DateTimeField(allow_null=True)
    confirmed_by = serializers.CharField(allow_blank=True)


class ContestedOut(serializers.Serializer[Any]):
    node = serializers.CharField()
    groups = serializers.ListField(child=serializers.CharField())


class NodeGroupsOut(serializers.Serializer[Any]):
    groups = NodeGroupOut(many=True)
    contested = ContestedOut(many=True, help_text="Nodes that two groups claim; they are in neither.")


class NodeGroupDetailOut(NodeGroupOut):
    node_names = serializers.ListField(child=serializers.CharField())
    telling_labels = serializers.DictField(help_text="Labels that divide its nodes: value -> how many nodes carry it.")


class GroupMembershipOut(serializers.Serializer[Any]):
    joins = serializers.ListField(child=serializers.CharField())
    leaves = serializers.ListField(child=serializers.CharField())
    capacity_before = serializers.IntegerField()
    capacity_after = serializers.IntegerField()
    held_on_leaving = serializers.IntegerField(help_text="What runs there goes on to its end.")


class GroupChangeOut(NodeGroupOut):
    dry_run = serializers.BooleanField()
    membership = GroupMembershipOut()


class NodeGroupsView(APIView):
    @extend_schema(
        operation_id="node_groups_list", responses={200: NodeGroupsOut, **errors(401, 403, 404)}, tags=["nodes"]
    )
    def get(self, request: Request, cluster: str) -> Response:
        """Every node group of a cluster: what waits for a word first, then confirmed ones, then those put aside."""
        actor = actor_of_request(request)
        view = groups_view(viewer=actor, cluster=cluster_get(viewer=actor, slug=cluster))
        contested = [{"node": each.node, "groups": each.titles} for each in view.contested]
        return Response({"groups": [_body(row) for row in view.rows], "contested": contested})


class NodeGroupView(APIView):
    @extend_schema(
        operation_id="node_group", responses={200: NodeGroupDetailOut, **errors(401, 403, 404)}, tags=["nodes"]
    )
    def get(self, request: Request, cluster: str, group: str) -> Response:
        """One node group with its nodes, and the labels by which it could be divided."""
        actor = actor_of_request(request)
        detail = group_detail(viewer=actor, cluster=cluster_get(viewer=actor, slug=cluster), slug=group)
        return Response({**_body(detail.group), "node_names": detail.group.nodes, "telling_labels": detail.telling})

    @extend_schema(
        operation_id="node_group_edit",
        request=GroupIn,
        responses={200: GroupChangeOut, **errors(400, 401, 403, 404, 409)},
        tags=["nodes"],
    )
    def patch(self, request: Request, cluster: str, group: str) -> Response:
        """Change what a confirmed group is called, where it stands, or which labels its nodes carry."""
        actor, body = actor_of_request(request), known_body(request, GroupIn)
        found = cluster_get(viewer=actor, slug=cluster)
        changed = group_edit(actor=actor, cluster=found, slug=group, **_said(body))
        return _answer(actor, found, changed)


class NodeGroupConfirmView(APIView):
    @extend_schema(
        operation_id="node_group_confirm",
        request=GroupIn,
        responses={200: GroupChangeOut, **errors(400, 401, 403, 404, 409)},
        tags=["nodes"],
    )
    def post(self, request: Request, cluster: str, group: str) -> Response:
        """Confirm a proposed group, as it stands or with other words: from now on it may have jobs and quota."""
        actor, body = actor_of_request(request), known_body(request, GroupIn)
        found = cluster_get(viewer=actor, slug=cluster)
        changed = group_confirm(actor=actor, cluster=found, slug=group, **_said(body))
        return _answer(actor, found, changed)


class NodeGroupAsideView(APIView):
    @extend_schema(
        operation_id="node_group_aside",
        request=GroupAsideIn,
        responses={200: NodeGroupOut, **errors(400, 401, 403, 404, 409)},
        tags=["nodes"],
    )
    def post(self, request: Request, cluster: str, group: str) -> Response:
        """Leave the nodes of a group to others. A confirmed one needs shares of 0 % and no jobs, not even past ones."""
        actor, version = actor_of_request(request), _whole(known_body(request, GroupAsideIn), "expected_version")
        found = cluster_get(viewer=actor, slug=cluster)
        detail = group_detail(viewer=actor, cluster=found, slug=group)
        act = group_put_aside if detail.group.state == CONFIRMED else proposal_put_aside
        act(actor=actor, cluster=found, slug=group, expected_version=version)
        return Response(_body(group_detail(viewer=actor, cluster=found, slug=group).group))


class NodeGroupBackView(APIView):
    @extend_schema(
        operation_id="node_group_back",
        request=None,
        responses={200: NodeGroupOut, **errors(401, 403, 404)},
        tags=["nodes"],
    )
    def post(self, request: Request, cluster: str, group: str) -> Response:
        """Propose nodes again that were put aside."""
        actor = actor_of_request(request)
        found = cluster_get(viewer=actor, slug=cluster)
        proposal_bring_back(actor=actor, cluster=found, slug=group)
        return Response(_body(group_detail(viewer=actor, cluster=found, slug=group).group))


def _said(body: dict[str, Any]) -> dict[str, Any]:
    dry_run = body.get("dry_run", False)
    if not isinstance(dry_run, bool):
        raise InvalidInput([FieldProblem("dry_run", "not_a_boolean", _("Send true or false."))])
    return {
        "data": {name: body[name] for name in _WORDS if name in body},
        "expected_version": _whole(body, "expected_version"),
        "dry_run": dry_run,
    }


def _whole(body: dict[str, Any], name: str) -> int:
    value = body.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput([FieldProblem(name, "invalid", _("Send a whole number."))])
    return value


def _answer(actor: Actor, cluster: Cluster, changed: GroupChange) -> Response:
    row = group_detail(viewer=actor, cluster=cluster, slug=changed.slug).group
    return Response({**_body(row), "dry_run": changed.dry_run, "membership": _membership(changed.preview)})


def _membership(found: Preview) -> dict[str, Any]:
    return {
        "joins": found.joins,
        "leaves": found.leaves,
        "capacity_before": found.cards_before,
        "capacity_after": found.cards_after,
        "held_on_leaving": found.held_on_leaving,
    }


def _body(group: GroupRow) -> dict[str, Any]:
    row = group.row
    confirmed = row if isinstance(row, NodeGroup) else None
    return {
        **{name: getattr(row, name) for name in _SAME},
        "state": group.state,
        "position": confirmed.position if confirmed else None,
        "nodes": len(group.nodes),
        "capacity": group.cards,
        "physical": group.physical,
        "held": group.held,
        "confirmed_at": confirmed.confirmed_at if confirmed else None,
        "confirmed_by": confirmed.confirmed_by.username if confirmed and confirmed.confirmed_by else "",
    }
