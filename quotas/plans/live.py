"""What live jobs hold and wait for, one by one: one query. For the preview of a plan, not for pages that are polled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection

from clusters.models import Cluster
from common.collection import collection_paused
from quotas.domain.foresight import Holding, Waiting

NORMAL = 200
"""The priority of a job whose object nobody has seen yet (decision 11)."""

_LIVE = """
SELECT d.job_ulid, q.slug, g.slug, d.cards, d.held OR l.state IN ('held', 'draining'),
       COALESCE(w.cards_held, 0),
       COALESCE((w.facts->>'priority')::int, %(normal)s),
       COALESCE(EXTRACT(EPOCH FROM COALESCE(w.facts->>'admitted_at', w.facts->>'reserved_at')::timestamptz), 0)::float8,
       COALESCE(EXTRACT(EPOCH FROM COALESCE(w.facts->>'queued_at', w.facts->>'created_at')::timestamptz),
                'Infinity')::float8,
       CASE WHEN w.facts ? 'admitted_pods' THEN GREATEST((w.facts->>'wanted_pods')::int, 1) ELSE 1 END
  FROM quotas_demand d
  JOIN quotas_localqueue l ON l.id = d.local_queue_id
  JOIN quotas_teamqueue q ON q.id = l.queue_id
  JOIN clusters_nodegroup g ON g.id = d.group_id
  LEFT JOIN clusters_observedworkload w
         ON w.job_ulid = d.job_ulid AND w.attempt_no = d.attempt_no AND NOT w.gone
 WHERE q.cluster_id = %(cluster)s AND d.cards > 0
"""


@dataclass(frozen=True, slots=True)
class Live:
    """All jobs of a cluster with cards. Those that people keep back wait for nothing."""

    holdings: tuple[Holding, ...]
    waiting: tuple[Waiting, ...]


def live_jobs(cluster: Cluster) -> Live:
    """As last seen. A service is as many holdings as it has replicas with cards, because each may go alone."""
    holdings: list[Holding] = []
    waiting: list[Waiting] = []
    with collection_paused(), connection.cursor() as cursor:
        cursor.execute(_LIVE, {"cluster": cluster.pk, "normal": NORMAL})
        for ulid, queue, group, cards, kept_back, held, priority, admitted, queued, replicas in cursor.fetchall():
            size = max(1, cards // replicas)
            holdings.extend(Holding(ulid, queue, group, part, priority, admitted) for part in _parts(held, size))
            if not kept_back:
                left = max(0, cards - held)
                waiting.extend(Waiting(ulid, queue, group, part, priority, queued) for part in _parts(left, size))
    return Live(tuple(holdings), tuple(waiting))


def _parts(cards: int, size: int) -> Iterator[int]:
    """``cards`` in pieces of ``size``, the last perhaps smaller."""
    while cards > 0:
        yield min(cards, size)
        cards -= size
