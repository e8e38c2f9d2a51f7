"""The API about accelerators that no catalogue knows. For platform admins."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.actors import Actor
from accounts.api.base import actor_of_request
from clusters.accelerator_names import (
    MODEL_MAX,
    VENDOR_MAX,
    AcceleratorView,
    accelerator_name_forget,
    accelerator_name_set,
    accelerator_views,
)
from clusters.connected import cluster_get
from clusters.contract import SharingMode
from clusters.models import Cluster
from common.api import errors, object_body

_SHARING = [mode.value for mode in SharingMode]


class AcceleratorNameIn(serializers.Serializer[Any]):
    is_card = serializers.BooleanField(default=True, help_text="False: nothing that is counted.")
    vendor = serializers.CharField(max_length=VENDOR_MAX, required=False)
    card_model = serializers.CharField(max_length=MODEL_MAX, required=False)
    sharing = serializers.ChoiceField(choices=_SHARING, default=SharingMode.EXCLUSIVE.value)


class AcceleratorOut(serializers.Serializer[Any]):
    resource = serializers.CharField()
    is_named = serializers.BooleanField(help_text="False: it is counted under the resource's own name.")
    is_card = serializers.BooleanField()
    vendor = serializers.CharField(allow_blank=True)
    card_model = serializers.CharField(allow_blank=True)
    sharing = serializers.ChoiceField(choices=_SHARING)
    unit = serializers.ChoiceField(choices=["card", "slice"])


class AcceleratorsView(APIView):
    @extend_schema(
        operation_id="accelerators_list",
        responses={200: AcceleratorOut(many=True), **errors(401, 403, 404)},
        tags=["clusters"],
    )
    def get(self, request: Request, cluster: str) -> Response:
        """Resources of this cluster's nodes that no catalogue knows, named ones and those that wait for a name."""
        actor = actor_of_request(request)
        return _answer(actor, cluster_get(viewer=actor, slug=cluster))


class AcceleratorNameView(APIView):
    @extend_schema(
        operation_id="accelerator_name",
        request=AcceleratorNameIn,
        responses={200: AcceleratorOut(many=True), **errors(400, 401, 403, 404)},
        tags=["clusters"],
    )
    def put(self, request: Request, cluster: str, resource: str) -> Response:
        """Say what a resource is. The next look at the cluster counts it so."""
        actor = actor_of_request(request)
        found = cluster_get(viewer=actor, slug=cluster)
        accelerator_name_set(actor=actor, cluster=found, resource=resource, data=object_body(request))
        return _answer(actor, found)

    @extend_schema(operation_id="accelerator_forget", responses={204: None, **errors(401, 403, 404)}, tags=["clusters"])
    def delete(self, request: Request, cluster: str, resource: str) -> Response:
        """Take the name back."""
        actor = actor_of_request(request)
        accelerator_name_forget(actor=actor, cluster=cluster_get(viewer=actor, slug=cluster), resource=resource)
        return Response(status=204)


def _answer(actor: Actor, cluster: Cluster) -> Response:
    return Response([_body(view) for view in accelerator_views(viewer=actor, cluster=cluster)])


def _body(view: AcceleratorView) -> dict[str, Any]:
    named = view.named
    sharing = named.sharing if named else SharingMode.EXCLUSIVE.value
    return {
        "resource": view.resource,
        "is_named": named is not None,
        "is_card": named.is_card if named else True,
        "vendor": named.vendor if named else "",
        "card_model": named.card_model if named else "",
        "sharing": sharing,
        "unit": "card" if sharing == SharingMode.EXCLUSIVE.value else "slice",
    }
