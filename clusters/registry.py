"""Which backend drives which kind of cluster. The only place that knows the classes."""

from __future__ import annotations

from collections.abc import Callable

from clusters.backends.sandbox.backend import SandboxBackend
from clusters.contract import SchedulerBackend
from clusters.models import Cluster

_KINDS: dict[str, Callable[[Cluster], SchedulerBackend]] = {SandboxBackend.kind: SandboxBackend}


class UnknownKind(LookupError):
    """A cluster row names a kind that this version does not have."""


def kinds() -> tuple[str, ...]:
    return tuple(_KINDS)


def backend_for(cluster: Cluster) -> SchedulerBackend:
    """The backend of a cluster. Raises UnknownKind."""
    try:
        return _KINDS[cluster.kind](cluster)
    except KeyError as error:
        raise UnknownKind(cluster.kind) from error
