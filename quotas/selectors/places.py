"""Where a team's next job could go: its queues, and per node group what is free. For submit and its live preview."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

from django.conf import settings

from clusters.models import Cluster, NodeGroup
from clusters.water_selectors import is_shared
from common.parts import Part, read_parts
from quotas.domain.sharing import SLOWDOWN_DEFAULT, WHOLE_SPEED
from quotas.models import LocalQueue, TeamQueue


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """One node group of a team queue, in the group's unit.

    Of cut cards: whether an admin allowed the team to train there, and the run time per mille of that on whole cards.
    """

    group: NodeGroup
    installed: int
    capacity: int  # of these, what the team could ever hold
    nominal: int
    free_nominal: int
    cohort_free: int  # what the queue could hold beside what it holds, within its limits and those of others
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


_LOCAL, _QUEUE, _CLUSTER = Part(LocalQueue, "l"), Part(TeamQueue, "q"), Part(Cluster, "c", without={"credentials"})
_QUEUES = f"""
SELECT {_LOCAL.columns}, {_QUEUE.columns}, {_CLUSTER.columns},
       (SELECT string_agg(s::text, ' ' ORDER BY s.id) FROM quotas_share s WHERE s.queue_id = q.id)
  FROM quotas_localqueue l
  JOIN quotas_teamqueue q ON q.id = l.queue_id
  JOIN clusters_cluster c ON c.id = q.cluster_id
 WHERE q.team_id = %s
 ORDER BY NOT c.is_default, c.name, NOT l.is_default, l.slug
"""

_GROUP = Part(NodeGroup, "g")
_GROUPS = f"""
WITH nodes AS (
  SELECT g.id AS group_id, COALESCE(SUM(n.installed), 0)::int AS installed,
         COALESCE(array_agg(n.free ORDER BY n.free DESC) FILTER (WHERE n.free > 0), '{{}}') AS blocks
    FROM clusters_nodegroup g
    LEFT JOIN clusters_node n ON n.group_id = g.id
   GROUP BY g.id
), divided AS (
  SELECT g.id AS group_id, COALESCE(c.cards, nodes.installed) AS cards,
         (SELECT COALESCE(SUM((f.counted->>g.slug)::int), 0)
            FROM clusters_foundqueue f
           WHERE f.cluster_id = g.cluster_id) AS aside
    FROM clusters_nodegroup g
    JOIN nodes ON nodes.group_id = g.id
    LEFT JOIN quotas_groupcards c ON c.group_id = g.id
), held AS (
  SELECT d.group_id, l.queue_id, SUM(w.cards_held) AS cards,
         COUNT(*) FILTER (WHERE NOT d.held AND COALESCE(w.cards_held, 0) = 0
                            AND l.state NOT IN ('held', 'draining')) AS waiting
    FROM quotas_demand d
    JOIN quotas_localqueue l ON l.id = d.local_queue_id
    LEFT JOIN clusters_observedworkload w
           ON w.job_ulid = d.job_ulid AND w.attempt_no = d.attempt_no AND NOT w.gone
   WHERE d.group_id IS NOT NULL
   GROUP BY 1, 2
), parts AS (
  SELECT s.group_id, q.team_id = %(team)s AS is_mine, s.nominal, COALESCE(held.cards, 0)::int AS held,
         COALESCE(held.waiting, 0)::int AS waiting,
         GREATEST(0, s.nominal - s.lend_basis_points * divided.cards / 10000) AS own,
         s.nominal + s.borrow_basis_points * divided.cards / 10000 AS most
    FROM quotas_share s
    JOIN quotas_teamqueue q ON q.id = s.queue_id
    JOIN divided ON divided.group_id = s.group_id
    LEFT JOIN held ON held.group_id = s.group_id AND held.queue_id = s.queue_id
)
SELECT {_GROUP.columns}, nodes.installed, nodes.blocks, GREATEST(divided.cards - divided.aside, mine.given),
       mine.given, mine.kept, mine.beyond, mine.nominal, mine.held, mine.own, mine.most, mine.waiting,
       COALESCE(sharing.may_train, false), sharing.slowdown
  FROM (SELECT group_id,
               SUM(nominal) AS given,
               SUM(own) AS kept,
               SUM(GREATEST(held - own, 0)) AS beyond,
               SUM(nominal) FILTER (WHERE is_mine) AS nominal,
               SUM(held) FILTER (WHERE is_mine) AS held,
               SUM(own) FILTER (WHERE is_mine) AS own,
               MIN(most) FILTER (WHERE is_mine) AS most,
               SUM(waiting) FILTER (WHERE is_mine) AS waiting
          FROM parts
         GROUP BY group_id
        HAVING bool_or(is_mine)) mine
  JOIN clusters_nodegroup g ON g.id = mine.group_id
  JOIN nodes ON nodes.group_id = mine.group_id
  JOIN divided ON divided.group_id = mine.group_id
  LEFT JOIN (SELECT s.group_id, s.slowdown,
                    EXISTS (SELECT FROM quotas_trainingpermit t
                             WHERE t.policy_id = s.id AND t.team_id = %(team)s) AS may_train
               FROM quotas_sharingpolicy s) sharing ON sharing.group_id = mine.group_id
 ORDER BY g.position, g.slug
"""
"""A team has one queue for each cluster, so one for each group. ``own`` is never lent; the rest of all shares and the
pool, which is what they leave of a group, are borrowed by whoever may (`clusters.simulation.quota`).
"""


class _Quota(NamedTuple):
    """The last columns but two of `_GROUPS`: of everybody, then of the team's queue."""

    divided: int
    given: int
    kept: int
    beyond: int
    nominal: int
    held: int
    own: int
    most: int | None
    waiting: int

    @property
    def available(self) -> int:
        """How many more cards the queue could hold now."""
        shared = self.divided - self.kept - self.beyond
        if self.most is not None:
            shared = min(shared, self.most - max(self.own, self.held))
        return max(0, max(0, self.own - self.held) + shared)

    def capacity(self, installed: int) -> int:
        """The most it could ever hold, should all nodes work."""
        all_of_it = max(installed, self.given) - self.kept + self.own
        return all_of_it if self.most is None else min(all_of_it, self.most)


def queue_places(team_id: int, *, of_now: bool = True) -> list[QueuePlace]:
    """The team's queues, the default cluster's first (decision 16). Two queries.

    Not ``of_now`` is for submit, which asks for this hundreds of times a second: what is free in its groups, and how
    large they are, may be of FIGURES_SECONDS ago, and then it is one query. Queues and their shares are those of now.
    """
    queues: dict[int, TeamQueue] = {}
    locals_of: dict[int, list[LocalQueue]] = defaultdict(list)
    shares: dict[int, str | None] = {}
    for local, queue, cluster, shares_text in read_parts(_QUEUES, [team_id], _LOCAL, _QUEUE, _CLUSTER):
        local.queue = queues.setdefault(queue.pk, queue)
        if local.queue is queue:
            queue.cluster = cluster
        locals_of[queue.pk].append(local)
        shares[queue.pk] = shares_text
    if not queues:
        return []
    groups = _group_places(team_id) if of_now else _recent_group_places(team_id, shares)
    return [
        QueuePlace(
            queue=queue,
            cluster=queue.cluster,
            local_queues=tuple(locals_of[queue.pk]),
            groups=tuple(groups.get(queue.cluster_id, ())),
        )
        for queue in queues.values()
    ]


@dataclass(frozen=True, slots=True)
class _Recent:
    """A team's groups as they were ``at`` (monotonic seconds), when it had these shares; nobody changes them."""

    at: float
    shares: dict[int, str | None]
    groups: dict[int, list[GroupPlace]]


_recent: dict[int, _Recent] = {}
"""By team, the last that was read; of this process."""


def _recent_group_places(team_id: int, shares: dict[int, str | None]) -> dict[int, list[GroupPlace]]:
    now = monotonic()
    known = _recent.get(team_id)
    if known is None or known.shares != shares or now - known.at >= settings.SLUICE["FIGURES_SECONDS"]:
        known = _recent[team_id] = _Recent(now, shares, _group_places(team_id))
    return known.groups


def _group_places(team_id: int) -> dict[int, list[GroupPlace]]:
    """By cluster id, in the order of the groups."""
    places: dict[int, list[GroupPlace]] = defaultdict(list)
    for group, installed, blocks, *numbers, may_train, slowdown in read_parts(_GROUPS, {"team": team_id}, _GROUP):
        quota = _Quota(*numbers)
        places[group.cluster_id].append(
            GroupPlace(
                group=group,
                installed=installed,
                capacity=min(installed, quota.capacity(installed)),
                nominal=quota.nominal,
                free_nominal=max(0, quota.nominal - quota.held),
                cohort_free=quota.available,
                free_blocks=tuple(blocks),
                pending_jobs=quota.waiting,
                may_train=may_train,
                slowdown=(slowdown or SLOWDOWN_DEFAULT) if is_shared(group) else WHOLE_SPEED,
            )
        )
    return places
