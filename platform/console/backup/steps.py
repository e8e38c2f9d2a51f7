"""Make a backup; check whether one may be restored here, and restore it. Raises BackupError, with nothing changed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import transaction
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from console.backup import database
from console.backup.archive import Archive, Manifest, fingerprint, write_archive
from console.backup.errors import BackupError
from console.version import product_version


@dataclass(frozen=True)
class Consent:
    """What a restore may do because somebody said so in words."""

    replace: bool = False  # what is in the database already
    replace_newer: bool = False  # and also when its schema is newer than the backup's
    with_sessions: bool = False  # while others are connected
    without_keys: bool = False  # although nothing here opens its sealed values


def make_backup(stream: IO[bytes], *, with_keys: bool) -> Manifest:
    """Write the whole database as of one moment to ``stream``; the console may run meanwhile."""
    with tempfile.TemporaryDirectory(prefix="sluice-backup-", dir=room()) as folder:
        dumped = Path(folder) / "database.dump"
        with transaction.atomic(durable=True):
            snapshot = database.export_snapshot()
            found = database.look()
            if found.is_empty:
                raise BackupError("The database is empty: there is nothing to back up.")
            database.dump(dumped, snapshot)
        manifest = Manifest(
            version=product_version(),
            made_at=timezone.now().isoformat(timespec="seconds"),
            server=found.server,
            migrations=found.migrations,
            keys=[fingerprint(key) for key in settings.FERNET_KEYS],
        )
        write_archive(stream, manifest, dumped, settings.FERNET_KEYS if with_keys else None)
    return manifest


def room() -> Path | None:
    """Where a whole dump finds room: in a container /tmp is memory, and the state folder is not."""
    return settings.STATE_DIR if settings.STATE_DIR.is_dir() else None


def missing_keys(archive: Archive, at_hand: Sequence[str]) -> list[str]:
    """Keys of the backup that are not at hand: those that it carries, else their fingerprints."""
    here = {fingerprint(key) for key in at_hand}
    if archive.keys is not None:
        return [key for key in archive.keys if fingerprint(key) not in here]
    return [print_ for print_ in archive.manifest.keys if print_ not in here]


def restore(archive: Archive, consent: Consent) -> None:
    """Put the backup in the place of what is in the database."""
    found = database.look()
    _require_known_migrations(archive.manifest)
    _require_consent(archive.manifest, found, consent)
    count = sum(len(names) for names in archive.manifest.migrations.values())
    database.replace(archive.dump, migrations=count, server_number=found.server_number)


def _require_known_migrations(manifest: Manifest) -> None:
    """A newer version's schema is nothing that this version could bring up to date."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    unknown = _beyond(manifest.migrations, _by_app(loader.disk_migrations))
    if unknown:
        raise BackupError(
            f"This backup was made by version {manifest.version}, whose schema is newer than that of this version "
            f"({', '.join(unknown)}). Restore it with version {manifest.version} or a later one."
        )


def _require_consent(manifest: Manifest, found: database.Found, consent: Consent) -> None:
    if database.holds_something() and not consent.replace:
        raise BackupError("The database is not empty. To put the backup in the place of what is there, add --replace.")
    newer = _beyond(found.migrations, manifest.migrations)
    if newer and not consent.replace_newer:
        raise BackupError(
            f"The schema of this database is newer than the backup's ({', '.join(newer)}): what was stored since would "
            "be lost. If that is wanted, add --replace-newer."
        )
    others = database.other_sessions()
    if others and not consent.with_sessions:
        raise BackupError(
            f"{others} other clients are connected to this database. Stop web, worker, beat and watcher first; if those"
            " that stay do no harm, add --with-sessions."
        )


def _by_app(keys: Mapping[tuple[str, str], object]) -> dict[str, list[str]]:
    migrations: dict[str, list[str]] = {}
    for app, name in keys:
        migrations.setdefault(app, []).append(name)
    return migrations


def _beyond(some: Mapping[str, Sequence[str]], others: Mapping[str, Sequence[str]]) -> list[str]:
    """Migrations among ``some`` that ``others`` do not have."""
    return sorted(f"{app}.{name}" for app, names in some.items() for name in set(names) - set(others.get(app, ())))
