"""`manage.py docs_tables [--check]`: the generated pages of docs/."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from console import doc_tables


class Command(BaseCommand):
    help = "Write the pages of docs/ that follow from tables, or check them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = settings.BASE_DIR / "docs"
        if not options["check"]:
            doc_tables.write(folder)
        elif stale := doc_tables.stale(folder):
            raise CommandError(f"Out of date, run `manage.py docs_tables`: {', '.join(stale)}")
