"""The API about what a team's jobs are given. Values of secrets go in and never come out: names and dates do."""

from __future__ import annotations

from typing import Any, cast

from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.actors import Actor
from accounts.api.base import actor_of_request
from accounts.models import Team
from accounts.policy import Action, Target, require
from accounts.selectors import teams_of
from accounts.services import team_rules_set
from clusters.archives import Readable, archive_store
from clusters.models import Cluster, SecretKind
from clusters.supplies import PlaceView, SecretView, place_cluster, place_views, team_supplied
from clusters.supply_services import (
    dataset_remove,
    dataset_set,
    registry_set,
    secret_drop,
    storage_set,
    variables_set,
)
from common.api import errors, object_body
from common.errors import FieldProblem, InvalidInput

CLUSTER_HELP = "Left out: the cluster that the team's jobs go to first."


class SecretOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    names = serializers.ListField(child=serializers.CharField(), help_text="Of the variables, or the registry.")
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField(allow_blank=True)
    is_there = serializers.BooleanField(help_text="The cluster has the newest values.")
    error = serializers.CharField(allow_blank=True, help_text="Code of the newest refusal.")


class DatasetOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    volume = serializers.CharField()
    folder = serializers.CharField(allow_blank=True)
    added_at = serializers.DateTimeField()


class PlaceOut(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    volume = serializers.CharField(allow_blank=True)
    console_folder = serializers.CharField(allow_blank=True, help_text="For admins only.")
    no_archives = serializers.CharField(allow_null=True, help_text="Why code cannot be uploaded; null when it can.")
    no_git = serializers.CharField(allow_null=True, help_text="Why code cannot come from git; null when it can.")
    datasets = DatasetOut(many=True)
    variables = SecretOut(many=True)
    registries = SecretOut(many=True)


class SuppliesOut(serializers.Serializer[Any]):
    team = serializers.CharField()
    images = serializers.ListField(child=serializers.CharField(), help_text="Repositories of its images; none = any.")
    runs_as_root = serializers.BooleanField()
    places = PlaceOut(many=True)


class RulesIn(serializers.Serializer[Any]):
    images = serializers.ListField(child=serializers.CharField(allow_blank=True), max_length=50)
    runs_as_root = serializers.BooleanField()


class StorageIn(serializers.Serializer[Any]):
    cluster = serializers.CharField(required=False, help_text=CLUSTER_HELP)
    volume = serializers.CharField(allow_blank=True, help_text="Empty takes the storage away.")
    console_folder = serializers.CharField(required=False, allow_blank=True)


class DatasetIn(serializers.Serializer[Any]):
    cluster = serializers.CharField(required=False, help_text=CLUSTER_HELP)
    volume = serializers.CharField()
    folder = serializers.CharField(required=False, allow_blank=True)


class VariablesIn(serializers.Serializer[Any]):
    cluster = serializers.CharField(required=False, help_text=CLUSTER_HELP)
    values = serializers.DictField(child=serializers.CharField(), write_only=True)


class RegistryIn(serializers.Serializer[Any]):
    cluster = serializers.CharField(required=False, help_text=CLUSTER_HELP)
    server = serializers.CharField()
    username = serializers.CharField(write_only=True)
    password = serializers.CharField(write_only=True)


def _answer(viewer: Actor, slug: str) -> Response:
    team = team_supplied(viewer=viewer, slug=slug)
    body = {
        "team": team.slug,
        "images": team.image_prefixes,
        "runs_as_root": team.runs_as_root,
        "places": [_place(place) for place in place_views(viewer=viewer, team=team)],
    }
    return Response(body)


def _place(place: PlaceView) -> dict[str, Any]:
    return {
        "cluster": place.cluster.slug,
        "volume": place.volume,
        "console_folder": place.console_folder,
        "no_archives": place.no_archives,
        "no_git": place.no_git,
        "datasets": [
            {"name": row.name, "volume": row.volume, "folder": row.folder, "added_at": row.added_at}
            for row in place.datasets
        ],
        "variables": [_secret(row) for row in place.variables],
        "registries": [_secret(row) for row in place.registries],
    }


def _secret(row: SecretView) -> dict[str, Any]:
    return {
        "name": row.name,
        "names": list(row.names),
        "changed_at": row.changed_at,
        "changed_by": row.changed_by,
        "is_there": row.is_there,
        "error": row.error,
    }


def _text(body: dict[str, Any], name: str, *, is_required: bool = False) -> str:
    """The text of a field, '' when it may be left out and is. Raises InvalidInput."""
    if is_required and name not in body:
        raise InvalidInput([FieldProblem(name, "required", _("Write this too; an empty text takes it away."))])
    value = body.get(name, "")
    if not isinstance(value, str) or "\x00" in value:
        raise InvalidInput([FieldProblem(name, "not_text", _("Write this as text."))])
    return value


def _where(actor: Actor, action: Action, slug: str, cluster: str) -> tuple[Team, Cluster]:
    """A foreign team is not there; one's own without the right is refused before its clusters are looked at."""
    team = team_supplied(viewer=actor, slug=slug)
    require(actor, action, Target(team_id=team.pk))
    return team, place_cluster(team=team, slug=cluster)


class SuppliesView(APIView):
    @extend_schema(operation_id="supplies_read", responses={200: SuppliesOut, **errors(401, 404)}, tags=["teams"])
    def get(self, request: Request, team: str) -> Response:
        """What the team's jobs are given, by cluster. No value of a secret."""
        return _answer(actor_of_request(request), team)


class RulesView(APIView):
    @extend_schema(
        operation_id="rules_set",
        request=RulesIn,
        responses={200: SuppliesOut, **errors(400, 401, 403, 404)},
        tags=["teams"],
    )
    def put(self, request: Request, team: str) -> Response:
        """Say whose images the team's jobs may use, and whether their programs may be root."""
        actor = actor_of_request(request)
        found = team_supplied(viewer=actor, slug=team)
        require(actor, Action.SUPPLIES_MANAGE)
        body = object_body(request)
        images, as_root = body.get("images"), body.get("runs_as_root")
        if not isinstance(images, list) or not all(isinstance(image, str) for image in images):
            raise InvalidInput([FieldProblem("images", "not_a_list", _("Write the repositories as a list of texts."))])
        if not isinstance(as_root, bool):
            raise InvalidInput([FieldProblem("runs_as_root", "not_a_switch", _("Write true or false."))])
        team_rules_set(actor=actor, team=found, image_prefixes=images, runs_as_root=as_root)
        return _answer(actor, team)


class StorageView(APIView):
    @extend_schema(
        operation_id="storage_set",
        request=StorageIn,
        responses={200: SuppliesOut, **errors(400, 401, 403, 404)},
        tags=["teams"],
    )
    def put(self, request: Request, team: str) -> Response:
        """Name the team's shared volume, and the folder in which the console has it."""
        actor, body = actor_of_request(request), object_body(request)
        found, cluster = _where(actor, Action.SUPPLIES_MANAGE, team, _text(body, "cluster"))
        storage_set(
            actor=actor,
            cluster=cluster,
            team=found,
            volume=_text(body, "volume", is_required=True),
            console_folder=_text(body, "console_folder"),
        )
        return _answer(actor, team)


_REMOVED = {204: None, **errors(401, 403, 404)}
_CLUSTER = [OpenApiParameter("cluster", str, description=CLUSTER_HELP)]


class DatasetView(APIView):
    @extend_schema(
        operation_id="dataset_set",
        request=DatasetIn,
        responses={200: SuppliesOut, **errors(400, 401, 403, 404)},
        tags=["teams"],
    )
    def put(self, request: Request, team: str, name: str) -> Response:
        """Give the team's jobs a folder to read under this name."""
        actor, body = actor_of_request(request), object_body(request)
        found, cluster = _where(actor, Action.SUPPLIES_MANAGE, team, _text(body, "cluster"))
        dataset_set(
            actor=actor,
            cluster=cluster,
            team=found,
            name=name,
            volume=_text(body, "volume"),
            folder=_text(body, "folder"),
        )
        return _answer(actor, team)

    @extend_schema(operation_id="dataset_remove", parameters=_CLUSTER, responses=_REMOVED, tags=["teams"])
    def delete(self, request: Request, team: str, name: str) -> Response:
        """Offer it no more; jobs that named it keep it."""
        actor = actor_of_request(request)
        found, cluster = _where(actor, Action.SUPPLIES_MANAGE, team, request.query_params.get("cluster", ""))
        dataset_remove(actor=actor, cluster=cluster, team=found, name=name)
        return Response(status=204)


def _drop(request: Request, team: str, kind: SecretKind, name: str) -> Response:
    actor = actor_of_request(request)
    found, cluster = _where(actor, Action.SECRETS_MANAGE, team, request.query_params.get("cluster", ""))
    secret_drop(actor=actor, cluster=cluster, team=found, kind=kind, name=name)
    return Response(status=204)


class VariablesView(APIView):
    @extend_schema(
        operation_id="variables_set",
        request=VariablesIn,
        responses={200: SuppliesOut, **errors(400, 401, 403, 404)},
        tags=["teams"],
    )
    def put(self, request: Request, team: str, name: str) -> Response:
        """Give every job of the team these variables, in place of those stored under this name."""
        actor, body = actor_of_request(request), object_body(request)
        found, cluster = _where(actor, Action.SECRETS_MANAGE, team, _text(body, "cluster"))
        variables_set(actor=actor, cluster=cluster, team=found, name=name, values=body.get("values"))
        return _answer(actor, team)

    @extend_schema(operation_id="variables_drop", parameters=_CLUSTER, responses=_REMOVED, tags=["teams"])
    def delete(self, request: Request, team: str, name: str) -> Response:
        """Take the variables away and erase their values."""
        return _drop(request, team, SecretKind.VARIABLES, name)


class RegistryView(APIView):
    @extend_schema(
        operation_id="registry_set",
        request=RegistryIn,
        responses={200: SuppliesOut, **errors(400, 401, 403, 404)},
        tags=["teams"],
    )
    def put(self, request: Request, team: str, name: str) -> Response:
        """Let the team's jobs pull images from a registry with these credentials."""
        actor, body = actor_of_request(request), object_body(request)
        found, cluster = _where(actor, Action.SECRETS_MANAGE, team, _text(body, "cluster"))
        registry_set(
            actor=actor,
            cluster=cluster,
            team=found,
            name=name,
            server=_text(body, "server"),
            username=_text(body, "username"),
            password=_text(body, "password"),
        )
        return _answer(actor, team)

    @extend_schema(operation_id="registry_drop", parameters=_CLUSTER, responses=_REMOVED, tags=["teams"])
    def delete(self, request: Request, team: str, name: str) -> Response:
        """Take the credentials away and erase them."""
        return _drop(request, team, SecretKind.REGISTRY, name)


# --------------------------------------------------------------------------- uploads


class _AsItComes(BaseParser):
    """Leaves the body unread, so that the service can take it piece by piece."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        return stream


class ZipParser(_AsItComes):
    media_type = "application/zip"


class TarParser(_AsItComes):
    media_type = "application/x-tar"


class GzipParser(_AsItComes):
    media_type = "application/gzip"


class BinaryParser(_AsItComes):
    media_type = "application/octet-stream"


class ArchiveOut(serializers.Serializer[Any]):
    id = serializers.CharField(help_text='For `"code": {"kind": "archive", "archive": id}` of a job.')
    name = serializers.CharField()
    files = serializers.IntegerField()
    size_bytes = serializers.IntegerField(help_text="Unpacked.")
    team = serializers.CharField()
    cluster = serializers.CharField()
    uploaded_at = serializers.DateTimeField()


class ArchivesView(APIView):
    parser_classes = [ZipParser, TarParser, GzipParser, BinaryParser]

    @extend_schema(
        operation_id="archives_upload",
        request={parser.media_type: OpenApiTypes.BINARY for parser in (ZipParser, TarParser, GzipParser, BinaryParser)},
        parameters=[
            OpenApiParameter("team", str, description="Needed when one is in several."),
            OpenApiParameter("cluster", str, description=CLUSTER_HELP),
            OpenApiParameter("name", str, description="Of the file."),
        ],
        responses={201: ArchiveOut, **errors(400, 401, 403, 404, 409, 413, 415, 429, 503)},
        tags=["jobs"],
    )
    def post(self, request: Request) -> Response:
        """Upload code as a zip or tar file of at most 100 MB. A job names it within a day, or it is removed."""
        actor = actor_of_request(request)
        team = _team_of(actor, request.query_params.get("team", ""))
        require(actor, Action.JOB_SUBMIT, Target(team_id=team.pk))
        cluster = place_cluster(team=team, slug=request.query_params.get("cluster", ""))
        archive = archive_store(
            actor=actor,
            cluster=cluster,
            team=team,
            name=request.query_params.get("name", "").replace("\x00", ""),
            upload=cast(Readable, request.data or _Nothing()),
        )
        body = {
            "id": archive.public_id,
            "name": archive.name,
            "files": archive.files,
            "size_bytes": archive.size_bytes,
            "team": team.slug,
            "cluster": cluster.slug,
            "uploaded_at": archive.uploaded_at,
        }
        return Response(body, status=201)


class _Nothing:
    """An upload without a body."""

    def read(self, size: int, /) -> bytes:
        return b""


def _team_of(actor: Actor, slug: str) -> Team:
    if slug:
        return team_supplied(viewer=actor, slug=slug)
    teams = teams_of(actor)
    if len(teams) != 1:
        message = _("Say which of your teams the upload belongs to.")
        raise InvalidInput([FieldProblem("team", "required", message)])
    return teams[0]
