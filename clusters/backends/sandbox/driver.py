"""The sandbox cluster in PostgreSQL: one row per object, one for the header, commands waiting in a row each.

Every touch takes one transaction lock, loads the live objects, applies waiting commands in order of time, runs
the engine to now, and writes only the difference (decision 51). Nothing is kept between calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from clusters.backends.sandbox.facts import to_ms
from clusters.contract import REPLICAS_MAX, Retryable
from clusters.models import Cluster, SandboxCommand, SandboxObject, SandboxWorld
from clusters.simulation.codec import (
    header_from_dict,
    header_to_dict,
    node_from_dict,
    node_to_dict,
    queue_from_dict,
    queue_to_dict,
    workload_from_dict,
    workload_to_dict,
)
from clusters.simulation.commands import Command, command_from_dict, command_to_dict
from clusters.simulation.engine import Changes, Engine
from clusters.simulation.services import members, replica_name
from clusters.simulation.world import Workload, World
from common.locks import LockSpace, transaction_lock

TOUCH_EVERY_MS = 1_000


def now_ms() -> int:
    """The sandbox's clock is the wall clock."""
    return to_ms(timezone.now())


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one kind of object is kept: its part of the world and its JSON form."""

    objects: Callable[[World], dict[str, Any]]
    load: Callable[[Mapping[str, Any]], Any]
    dump: Callable[[Any], dict[str, Any]]


_KINDS: dict[str, _Kind] = {
    "node": _Kind(lambda world: world.nodes, node_from_dict, node_to_dict),
    "queue": _Kind(lambda world: world.queues, queue_from_dict, queue_to_dict),
    "workload": _Kind(lambda world: world.workloads, workload_from_dict, workload_to_dict),
}


def create_world(cluster: Cluster, world: World) -> None:
    """Store a fresh world for a cluster that has none; an existing one is left alone."""
    _row, made = SandboxWorld.objects.get_or_create(
        cluster=cluster, defaults={"now_ms": world.now_ms, "header": header_to_dict(world)}
    )
    if made:
        _insert(cluster, world, {kind: set(how.objects(world)) for kind, how in _KINDS.items()})


def send(cluster: Cluster, command: Command) -> None:
    """Append a command; the next touch carries it out."""
    SandboxCommand.objects.create(cluster=cluster, at_ms=command.at_ms, payload=command_to_dict(command))


def touch(cluster: Cluster, until_ms: int | None = None) -> World:
    """Carry out what waits, run to ``until_ms`` (now by default) and return the world as stored."""
    with transaction.atomic():
        transaction_lock(LockSpace.SANDBOX, cluster.pk)
        world = _load(cluster)
        target = now_ms() if until_ms is None else until_ms
        waiting = list(SandboxCommand.objects.filter(cluster=cluster).order_by("at_ms", "id"))
        if not waiting and target - world.now_ms < TOUCH_EVERY_MS:
            return world
        engine = Engine(world)
        for row in waiting:
            engine.apply(command_from_dict(row.payload))
        engine.run_to(target)
        _store(cluster, engine.world, engine.drain_changes())
        SandboxCommand.objects.filter(pk__in=[row.pk for row in waiting]).delete()
        return engine.world


def find_workloads(cluster: Cluster, name: str) -> list[Workload]:
    """The workload of this name, or the replicas of the service, as last stored, without running anything."""
    names = [name, *(replica_name(name, number) for number in range(REPLICAS_MAX))]
    rows = SandboxObject.objects.filter(cluster=cluster, kind="workload", name__in=names)
    found = {row.name: workload_from_dict(row.data) for row in rows}
    return [found[name]] if name in found else members(found, name)


def has_node(cluster: Cluster, name: str) -> bool:
    """Whether a node of this name is stored."""
    return SandboxObject.objects.filter(cluster=cluster, kind="node", name=name).exists()


def header_of(cluster: Cluster) -> World:
    """The stored header alone: seed, latencies, time; no objects. Raises Retryable before there is a world."""
    row = SandboxWorld.objects.filter(cluster=cluster).first()
    if row is None:
        raise Retryable("no_world", cluster.slug)
    return header_from_dict(row.header)


def _load(cluster: Cluster) -> World:
    world = header_of(cluster)
    for row in SandboxObject.objects.filter(cluster=cluster).order_by("id"):
        kind = _KINDS[row.kind]
        kind.objects(world)[row.name] = kind.load(row.data)
    return world


def _store(cluster: Cluster, world: World, changes: Changes) -> None:
    SandboxWorld.objects.filter(cluster=cluster).update(now_ms=world.now_ms, header=header_to_dict(world))
    removed = {"queue": changes.removed_queues, "workload": changes.removed_workloads}
    for kind, names in removed.items():
        if names:
            SandboxObject.objects.filter(cluster=cluster, kind=kind, name__in=names).delete()
    touched = {"node": changes.nodes, "queue": changes.queues, "workload": changes.workloads}
    _insert(cluster, world, touched)


def _insert(cluster: Cluster, world: World, names: Mapping[str, Iterable[str]]) -> None:
    rows = [
        SandboxObject(cluster=cluster, kind=kind, name=name, data=how.dump(how.objects(world)[name]))
        for kind, how in _KINDS.items()
        for name in sorted(names.get(kind, ()))
        if name in how.objects(world)
    ]
    SandboxObject.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["cluster", "kind", "name"], update_fields=["data"], batch_size=500
    )
