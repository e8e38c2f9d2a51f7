"""`manage.py migrate`, which begins an empty database from the schema file."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import migrate

from console.schema import make_tables

PARTIAL = ("app_label", "fake", "fake_initial", "plan", "check_unapplied", "prune")


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        if not any(options[name] for name in PARTIAL) and make_tables(options["database"]) and options["verbosity"]:
            self.stdout.write("The database was empty: its tables come from schema.sql.")
        super().handle(*args, **options)
