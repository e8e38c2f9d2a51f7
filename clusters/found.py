"""Queues of others on a cluster: looked at, kept as rows, never touched."""

from __future__ import annotations

from typing import Any

import msgspec
from django.db import transaction

from clusters.adoption_models import FoundQueue
from clusters.contract import Discovering, FoundQueueFacts, FoundQueues
from clusters.models import Cluster
from clusters.registry import UnknownKind, backend_for


def found_look(cluster: Cluster) -> None:
    """Look and keep what was found; nothing for a kind of cluster that has no others. Outside of a transaction.

    Raises BackendError: then what was kept before stands.
    """
    try:
        backend = backend_for(cluster)
    except UnknownKind:
        return
    if isinstance(backend, Discovering):
        found_store(cluster, backend.found_queues())


@transaction.atomic
def found_store(cluster: Cluster, found: FoundQueues) -> None:
    """Keep one whole look. One that is older than what is kept changes nothing."""
    Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
    known = {(row.name, row.is_pool): row for row in FoundQueue.objects.filter(cluster=cluster)}
    if any(row.seen_at > found.read_at for row in known.values()):
        return
    rows = [
        FoundQueue(
            cluster=cluster,
            name=facts.name,
            is_pool=facts.is_pool,
            facts=facts_as_json(facts),
            cards=facts.by_group(),
            seen_at=found.read_at,
        )
        for facts in found.queues
    ]
    if rows:
        FoundQueue.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["cluster", "name", "is_pool"],
            update_fields=["facts", "cards", "is_gone", "seen_at"],
        )
    there = {(facts.name, facts.is_pool) for facts in found.queues}
    for key, row in known.items():
        if key not in there:
            _gone(row)


def _gone(row: FoundQueue) -> None:
    """What a team took over is remembered; what still counts in a division goes once that has been made anew."""
    if row.team_id is None and not row.counted:
        row.delete()
    elif not row.is_gone:
        FoundQueue.objects.filter(pk=row.pk).update(is_gone=True, cards={})


def facts_as_json(facts: FoundQueueFacts) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(facts)
    return built


def facts_of(row: FoundQueue) -> FoundQueueFacts:
    """What was seen last. Raises msgspec.ValidationError for a row that another version wrote differently."""
    return msgspec.convert(row.facts, FoundQueueFacts)
