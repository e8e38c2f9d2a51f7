"""The API about what a cluster can do, and about notices. For platform admins."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from clusters.connected import cluster_get
from clusters.notices import NoticeState, Source, notice_seen
from clusters.preflight.selectors import NoticeView, PreflightView, notice_view, notices_page, preflight_view
from clusters.preflight.service import preflight_ask
from clusters.preflight.words import Feature, Verdict
from common.api import errors, page_of, page_out


class PreflightRowOut(serializers.Serializer[Any]):
    feature = serializers.ChoiceField(choices=[feature.value for feature in Feature])
    title = serializers.CharField()
    needs = serializers.CharField(help_text="Ability of the cluster.")
    lost = serializers.CharField(help_text="What is missed without it.")
    verdict = serializers.ChoiceField(choices=[verdict.value for verdict in Verdict])
    found = serializers.CharField(allow_blank=True)
    mend = serializers.CharField(allow_blank=True)
    since = serializers.DateTimeField()


class PreflightOut(serializers.Serializer[Any]):
    read_at = serializers.DateTimeField(allow_null=True, help_text="Null: not looked at yet.")
    is_asked = serializers.BooleanField(help_text="A look was asked for and has not come yet.")
    error_code = serializers.CharField(allow_blank=True, help_text="Why the newest look failed.")
    error = serializers.CharField(allow_blank=True)
    rows = PreflightRowOut(many=True)


class NoticeOut(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    cluster = serializers.CharField()
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=[source.value for source in Source],
        help_text=(
            "`preflight`: a part of the setup has become worse. `groups`: nodes wait for a word about their group, or "
            "two groups claim them. `not_placed`: jobs are admitted and no node takes them. `missing`: queues, or "
            "what starts the pods of a job together, were gone. `never_ending`: pods were told to end and did not. "
            "`loop`: two jobs interrupt each other. `two_schedulers`: cards are taken past the queues. `drift`: "
            "quotas were set from outside the console."
        ),
    )
    subject = serializers.CharField()
    text = serializers.CharField()
    facts = serializers.DictField(help_text="What proves it; lists in it are cut to 20, counts are whole.")
    opened_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True, help_text="Null: it is there still.")
    seen_at = serializers.DateTimeField(allow_null=True, help_text="When somebody took it away from the banner.")
    seen_by = serializers.CharField(allow_blank=True, help_text="User name.")


class NoticesAsked(serializers.Serializer[Any]):
    """What to list."""

    state = serializers.ChoiceField(
        choices=[state.value for state in NoticeState],
        default=NoticeState.OPEN.value,
        help_text=(
            "`open`: there still, and nobody has taken it away. `seen`: there still, and somebody has. `ended`: over. "
            "`all`: each of them."
        ),
    )
    cluster = serializers.CharField(default="", allow_blank=True, help_text="Slug of a cluster.")
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=[source.value for source in Source], required=False
    )
    cursor = serializers.CharField(required=False, help_text="As `next` and `previous` have it.")


class ClusterPreflightView(APIView):
    @extend_schema(
        operation_id="cluster_preflight",
        responses={200: PreflightOut, **errors(401, 403, 404)},
        tags=["clusters"],
    )
    def get(self, request: Request, cluster: str) -> Response:
        """What each part of the console needs of this cluster, and whether it is there."""
        actor = actor_of_request(request)
        return Response(_body(preflight_view(viewer=actor, cluster=cluster_get(viewer=actor, slug=cluster))))

    @extend_schema(
        operation_id="cluster_preflight_ask",
        request=None,
        responses={202: PreflightOut, **errors(401, 403, 404)},
        tags=["clusters"],
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Ask for a look now; a worker takes it within seconds."""
        actor = actor_of_request(request)
        preflight_ask(actor=actor, cluster=cluster_get(viewer=actor, slug=cluster))
        return Response(
            _body(preflight_view(viewer=actor, cluster=cluster_get(viewer=actor, slug=cluster))), status=202
        )


def _body(view: PreflightView) -> dict[str, Any]:
    names = ("feature", "title", "needs", "lost", "verdict", "found", "mend", "since")
    return {
        "read_at": view.read_at,
        "is_asked": view.is_asked,
        "error_code": view.error_code,
        "error": view.error,
        "rows": [{name: _plain(getattr(row, name)) for name in names} for row in view.rows],
    }


def _plain(value: Any) -> Any:
    """Lazy words in the reader's language; times as they are."""
    return value if hasattr(value, "isoformat") else str(value)


class NoticesView(APIView):
    @extend_schema(
        operation_id="notices_list",
        parameters=[NoticesAsked],
        responses={200: page_of("NoticePage", NoticeOut), **errors(400, 401, 403)},
        tags=["clusters"],
    )
    def get(self, request: Request) -> Response:
        """Notices about clusters, newest first. Left alone, `state` means those that nobody has taken away yet."""
        asked = NoticesAsked(data=request.query_params)
        asked.is_valid(raise_exception=True)
        values = asked.validated_data
        page = notices_page(
            viewer=actor_of_request(request),
            state=NoticeState(values["state"]),
            cluster=values["cluster"],
            source=Source(values["source"]) if "source" in values else None,
            cursor=values.get("cursor"),
        )
        return page_out(request, page, lambda rows: [_notice_body(notice_view(row)) for row in rows])


def _notice_body(notice: NoticeView) -> dict[str, Any]:
    names = ("source", "subject", "text", "facts", "opened_at", "closed_at", "seen_at", "seen_by")
    return {"id": notice.pk, "cluster": notice.cluster_slug} | {name: getattr(notice, name) for name in names}


class NoticeSeenView(APIView):
    @extend_schema(
        operation_id="notice_seen", request=None, responses={204: None, **errors(401, 403, 404)}, tags=["clusters"]
    )
    def post(self, request: Request, pk: int) -> Response:
        """Take one notice away. It stays in the record."""
        notice_seen(actor=actor_of_request(request), pk=pk)
        return Response(status=204)
