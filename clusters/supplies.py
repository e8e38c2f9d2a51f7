"""Reads about what a team's jobs are given. For specs in bulk, for pages and the API by name; never a value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, Target, require, teams_where
from clusters.models import Cluster, Dataset, SecretKind, TeamSecret, TeamStorage
from clusters.storage import console_path
from clusters.sync import is_remote
from common.errors import NotFound

Place = tuple[int, int]
"""(cluster id, team id)"""


@dataclass(frozen=True, slots=True)
class Supplies:
    """What the jobs of one team get on one cluster. ``datasets``: name → (volume, folder), removed ones as well."""

    volume: str = ""
    datasets: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    env_secrets: tuple[str, ...] = ()
    pull_secrets: tuple[str, ...] = ()


def supplies_of(places: Collection[Place]) -> dict[Place, Supplies]:
    """Supplies by place, in three queries however many places."""
    if not places:
        return {}
    here = Q(cluster__in={cluster for cluster, _team in places}, team__in={team for _cluster, team in places})
    volumes = {(row.cluster_id, row.team_id): row.volume for row in TeamStorage.objects.filter(here)}
    datasets: dict[Place, dict[str, tuple[str, str]]] = defaultdict(dict)
    for row in Dataset.objects.filter(here).order_by("-added_at"):
        known = datasets[row.cluster_id, row.team_id]
        if row.removed_at is None or row.name not in known:  # of removed ones the newest
            known[row.name] = (row.volume, row.folder)
    secrets: dict[Place, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    # One that the cluster has refused since it was made would let no job start; its page says that it is not there.
    for secret in TeamSecret.objects.filter(here, Q(stored__gt=0) | Q(error=""), is_dropped=False):
        secrets[secret.cluster_id, secret.team_id][secret.kind].append(secret.object_name)
    return {
        place: Supplies(
            volume=volumes.get(place, ""),
            datasets=datasets[place],
            env_secrets=tuple(sorted(secrets[place][SecretKind.VARIABLES])),
            pull_secrets=tuple(sorted(secrets[place][SecretKind.REGISTRY])),
        )
        for place in places
    }


# --------------------------------------------------------------------------- what is offered at submit


def git_refusal(cluster: Cluster) -> str | Promise | None:
    """Why jobs on this cluster cannot take their code from a git address; None when they can."""
    if is_remote(cluster) and not cluster.settings.get("git_image"):
        return _("This cluster has no image to fetch code with. A platform admin can name one.")
    return None


def archive_refusal(storage: TeamStorage | None) -> str | Promise | None:
    """Why code cannot be uploaded for jobs in this place; None when it can."""
    if storage is None:
        return _("The team has no storage on this cluster, so code cannot be uploaded.")
    if console_path(storage.console_folder) is None:
        return _("The console does not reach the team's storage, so code cannot be uploaded.")
    return None


@dataclass(frozen=True, slots=True)
class Offers:
    """What a form may offer before its team and cluster are chosen; a reason where no place offers something."""

    datasets: tuple[str, ...]
    no_git: str | Promise | None
    no_archives: str | Promise | None


def offers(team_ids: Collection[int]) -> Offers:
    """What the teams have on their clusters, in three queries."""
    clusters = list(Cluster.objects.filter(queues__team__in=team_ids).distinct())
    storages = list(TeamStorage.objects.filter(team__in=team_ids, cluster__in=[c.pk for c in clusters]))
    names = Dataset.objects.filter(team__in=team_ids, cluster__queues__team__in=team_ids, removed_at=None)
    git = [git_refusal(cluster) for cluster in clusters]
    archives = [archive_refusal(storage) for storage in storages] or [archive_refusal(None)]
    return Offers(
        datasets=tuple(sorted(set(names.values_list("name", flat=True)))),
        no_git=git[0] if git and all(git) else None,
        no_archives=archives[0] if all(archives) else None,
    )


def dataset_names(cluster_id: int, team_ids: Collection[int]) -> list[str]:
    """Names of data sets that one of the teams may choose there; one query."""
    rows = Dataset.objects.filter(cluster=cluster_id, team__in=team_ids, removed_at=None)
    return sorted(set(rows.values_list("name", flat=True)))


# --------------------------------------------------------------------------- for people


@dataclass(frozen=True, slots=True)
class SecretView:
    """A secret without its values. ``is_there``: the cluster has the newest values."""

    kind: str
    name: str
    names: tuple[str, ...]
    changed_at: datetime
    changed_by: str
    is_there: bool
    error: str


@dataclass(frozen=True, slots=True)
class DatasetView:
    name: str
    volume: str
    folder: str
    added_at: datetime


@dataclass(frozen=True, slots=True)
class PlaceView:
    """What a team has on one cluster. ``console_folder`` is for admins only."""

    cluster: Cluster
    volume: str
    console_folder: str
    no_archives: str | Promise | None
    no_git: str | Promise | None
    needs_secrets: bool  # False: nothing on this cluster would read them
    datasets: tuple[DatasetView, ...]
    variables: tuple[SecretView, ...]
    registries: tuple[SecretView, ...]


def team_supplied(*, viewer: Actor, slug: str) -> Team:
    """A team whose supplies the viewer may see.

    Raises NotFound for a team that is not theirs (also one that does not exist).
    """
    teams = teams_where(viewer, Action.SUPPLIES_VIEW)
    rows = Team.objects.filter(slug=slug, archived_at=None)
    team = (rows if teams is None else rows.filter(pk__in=teams)).first() if "\x00" not in slug else None
    if team is None:
        raise NotFound("not_found", _("There is no such team, or you are not in it."))
    return team


def place_views(*, viewer: Actor, team: Team) -> list[PlaceView]:
    """Everything the team has, by cluster, the default one first. Raises NotAllowed."""
    require(viewer, Action.SUPPLIES_VIEW, Target(team_id=team.pk))
    storages = {row.cluster_id: row for row in TeamStorage.objects.filter(team=team)}
    datasets: dict[int, list[DatasetView]] = defaultdict(list)
    for row in Dataset.objects.filter(team=team, removed_at=None):
        datasets[row.cluster_id].append(DatasetView(row.name, row.volume, row.folder, row.added_at))
    secrets: dict[tuple[int, str], list[SecretView]] = defaultdict(list)
    for secret in TeamSecret.objects.filter(team=team, is_dropped=False).select_related("changed_by"):
        secrets[secret.cluster_id, secret.kind].append(_secret_view(secret))
    clusters = Cluster.objects.filter(queues__team=team).order_by("-is_default", "name").distinct()
    return [
        PlaceView(
            cluster=cluster,
            volume=storage.volume if (storage := storages.get(cluster.pk)) else "",
            console_folder=storage.console_folder if storage and viewer.is_admin else "",
            no_archives=archive_refusal(storage),
            no_git=git_refusal(cluster),
            needs_secrets=is_remote(cluster),
            datasets=tuple(datasets[cluster.pk]),
            variables=tuple(secrets[cluster.pk, SecretKind.VARIABLES]),
            registries=tuple(secrets[cluster.pk, SecretKind.REGISTRY]),
        )
        for cluster in clusters
    ]


def _secret_view(secret: TeamSecret) -> SecretView:
    return SecretView(
        kind=secret.kind,
        name=secret.name,
        names=tuple(secret.names),
        changed_at=secret.changed_at,
        changed_by=secret.changed_by.display_name if secret.changed_by else "",
        is_there=secret.stored == secret.revision,
        error=secret.error,
    )


def place_cluster(*, team: Team, slug: str) -> Cluster:
    """The cluster of this name on which the team has a queue; without a name the one its jobs go to first.

    Raises NotFound.
    """
    rows = Cluster.objects.filter(queues__team=team).order_by("-is_default", "name")
    found = (rows.filter(slug=slug) if slug else rows).first() if "\x00" not in slug else None
    if found is None:
        raise NotFound("not_found", _("The team has no queue on a cluster of this name."))
    return found
