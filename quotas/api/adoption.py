"""The API about a cluster that was there before the console: queues of others, adopting them, managing it or not."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.base import actor_of_request
from clusters.connected import cluster_get
from clusters.contract import Fate, LeftKind, LeftObject, TakenAway
from clusters.models import Cluster, ClusterMode
from common.api import errors, known_body, object_body
from common.errors import FieldProblem, InvalidInput
from quotas.adopting import Choice, FoundView, TakenPart, adopt, adoption_preview, found_ask, found_views
from quotas.api.plan_bodies import PlanOut, PlanPreviewOut, plan_body, preview_body
from quotas.api.plans import body_expected, body_is_dry_run, body_reason
from quotas.leaving import leave, leaving_preview, removal_command
from quotas.managing import Check, checklist, manage_start
from quotas.plans.services import newest_number, require_savable
from quotas.services import quotas_bring


class FoundCardsOut(serializers.Serializer[Any]):
    node_group = serializers.CharField(allow_blank=True, help_text="Empty: on no nodes of a confirmed group.")
    resource = serializers.CharField()
    cards = serializers.IntegerField()
    held = serializers.IntegerField(help_text="Of them, held by what runs there.")
    is_spread = serializers.BooleanField(help_text="Divided between several groups by their size.")


class FoundLocalQueueOut(serializers.Serializer[Any]):
    space = serializers.CharField()
    name = serializers.CharField()
    running = serializers.IntegerField()
    waiting = serializers.IntegerField()


class FoundQueueOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    lends_to = serializers.CharField(allow_blank=True, help_text="The circle of queues that lend each other.")
    is_pool = serializers.BooleanField(help_text="Cards of the circle itself; nobody can take them over.")
    is_gone = serializers.BooleanField()
    cards = FoundCardsOut(many=True)
    local_queues = FoundLocalQueueOut(many=True)
    running = serializers.IntegerField()
    waiting = serializers.IntegerField()
    team = serializers.CharField(allow_blank=True, help_text="Who has taken its share over.")
    proposed_team = serializers.CharField(allow_blank=True, help_text="By the likeness of names.")
    adopted_at = serializers.DateTimeField(allow_null=True)
    seen_at = serializers.DateTimeField()


class CheckOut(serializers.Serializer[Any]):
    check = serializers.ChoiceField(choices=[each.value for each in Check])
    count = serializers.IntegerField()
    text = serializers.CharField()


class FoundQueuesOut(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(choices=ClusterMode.values)
    version = serializers.IntegerField(help_text="Of the plan; send it back as `expected_version`.")
    open_checks = CheckOut(many=True, help_text="What is not settled before the cluster is managed.")
    queues = FoundQueueOut(many=True)


class TakenPartOut(serializers.Serializer[Any]):
    queue = serializers.CharField(help_text="The team queue.")
    node_group = serializers.CharField()
    found = serializers.IntegerField()
    basis_points = serializers.IntegerField()
    comes_to = serializers.IntegerField(help_text="Cards of this share.")
    difference = serializers.IntegerField(help_text="`comes_to` less `found`; 0 where it is exact.")
    aside = serializers.IntegerField(help_text="Of them, what found queues still keep.")
    starts_with = serializers.IntegerField(help_text="The quota at once.")


class AdoptIn(serializers.Serializer[Any]):
    queues = serializers.DictField(child=serializers.CharField(allow_blank=True), help_text="Found queue to team.")
    expected_version = serializers.IntegerField(min_value=0)
    reason = serializers.CharField(required=False, max_length=300)
    dry_run = serializers.BooleanField(required=False)


class AdoptedOut(serializers.Serializer[Any]):
    dry_run = serializers.BooleanField()
    taken = TakenPartOut(many=True, allow_null=True, help_text="Of a dry run.")
    left_alone = serializers.ListField(child=serializers.CharField(), allow_null=True)
    plan = PlanOut()
    preview = PlanPreviewOut(allow_null=True)


class ModeIn(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(choices=ClusterMode.values)
    confirmed = serializers.BooleanField(required=False, help_text="That what is not settled yet was read.")
    take_away = serializers.BooleanField(
        required=False, help_text="To stop managing: remove what the console made there, is empty and nobody uses."
    )
    dry_run = serializers.BooleanField(required=False, help_text="To stop managing: only say what is there.")


class LeftObjectOut(serializers.Serializer[Any]):
    """Something that the console made on the cluster."""

    name = serializers.CharField()
    space = serializers.CharField(allow_blank=True, help_text="Empty: of the whole cluster.")
    kind = serializers.ChoiceField(choices=[kind.value for kind in LeftKind])
    fate = serializers.ChoiceField(
        choices=[fate.value for fate in Fate], help_text="`goes`: it would be taken away. All others stay."
    )
    command = serializers.CharField(help_text="By which an administrator of the cluster removes it.")


class NotTakenOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    code = serializers.CharField(help_text="Of the cluster's refusal.")


class ModeOut(FoundQueuesOut):
    dry_run = serializers.BooleanField()
    left_behind = LeftObjectOut(many=True, allow_null=True, help_text="Of a dry run.")
    taken_away = serializers.ListField(child=serializers.CharField(), help_text="Names of what was removed.")
    not_taken = NotTakenOut(many=True)


class FoundQueuesView(APIView):
    @extend_schema(
        operation_id="found_queues", responses={200: FoundQueuesOut, **errors(401, 403, 404, 409)}, tags=["clusters"]
    )
    def get(self, request: Request, cluster: str) -> Response:
        """Queues of others on a cluster as last seen, and whose they may be. 409 `not_connected`: the sandbox."""
        return Response(_found_body(request, _cluster(request, cluster)))


class FoundQueuesLookView(APIView):
    @extend_schema(
        operation_id="found_queues_look",
        request=None,
        responses={200: FoundQueuesOut, **errors(401, 403, 404, 409, 503)},
        tags=["clusters"],
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Look at the queues of others now. What was seen before stands where the cluster does not answer."""
        found = _cluster(request, cluster)
        found_ask(viewer=actor_of_request(request), cluster=found)
        return Response(_found_body(request, found))


class AdoptView(APIView):
    @extend_schema(
        operation_id="found_queues_adopt",
        request=AdoptIn,
        responses={200: AdoptedOut, **errors(400, 401, 403, 404, 409, 503)},
        tags=["clusters"],
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Give teams the shares that found queues have. The queues and their pods are not touched.

        409 `changed_meanwhile` or `adopted_already`: somebody else was faster, and nothing was saved.
        """
        actor, found, body = actor_of_request(request), _cluster(request, cluster), known_body(request, AdoptIn)
        choice, expected, reason = _choice(body), body_expected(body), body_reason(body)
        if body_is_dry_run(body):
            require_savable(found, expected, reason)
            told = adoption_preview(viewer=actor, cluster=found, choice=choice)
            answer = {
                "dry_run": True,
                "taken": [_taken_body(part) for part in told.taken],
                "left_alone": list(told.left_alone),
                "plan": plan_body(found),
                "preview": preview_body(told.plan),
            }
            return Response(answer)
        adopt(actor=actor, cluster=found, choice=choice, expected_version=expected, reason=reason)
        quotas_bring(found)
        answer = {"dry_run": False, "taken": None, "left_alone": None, "plan": plan_body(found), "preview": None}
        return Response(answer)


class ClusterModeView(APIView):
    @extend_schema(
        operation_id="cluster_mode_set",
        request=ModeIn,
        responses={200: ModeOut, **errors(400, 401, 403, 404, 409, 503)},
        tags=["clusters"],
    )
    def put(self, request: Request, cluster: str) -> Response:
        """Start managing a cluster, or only look at it from now on.

        Where something is not settled yet, managing starts once it is `confirmed` that this is known. 409
        `has_live_jobs`: jobs of ours are there. What the console made on the cluster stays, unless it is asked to
        `take_away` what of it is empty; a `dry_run` says what that would be.
        """
        actor, found, body = actor_of_request(request), _cluster(request, cluster), object_body(request)
        is_dry, taken, left = body_is_dry_run(body), TakenAway(()), None
        if _mode(body) is ClusterMode.MANAGING:
            if is_dry:
                raise InvalidInput([FieldProblem("dry_run", "only_to_stop", _("Only stopping has a dry run."))])
            manage_start(actor=actor, cluster=found, confirmed=body.get("confirmed") is True)
            quotas_bring(found)
        elif is_dry:
            left = [_left_body(each) for each in leaving_preview(viewer=actor, cluster=found)]
        else:
            taken = leave(actor=actor, cluster=found, take_away=_take_away(body))
        answer = {
            **_found_body(request, found),
            "dry_run": is_dry,
            "left_behind": left,
            "taken_away": [each.name for each in taken.removed],
            "not_taken": [{"name": name, "code": code} for name, code in taken.failed],
        }
        return Response(answer)


def _cluster(request: Request, slug: str) -> Cluster:
    return cluster_get(viewer=actor_of_request(request), slug=slug)


def _found_body(request: Request, cluster: Cluster) -> dict[str, Any]:
    actor = actor_of_request(request)
    return {
        "queues": [_queue_body(view) for view in found_views(viewer=actor, cluster=cluster)],
        "mode": cluster.mode,
        "version": newest_number(cluster),
        "open_checks": [
            {"check": item.check.value, "count": item.count, "text": item.text}
            for item in checklist(viewer=actor, cluster=cluster)
        ],
    }


def _queue_body(view: FoundView) -> dict[str, Any]:
    facts = view.facts
    return {
        "name": view.name,
        "lends_to": facts.lends_to,
        "is_pool": facts.is_pool,
        "is_gone": view.is_gone,
        "cards": [asdict(part) for part in facts.cards],
        "local_queues": [asdict(local) for local in facts.local_queues],
        "running": facts.running,
        "waiting": facts.waiting,
        "team": view.team,
        "proposed_team": view.proposed,
        "adopted_at": view.adopted_at,
        "seen_at": view.seen_at,
    }


def _left_body(left: LeftObject) -> dict[str, Any]:
    about = {"name": left.name, "space": left.space, "kind": left.kind.value, "fate": left.fate.value}
    return {**about, "command": removal_command(left)}


def _take_away(body: dict[str, Any]) -> bool:
    value = body.get("take_away", False)
    if not isinstance(value, bool):
        raise InvalidInput([FieldProblem("take_away", "not_a_boolean", _("Send true or false."))])
    return value


def _taken_body(part: TakenPart) -> dict[str, Any]:
    return {
        "queue": part.queue,
        "node_group": part.group,
        "found": part.found,
        "basis_points": part.basis_points,
        "comes_to": part.comes_to,
        "difference": part.difference,
        "aside": part.aside,
        "starts_with": part.starts_with,
    }


def _choice(body: dict[str, Any]) -> Choice:
    value = body.get("queues")
    if not isinstance(value, dict) or not all(isinstance(team, str) for team in value.values()):
        message = _("Send an object with found queues and the teams that take them over.")
        raise InvalidInput([FieldProblem("queues", "not_an_object", message)])
    return value


def _mode(body: dict[str, Any]) -> ClusterMode:
    value = body.get("mode")
    if value not in ClusterMode.values:
        raise InvalidInput([FieldProblem("mode", "unknown_mode", _("Send watching or managing."))])
    return ClusterMode(value)
