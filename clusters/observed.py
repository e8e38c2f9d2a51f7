"""Rows of observed objects and nodes: written only where something changed.

A complete look marks what it did not see as gone; a partial one only what it names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import msgspec
from django.db import connection

from clusters.contract import ClusterInventory, NodeFacts, Observation, ObservedObject, PodPhase, WorkloadFacts
from clusters.domain.node_cards import node_cards
from clusters.facts_codec import facts_to_json
from clusters.group_store import groups_settle
from clusters.models import Cluster, Node

# --------------------------------------------------------------------------- observed workloads

_UPSERT = """
INSERT INTO clusters_observedworkload
       (cluster_id, job_ulid, attempt_no, uid, revision, version, facts, gone,
        cards_running, cards_held, cards_ending, seen_at)
SELECT %(cluster)s, o.job_ulid, o.attempt_no, o.uid, o.revision, nextval('clusters_observed_version'), o.facts, false,
       o.cards_running, o.cards_held, o.cards_ending, %(seen_at)s
  FROM jsonb_to_recordset(%(rows)s::jsonb)
       AS o(job_ulid text, attempt_no int, uid text, revision text, facts jsonb,
            cards_running int, cards_held int, cards_ending int)
ON CONFLICT (cluster_id, job_ulid, attempt_no) DO UPDATE
   SET uid = excluded.uid, revision = excluded.revision, version = excluded.version, facts = excluded.facts,
       gone = false, cards_running = excluded.cards_running, cards_held = excluded.cards_held,
       cards_ending = excluded.cards_ending, seen_at = excluded.seen_at
"""

_KNOWN = """
SELECT job_ulid, attempt_no, uid, revision FROM clusters_observedworkload WHERE cluster_id = %s AND NOT gone {which}
"""


def store_observation(cluster: Cluster, observation: Observation) -> int:
    """Store what changed since the last look; returns how many rows were written. Needs the cluster's sync lock."""
    known = _known(cluster, observation)
    changed = [row for row in observation.objects if known.get((row.job_ulid, row.attempt)) != (row.uid, row.revision)]
    if changed:
        with connection.cursor() as cursor:
            cursor.execute(
                _UPSERT,
                {
                    "cluster": cluster.pk,
                    "rows": msgspec.json.encode([_as_row(row) for row in changed]).decode(),
                    "seen_at": observation.read_at,
                },
            )
    seen = {(row.job_ulid, row.attempt) for row in observation.objects}
    gone = [key for key in known if key not in seen] if observation.complete else []
    gone += [key for key in observation.gone if key in known]
    _mark_gone(cluster, gone, observation.read_at)
    return len(changed) + len(gone)


def _known(cluster: Cluster, observation: Observation) -> dict[tuple[str, int], tuple[str, str]]:
    """(uid, revision) by attempt, of the rows that this observation can say something about."""
    which: str = ""
    values: list[int | list[str]] = [cluster.pk]
    if not observation.complete:
        jobs = {row.job_ulid for row in observation.objects} | {job for job, _ in observation.gone}
        which, values = "AND job_ulid = ANY(%s)", [cluster.pk, list(jobs)]
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN.format(which=which), values)
        return {(job, attempt): (uid, revision) for job, attempt, uid, revision in cursor.fetchall()}


def _mark_gone(cluster: Cluster, keys: Sequence[tuple[str, int]], at: datetime) -> None:
    if not keys:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE clusters_observedworkload AS w
               SET gone = true, version = nextval('clusters_observed_version'), seen_at = %s,
                   cards_running = 0, cards_held = 0, cards_ending = 0
              FROM unnest(%s::text[], %s::int[]) AS k(job_ulid, attempt_no)
             WHERE w.cluster_id = %s AND w.job_ulid = k.job_ulid AND w.attempt_no = k.attempt_no
            """,
            [at, [job for job, _ in keys], [attempt for _, attempt in keys], cluster.pk],
        )


def _as_row(row: ObservedObject) -> dict[str, Any]:
    running, held, ending = held_cards(row.facts)
    return {
        "job_ulid": row.job_ulid,
        "attempt_no": row.attempt,
        "uid": row.uid,
        "revision": row.revision,
        "facts": facts_to_json(row.facts),
        "cards_running": running,
        "cards_held": held,
        "cards_ending": ending,
    }


def held_cards(facts: WorkloadFacts) -> tuple[int, int, int]:
    """(cards of running pods, cards with quota held, cards whose quota is freed while pods still end)."""
    on_nodes = sum(
        pod.cards for pod in facts.pods if pod.phase in {PodPhase.PULLING, PodPhase.RUNNING, PodPhase.ENDING}
    )
    admitted = facts.admitted_at or facts.reserved_at
    holds = admitted is not None and facts.outcome is None
    if holds and facts.evicted_at is not None and admitted is not None and admitted <= facts.evicted_at:
        holds = False
    if not holds:
        return 0, 0, on_nodes if facts.ending else 0
    running = sum(pod.cards for pod in facts.pods if pod.phase is PodPhase.RUNNING)
    if facts.admitted_pods is None:
        return running, max(running, facts.cards), 0
    per_replica = facts.cards // max(1, facts.wanted_pods)
    return running, max(running, facts.admitted_pods * per_replica), 0


# --------------------------------------------------------------------------- groups and nodes


def store_inventory(cluster: Cluster, inventory: ClusterInventory) -> None:
    """Groups are made and kept in step, nodes that are gone are dropped. Needs the cluster's sync lock."""
    groups = groups_settle(cluster, inventory)
    known = {node.name: node for node in Node.objects.filter(cluster=cluster)}
    fresh, changed = [], []
    fields = {"seen_at"}  # a node has many, and mostly few of them change: cards that are held or given back
    for facts in inventory.nodes:
        node = known.pop(facts.name, None)
        values = _node_values(facts, groups)
        values["held_since"] = _held_since(node, facts, inventory.read_at)
        if node is None:
            fresh.append(Node(cluster=cluster, name=facts.name, seen_at=inventory.read_at, **values))
        elif differing := [key for key, value in values.items() if getattr(node, key) != value]:
            for key in differing:
                setattr(node, key, values[key])
            node.seen_at = inventory.read_at
            changed.append(node)
            fields.update(differing)
    Node.objects.bulk_create(fresh)
    if changed:
        Node.objects.bulk_update(changed, sorted(fields))
    if known:
        Node.objects.filter(pk__in=[node.pk for node in known.values()]).delete()


DETAIL_MAX = 300


def _node_values(facts: NodeFacts, groups: dict[str, int]) -> dict[str, Any]:
    holders = [
        {
            "job_ulid": holder.job_ulid,
            "attempt": holder.attempt,
            "cards": holder.cards,
            "running": holder.running,
            "ending": holder.ending,
        }
        for holder in facts.holders
    ]
    cards = node_cards(
        health=facts.health.value,
        installed=facts.installed,
        sick=facts.sick,
        outside=facts.outside,
        holders=holders,
    )
    return {
        "group_id": groups.get(facts.node_group) if facts.node_group else None,
        "health": facts.health.value,
        "installed": facts.installed,
        "sick": facts.sick,
        "physical": facts.physical,
        "parts": [msgspec.to_builtins(part) for part in facts.parts],
        "outside": facts.outside,
        "outsiders": [msgspec.to_builtins(pod) for pod in facts.outsiders],
        "since": facts.since,
        "cpu_millis": facts.cpu_millis,
        "memory_bytes": facts.memory_bytes,
        "holders": holders,
        **asdict(cards),
        "conditions": [
            {
                "trouble": condition.trouble.value,
                "since": condition.since.isoformat() if condition.since is not None else None,
                "detail": condition.detail[:DETAIL_MAX],
            }
            for condition in facts.conditions
        ],
        "labels": dict(facts.labels),
        "offers": [[resource, sharing.value] for resource, sharing in facts.offers],
    }


def _held_since(node: Node | None, facts: NodeFacts, read_at: datetime) -> datetime:
    """Since when as many cards as now have been held: for a node that holds nothing, since when it is idle."""
    if node is None or node.held_since is None or node.held_since > read_at:
        return read_at
    held = sum(holder["cards"] for holder in node.holders) + node.outside
    return node.held_since if held == facts.held else read_at
