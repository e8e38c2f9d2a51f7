"""`manage.py second_factor_remove USERNAME`: for somebody who lost the app and the codes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.access_services import second_factor_remove
from accounts.management.people import person
from common.errors import DomainError


class Command(BaseCommand):
    help = "Remove a lost second factor and end the person's sessions. Be sure who asked for it (docs/sign-in.md)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        user = person(options["username"])
        try:
            second_factor_remove(actor=None, user=user)
        except DomainError as error:
            raise CommandError(str(error.message)) from error
        self.stdout.write(f"{user.username} signs in without a second factor now.")
