"""Objects of ours on a cluster whose job this database does not know: submitted after the backup it was restored from.

They run on, hold cards, and are named to operators; only an operator's word ends one. Their jobs cannot be made again:
who asked for them, and with what, is nowhere.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction

from accounts import audit
from clusters.contract import Tracing
from clusters.models import Cluster
from clusters.services import backend

logger = logging.getLogger(__name__)

_STRAYS = """
SELECT c.id, c.slug, w.job_ulid, w.attempt_no, w.cards_held, w.facts->>'created_at'
  FROM clusters_observedworkload w
  JOIN clusters_cluster c ON c.id = w.cluster_id
  LEFT JOIN jobs_job j ON j.public_id = w.job_ulid
 WHERE NOT w.gone AND j.id IS NULL
 ORDER BY c.slug, w.job_ulid, w.attempt_no
"""


@dataclass(frozen=True, slots=True)
class Stray:
    """One such object, as last seen. ``cards`` is what it holds now."""

    cluster_id: int
    cluster: str
    job_ulid: str
    attempt: int
    cards: int
    created_at: datetime

    def __str__(self) -> str:
        since = self.created_at.strftime("%Y-%m-%d %H:%M UTC")
        return f"{self.cluster}  {self.job_ulid}  attempt {self.attempt}  {self.cards} cards  since {since}"


def strays() -> list[Stray]:
    """All of them, by cluster; one query."""
    with connection.cursor() as cursor:
        cursor.execute(_STRAYS)
        return [_stray(*row) for row in cursor.fetchall()]


def _stray(cluster_id: int, cluster: str, job_ulid: str, attempt: int, cards: int, created_at: str) -> Stray:
    return Stray(cluster_id, cluster, job_ulid, attempt, cards, datetime.fromisoformat(created_at))


def stray_end(stray: Stray) -> bool:
    """Ask the cluster to end it, at an operator's word; False if it is not there any more. Raises BackendError."""
    door = backend(Cluster.objects.get(pk=stray.cluster_id))
    ref = door.trace(stray.job_ulid, stray.attempt) if isinstance(door, Tracing) else None
    if ref is None:
        return False
    with transaction.atomic():
        door.stop(ref, timedelta(0))
        audit.record(
            None, "stray.end", target_type="job", target_id=stray.job_ulid,
            cluster=stray.cluster, attempt=stray.attempt, name=ref.object_name, space=ref.space,
        )  # fmt: skip
    return True


def tell_of_strays() -> int:
    """Name them in the log, one line for each cluster; returns how many there are."""
    found = Counter(stray.cluster for stray in strays())
    for cluster, number in found.items():
        logger.warning("cluster %s: %s objects of jobs that are not known here, see manage.py strays", cluster, number)
    return found.total()
