"""How many jobs are read at once: with what a row shows of them, and no more."""

from __future__ import annotations

from django.db.models import QuerySet

from common.sharing import read_sharing
from jobs.models import Job

SHOWN = ("team", "owner", "group", "cluster", "local_queue", "acted_by")
"""The objects whose names stand in a row."""

_PERSON = ("password", "last_login", "date_joined")
_CLUSTER = ("credentials", "settings", "lacks", "synced_at", "watched_at", "rest_until", "surveyed_at")
_NOT_SHOWN = frozenset(
    {"env", "command", "code", "datasets", "team__created_at", "team__image_prefixes"}
    | {f"{link}__{name}" for link in ("owner", "acted_by") for name in _PERSON}
    | {f"cluster__{name}" for name in (*_CLUSTER, "survey_tried_at", "survey_asked_at", "created_at")}
)


def jobs_listed(rows: QuerySet[Job]) -> list[Job]:
    """The jobs of a query that is ordered and cut; one query. They share what they belong to."""
    return read_sharing(rows, SHOWN, without=_NOT_SHOWN)
