"""`manage.py strays`: what runs on clusters although this database knows of no such job; `--end` ends it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.contract import BackendError
from jobs.strays import stray_end, strays


class Command(BaseCommand):
    help = "Name objects of jobs that this database does not know, after a restore; end those that are given."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--end", nargs="+", metavar="JOB", default=[], help="ids of jobs whose objects shall end")

    def handle(self, *args: Any, **options: Any) -> None:
        found = strays()
        wanted = {job.upper() for job in options["end"]}
        if unknown := wanted - {stray.job_ulid for stray in found}:
            raise CommandError(f"No such stray: {', '.join(sorted(unknown))}.")
        if not found:
            self.stdout.write("Every object on the clusters belongs to a job.")
        for stray in found:
            if stray.job_ulid not in wanted:
                self.stdout.write(str(stray))
                continue
            try:
                ended = stray_end(stray)
            except BackendError as error:
                raise CommandError(f"{stray}: the cluster answers {error.code}") from error
            self.stdout.write(f"{stray}: {'asked to end' if ended else 'not there any more'}")
