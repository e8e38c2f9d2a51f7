"""`manage.py messages update|compile|check`: the catalogues, without any tool outside the virtual environment."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from console import messages


class Command(BaseCommand):
    help = "Update, compile or check the message catalogues."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["update", "compile", "check"])

    def handle(self, *args: Any, **options: Any) -> None:
        root = settings.BASE_DIR
        if options["action"] == "update":
            messages.update(root)
        elif options["action"] == "compile":
            messages.compile_catalogues(root)
        elif found := messages.problems(root):
            raise CommandError("\n".join(found))
