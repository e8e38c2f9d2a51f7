"""Where a team's next job could go: its queues, and per node group what is free. For submit and its live preview."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from django.db import connection

from clusters.models import Cluster, NodeGroup
from clusters.water_selectors import is_shared
from quotas.domain.sharing import SLOWDOWN_DEFAULT, WHOLE_SPEED
from quotas.models import LocalQueue, TeamQueue


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """One node group of a team queue, in the group's unit.

    Of cut cards: whether an admin allowed the team to train there, and the run time per mille of that on whole cards.
    """

    group: NodeGroup
    capacity: int
    nominal: int
    free_nominal: int
    cohort_free: int
    free_blocks: tuple[int, ...]
    pending_jobs: int
    may_train: bool = False
    slowdown: int = WHOLE_SPEED


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """One team queue with its local queues (default first) and groups."""

    queue: TeamQueue
    cluster: Cluster
    local_queues: tuple[LocalQueue, ...]
    groups: tuple[GroupPlace, ...]


_GROUPS = """
SELECT mine.group_id, mine.nominal, mine.given, nodes.installed, nodes.blocks,
       COALESCE(held.everybody, 0), COALESCE(held.own, 0), COALESCE(held.waiting, 0),
       COALESCE(sharing.may_train, false), sharing.slowdown
  FROM (SELECT s.group_id,
               SUM(s.nominal) AS given,
               SUM(s.nominal) FILTER (WHERE q.team_id = %(team)s) AS nominal
          FROM quotas_share s
          JOIN quotas_teamqueue q ON q.id = s.queue_id
         GROUP BY s.group_id
        HAVING bool_or(q.team_id = %(team)s)) mine
  JOIN LATERAL (SELECT COALESCE(SUM(n.installed), 0) AS installed,
                       COALESCE(array_agg(n.free ORDER BY n.free DESC) FILTER (WHERE n.free > 0), '{}') AS blocks
                  FROM clusters_node n
                 WHERE n.group_id = mine.group_id) nodes ON true
  LEFT JOIN (SELECT d.group_id,
                    SUM(w.cards_held) AS everybody,
                    SUM(w.cards_held) FILTER (WHERE q.team_id = %(team)s) AS own,
                    COUNT(*) FILTER (WHERE q.team_id = %(team)s AND NOT d.held
                                       AND COALESCE(w.cards_held, 0) = 0) AS waiting
               FROM quotas_demand d
               JOIN quotas_localqueue l ON l.id = d.local_queue_id
               JOIN quotas_teamqueue q ON q.id = l.queue_id
               LEFT JOIN clusters_observedworkload w
                      ON w.job_ulid = d.job_ulid AND w.attempt_no = d.attempt_no AND NOT w.gone
              WHERE d.group_id IS NOT NULL
              GROUP BY d.group_id) held ON held.group_id = mine.group_id
  LEFT JOIN (SELECT s.group_id, s.slowdown,
                    EXISTS (SELECT FROM quotas_trainingpermit t
                             WHERE t.policy_id = s.id AND t.team_id = %(team)s) AS may_train
               FROM quotas_sharingpolicy s) sharing ON sharing.group_id = mine.group_id
"""
"""A team has one queue for each cluster, so one for each group; the pool is what the shares leave of a group."""


def queue_places(team_id: int) -> list[QueuePlace]:
    """The team's queues, the default cluster's first (decision 16). Three queries: every submit asks for this."""
    locals_of: dict[int, list[LocalQueue]] = defaultdict(list)
    rows = LocalQueue.objects.filter(queue__team=team_id).select_related("queue__cluster")
    for local in rows.defer("queue__cluster__credentials").order_by("slug"):
        locals_of[local.queue_id].append(local)
    queues = {key: found[0].queue for key, found in locals_of.items()}
    groups = _group_places(team_id) if queues else {}
    return [
        QueuePlace(
            queue=queue,
            cluster=queue.cluster,
            local_queues=tuple(sorted(locals_of[queue.pk], key=lambda local: not local.is_default)),
            groups=tuple(groups.get(queue.cluster_id, ())),
        )
        for queue in sorted(queues.values(), key=lambda queue: (not queue.cluster.is_default, queue.cluster.name))
    ]


def _group_places(team_id: int) -> dict[int, list[GroupPlace]]:
    """By cluster id, in the order of the groups."""
    with connection.cursor() as cursor:
        cursor.execute(_GROUPS, {"team": team_id})
        figures = {row[0]: row[1:] for row in cursor.fetchall()}
    places: dict[int, list[GroupPlace]] = defaultdict(list)
    for group in NodeGroup.objects.filter(pk__in=list(figures)).order_by("position", "slug"):
        nominal, given, installed, blocks, everybody, own, waiting, may_train, slowdown = figures[group.pk]
        places[group.cluster_id].append(
            GroupPlace(
                group=group,
                capacity=int(installed),
                nominal=int(nominal),
                free_nominal=max(0, int(nominal - own)),
                cohort_free=max(0, int(max(installed, given) - everybody)),
                free_blocks=tuple(blocks),
                pending_jobs=int(waiting),
                may_train=may_train,
                slowdown=(slowdown or SLOWDOWN_DEFAULT) if is_shared(group) else WHOLE_SPEED,
            )
        )
    return places
