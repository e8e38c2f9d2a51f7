"""How many jobs are read at once: with what a row shows of them, and no more."""

from __future__ import annotations

from django.db.models import QuerySet

from common.sharing import read_sharing
from jobs.models import Job

_PERSON = ("username", "first_name", "last_name")
_SHOWN = {
    "team": ("slug", "name"),
    "owner": _PERSON,
    "acted_by": _PERSON,
    "group": ("slug", "title", "unit", "sharing"),
    "cluster": ("slug", "name", "kind"),
    "local_queue": ("slug", "name", "state", "state_by_name", "state_reason"),
}
_OF_THE_JOB_ALONE = ("slug", "salt", "env", "command", "code", "datasets", "cpu_millis", "memory_bytes")
_OF_ITS_ATTEMPTS = ("max_run_seconds", "retry_limit", "stop_grace_seconds")

RELATED = tuple(_SHOWN)
"""What a job belongs to."""


def jobs_listed(rows: QuerySet[Job]) -> list[Job]:
    """The jobs of a query that is ordered and cut; one query. They share what they belong to."""
    return read_sharing(rows, _SHOWN, without=_OF_THE_JOB_ALONE + _OF_ITS_ATTEMPTS)
