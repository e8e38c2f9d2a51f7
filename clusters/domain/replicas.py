"""A service as facts: what its replicas, each admitted and placed by itself, come to together. Pure.

The service counts as admitted from its first replica on, and as ready when all of them are. A replica that is preempted
or lost comes back as a new one, so the service itself is never evicted; what its waiting replicas wait for is told
beside what runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from clusters.contract import PodFacts, Wait, WorkloadFacts


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica that stays: it waits, starts or runs. ``pod`` is None before it has one; times: None = not yet."""

    pod: PodFacts | None = None
    reserved_at: datetime | None = None
    admitted_at: datetime | None = None
    scheduled_at: datetime | None = None
    ready_at: datetime | None = None
    unready_since: datetime | None = None  # it was ready before, and is not any more
    wait: Wait | None = None
    misplaced: bool = False  # admitted, and no node takes it
    waiting_release: bool = False  # of a misplaced one: its node comes free soon


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of the service now."""

    replicas: int
    cards_per_replica: int
    active: bool = True
    priority: int | None = None


def service_facts(
    wanted: Wanted,
    created_at: datetime,
    staying: Sequence[Replica],
    leaving: Sequence[PodFacts] = (),
    deleted_at: datetime | None = None,
    unknown: str = "",
) -> WorkloadFacts:
    """Facts of the whole. ``leaving`` are pods on their way out; ``deleted_at``: the service's own deletion began."""
    admitted = [replica for replica in staying if replica.admitted_at is not None]
    goes = deleted_at is not None
    misplaced = [] if goes else [replica for replica in admitted if replica.misplaced]
    releasing = any(replica.waiting_release for replica in misplaced)
    pods = [replica.pod for replica in staying if replica.pod is not None]
    waits = (replica.wait for replica in staying if replica.wait is not None)
    return WorkloadFacts(
        created_at=created_at,
        active=wanted.active,
        priority=wanted.priority,
        wanted_pods=wanted.replicas,
        cards=wanted.replicas * wanted.cards_per_replica,
        queued_at=created_at,
        reserved_at=_earliest(replica.reserved_at for replica in staying),
        admitted_at=_earliest(replica.admitted_at for replica in staying),
        scheduled_at=_all_since((replica.scheduled_at for replica in staying), wanted.replicas),
        ready_at=_all_since((replica.ready_at for replica in staying), wanted.replicas),
        evicted_at=deleted_at,
        ending=bool(leaving) and (goes or not wanted.active or not staying),
        wait=next(waits, None) if wanted.active and not goes else None,
        unplaceable=bool(misplaced) and not releasing,
        waiting_release=releasing,
        pods=(*pods, *leaving),
        unknown="" if any(replica.ready_at is not None for replica in staying) else unknown,
        admitted_pods=len(admitted),
        stalled_since=_stalled_since(admitted, wanted.replicas),
    )


def numbered(pods: Iterable[PodFacts]) -> tuple[PodFacts, ...]:
    """The same pods with their place in the list as rank, where a cluster gives replicas no numbers."""
    return tuple(replace(pod, rank=rank) for rank, pod in enumerate(pods))


def _earliest(times: Iterable[datetime | None]) -> datetime | None:
    return min((at for at in times if at is not None), default=None)


def _all_since(times: Iterable[datetime | None], replicas: int) -> datetime | None:
    """The newest of all replicas' times; None while one is missing or has none."""
    told = [at for at in times if at is not None]
    return max(told) if told and len(told) >= replicas else None


def _stalled_since(admitted: Sequence[Replica], replicas: int) -> datetime | None:
    """When the last of them stopped being ready, or was admitted and never got there."""
    if not admitted or len(admitted) < replicas or any(replica.ready_at is not None for replica in admitted):
        return None
    since = [replica.unready_since or replica.admitted_at for replica in admitted]
    return max(at for at in since if at is not None)
