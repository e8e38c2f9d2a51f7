"""Which backend drives which kind of cluster. The only place that names the classes.

A class is loaded when its kind is first asked for: a web process that only shows rows needs none.
"""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar, Protocol, cast

from django.utils.module_loading import import_string

from clusters.contract import Capability, SchedulerBackend
from clusters.models import Cluster

_KINDS = {
    "sandbox": "clusters.backends.sandbox.backend.SandboxBackend",
    "kueue_volcano": "clusters.backends.kueue_volcano.backend.KueueVolcanoBackend",
}


class BackendClass(Protocol):
    """What is known of a kind without any cluster."""

    kind: ClassVar[str]
    capabilities: ClassVar[frozenset[Capability]]
    calls_at_once: ClassVar[int]
    settles_in: ClassVar[timedelta]

    def __call__(self, cluster: Cluster) -> SchedulerBackend: ...


class UnknownKind(LookupError):
    """A cluster row names a kind that this version does not have."""


def kinds() -> tuple[str, ...]:
    return tuple(_KINDS)


def backend_class(kind: str) -> BackendClass:
    """Raises UnknownKind."""
    try:
        return cast(BackendClass, import_string(_KINDS[kind]))
    except KeyError as error:
        raise UnknownKind(kind) from error


def backend_for(cluster: Cluster) -> SchedulerBackend:
    """The backend of a cluster. Raises UnknownKind."""
    return backend_class(cluster.kind)(cluster)
