"""What the layers above may ask of clusters: observed rows, snapshots, and the backend behind a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from clusters.contract import BackendError, Capability, Retryable, SchedulerBackend, WorkloadFacts
from clusters.facts_codec import facts_from_json
from clusters.models import Cluster, ObservedWorkload
from clusters.registry import backend_class, backend_for
from clusters.selectors import group_snapshots
from clusters.sync import REST_MAX, is_remote, note_failure

__all__ = [
    "ObservedRow",
    "backend",
    "capabilities_of",
    "cluster_failed",
    "group_snapshots",
    "is_remote",
    "is_silence",
    "observed_forget",
    "observed_rows",
    "resting_clusters",
    "settling_of",
]


SILENCE = frozenset({"silent", "unreachable", "tls"})


@dataclass(frozen=True)
class ObservedRow:
    """One attempt's object as last seen."""

    attempt_no: int
    uid: str
    version: int
    data: dict[str, Any]
    gone: bool

    @cached_property
    def facts(self) -> WorkloadFacts:
        """Read when asked for, so that one row nobody can read stops no other job. Raises msgspec.ValidationError."""
        return facts_from_json(self.data)


def observed_rows(job_ulids: Iterable[str]) -> dict[str, dict[int, ObservedRow]]:
    """Observed rows by job and attempt number; one query."""
    found: dict[str, dict[int, ObservedRow]] = {}
    for row in ObservedWorkload.objects.filter(job_ulid__in=list(job_ulids)):
        found.setdefault(row.job_ulid, {})[row.attempt_no] = ObservedRow(
            row.attempt_no, row.uid, row.version, row.facts, row.gone
        )
    return found


def backend(cluster: Cluster) -> SchedulerBackend:
    return backend_for(cluster)


def capabilities_of(cluster: Cluster) -> frozenset[Capability]:
    """What this cluster can do beyond the six methods."""
    return backend_class(cluster.kind).capabilities


def settling_of(cluster: Cluster) -> timedelta:
    """From when cards come free until all that wait for some were looked at."""
    return backend_class(cluster.kind).settles_in


def is_silence(error: BackendError) -> bool:
    """The cluster gave no answer at all; one that answers with a refusal is awake."""
    return isinstance(error, Retryable) and error.code in SILENCE


def cluster_failed(cluster: Cluster, error: BackendError) -> None:
    """A cluster did not answer: it rests for a while, and everybody sees why."""
    note_failure(cluster, error)


def resting_clusters(now: datetime) -> list[int]:
    """Clusters that are left alone at this moment; one query."""
    return list(Cluster.objects.filter(rest_until__gt=now, rest_until__lte=now + REST_MAX).values_list("pk", flat=True))


def observed_forget(job_ulids: Iterable[str]) -> int:
    """Drop rows of objects that are gone, of jobs that need them no more; returns how many."""
    return ObservedWorkload.objects.filter(job_ulid__in=list(job_ulids), gone=True).delete()[0]
