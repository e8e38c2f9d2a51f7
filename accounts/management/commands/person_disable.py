"""`manage.py person_disable USERNAME`: shut a person out at once; with --enable let them in again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.access_services import person_disable, person_enable
from accounts.management.people import person
from common.errors import DomainError


class Command(BaseCommand):
    help = "Shut a person out: no sign-in, every session over, every token gone (docs/sign-in.md)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--enable", action="store_true", help="let the person sign in again")

    def handle(self, *args: Any, **options: Any) -> None:
        user = person(options["username"])
        try:
            if options["enable"]:
                person_enable(actor=None, user=user)
            else:
                person_disable(actor=None, user=user)
        except DomainError as error:
            raise CommandError(str(error.message)) from error
        self.stdout.write(f"{user.username} {'may sign in again' if options['enable'] else 'is out'}.")
