"""The API about node groups and nodes, for platform admins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from clusters.api.card_parts import CardPartOut, parts_body
from clusters.connected import cluster_get
from clusters.contract import NodeHealth, NodeTrouble
from clusters.nodes_cordon import Closing, node_cordon, node_uncordon
from clusters.nodes_listing import node_page
from clusters.nodes_selectors import NodeCare, NodeMarks, node_marks
from clusters.nodes_suspicion import suspicion_clear
from clusters.selectors import GroupView, NodeView
from common.api import errors, field_names, known_body, page_address, page_of
from common.errors import FieldProblem, InvalidInput


class TroubleOut(serializers.Serializer[Any]):
    trouble = serializers.ChoiceField(choices=[trouble.value for trouble in NodeTrouble])
    text = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True, help_text="Null: the cluster does not say.")


class CordonOut(serializers.Serializer[Any]):
    """Closed for new work through the console."""

    reason = serializers.CharField()
    at = serializers.DateTimeField()
    by = serializers.CharField(allow_blank=True, help_text="Empty: by a maintenance.")


class EvidenceOut(serializers.Serializer[Any]):
    job_ulid = serializers.CharField()
    attempt = serializers.IntegerField()
    code = serializers.CharField()
    at = serializers.DateTimeField()


class SuspicionOut(serializers.Serializer[Any]):
    """Jobs of several people failed there within a day; retries are placed elsewhere."""

    since = serializers.DateTimeField()
    evidence = EvidenceOut(many=True)


class NodeOut(serializers.Serializer[Any]):
    """used + reserved + ending + outside + free + out = installed."""

    name = serializers.CharField()
    health = serializers.ChoiceField(choices=[health.value for health in NodeHealth])
    installed = serializers.IntegerField()
    physical = serializers.IntegerField(
        allow_null=True, help_text="Cards behind what is installed; null: the node does not say."
    )
    used = serializers.IntegerField()
    reserved = serializers.IntegerField()
    ending = serializers.IntegerField()
    outside = serializers.IntegerField()
    free = serializers.IntegerField()
    out = serializers.IntegerField()
    sick = serializers.IntegerField()
    since = serializers.DateTimeField(allow_null=True)
    held_since = serializers.DateTimeField(
        allow_null=True, help_text="Since then as many of its cards as now have been held."
    )
    troubles = TroubleOut(many=True, help_text="What is not well, the worst first.")
    parts = CardPartOut(many=True, help_text="Memory and cores of virtual cards, in their own units.")
    cordon = CordonOut(allow_null=True, help_text="Null: not closed, or not through the console.")
    suspicion = SuspicionOut(allow_null=True)


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
    physical = serializers.IntegerField(allow_null=True, help_text="Of all its nodes; null: not known of every one.")
    parts = CardPartOut(many=True, help_text="Of all its nodes.")
    node_count = serializers.IntegerField(help_text="Of all pages.")
    nodes = NodeOut(many=True)


class NodeActIn(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=300, help_text="Shown with the node, and kept in the audit trail.")
    dry_run = serializers.BooleanField(required=False, help_text="Only say what would become of it.")


class NodeReopenIn(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, allow_blank=True, max_length=300)
    dry_run = serializers.BooleanField(required=False, help_text="Only say what would become of it.")


class NodeTrustIn(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=300, help_text="What was looked at.")


class NodeActOut(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    node = serializers.CharField()
    is_closed = serializers.BooleanField()
    reason = serializers.CharField(allow_blank=True)
    goes_on = serializers.IntegerField(help_text="Attempts that hold cards there. They go on.")
    dry_run = serializers.BooleanField()


_PLAIN = tuple(name for name in field_names(NodeOut) if name not in ("troubles", "parts", "cordon", "suspicion"))


class GroupsView(APIView):
    @extend_schema(
        operation_id="groups_list",
        parameters=[OpenApiParameter("cursor", str)],
        responses={200: page_of("GroupPage", GroupOut), **errors(400, 401, 403)},
        tags=["nodes"],
    )
    def get(self, request: Request) -> Response:
        """All node groups with their nodes, what their cards do, and what is not well; 200 nodes a page.

        A group that goes on beyond a page is on the next one as well, with its other nodes.
        """
        actor = actor_of_request(request)
        marks = node_marks(viewer=actor)
        page = node_page(viewer=actor, cursor=request.query_params.get("cursor"))
        return Response(
            {
                "next": page_address(request, page.next),
                "previous": page_address(request, page.previous),
                "results": [_group(view, marks) for view in page.groups],
            }
        )


def _group(view: GroupView, marks: NodeMarks) -> dict[str, Any]:
    return {
        "cluster": view.cluster.slug,
        "node_group": view.group.slug,
        "title": view.group.title,
        "vendor": view.group.vendor,
        "card_model": view.group.card_model,
        "interconnect": view.group.interconnect,
        "sharing": view.group.sharing,
        "unit": view.group.unit,
        "cards_per_node": view.group.cards_per_node,
        "physical": view.physical,
        "parts": parts_body(view.parts),
        "node_count": view.node_count,
        "nodes": [_node(node, marks.care_of(view.cluster, node)) for node in view.nodes],
    }


def _node(node: NodeView, care: NodeCare) -> dict[str, Any]:
    cordon, suspicion = care.cordon, care.suspicion
    return {
        **{name: getattr(node, name) for name in _PLAIN},
        "troubles": [{"trouble": told.code, "text": told.text, "since": told.since} for told in care.troubles],
        "parts": parts_body(node.parts),
        "cordon": {
            "reason": cordon.reason,
            "at": cordon.cordoned_at,
            "by": cordon.cordoned_by.username if cordon.cordoned_by else "",
        }
        if cordon is not None
        else None,
        "suspicion": {"since": suspicion.since, "evidence": suspicion.evidence} if suspicion is not None else None,
    }


class NodeCordonView(APIView):
    @extend_schema(
        operation_id="node_cordon",
        request=NodeActIn,
        responses={200: NodeActOut, **errors(400, 401, 403, 404, 409, 503)},
        tags=["nodes"],
    )
    def post(self, request: Request, cluster: str, node: str) -> Response:
        """Close a node for new work. What runs there goes on. A node that somebody else closed gets a reason."""
        return _acted(request, cluster, node, node_cordon)


class NodeUncordonView(APIView):
    @extend_schema(
        operation_id="node_uncordon",
        request=NodeReopenIn,
        responses={200: NodeActOut, **errors(400, 401, 403, 404, 409, 503)},
        tags=["nodes"],
    )
    def post(self, request: Request, cluster: str, node: str) -> Response:
        """Open a node for new work, whoever closed it."""
        return _acted(request, cluster, node, node_uncordon)


class NodeTrustView(APIView):
    @extend_schema(
        operation_id="node_trust",
        request=NodeTrustIn,
        responses={204: None, **errors(400, 401, 403, 404, 409)},
        tags=["nodes"],
    )
    def post(self, request: Request, cluster: str, node: str) -> Response:
        """End the suspicion of a node: failures up to now do not count any more."""
        actor = actor_of_request(request)
        found = cluster_get(viewer=actor, slug=cluster)
        suspicion_clear(actor=actor, cluster=found, node=node, reason=_text(known_body(request, NodeTrustIn), "reason"))
        return Response(status=204)


def _acted(request: Request, cluster: str, node: str, act: Callable[..., Closing]) -> Response:
    actor = actor_of_request(request)
    found = cluster_get(viewer=actor, slug=cluster)
    body = known_body(request, NodeActIn)
    dry_run = body.get("dry_run", False)
    if not isinstance(dry_run, bool):
        raise InvalidInput([FieldProblem("dry_run", "not_a_boolean", _("Send true or false."))])
    closing = act(actor=actor, cluster=found, node=node, reason=_text(body, "reason"), dry_run=dry_run)
    return Response(
        {
            "cluster": closing.cluster.slug,
            "node": closing.node,
            "is_closed": closing.closed,
            "reason": closing.reason,
            "goes_on": closing.goes_on,
            "dry_run": closing.dry_run,
        }
    )


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name, "")
    if not isinstance(value, str):
        raise InvalidInput([FieldProblem(name, "not_text", _("Write this as text."))])
    return value
