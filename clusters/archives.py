"""Uploaded code: streamed to the team's storage, unpacked there into a folder of its own, mounted read-only by jobs.

`<storage>/archives/<id>` is the folder; what is on its way has a name with a dot before it and is swept up when the
process that wrote it is gone. Jobs write to other folders of the volume, so nobody but the console writes here.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Collection
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Protocol

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.actors import Actor
from accounts.models import Team
from accounts.policy import Action, Target, require
from clusters.models import Cluster, CodeArchive, TeamStorage
from clusters.storage import console_path
from clusters.supplies import archive_refusal
from clusters.unpacking import ArchiveProblem, Unpacked, unpack
from common.errors import DomainError, FieldProblem, InvalidInput, Text
from common.ids import new_ulid
from common.names import clean_display_name

logger = logging.getLogger(__name__)

BYTES_MAX = 100 * 1000**2
UNUSED_LIFE = timedelta(hours=24)
"""An upload that no job has named by then is refused; a little later it is removed."""
SWEEP_AFTER = UNUSED_LIFE + timedelta(hours=1)
UPLOADS_A_DAY = 50
FOLDER = "archives"
_CHUNK = 256 * 1024

PROBLEMS = {
    "not_an_archive": _("This is no zip or tar file with something in it."),
    "damaged": _("This archive is damaged, or compressed in a way that is not read. Make a zip or tar.gz file."),
    "encrypted": _("This archive has a password. Make one without."),
    "unsafe_name": _("The archive has a name that cannot be unpacked safely: %(name)s."),
    "link": _("The archive has a link, %(name)s. Links are not unpacked; put the file itself into the archive."),
    "special_file": _("The archive has %(name)s, which is neither a file nor a folder."),
    "twice": _("The archive has %(name)s twice."),
    "too_many_files": _("The archive has more than 20,000 files. Leave out what the job does not need."),
    "too_large": _("Unpacked, the archive has more than 1 GB. Leave out what the job does not need."),
}


class Readable(Protocol):
    """An upload in progress."""

    def read(self, size: int, /) -> bytes: ...


def archive_folder(archive_id: str) -> str:
    """Where an archive lies in its team's volume."""
    return f"{FOLDER}/{archive_id}"


def archive_store(*, actor: Actor, cluster: Cluster, team: Team, name: str, upload: Readable) -> CodeArchive:
    """Take an upload of at most 100 MB, unpack it, and remember it for a job of the team.

    Raises NotAllowed, DomainError ("no_storage", "too_large", "too_many_uploads", "storage_failed"), InvalidInput.
    """
    require(actor, Action.JOB_SUBMIT, Target(team_id=team.pk))
    storage = TeamStorage.objects.filter(cluster=cluster, team=team).first()
    if (refusal := archive_refusal(storage)) is not None:
        raise DomainError("no_storage", refusal)
    assert storage is not None
    since = timezone.now() - timedelta(days=1)
    if CodeArchive.objects.filter(owner=actor.user, uploaded_at__gt=since).count() >= UPLOADS_A_DAY:
        raise DomainError(
            "too_many_uploads", _("You have uploaded 50 archives within a day. Use one of them."), status=429
        )
    archive_id = new_ulid()
    try:
        unpacked = _receive(storage, archive_id, upload)
    except ArchiveProblem as problem:
        message: Text = PROBLEMS[problem.code]
        if problem.name:
            message = PROBLEMS[problem.code] % {"name": clean_display_name(problem.name)[:100]}
        raise InvalidInput([FieldProblem("archive", problem.code, message)]) from problem
    except OSError as error:
        logger.warning("upload to the storage of %s: %s", team.slug, error)
        message = _("The team's storage does not take the upload now. It may be full. Try again, or ask an admin.")
        raise DomainError("storage_failed", message, status=503) from error
    with transaction.atomic():
        archive = CodeArchive.objects.create(
            public_id=archive_id,
            cluster=cluster,
            team=team,
            owner=actor.user,
            name=clean_display_name(name)[:200] or "code",
            files=unpacked.files,
            size_bytes=unpacked.size_bytes,
            uploaded_at=timezone.now(),
        )
        audit.record(
            actor,
            "archive.upload",
            target_type="archive",
            target_id=archive_id,
            team_id=team.pk,
            name=archive.name,
            files=archive.files,
            size_bytes=archive.size_bytes,
        )
    return archive


def _receive(storage: TeamStorage, archive_id: str, upload: Readable) -> Unpacked:
    """Both steps under names that nothing mounts; what is left of a failure is removed."""
    root = _archives(storage)
    if root is None:  # gone since it was looked at
        raise FileNotFoundError(storage.console_folder)
    root.mkdir(mode=0o755, exist_ok=True)
    packed, folder = root / f".upload-{archive_id}", root / f".unpack-{archive_id}"
    try:
        with packed.open("xb+") as file:
            _copy(upload, file)
            folder.mkdir(mode=0o755)
            unpacked = unpack(file, folder)
        folder.rename(root / archive_id)
    finally:
        packed.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    return unpacked


def _copy(upload: Readable, file: IO[bytes]) -> None:
    size = 0
    while chunk := upload.read(_CHUNK):
        size += len(chunk)
        if size > BYTES_MAX:
            raise DomainError("too_large", _("An archive has at most 100 MB."), status=413)
        file.write(chunk)


def _archives(storage: TeamStorage) -> Path | None:
    """The folder of archives in a storage. A link in its place is not followed: jobs may have made it."""
    path = console_path(storage.console_folder)
    if path is None or (path / FOLDER).is_symlink():
        return None
    return path / FOLDER


# --------------------------------------------------------------------------- using and clearing up


def archive_get(*, team: Team, cluster: Cluster, archive_id: str) -> CodeArchive | None:
    """An archive of the team on this cluster."""
    return CodeArchive.objects.filter(team=team, cluster=cluster, public_id=archive_id).first()


def archives_old(now: datetime) -> list[str]:
    """Ids of archives that go unless a job names them."""
    return list(CodeArchive.objects.filter(uploaded_at__lt=now - SWEEP_AFTER).values_list("public_id", flat=True))


def archives_remove(archive_ids: Collection[str]) -> int:
    """Remove archives, rows and folders, and what broken uploads left behind; returns how many archives."""
    storages = {(row.cluster_id, row.team_id): row for row in TeamStorage.objects.all()}
    removed = 0
    for archive in CodeArchive.objects.filter(public_id__in=archive_ids):
        storage = storages.get((archive.cluster_id, archive.team_id))
        root = _archives(storage) if storage is not None else None
        if root is not None:
            shutil.rmtree(root / archive.public_id, ignore_errors=True)
        removed += archive.delete()[0]
    for storage in storages.values():
        _clear_leftovers(_archives(storage))
    return removed


def _clear_leftovers(root: Path | None) -> None:
    if root is None or not root.is_dir():
        return
    for path in root.glob(".*"):
        if time.time() - path.lstat().st_mtime > SWEEP_AFTER.total_seconds():
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
