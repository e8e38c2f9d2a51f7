"""How a cluster's cards are divided between teams' queues."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class GroupQuota:
    """Cards of one node group that belong to one team queue. None = no limit."""

    node_group: str
    nominal: int
    borrow_limit: int | None = None  # at most so many of others' cards
    lend_limit: int | None = None  # at most so many of its own to others


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """One team queue as it shall be in the cluster."""

    queue: str
    space: str
    quotas: tuple[GroupQuota, ...]
    local_queues: tuple[str, ...]
    strict: bool = False  # the head blocks its queue (decision 24)
    reclaims: bool = True  # takes its nominal back from borrowers (decision 22)
    borrow_preempts_up_to: int | None = None  # while borrowing evicts lower work, up to this priority
    held_local_queues: tuple[str, ...] = ()  # of the local queues: nothing of theirs is admitted, what runs goes on
    weights: tuple[tuple[str, int], ...] = ()  # of local queues, for admission by decayed use; () = by priority only


@dataclass(frozen=True, slots=True)
class QuotaPlan:
    """All team queues of a cluster and the common pool. Applied decreases first (decision 21).

    Quotas that somebody set from outside are left alone until ``takes_over`` says to write ours over them.
    ``slowdowns`` are for backends that play the work themselves: how much longer it takes on cut cards.
    """

    queues: tuple[QueuePlan, ...]
    pool: tuple[GroupQuota, ...]
    takes_over: bool = False
    slowdowns: tuple[tuple[str, int], ...] = ()  # (node group, run time per mille of that on whole cards)


class DriftField(StrEnum):
    """What of a queue may be other than planned."""

    NOMINAL = "nominal"
    BORROW_LIMIT = "borrow_limit"
    LEND_LIMIT = "lend_limit"
    RULES = "rules"  # order, taking back, or to whom it belongs


@dataclass(frozen=True, slots=True)
class QuotaChange:
    """One thing that somebody set from outside. In cards; None = no limit, and no number for rules."""

    queue: str  # '' = the common pool
    node_group: str  # '' for rules
    field: DriftField
    planned: int | None = None
    found: int | None = None


@dataclass(frozen=True, slots=True)
class QuotaDrift:
    """Everything that was set from outside, by which programs, and when last (None = not told)."""

    changes: tuple[QuotaChange, ...]
    by: tuple[str, ...] = ()
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class QuotaSyncReport:
    """What :meth:`SchedulerBackend.apply_quotas` changed, and what it could not.

    With ``drift`` no quota was written. ``vanished`` are queues that had been there, were gone
    at this look, and are made again.
    """

    changed: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()  # (queue, error code)
    drift: QuotaDrift | None = None
    vanished: tuple[str, ...] = ()
