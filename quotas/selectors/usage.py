"""What live jobs hold and ask for, summed in the database: one query, all queues and groups."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from django.db import connection

_WAITED_FOR = """
CASE WHEN COALESCE(w.cards_held, 0) = 0 THEN d.cards
     WHEN w.cards_held < d.cards AND w.facts ? 'admitted_pods' THEN d.cards - w.cards_held
     ELSE 0 END
"""
"""Cards that one job waits for. A service waits for each of its replicas; a gang that was given fewer pods than it asks
for, because it allows that, runs with them and waits for no more (C-28)."""

_STOPPED = "l.state IN ('held', 'draining')"

_USAGE = f"""
SELECT l.queue_id, d.local_queue_id, d.group_id,
       COALESCE(SUM(w.cards_running), 0)::bigint,
       COALESCE(SUM(w.cards_held - w.cards_running), 0)::bigint,
       COALESCE(SUM({_WAITED_FOR}) FILTER (WHERE NOT d.held), 0)::bigint,
       COUNT(*) FILTER (WHERE COALESCE(w.cards_held, 0) = 0 AND NOT d.held),
       COALESCE(SUM({_WAITED_FOR}) FILTER (WHERE NOT d.held AND {_STOPPED}), 0)::bigint,
       COUNT(*) FILTER (WHERE COALESCE(w.cards_held, 0) = 0 AND NOT d.held AND {_STOPPED})
  FROM quotas_demand d
  JOIN quotas_localqueue l ON l.id = d.local_queue_id
  LEFT JOIN clusters_observedworkload w
         ON w.job_ulid = d.job_ulid AND w.attempt_no = d.attempt_no AND NOT w.gone
 WHERE d.group_id IS NOT NULL AND (%(groups)s::bigint[] IS NULL OR d.group_id = ANY(%(groups)s))
 GROUP BY 1, 2, 3
"""


class Use(NamedTuple):
    """Cards of one local queue in one node group. ``pending`` waits and is not held by a person; ``pending_jobs`` hold
    nothing at all, while a service may hold a part of what it asks for. Of both, ``…_stopped`` waits in local queues
    where nothing starts, because their lead holds or drains them.
    """

    queue_id: int
    local_queue_id: int
    group_id: int
    used: int
    reserved: int
    pending: int
    pending_jobs: int
    pending_stopped: int = 0
    pending_jobs_stopped: int = 0


def uses(groups: Collection[int] | None = None) -> list[Use]:
    """Of these groups, None = of all; the number of rows depends on queues and groups, not on jobs."""
    with connection.cursor() as cursor:
        cursor.execute(_USAGE, {"groups": None if groups is None else list(groups)})
        return [Use._make(row) for row in cursor.fetchall()]


_OF_LOCAL_QUEUES = f"""
SELECT d.local_queue_id,
       COUNT(*),
       COALESCE(SUM(w.cards_running) FILTER (WHERE g.unit = 'card'), 0),
       COALESCE(SUM(w.cards_held - w.cards_running) FILTER (WHERE g.unit = 'card'), 0),
       COALESCE(SUM({_WAITED_FOR}) FILTER (WHERE g.unit = 'card' AND NOT d.held), 0)
  FROM quotas_demand d
  LEFT JOIN clusters_nodegroup g ON g.id = d.group_id
  LEFT JOIN clusters_observedworkload w
         ON w.job_ulid = d.job_ulid AND w.attempt_no = d.attempt_no AND NOT w.gone
 WHERE d.local_queue_id = ANY(%s)
 GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class LocalUses:
    """Live jobs of one local queue, and their cards in all node groups that count cards."""

    jobs: int = 0
    used: int = 0
    reserved: int = 0
    pending: int = 0


def local_uses(local_queues: Collection[int]) -> dict[int, LocalUses]:
    """Of local queues that have live jobs, by id."""
    with connection.cursor() as cursor:
        cursor.execute(_OF_LOCAL_QUEUES, [list(local_queues)])
        return {row[0]: LocalUses(*(int(value) for value in row[1:])) for row in cursor.fetchall()}
