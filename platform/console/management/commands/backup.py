"""`manage.py backup [FILE]`: the whole database in one file, while the console runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from console.backup.errors import BackupError
from console.backup.steps import make_backup

STANDARD_OUTPUT = "-"


class Command(BaseCommand):
    help = "Write the whole database into one file (docs/operations-guide.md)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", help="the file to make, - for standard output; a name with the time")
        parser.add_argument("--with-keys", action="store_true", help="also the keys of sealed values: guard it well")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["file"] or f"sluice-{timezone.now():%Y%m%d-%H%M%S}.backup"
        try:
            if name == STANDARD_OUTPUT:
                make_backup(sys.stdout.buffer, with_keys=options["with_keys"])
                return
            path = Path(name).absolute()
            _write_new(path, with_keys=options["with_keys"])
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
        if not options["with_keys"]:
            self.stdout.write("It holds no keys: keep SLUICE_FERNET_KEYS elsewhere, sealed values need them.")


def _write_new(path: Path, *, with_keys: bool) -> None:
    """The file appears under its name when it is whole, for its owner only; one that exists is left alone."""
    if path.exists():
        raise BackupError(f"{path} exists already.")
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        with _private(unfinished) as file:
            make_backup(file, with_keys=with_keys)
            file.flush()
            os.fsync(file.fileno())
        os.link(unfinished, path)  # unlike a rename it replaces nothing that came into being meanwhile
    finally:
        unfinished.unlink(missing_ok=True)


def _private(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
