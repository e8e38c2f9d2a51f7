"""Which parts a cluster has, by what its API server serves: two small reads."""

from __future__ import annotations

import msgspec

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import KubeClient, Missing
from clusters.contract import Part


class _Resource(msgspec.Struct):
    name: str = ""


class _Resources(msgspec.Struct):
    resources: list[_Resource] = []


def lacking(client: KubeClient) -> frozenset[Part]:
    """The parts that are not there. A part whose programs are stopped but whose kinds are served counts as there."""
    gate = _served(client, names.WORKLOADS)
    lacks = set()
    if not {names.WORKLOADS.plural, names.CLUSTER_QUEUES.plural, names.LOCAL_QUEUES.plural} <= gate:
        lacks.add(Part.GATE)
    if names.TOPOLOGIES.plural not in gate:
        lacks.add(Part.TOPOLOGY)
    if names.POD_GROUPS.plural not in _served(client, names.POD_GROUPS):
        lacks.add(Part.GANG)
    return frozenset(lacks)


def _served(client: KubeClient, kind: names.Kind) -> frozenset[str]:
    """Names of what is served beside this kind."""
    try:
        body = client.get(f"/apis/{kind.api_version}")
    except Missing:
        return frozenset()
    return frozenset(resource.name for resource in msgspec.json.decode(body, type=_Resources).resources)
