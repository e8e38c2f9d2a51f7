"""The API about clusters: how they are, connecting, new credentials, forgetting. No answer holds a credential.

It lies here and not with the clusters because connecting one gives every team its queue there.
"""

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
from clusters.backends.kueue_volcano.credentials import Account
from clusters.connect import Connected, Upload, credentials_replace
from clusters.connected import ClusterView, cluster_get, cluster_view, cluster_views
from clusters.models import ClusterMode
from common.api import errors, object_body
from common.errors import FieldProblem, InvalidInput
from quotas.cluster_services import cluster_forget, cluster_open

ACCOUNT_HELP = {
    Account.RUNTIME: "Kubeconfig of the account for jobs, as text.",
    Account.QUOTA: "Kubeconfig of the account for quotas.",
    Account.NODE: "Kubeconfig of the account for nodes.",
}


class AccountOut(serializers.Serializer[Any]):
    account = serializers.ChoiceField(choices=[account.value for account in Account])
    user = serializers.CharField(allow_blank=True, help_text="As whom the cluster knows it; empty if it did not say.")
    fingerprint = serializers.CharField()
    valid_until = serializers.DateTimeField(allow_null=True)


class ClusterOut(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=["sandbox", "kubernetes"])
    is_default = serializers.BooleanField()
    mode = serializers.ChoiceField(choices=ClusterMode.values, help_text="watching: nothing is written there.")
    server = serializers.CharField(allow_blank=True)
    fingerprint = serializers.CharField(
        allow_blank=True, help_text="Changes with the credentials; tells nothing of them."
    )
    installation = serializers.CharField(help_text="Value of the label on everything of ours in the cluster.")
    version = serializers.CharField(allow_blank=True)
    takes_jobs = serializers.BooleanField(allow_null=True, help_text="Null: the cluster was silent at the first look.")
    read_at = serializers.DateTimeField(allow_null=True)
    stale = serializers.BooleanField()
    error_code = serializers.CharField(allow_blank=True)
    error = serializers.CharField(allow_blank=True)
    nodes = serializers.IntegerField()
    accounts = AccountOut(many=True)


class ConnectedOut(ClusterOut):
    notes = serializers.ListField(child=serializers.CharField(), help_text="What works and yet should be known.")


class CredentialsIn(serializers.Serializer[Any]):
    runtime = serializers.CharField(write_only=True, help_text=ACCOUNT_HELP[Account.RUNTIME])
    quota = serializers.CharField(write_only=True, required=False, help_text=ACCOUNT_HELP[Account.QUOTA])
    node = serializers.CharField(write_only=True, required=False, help_text=ACCOUNT_HELP[Account.NODE])
    context = serializers.CharField(  # type: ignore[assignment] # shadows a property that is not used here
        required=False, help_text="Which context counts; else the file's own choice."
    )
    one_for_all = serializers.BooleanField(required=False, help_text="Use the account for jobs for everything.")


class ClusterIn(CredentialsIn):
    name = serializers.CharField(max_length=100)
    is_default = serializers.BooleanField(required=False)
    mode = serializers.ChoiceField(
        choices=ClusterMode.values,
        required=False,
        help_text="Left out: `watching` where others have queues or work already, else `managing`.",
    )


def _cluster(view: ClusterView) -> dict[str, Any]:
    return {
        "slug": view.slug,
        "name": view.name,
        "kind": view.kind,
        "is_default": view.is_default,
        "mode": view.mode,
        "server": view.server,
        "fingerprint": view.fingerprint,
        "installation": view.installation,
        "version": view.facts.version,
        "takes_jobs": view.takes_jobs,
        "read_at": view.read_at,
        "stale": view.stale,
        "error_code": view.error_code,
        "error": view.error,
        "nodes": view.nodes,
        "accounts": [
            {
                "account": row.account,
                "user": row.facts.user,
                "fingerprint": row.facts.fingerprint,
                "valid_until": row.facts.valid_until,
            }
            for row in view.accounts
            if row.facts is not None
        ],
    }


class ClustersView(APIView):
    @extend_schema(
        operation_id="clusters_list", responses={200: ClusterOut(many=True), **errors(401, 403)}, tags=["clusters"]
    )
    def get(self, request: Request) -> Response:
        """All clusters: whether they answer, as whom, and how old what is known of them is."""
        return Response([_cluster(view) for view in cluster_views(viewer=actor_of_request(request))])

    @extend_schema(
        operation_id="clusters_connect",
        request=ClusterIn,
        responses={201: ConnectedOut, **errors(400, 401, 403)},
        tags=["clusters"],
    )
    def post(self, request: Request) -> Response:
        """Connect a cluster. Its accounts are tried out first; what the cluster refuses is not stored."""
        actor = actor_of_request(request)
        require(actor, Action.CLUSTER_MANAGE)
        data = object_body(request)
        connected = cluster_open(
            actor=actor,
            name=_text(data, "name"),
            upload=_upload(data),
            is_default=_switch(data, "is_default"),
            mode=_mode(data),
        )
        return _connected(request, connected, 201)


class ClusterDetailView(APIView):
    @extend_schema(
        operation_id="clusters_read", responses={200: ClusterOut, **errors(401, 403, 404)}, tags=["clusters"]
    )
    def get(self, request: Request, cluster: str) -> Response:
        """One cluster."""
        return Response(_cluster(cluster_view(viewer=actor_of_request(request), slug=cluster)))

    @extend_schema(
        operation_id="clusters_forget", responses={204: None, **errors(401, 403, 404, 409)}, tags=["clusters"]
    )
    def delete(self, request: Request, cluster: str) -> Response:
        """Remove a connected cluster with its credentials. Refused while jobs or shares are on it."""
        actor = actor_of_request(request)
        cluster_forget(actor=actor, cluster=cluster_get(viewer=actor, slug=cluster))
        return Response(status=204)


class CredentialsView(APIView):
    @extend_schema(
        operation_id="clusters_credentials",
        request=CredentialsIn,
        responses={200: ConnectedOut, **errors(400, 401, 403, 404, 409)},
        tags=["clusters"],
    )
    def put(self, request: Request, cluster: str) -> Response:
        """Replace all credentials of a cluster. They can be written and never read."""
        actor = actor_of_request(request)
        found = cluster_get(viewer=actor, slug=cluster)
        connected = credentials_replace(actor=actor, cluster=found, upload=_upload(object_body(request)))
        return _connected(request, connected, 200)


def _connected(request: Request, connected: Connected, status: int) -> Response:
    view = cluster_view(viewer=actor_of_request(request), slug=connected.cluster.slug)
    return Response({**_cluster(view), "notes": list(connected.notes)}, status=status)


# --------------------------------------------------------------------------- bodies


def _upload(data: dict[str, Any]) -> Upload:
    texts = {account: _text(data, account.value) for account in Account}
    files = {account: text.encode("utf-8", "surrogatepass") for account, text in texts.items() if text}
    return Upload(files, _text(data, "context"), _switch(data, "one_for_all"))


def _mode(data: dict[str, Any]) -> ClusterMode | None:
    """None where it is left out. Raises InvalidInput."""
    text = _text(data, "mode")
    if text and text not in ClusterMode.values:
        raise InvalidInput([FieldProblem("mode", "unknown_mode", _("Send watching or managing."))])
    return ClusterMode(text) if text else None


def _text(data: dict[str, Any], key: str) -> str:
    """The text of a field, '' when it is left out. Raises InvalidInput."""
    value = data.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput([FieldProblem(key, "not_text", _("Write this as text."))])
    return value


def _switch(data: dict[str, Any], key: str) -> bool:
    """True or false, false when it is left out. Raises InvalidInput."""
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise InvalidInput([FieldProblem(key, "not_a_switch", _("Write true or false."))])
    return value
