"""What live jobs hold and wait for, one by one, and the room on nodes: three queries.

For the preview of a plan, not for pages that are polled.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator

from django.db import connection

from clusters.domain.node_cards import OPEN_FOR_WORK
from clusters.models import Cluster, Node
from common.collection import collection_paused
from quotas.domain.blocks import NodeRoom
from quotas.domain.live import Holding, Live, Waiting

NORMAL = 200
"""The priority of a job whose object nobody has seen yet (decision 11)."""

_LIVE = """
SELECT d.job_ulid, q.slug, g.slug, d.cards, d.held OR l.state IN ('held', 'draining'),
       COALESCE(w.cards_held, 0),
       COALESCE((w.facts->>'priority')::int, %(normal)s),
       COALESCE(EXTRACT(EPOCH FROM COALESCE(w.facts->>'admitted_at', w.facts->>'reserved_at')::timestamptz), 0)::float8,
       COALESCE(EXTRACT(EPOCH FROM COALESCE(w.facts->>'queued_at', w.facts->>'created_at')::timestamptz),
                'Infinity')::float8,
       COALESCE((w.facts->>'wanted_pods')::int, 0), COALESCE(w.facts ? 'admitted_pods', false),
       COALESCE(w.facts->>'evicted_at' > w.facts->>'admitted_at', false), g.cards_per_node
  FROM quotas_demand d
  JOIN quotas_localqueue l ON l.id = d.local_queue_id
  JOIN quotas_teamqueue q ON q.id = l.queue_id
  JOIN clusters_nodegroup g ON g.id = d.group_id
  LEFT JOIN clusters_observedworkload w
         ON w.job_ulid = d.job_ulid AND w.attempt_no = d.attempt_no AND NOT w.gone
 WHERE q.cluster_id = %(cluster)s AND d.cards > 0
"""

Places = dict[str, deque[tuple[str, int]]]  # job -> (node, cards) that are not given to one of its holdings yet


def live_jobs(cluster: Cluster) -> Live:
    """As last seen. A service is as many holdings as it has replicas with cards, because each may go alone."""
    holdings: list[Holding] = []
    waiting: list[Waiting] = []
    with collection_paused(), connection.cursor() as cursor:
        rooms, places = _nodes(cluster)
        cursor.execute(_LIVE, {"cluster": cluster.pk, "normal": NORMAL})
        for row in cursor.fetchall():
            ulid, queue, group, cards, kept_back, held, priority, admitted, queued, wanted, is_service, leaving = row[
                :12
            ]
            pods = wanted or -(-cards // max(1, row[12]))  # an object that nobody has seen yet fills its nodes
            size, pods = (max(1, cards // pods), 1) if is_service else (cards, pods)
            for part in _parts(held, size):
                nodes = _taken(places.get(ulid), part)
                holdings.append(Holding(ulid, queue, group, part, priority, admitted, nodes, leaving))
            if not kept_back:
                left = max(0, cards - held) if is_service or not held else 0  # a gang is whole with what it was given
                waiting.extend(Waiting(ulid, queue, group, part, priority, queued, pods) for part in _parts(left, size))
    return Live(tuple(holdings), tuple(waiting), tuple(rooms), cluster.topology_aware)


def _nodes(cluster: Cluster) -> tuple[list[NodeRoom], Places]:
    """The room on each node as the gate counts it: cards whose quota is freed are free, also while pods still end."""
    rooms: list[NodeRoom] = []
    places: Places = defaultdict(deque)
    rows = Node.objects.filter(cluster=cluster).exclude(group=None).order_by("name")
    columns = ("name", "group__slug", "health", "installed", "sick", "outside", "holders")
    for name, group, health, installed, sick, outside, holders in rows.values_list(*columns):
        usable = max(0, installed - sick - outside) if health in OPEN_FOR_WORK else 0
        free = usable
        for holder in holders:
            if not holder["ending"]:
                free -= holder["cards"]
                places[holder["job_ulid"]].append((name, holder["cards"]))
        rooms.append(NodeRoom(name, group, usable, free))
    return rooms, places


def _taken(place: deque[tuple[str, int]] | None, cards: int) -> tuple[tuple[str, int], ...]:
    """Nodes that hold so many cards of a job; they are not given out again."""
    found: list[tuple[str, int]] = []
    while place and cards > 0:
        name, there = place.popleft()
        part = min(there, cards)
        found.append((name, part))
        cards -= part
        if there > part:
            place.appendleft((name, there - part))
    return tuple(found)


def _parts(cards: int, size: int) -> Iterator[int]:
    """``cards`` in pieces of ``size``, the last perhaps smaller."""
    while cards > 0:
        yield min(cards, size)
        cards -= size
