"""The fields of a submit about what the team has: where the code comes from, data sets, and whose images."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Team
from clusters.archives import UNUSED_LIFE, archive_get
from clusters.contract import GIT_ADDRESS, GIT_REVISION, CodeKind
from clusters.models import Cluster
from clusters.supplies import git_refusal
from common.ids import is_ulid
from jobs.domain.images import is_allowed
from jobs.models import Job
from jobs.services.fields import Checks
from jobs.services.lookups import Lookups

ADDRESS_MAX = 300
DATASETS_MAX = 20
_FIELDS = {
    CodeKind.IMAGE: frozenset({"kind"}),
    CodeKind.GIT: frozenset({"kind", "address", "revision"}),
    CodeKind.ARCHIVE: frozenset({"kind", "archive"}),
}


@dataclass(frozen=True, slots=True)
class Given:
    """As `Job.code` and `Job.datasets` keep it."""

    code: dict[str, str] = field(default_factory=dict)
    datasets: list[str] = field(default_factory=list)


def supply_fields(checks: Checks, lookups: Lookups, team: Team, cluster: Cluster, image: str) -> Given:
    """Check code, data sets and image against what the team has there; each problem at its field."""
    _check_image(checks, team, image)
    return Given(_code(checks, team, cluster), _datasets(checks, lookups, team, cluster))


def _check_image(checks: Checks, team: Team, image: str) -> None:
    if image and not checks.has_problem("image") and not is_allowed(image, team.image_prefixes):
        shown = ", ".join(team.image_prefixes[:5])
        message = _("Jobs of your team use images from %(places)s only.") % {"places": shown}
        checks.add("image", "image_not_allowed", message)


# --------------------------------------------------------------------------- code


def _code(checks: Checks, team: Team, cluster: Cluster) -> dict[str, str]:
    raw = checks.data.get("code")
    if raw in (None, {}):
        return {}
    if not isinstance(raw, Mapping):
        checks.add("code", "not_an_object", _("Say where the code comes from as an object with a kind."))
        return {}
    kind = _kind(checks, raw)
    if kind is None:
        return {}
    if unknown := sorted(str(name) for name in raw if name not in _FIELDS[kind]):
        shown = unknown[0].encode("utf-8", "replace").decode()[:40]
        checks.add(f"code.{shown}", "unknown_field", _("This field is not known. Check its spelling."))
        return {}
    texts = {
        name: value.strip()
        for name in ("address", "revision", "archive")
        if isinstance(value := raw.get(name, ""), str)
    }
    if len(texts) < 3:
        checks.add("code", "not_text", _("Write each part of the code as text."))
        return {}
    if kind is CodeKind.GIT:
        return _git(checks, cluster, texts["address"], texts["revision"])
    return _archive(checks, team, cluster, texts["archive"]) if kind is CodeKind.ARCHIVE else {}


def _kind(checks: Checks, raw: Mapping[str, Any]) -> CodeKind | None:
    try:
        return CodeKind(raw.get("kind", ""))
    except ValueError:
        message = _("Code comes from the image, a git address or an uploaded archive: choose image, git or archive.")
        checks.add("code.kind", "unknown_choice", message)
        return None


def _git(checks: Checks, cluster: Cluster, address: str, revision: str) -> dict[str, str]:
    if (refusal := git_refusal(cluster)) is not None:
        checks.add("code.address", "no_git", refusal)
        return {}
    if "@" in address.partition("://")[2].partition("/")[0]:
        message = _("Leave the credentials out of the address: others can read it. Private code goes into an archive.")
        checks.add("code.address", "credentials", message)
    elif len(address) > ADDRESS_MAX or not re.fullmatch(GIT_ADDRESS, address):
        message = _(
            "Write the address of a repository as it begins with https://, such as https://git.example/team/train."
        )
        checks.add("code.address", "malformed", message)
    if revision and not re.fullmatch(GIT_REVISION, revision):
        checks.add("code.revision", "malformed", _("Write the name of a branch, a tag or a commit."))
    code = {"kind": CodeKind.GIT.value, "address": address, "revision": revision}
    return {} if any(checks.has_problem(f"code.{name}") for name in ("address", "revision")) else code


def _archive(checks: Checks, team: Team, cluster: Cluster, archive_id: str) -> dict[str, str]:
    archive = archive_get(team=team, cluster=cluster, archive_id=archive_id) if is_ulid(archive_id) else None
    if archive is None:
        checks.add(
            "code.archive", "unknown_archive", _("Your team has no upload of this name. Upload the archive first.")
        )
        return {}
    is_old = timezone.now() - archive.uploaded_at > UNUSED_LIFE
    if is_old and not Job.objects.filter(code__archive=archive_id).exists():
        message = _("This upload waited for more than a day and is being removed. Upload the archive again.")
        checks.add("code.archive", "archive_expired", message)
        return {}
    return {"kind": CodeKind.ARCHIVE.value, "archive": archive_id}


# --------------------------------------------------------------------------- data sets


def _datasets(checks: Checks, lookups: Lookups, team: Team, cluster: Cluster) -> list[str]:
    raw = checks.data.get("datasets")
    if raw in (None, []):
        return []
    if not isinstance(raw, list) or not all(isinstance(name, str) for name in raw) or len(raw) > DATASETS_MAX:
        checks.add("datasets", "not_a_list", _("Write at most 20 data sets as a list of their names."))
        return []
    known = lookups.datasets(cluster, team)
    chosen = list(dict.fromkeys(raw))
    if any(name not in known for name in chosen):
        checks.add("datasets", "unknown_dataset", _("Your team has no data set of this name on this cluster."))
        return []
    return chosen
