"""Services: each replica is a workload of its own, and all of them answer to the service's name."""

from __future__ import annotations

from collections.abc import Mapping

from clusters.contract import REPLICAS_MAX
from clusters.simulation.world import Workload, World

KIND = "inference"


def replica_name(service: str, number: int) -> str:
    return f"{service}-{number}"


def number_of(replica: Workload) -> int:
    return replica.spec.member.number if replica.spec.member is not None else 0


def replicas_of(world: World, service: str) -> list[Workload]:
    """By number; also those that are on their way out."""
    return members(world.workloads, service)


def members(workloads: Mapping[str, Workload], service: str) -> list[Workload]:
    names = (replica_name(service, number) for number in range(REPLICAS_MAX))
    found = (workloads[name] for name in names if name in workloads)
    return [
        workload for workload in found if workload.spec.member is not None and workload.spec.member.service == service
    ]


def named(world: World, name: str) -> list[Workload]:
    """What a command about this name is about: one workload, all replicas of a service, or nothing."""
    workload = world.workloads.get(name)
    return [workload] if workload is not None else replicas_of(world, name)
