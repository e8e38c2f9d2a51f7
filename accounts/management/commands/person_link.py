"""`manage.py person_link USERNAME SUBJECT`: let a person who is here already sign in at the provider."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.claim_services import person_link, person_unlink
from accounts.management.people import person
from common.errors import DomainError


class Command(BaseCommand):
    help = "Link a person to the subject (`sub`) that the sign-in provider knows them as (docs/sign-in.md)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("subject", nargs="?", help="the provider's id of the person: its claim `sub`")
        parser.add_argument("--keep-password", action="store_true", help="let the password here open the door as well")
        parser.add_argument("--remove", action="store_true", help="take the link away")

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.OIDC is None:
            raise CommandError("No sign-in provider is configured: set SLUICE_OIDC_ISSUER.")
        if options["remove"] == bool(options["subject"]):
            raise CommandError("Give either the subject to link, or --remove.")
        user = person(options["username"])
        try:
            if options["remove"]:
                person_unlink(config=settings.OIDC, user=user)
            else:
                keep = options["keep_password"]
                person_link(config=settings.OIDC, user=user, subject=options["subject"], keep_password=keep)
        except DomainError as error:
            raise CommandError(str(error.message)) from error
        self.stdout.write(f"{user.username} is {'no longer ' if options['remove'] else ''}linked.")
