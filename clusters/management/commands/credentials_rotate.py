"""`manage.py credentials_rotate`: seal every stored secret with the newest key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from common.secrets import HOW_TO_OPEN_AGAIN, rotate


class Command(BaseCommand):
    help = (
        "Seal every stored secret with the first key of SLUICE_FERNET_KEYS. Safe to stop, to repeat, and to run while"
        " the console works. When it says that nothing was sealed anew, older keys can be taken out of the list."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        found = rotate()
        for column in found:
            self.stdout.write(
                f"{column.column}: {column.sealed_anew} sealed anew, {column.already_current} already with the newest"
                f" key, {column.unreadable} cannot be opened"
            )
        if any(column.unreadable for column in found):
            raise CommandError(HOW_TO_OPEN_AGAIN)
