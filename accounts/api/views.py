"""The API about oneself and about people: me, tokens, teams, members."""

from __future__ import annotations

import secrets
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import services
from accounts.access_services import person_disable, person_enable
from accounts.api.base import actor_of_request
from accounts.models import ApiToken, Membership, Role, Team, User
from accounts.policy import Action, require
from accounts.selectors import membership_named, person_named, team_named
from common.api import errors, object_body
from common.errors import FieldProblem, InvalidInput
from common.texts import storable


class MembershipOut(serializers.Serializer[Any]):
    team = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.values)


class MeOut(serializers.Serializer[Any]):
    username = serializers.CharField()
    name = serializers.CharField()
    is_platform_admin = serializers.BooleanField()
    language = serializers.CharField(allow_blank=True)
    time_zone = serializers.CharField(allow_blank=True)
    memberships = MembershipOut(many=True)


class MeIn(serializers.Serializer[Any]):
    language = serializers.CharField(required=False, allow_blank=True)
    time_zone = serializers.CharField(required=False, allow_blank=True)


def _me(user: User) -> dict[str, Any]:
    rows = Membership.objects.filter(user=user, team__archived_at=None).order_by("team__slug")
    return {
        "username": user.username,
        "name": user.display_name,
        "is_platform_admin": user.is_platform_admin,
        "language": user.language,
        "time_zone": user.time_zone,
        "memberships": [{"team": slug, "role": role} for slug, role in rows.values_list("team__slug", "role")],
    }


class MeView(APIView):
    @extend_schema(operation_id="me_read", responses={200: MeOut, **errors(401)}, tags=["me"])
    def get(self, request: Request) -> Response:
        """Who the token or session belongs to, and in which teams."""
        return Response(_me(actor_of_request(request).user))

    @extend_schema(operation_id="me_edit", request=MeIn, responses={200: MeOut, **errors(400, 401)}, tags=["me"])
    def patch(self, request: Request) -> Response:
        """Change one's own language or time zone."""
        actor = actor_of_request(request)
        data = object_body(request)
        services.profile_edit(actor=actor, language=_text(data, "language"), time_zone=_text(data, "time_zone"))
        return Response(_me(User.objects.get(pk=actor.user.pk)))


def _text(data: dict[str, Any], key: str) -> str | None:
    """The text of a field, None when it is left out. Raises InvalidInput for what is no text or cannot be kept."""
    value = data.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput([FieldProblem(key, "not_text", _("Write this as text."))])
    if "\x00" in value:
        raise InvalidInput([FieldProblem(key, "nul", _("This text has an invisible NUL character. Remove it."))])
    if storable(value) != value:
        raise InvalidInput([FieldProblem(key, "half_character", _("This text has a broken character. Type it again."))])
    return value


class TokenOut(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)


class TokenMadeOut(TokenOut):
    token = serializers.CharField(help_text="Shown once; only its hash is kept.")


class TokenIn(serializers.Serializer[Any]):
    name = serializers.CharField()
    days = serializers.IntegerField(required=False, default=services.TOKEN_DAYS, min_value=1, max_value=365)


def _token(token: ApiToken) -> dict[str, Any]:
    return {
        "id": token.public_id,
        "name": token.name,
        "created_at": token.created,
        "expires_at": token.expiry,
        "last_used_at": token.last_used_at,
    }


class TokensView(APIView):
    @extend_schema(operation_id="tokens_list", responses={200: TokenOut(many=True), **errors(401)}, tags=["tokens"])
    def get(self, request: Request) -> Response:
        """One's own tokens, newest first; never their text."""
        rows = ApiToken.objects.filter(user=actor_of_request(request).user).order_by("-created")
        return Response([_token(token) for token in rows])

    @extend_schema(
        operation_id="tokens_create",
        request=TokenIn,
        responses={201: TokenMadeOut, **errors(400, 401, 409)},
        tags=["tokens"],
    )
    def post(self, request: Request) -> Response:
        """Make a token; its text is in this answer only."""
        data = object_body(request)
        days = data.get("days", services.TOKEN_DAYS)
        if isinstance(days, bool) or not isinstance(days, int):
            raise InvalidInput([FieldProblem("days", "not_a_number", _("Write the days as a whole number."))])
        token, text = services.token_create(actor=actor_of_request(request), name=_text(data, "name") or "", days=days)
        return Response({**_token(token), "token": text}, status=201)


class TokenView(APIView):
    @extend_schema(operation_id="tokens_revoke", responses={204: None, **errors(401, 404)}, tags=["tokens"])
    def delete(self, request: Request, public_id: str) -> Response:
        """Revoke a token at once."""
        services.token_revoke(actor=actor_of_request(request), public_id=public_id)
        return Response(status=204)


# --------------------------------------------------------------------------- people and teams, for admins


class TeamIn(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="At most 100 characters, not counting those that cannot be seen.")


class TeamOut(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()


class PersonIn(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150)
    name = serializers.CharField(required=False, allow_blank=True)
    password = serializers.CharField(required=False, help_text="Left out: one is made and given in the answer.")
    team = serializers.CharField(required=False)
    role = serializers.ChoiceField(choices=Role.values, required=False, default=Role.ENGINEER.value)


class PersonOut(serializers.Serializer[Any]):
    username = serializers.CharField()
    name = serializers.CharField()
    password = serializers.CharField(allow_null=True, help_text="Only when it was made here; shown once.")


class TeamsView(APIView):
    @extend_schema(operation_id="teams_list", responses={200: TeamOut(many=True), **errors(401, 403)}, tags=["people"])
    def get(self, request: Request) -> Response:
        """All teams that are not archived."""
        require(actor_of_request(request), Action.PEOPLE_MANAGE)
        rows = Team.objects.filter(archived_at=None).order_by("slug").values("slug", "name")
        return Response(list(rows))

    @extend_schema(
        operation_id="teams_create", request=TeamIn, responses={201: TeamOut, **errors(400, 401, 403)}, tags=["people"]
    )
    def post(self, request: Request) -> Response:
        """Add a team."""
        team = services.team_create(actor=actor_of_request(request), name=_text(object_body(request), "name") or "")
        return Response({"slug": team.slug, "name": team.name}, status=201)


class MemberIn(serializers.Serializer[Any]):
    role = serializers.ChoiceField(choices=Role.values, required=False, default=Role.ENGINEER.value)


class MemberOut(serializers.Serializer[Any]):
    team = serializers.CharField()
    username = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.values)


class MemberView(APIView):
    @extend_schema(
        operation_id="members_set",
        request=MemberIn,
        responses={200: MemberOut, **errors(400, 401, 403, 404, 409)},
        tags=["people"],
    )
    def put(self, request: Request, team: str, username: str) -> Response:
        """Put a person into a team, or change their role there."""
        actor = actor_of_request(request)
        user = person_named(viewer=actor, username=username)
        data = object_body(request)
        role = _text(data, "role") if "role" in data else Role.ENGINEER.value
        place = team_named(viewer=actor, slug=team)
        made = services.membership_set(actor=actor, user=user, team=place, role=role or "")
        return Response({"team": made.team.slug, "username": user.username, "role": made.role})

    @extend_schema(operation_id="members_remove", responses={204: None, **errors(401, 403, 404)}, tags=["people"])
    def delete(self, request: Request, team: str, username: str) -> Response:
        """Take a person out of a team; their jobs stay."""
        actor = actor_of_request(request)
        found = membership_named(viewer=actor, team=team, username=username)
        services.membership_remove(actor=actor, user=found.user, team=found.team)
        return Response(status=204)


class PeopleView(APIView):
    @extend_schema(
        operation_id="people_create",
        request=PersonIn,
        responses={201: PersonOut, **errors(400, 401, 403, 404)},
        tags=["people"],
    )
    def post(self, request: Request) -> Response:
        """Add a person, and put them into a team when one is named."""
        data = object_body(request)
        given = _text(data, "password")
        password = given or secrets.token_urlsafe(12)
        user = services.person_add(
            actor=actor_of_request(request),
            username=_text(data, "username") or "",
            full_name=_text(data, "name") or "",
            password=password,
            team_slug=_text(data, "team"),
            role=_text(data, "role") or Role.ENGINEER.value,
        )
        shown = None if given else password
        return Response({"username": user.username, "name": user.display_name, "password": shown}, status=201)


class PersonDisableView(APIView):
    @extend_schema(
        operation_id="people_disable",
        request=None,
        responses={204: None, **errors(401, 403, 404, 409)},
        tags=["people"],
    )
    def post(self, request: Request, username: str) -> Response:
        """Shut a person out from the next request on: sessions and tokens end, memberships and jobs stay."""
        actor = actor_of_request(request)
        person_disable(actor=actor, user=person_named(viewer=actor, username=username))
        return Response(status=204)


class PersonEnableView(APIView):
    @extend_schema(
        operation_id="people_enable", request=None, responses={204: None, **errors(401, 403, 404)}, tags=["people"]
    )
    def post(self, request: Request, username: str) -> Response:
        """Let a disabled person sign in again."""
        actor = actor_of_request(request)
        person_enable(actor=actor, user=person_named(viewer=actor, username=username))
        return Response(status=204)
