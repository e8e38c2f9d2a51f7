"""The API about groups of shared card slices: what is decided about one, and the decision."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.utils.dateparse import parse_date
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.actors import Actor
from accounts.api.base import actor_of_request
from clusters.connected import cluster_get
from clusters.contract import SharingMode
from clusters.models import NodeGroup
from common.api import errors, object_body
from common.errors import FieldProblem, InvalidInput, Text
from common.texts import storable
from quotas.domain.sharing import SLOWDOWN_DEFAULT, SLOWDOWN_MAX, SLOWDOWN_MIN
from quotas.selectors.sharing import SharingView, shared_group, sharing_view
from quotas.services import quotas_bring
from quotas.sharing import REASON_MAX, WHY_MAX, SharingDecision, sharing_save


class SharingIn(serializers.Serializer[Any]):
    """The whole decision; what is left out is as where nobody decided anything."""

    expected_version = serializers.IntegerField(min_value=0, help_text="As read; 0 = nothing was decided yet.")
    why = serializers.CharField(max_length=WHY_MAX)
    transitional = serializers.BooleanField(default=False)
    until = serializers.DateField(required=False, allow_null=True, help_text="Last day, only of a transitional one.")
    slowdown = serializers.IntegerField(
        default=SLOWDOWN_DEFAULT,
        min_value=SLOWDOWN_MIN,
        max_value=SLOWDOWN_MAX,
        help_text="Run time per mille of that on whole cards: 1300 = 1.3 times as long.",
    )
    training = serializers.DictField(
        child=serializers.CharField(max_length=REASON_MAX),
        required=False,
        help_text="Teams that may train there, each with the reason why.",
    )


class PermitOut(serializers.Serializer[Any]):
    team = serializers.CharField()
    reason = serializers.CharField()
    given_by = serializers.CharField(allow_blank=True)
    given_at = serializers.DateTimeField()


class SharingOut(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    node_group = serializers.CharField()
    kind = serializers.ChoiceField(
        choices=[mode.value for mode in SharingMode], help_text="How the cards are cut, as the cluster reports it."
    )
    unit = serializers.CharField()
    version = serializers.IntegerField(help_text="0 = nobody decided anything; the other fields say what holds then.")
    why = serializers.CharField(allow_blank=True)
    transitional = serializers.BooleanField()
    until = serializers.DateField(allow_null=True)
    slowdown = serializers.IntegerField()
    training = PermitOut(many=True)
    changed_by = serializers.CharField(allow_blank=True)
    changed_at = serializers.DateTimeField(allow_null=True)


class SharingPolicyView(APIView):
    @extend_schema(operation_id="sharing", responses={200: SharingOut, **errors(401, 403, 404)}, tags=["quotas"])
    def get(self, request: Request, cluster: str, group: str) -> Response:
        """What is decided about a group of shared card slices. For platform admins."""
        return Response(_body(sharing_view(_group(actor_of_request(request), cluster, group))))

    @extend_schema(
        operation_id="sharing_save",
        request=SharingIn,
        responses={200: SharingOut, **errors(400, 401, 403, 404, 409)},
        tags=["quotas"],
    )
    def put(self, request: Request, cluster: str, group: str) -> Response:
        """Decide about a group of shared card slices. Jobs that are there go on, whatever is decided.

        409 `changed_meanwhile`: somebody saved since you read, and nothing was overwritten.
        """
        actor, body = actor_of_request(request), object_body(request)
        found = _group(actor, cluster, group)
        decision, expected = _decision(body)
        sharing_save(actor=actor, group=found, expected_version=expected, decision=decision)
        quotas_bring(found.cluster)
        return Response(_body(sharing_view(found)))


def _group(actor: Actor, cluster: str, group: str) -> NodeGroup:
    return shared_group(viewer=actor, cluster=cluster_get(viewer=actor, slug=cluster), slug=group)


def _decision(body: Mapping[str, Any]) -> tuple[SharingDecision, int]:
    """The decision and the version that was read. Raises InvalidInput with every field of the wrong type."""
    problems: list[FieldProblem] = []

    def read(name: str, default: Any, kind: type, message: Text) -> Any:
        value = body.get(name, default)
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        problems.append(FieldProblem(name, "wrong_type", message))
        return default

    number = _("Send a whole number.")
    expected = read("expected_version", None, int, _("Send the version that you read, 0 where there was none."))
    decision = SharingDecision(
        why=read("why", "", str, _("Write why as text.")),
        is_transitional=read("transitional", False, bool, _("Send true or false.")),
        until=_day(body, problems),
        slowdown=read("slowdown", SLOWDOWN_DEFAULT, int, number),
        training=_training(body, problems),
    )
    problems += [
        FieldProblem(storable(name), "unknown_field", _("This field is not known."))
        for name in sorted(set(body) - _FIELDS)
    ]
    if problems:
        raise InvalidInput(problems)
    return decision, expected


_FIELDS = frozenset({"expected_version", "why", "transitional", "until", "slowdown", "training"})


def _day(body: Mapping[str, Any], problems: list[FieldProblem]) -> date | None:
    value = body.get("until")
    if value is None:
        return None
    try:
        found = parse_date(value) if isinstance(value, str) else None
    except ValueError:  # a 31st of February
        found = None
    if found is None:
        problems.append(FieldProblem("until", "not_a_day", _("Write the day as in 2027-03-31.")))
    return found


def _training(body: Mapping[str, Any], problems: list[FieldProblem]) -> dict[str, str]:
    value = body.get("training", {})
    if isinstance(value, dict) and all(isinstance(reason, str) for reason in value.values()):
        return value
    problems.append(FieldProblem("training", "not_pairs", _("Write the names of teams, each with its reason.")))
    return {}


def _body(view: SharingView) -> dict[str, Any]:
    policy = view.policy
    return {
        "cluster": view.group.cluster.slug,
        "node_group": view.group.slug,
        "kind": view.group.sharing,
        "unit": view.group.unit,
        "version": view.version,
        "why": policy.why if policy else "",
        "transitional": bool(policy and policy.is_transitional),
        "until": policy.until if policy else None,
        "slowdown": view.slowdown,
        "training": [
            {"team": each.team.slug, "reason": each.reason, "given_by": each.given_by_name, "given_at": each.given_at}
            for each in view.permits
        ],
        "changed_by": policy.changed_by_name if policy else "",
        "changed_at": policy.changed_at if policy else None,
    }
