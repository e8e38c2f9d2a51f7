"""The cards of node groups, summed in the database: one query, however many nodes there are."""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from quotas.domain.balance import CardCounts

_COUNTS = """
SELECT g.id,
       COALESCE(SUM(n.installed), 0),
       MAX(c.cards),
       COALESCE(SUM(GREATEST(n.installed - n.outside - h.cards, 0) - n.free), 0),
       COALESCE(SUM(h.ending), 0),
       COALESCE(SUM(n.outside), 0),
       (SELECT COALESCE(SUM((f.counted->>g.slug)::int), 0)
          FROM clusters_foundqueue f
         WHERE f.cluster_id = g.cluster_id)
  FROM clusters_nodegroup g
  LEFT JOIN quotas_groupcards c ON c.group_id = g.id
  LEFT JOIN clusters_node n ON n.group_id = g.id
  LEFT JOIN LATERAL (
       SELECT COALESCE(SUM((e->>'cards')::int), 0) AS cards,
              COALESCE(SUM((e->>'cards')::int) FILTER (WHERE (e->>'ending')::boolean), 0) AS ending
         FROM jsonb_array_elements(n.holders) e) h ON true
 WHERE %(groups)s::bigint[] IS NULL OR g.id = ANY(%(groups)s)
 GROUP BY g.id
"""
"""Out of service is what nobody holds and nobody can have (`clusters.domain.node_cards`)."""


def card_counts(groups: Collection[int] | None = None) -> dict[int, CardCounts]:
    """By id of the group; None = of all groups."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, {"groups": None if groups is None else list(groups)})
        return {
            group: CardCounts(int(capacity), divided, int(out), int(releasing), int(outside), int(aside))
            for group, capacity, divided, out, releasing, outside, aside in cursor.fetchall()
        }
