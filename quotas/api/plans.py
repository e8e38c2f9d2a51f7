"""The API about a cluster's plan: read it, change it, its history, and going back. Every change takes `dry_run`."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from accounts.policy import Action, require
from clusters.connected import cluster_get
from clusters.models import Cluster
from common.api import errors, known_body, page_of, page_out
from common.errors import FieldProblem, InvalidInput
from quotas.api.plan_bodies import (
    PlanIn,
    PlanOut,
    PlanSavedOut,
    RestoreIn,
    TakeOverIn,
    VersionOut,
    plan_body,
    preview_body,
    version_body,
)
from quotas.drift import adoption_preview, drift_adopt, drift_found, drift_take_over
from quotas.plans.history import version_page
from quotas.plans.preview import PlanPreview, plan_preview, recount_preview, rollback_preview
from quotas.plans.reading import plan_from
from quotas.plans.services import plan_recount, plan_rollback, plan_save, require_savable
from quotas.plans.store import stored
from quotas.services import quotas_bring


class QuotaPlanView(APIView):
    @extend_schema(operation_id="quota_plan", responses={200: PlanOut, **errors(401, 403, 404)}, tags=["quotas"])
    def get(self, request: Request, cluster: str) -> Response:
        """How the cluster is divided now. For platform admins."""
        found = _cluster(request, cluster)
        return Response(plan_body(found))

    @extend_schema(
        operation_id="quota_plan_save",
        request=PlanIn,
        responses={200: PlanSavedOut, **errors(400, 401, 403, 404, 409)},
        tags=["quotas"],
    )
    def put(self, request: Request, cluster: str) -> Response:
        """Divide the cluster; teams and node groups that are left out keep what they have.

        Running jobs are not stopped by it at once; the preview says which could be taken back. 409
        `changed_meanwhile`: another version was saved since the one you read, and nothing was overwritten.
        """
        actor, found, body = actor_of_request(request), _cluster(request, cluster), known_body(request, PlanIn)
        plan = plan_from(body.get("queues"), stored(found).division.plan)
        expected, reason = body_expected(body), body_reason(body)
        if body_is_dry_run(body):
            require_savable(found, expected, reason)
            return _foretold(found, plan_preview(viewer=actor, cluster=found, plan=plan))
        plan_save(actor=actor, cluster=found, expected_version=expected, plan=plan, reason=reason)
        return _saved(found)


class QuotaVersionsView(APIView):
    @extend_schema(
        operation_id="quota_plan_versions",
        parameters=[OpenApiParameter("cursor", str)],
        responses={200: page_of("QuotaVersionPage", VersionOut), **errors(400, 401, 403, 404)},
        tags=["quotas"],
    )
    def get(self, request: Request, cluster: str) -> Response:
        """Every version of the plan, newest first."""
        found = _cluster(request, cluster)
        page = version_page(found, request.query_params.get("cursor", ""))
        return page_out(request, page, lambda rows: [version_body(row) for row in rows])


class QuotaVersionRestoreView(APIView):
    @extend_schema(
        operation_id="quota_plan_restore",
        request=RestoreIn,
        responses={200: PlanSavedOut, **errors(400, 401, 403, 404, 409)},
        tags=["quotas"],
    )
    def post(self, request: Request, cluster: str, number: int) -> Response:
        """Divide the cluster as this version did, by the cards there are now. That is a new version."""
        actor, found, body = actor_of_request(request), _cluster(request, cluster), known_body(request, RestoreIn)
        expected, reason = body_expected(body), body_reason(body)
        if body_is_dry_run(body):
            require_savable(found, expected, reason)
            return _foretold(found, rollback_preview(viewer=actor, cluster=found, number=number))
        plan_rollback(actor=actor, cluster=found, number=number, expected_version=expected, reason=reason)
        return _saved(found)


class QuotaRecountView(APIView):
    @extend_schema(
        operation_id="quota_plan_recount",
        request=RestoreIn,
        responses={200: PlanSavedOut, **errors(400, 401, 403, 404, 409)},
        tags=["quotas"],
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Divide the cards there are now, also where that waited for an admin's word."""
        actor, found, body = actor_of_request(request), _cluster(request, cluster), known_body(request, RestoreIn)
        expected, reason = body_expected(body), body_reason(body)
        if body_is_dry_run(body):
            require_savable(found, expected, reason)
            return _foretold(found, recount_preview(viewer=actor, cluster=found))
        plan_recount(actor=actor, cluster=found, expected_version=expected, reason=reason)
        return _saved(found)


class QuotaTakeOverView(APIView):
    @extend_schema(
        operation_id="quota_plan_take_over",
        request=TakeOverIn,
        responses={200: PlanSavedOut, **errors(400, 401, 403, 404, 409)},
        tags=["quotas"],
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Write the plan again over quotas that were set from outside the console. 409 `no_drift`: there are none."""
        actor, found, body = actor_of_request(request), _cluster(request, cluster), known_body(request, TakeOverIn)
        if body_is_dry_run(body):
            drift_found(viewer=actor, cluster=found)
            return Response({"dry_run": True, "plan": plan_body(found), "preview": None})
        drift_take_over(actor=actor, cluster=found)
        return _saved(found)


class QuotaAdoptView(APIView):
    @extend_schema(
        operation_id="quota_plan_adopt",
        request=RestoreIn,
        responses={200: PlanSavedOut, **errors(400, 401, 403, 404, 409)},
        tags=["quotas"],
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Make quotas that were set from outside the console a new version of the plan.

        409 `no_drift`: there are none; `not_adoptable`: they cannot be said as shares.
        """
        actor, found, body = actor_of_request(request), _cluster(request, cluster), known_body(request, RestoreIn)
        expected, reason = body_expected(body), body_reason(body)
        if body_is_dry_run(body):
            require_savable(found, expected, reason)
            return _foretold(found, adoption_preview(viewer=actor, cluster=found))
        drift_adopt(actor=actor, cluster=found, expected_version=expected, reason=reason)
        return _saved(found)


def _cluster(request: Request, slug: str) -> Cluster:
    actor = actor_of_request(request)
    require(actor, Action.SHARES_MANAGE)
    return cluster_get(viewer=actor, slug=slug)


def _saved(cluster: Cluster) -> Response:
    quotas_bring(cluster)
    return Response({"dry_run": False, "plan": plan_body(cluster), "preview": None})


def _foretold(cluster: Cluster, preview: PlanPreview) -> Response:
    return Response({"dry_run": True, "plan": plan_body(cluster), "preview": preview_body(preview)})


def body_is_dry_run(body: dict[str, Any]) -> bool:
    value = body.get("dry_run", False)
    if not isinstance(value, bool):
        raise InvalidInput([FieldProblem("dry_run", "not_a_boolean", _("Send true or false."))])
    return value


def body_expected(body: dict[str, Any]) -> int:
    value = body.get("expected_version")
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        message = _("Send the number of the version that you read.")
        raise InvalidInput([FieldProblem("expected_version", "not_a_number", message)])
    return value


def body_reason(body: dict[str, Any]) -> str:
    value = body.get("reason", "")
    if not isinstance(value, str):
        raise InvalidInput([FieldProblem("reason", "not_a_text", _("Write the reason as text."))])
    return value
