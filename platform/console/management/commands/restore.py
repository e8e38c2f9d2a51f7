"""`manage.py restore FILE`: a backup in the place of what is in the database, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.models import Cluster
from clusters.sync import sync_safely
from console.backup.archive import Archive, opened_archive
from console.backup.errors import BackupError
from console.backup.steps import Consent, missing_keys, restore, room
from console.embedded.errors import EmbeddedError
from console.embedded.state import SECRETS_NAME, StateDir
from jobs.strays import strays

NOT_SEEN = "it does not answer; start the console when it does, or jobs that it runs may be made a second time"


class Command(BaseCommand):
    help = "Restore a backup (docs/operations-guide.md). Stop web, worker, beat and watcher first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file")
        parser.add_argument("--replace", action="store_true", help="what is in the database is lost")
        parser.add_argument("--replace-newer", action="store_true", help="also where its schema is newer")
        parser.add_argument("--with-sessions", action="store_true", help="although other clients are connected")
        parser.add_argument("--take-keys", action="store_true", help="add the keys in the backup to this state folder")
        parser.add_argument("--without-keys", action="store_true", help="although its sealed values cannot be opened")

    def handle(self, *args: Any, **options: Any) -> None:
        consent = Consent(
            options["replace"], options["replace_newer"], options["with_sessions"], options["without_keys"]
        )
        try:
            with opened_archive(Path(options["file"]), room()) as archive:
                new_keys = _keys_to_take(archive, take=options["take_keys"], consent=consent)
                restore(archive, consent)
                if new_keys:
                    StateDir(settings.STATE_DIR).add_fernet_keys(new_keys)
                manifest = archive.manifest
        except (BackupError, EmbeddedError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Restored what version {manifest.version} stored until {manifest.made_at}.")
        call_command("migrate", interactive=False, verbosity=0)
        self.stdout.write("The schema is that of this version. People sign in anew.")
        self._look_at_clusters()

    def _look_at_clusters(self) -> None:
        """Before anything acts on what the database remembers, it learns what the clusters have done since."""
        for cluster in Cluster.objects.order_by("slug"):
            seen = sync_safely(cluster)
            self.stdout.write(f"Cluster {cluster.slug}: {'looked at' if seen else NOT_SEEN}.")
        if found := strays():
            self.stdout.write("Objects of jobs that this database does not know; `manage.py strays` ends them by name:")
            self.stdout.writelines(f"{stray}\n" for stray in found)


def _keys_to_take(archive: Archive, *, take: bool, consent: Consent) -> list[str]:
    """Keys of the backup to add to this installation's. Raises BackupError where it would have to do without them."""
    missing = missing_keys(archive, settings.FERNET_KEYS)
    if not missing or consent.without_keys:
        return []
    if archive.keys is None:
        raise BackupError(
            "The sealed values of this backup (credentials of clusters, secrets of teams) open with keys that are not "
            "in SLUICE_FERNET_KEYS. Put them at the end of that list, or add --without-keys and store the values anew."
        )
    if not take:
        raise BackupError(
            "This backup carries keys that are not in SLUICE_FERNET_KEYS. Add --take-keys to keep them in the state "
            "folder, or put them at the end of that list yourself: tar -xOf FILE keys.json"
        )
    if not (settings.STATE_DIR / SECRETS_NAME).exists():
        raise BackupError(
            "--take-keys is for installations that `make run` started. Here, put the keys at the end of "
            "SLUICE_FERNET_KEYS: tar -xOf FILE keys.json"
        )
    return missing
