"""Writes about what a team's jobs are given: storage, data sets, variables and registry credentials.

Each is one transaction with its audit row, which names things and never a value. Secrets reach their cluster by
`clusters.secrets`, very soon and again until they are there.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, Target, require
from clusters.contract import DEVICE_VARIABLES
from clusters.models import Cluster, Dataset, SecretKind, TeamSecret, TeamStorage
from clusters.storage import console_path
from common.errors import FieldProblem, InvalidInput, NotFound
from common.hints import send
from common.secrets import seal

NAME_MAX = 40
VARIABLES_MAX = 100
VALUES_BYTES_MAX = 256 * 1024
FOLDER_MAX = 500

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")
_VOLUME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REGISTRY = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,250}[A-Za-z0-9])?(:[0-9]{1,5})?")
_BAD_CHARACTERS = re.compile("[\x00\ud800-\udfff]")

Problems = list[FieldProblem]


@transaction.atomic
def storage_set(*, actor: Actor, cluster: Cluster, team: Team, volume: str, console_folder: str = "") -> None:
    """Name a team's shared volume on a cluster and where the console reaches it; no volume takes it away.

    Raises NotAllowed, InvalidInput.
    """
    require(actor, Action.SUPPLIES_MANAGE)
    problems: Problems = []
    volume, console_folder = volume.strip(), console_folder.strip().strip("/")
    if volume:
        _check_volume(problems, volume)
    if console_folder:
        _check_console_folder(problems, volume, console_folder)
    _raise(problems)
    if volume:
        TeamStorage.objects.update_or_create(
            cluster=cluster, team=team, defaults={"volume": volume, "console_folder": console_folder}
        )
    else:
        TeamStorage.objects.filter(cluster=cluster, team=team).delete()
    _record(actor, "storage.set", cluster, team, cluster.slug, volume=volume, console_folder=console_folder)


@transaction.atomic
def dataset_set(*, actor: Actor, cluster: Cluster, team: Team, name: str, volume: str, folder: str = "") -> None:
    """Name a folder that the team's jobs may read. Jobs that named an earlier one of this name get the new place.

    Raises NotAllowed, InvalidInput.
    """
    require(actor, Action.SUPPLIES_MANAGE)
    problems: Problems = []
    name, volume, folder = name.strip(), volume.strip(), folder.strip().strip("/")
    _check_name(problems, name)
    _check_volume(problems, volume)
    if len(folder) > FOLDER_MAX or not is_plain_folder(folder):
        problems.append(FieldProblem("folder", "malformed", _("Write a folder inside the volume, such as public/v2.")))
    _raise(problems)
    Dataset.objects.update_or_create(
        cluster=cluster, team=team, name=name, removed_at=None, defaults={"volume": volume, "folder": folder}
    )
    _record(actor, "dataset.set", cluster, team, f"{cluster.slug}/{name}", volume=volume, folder=folder)


@transaction.atomic
def dataset_remove(*, actor: Actor, cluster: Cluster, team: Team, name: str) -> None:
    """Offer a data set no more; jobs that named it before keep it. Raises NotAllowed, NotFound."""
    require(actor, Action.SUPPLIES_MANAGE)
    rows = Dataset.objects.filter(cluster=cluster, team=team, name=name, removed_at=None)
    if not _NAME.fullmatch(name) or not rows.update(removed_at=timezone.now()):
        raise NotFound("not_found", _("The team has no data set of this name."))
    _record(actor, "dataset.remove", cluster, team, f"{cluster.slug}/{name}")


def is_plain_folder(folder: str) -> bool:
    """A relative path that stays inside; '' is all of it."""
    if not folder:
        return True
    return folder.isprintable() and "\\" not in folder and not {"", ".", ".."} & set(folder.split("/"))


# --------------------------------------------------------------------------- secrets


def variables_set(*, actor: Actor, cluster: Cluster, team: Team, name: str, values: Any) -> None:
    """Give every job of the team these variables; they take the place of what was stored under this name.

    Raises NotAllowed, InvalidInput.
    """
    require(actor, Action.SECRETS_MANAGE, Target(team_id=team.pk))
    problems: Problems = []
    _check_name(problems, name)
    if (problem := _variables_problem(values)) is not None:
        problems.append(problem)
    _raise(problems)
    _store(actor, cluster, team, SecretKind.VARIABLES, name, sorted(values), values)


def registry_set(
    *, actor: Actor, cluster: Cluster, team: Team, name: str, server: str, username: str, password: str
) -> None:
    """Let the team's jobs pull images from a registry. Raises NotAllowed, InvalidInput."""
    require(actor, Action.SECRETS_MANAGE, Target(team_id=team.pk))
    problems: Problems = []
    _check_name(problems, name)
    server = server.strip()
    if not _REGISTRY.fullmatch(server):
        problems.append(
            FieldProblem("server", "malformed", _("Write the registry as its images begin, such as registry.example."))
        )
    for attr, value, message in (
        ("username", username, _("Write the user name at the registry.")),
        ("password", password, _("Write the password or token at the registry.")),
    ):
        if not value or len(value) > 4096 or _BAD_CHARACTERS.search(value):
            problems.append(FieldProblem(attr, "malformed", message))
    _raise(problems)
    token = base64.b64encode(f"{username}:{password}".encode()).decode()
    content = {"auths": {server: {"username": username, "password": password, "auth": token}}}
    _store(actor, cluster, team, SecretKind.REGISTRY, name, [server], {".dockerconfigjson": json.dumps(content)})


@transaction.atomic
def secret_drop(*, actor: Actor, cluster: Cluster, team: Team, kind: str, name: str) -> None:
    """Take a secret away from the team's jobs and erase its values. Raises NotAllowed, NotFound."""
    require(actor, Action.SECRETS_MANAGE, Target(team_id=team.pk))
    rows = TeamSecret.objects.select_for_update() if _NAME.fullmatch(name) else TeamSecret.objects.none()
    secret = rows.filter(cluster=cluster, team=team, kind=kind, name=name, is_dropped=False).first()
    if secret is None:
        raise NotFound("not_found", _("The team has no secret of this name."))
    TeamSecret.objects.filter(pk=secret.pk).update(is_dropped=True, values="", revision=secret.revision + 1)
    _record(actor, "secret.drop", cluster, team, f"{cluster.slug}/{secret.object_name}")
    send("clusters.bring_secrets")


@transaction.atomic
def _store(
    actor: Actor,
    cluster: Cluster,
    team: Team,
    kind: SecretKind,
    name: str,
    names: list[str],
    values: Mapping[str, str],
) -> None:
    secret, made = TeamSecret.objects.select_for_update().get_or_create(
        cluster=cluster,
        team=team,
        kind=kind,
        name=name,
        defaults={"names": names, "values": seal(json.dumps(values)), "changed_at": timezone.now()},
    )
    secret.names, secret.values = names, seal(json.dumps(values))
    secret.changed_at, secret.changed_by = timezone.now(), actor.user
    secret.is_dropped, secret.error = False, ""
    secret.revision += 0 if made else 1
    secret.save()
    _record(actor, "secret.set", cluster, team, f"{cluster.slug}/{secret.object_name}", names=names)
    send("clusters.bring_secrets")


# --------------------------------------------------------------------------- checks


def _raise(problems: Problems) -> None:
    if problems:
        raise InvalidInput(problems)


def _check_name(problems: Problems, name: str) -> None:
    if not _NAME.fullmatch(name):
        message = _("A name has at most 40 small letters, digits and dashes, no dash first or last.")
        problems.append(FieldProblem("name", "malformed", message))


def _check_volume(problems: Problems, volume: str) -> None:
    if not _VOLUME.fullmatch(volume):
        message = _("Write the volume's name as the cluster has it: small letters, digits, dashes and dots.")
        problems.append(FieldProblem("volume", "malformed", message))


def _check_console_folder(problems: Problems, volume: str, folder: str) -> None:
    attr = "console_folder"
    if not volume:
        problems.append(FieldProblem(attr, "no_volume", _("Name the volume that this folder shows.")))
    elif len(folder) > FOLDER_MAX or not is_plain_folder(folder):
        message = _("Write a folder below the console's storage folder, such as vision.")
        problems.append(FieldProblem(attr, "malformed", message))
    elif console_path(folder) is None:
        message = _("The console has no such folder. Mount the volume below SLUICE_STORAGE_ROOT first.")
        problems.append(FieldProblem(attr, "not_there", message))


def _variables_problem(values: Any) -> FieldProblem | None:
    if (
        not isinstance(values, Mapping)
        or not values
        or not all(isinstance(k, str) and isinstance(v, str) for k, v in values.items())
    ):
        return FieldProblem("values", "not_pairs", _("Write at least one variable, each as a name with a text value."))
    size = sum(len(k) + len(v.encode("utf-8", "replace")) for k, v in values.items())
    if len(values) > VARIABLES_MAX or size > VALUES_BYTES_MAX:
        return FieldProblem("values", "too_large", _("At most 100 variables and 256 KB together fit into one secret."))
    for name, value in values.items():
        if not _VARIABLE.fullmatch(name):
            message = _("A variable's name has letters, digits and _, no digit first.")
            return FieldProblem("values", "name_invalid", message)
        if name.startswith("SLUICE_") or name in DEVICE_VARIABLES:
            sentence = _("%(name)s is set by the platform alone.")
            return FieldProblem("values", "name_reserved", sentence % {"name": name})
        if _BAD_CHARACTERS.search(value):
            return FieldProblem("values", "broken", _("A value has a character that cannot be stored. Type it again."))
    return None


def _record(actor: Actor, action: str, cluster: Cluster, team: Team, target: str, **detail: Any) -> None:
    kind = action.split(".")[0]
    audit.record(actor, action, target_type=kind, target_id=target[:64], team_id=team.pk, **detail)
