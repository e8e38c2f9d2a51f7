"""`manage.py token_create USERNAME`: print a fresh API token of a person, and nothing else."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.actors import actor_of
from accounts.models import User
from accounts.services import TOKEN_DAYS, token_create


class Command(BaseCommand):
    help = "Print a fresh API token for a person."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", default="command line")
        parser.add_argument("--days", type=int, default=TOKEN_DAYS)

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"], is_active=True).first()
        if user is None:
            known = ", ".join(
                User.objects.filter(is_active=True).order_by("username").values_list("username", flat=True)[:20]
            )
            raise CommandError(f"There is no person {options['username']!r}. Known: {known or 'nobody yet'}.")
        _token, text = token_create(actor=actor_of(user), name=options["name"], days=options["days"])
        self.stdout.write(text)
