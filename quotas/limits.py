"""The gate before the cluster's own: which jobs of a local queue are within its limits (decision 20).

A job is let in with all its cards before its object is made, and keeps them until its attempt is over or it was taken
out of the queue. Whoever lets in locks the local queue first, so two can never both take the last card.

Only whole cards are limited: slices are another unit, and a job without cards takes none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import QuerySet

from quotas.domain.limits import Asks, KeptBack, Limits, above, decide
from quotas.models import Demand, LocalQueue

_LET_IN = """
UPDATE quotas_demand AS d SET let_in = d.cards
  FROM (SELECT id FROM quotas_demand WHERE job_ulid = ANY(%s) AND let_in < cards ORDER BY id FOR NO KEY UPDATE) AS due
 WHERE d.id = due.id
"""
"""Rows are locked in one order, as by :func:`demands_in_order`."""

_TAKEN = """GREATEST(LEAST(d.let_in, d.cards), COALESCE(w.cards_held, 0))"""
"""A service that shrinks counts as large as it is until its last replica has left."""

_LIVE = f"""
SELECT d.local_queue_id, d.job_ulid, d.owner_id, d.cards, {_TAKEN}, d.priority,
       NOT d.held AND (d.asks_from IS NULL OR d.asks_from <= %(now)s)
  FROM quotas_demand d
  JOIN clusters_nodegroup g ON g.id = d.group_id AND g.unit = 'card'
  LEFT JOIN clusters_observedworkload w
         ON w.job_ulid = d.job_ulid AND w.attempt_no = d.attempt_no AND NOT w.gone
 WHERE d.local_queue_id = ANY(%(queues)s)
 ORDER BY d.priority DESC, d.since NULLS FIRST, d.id
"""


@dataclass(frozen=True, slots=True)
class LetIn:
    """What came of asking: jobs that have to wait and why, and others that could be let in now and have not asked."""

    kept_back: Mapping[str, KeptBack] = field(default_factory=dict)
    others: frozenset[str] = frozenset()


@transaction.atomic
def limits_let_in(wanted: Mapping[str, int], now: datetime) -> LetIn:
    """Let jobs (ULID → local queue) in as far as the limits of their queues allow.

    Whoever is before one of them in its queue keeps its turn, also if it has not asked yet. Two statements where no
    queue has a limit, three elsewhere.
    """
    if not wanted:
        return LetIn()
    verdicts = _verdicts(_locked(set(wanted.values())), now, wanted)
    kept_back = {job: why for job in wanted if (why := verdicts.get(job)) is not None}
    _let_in([job for job in wanted if job not in kept_back])
    return LetIn(kept_back, frozenset(job for job, why in verdicts.items() if why is None and job not in wanted))


def limits_turns(local_queues: Collection[int], now: datetime) -> frozenset[str]:
    """Jobs of these local queues that could be let in now; to be asked of again. Two statements."""
    rows = LocalQueue.objects.filter(pk__in=local_queues)
    return frozenset(job for job, why in _verdicts(_limits(rows), now).items() if why is None)


def limits_record(jobs: Collection[str]) -> None:
    """These have an object that may start: they are in, whatever the limit is."""
    if jobs:
        with transaction.atomic():
            _let_in(jobs)


def limits_leave(jobs: Collection[str]) -> None:
    """These are out of their queue: whoever waits has their place as soon as they hold nothing any more."""
    if jobs:
        with transaction.atomic():
            demands_in_order(jobs).filter(let_in__gt=0).update(let_in=0)


def limits_pass_over(jobs: Collection[str], until: datetime) -> None:
    """These wait for something else until then: others go before them."""
    if jobs:
        with transaction.atomic():
            demands_in_order(jobs).update(asks_from=until)


def limits_outlook(local: LocalQueue, *, owner_id: int, cards: int, priority: int, now: datetime) -> KeptBack | None:
    """What would keep a new job back; None = nothing. One query, none without limits; changes nothing."""
    limits = limits_of(local)
    if not limits.any:
        return None
    rows = _live([local.pk], now)
    before = _asking([row for row in rows if row.priority >= priority])
    return decide(limits, [*before, Asks("", owner_id, cards)], _by_owner(rows))[""]


@dataclass(frozen=True, slots=True)
class LimitsEffect:
    """What limits mean for a local queue as it is, in the order of its jobs.

    ``taken`` cards are let in. ``waiting`` jobs are not; ``over`` are those that have cards and would find no room
    beside the ones before them: they go on.
    """

    taken: int
    waiting: tuple[str, ...]
    over: tuple[str, ...]


def limits_effects(queues: Sequence[LocalQueue], now: datetime) -> dict[int, LimitsEffect]:
    """Of those local queues that have a limit, as they are or would be, by id; one query, none without limits."""
    limits = {local.pk: limits_of(local) for local in queues if local.is_limited}
    rows = _by_queue(_live(limits, now) if limits else ())
    return {pk: _effect(each, rows.get(pk, ())) for pk, each in limits.items()}


def _effect(limits: Limits, rows: Sequence[_Live]) -> LimitsEffect:
    verdicts = decide(limits, _asking(rows), _by_owner(rows))
    return LimitsEffect(
        taken=sum(row.let_in for row in rows),
        waiting=tuple(job for job, why in verdicts.items() if why is not None),
        over=above(limits, [Asks(row.job, row.owner, row.let_in) for row in rows if row.let_in]),
    )


def demands_in_order(jobs: Collection[str]) -> QuerySet[Demand]:
    """To be changed in a transaction: locked in the order that all keep, so that none waits for who waits for it."""
    rows = Demand.objects.select_for_update(no_key=True).filter(job_ulid__in=jobs).order_by("pk")
    return Demand.objects.filter(pk__in=rows.values("pk"))


# --------------------------------------------------------------------------- rows


class _Live(NamedTuple):
    """A job that waits or runs; ``stands_in_line`` unless it is held or waits for something else."""

    queue: int
    job: str
    owner: int
    cards: int
    let_in: int
    priority: int
    stands_in_line: bool


def _locked(local_queues: Collection[int]) -> dict[int, Limits]:
    """Limits of those queues that have any; all are locked, in one order."""
    return _limits(LocalQueue.objects.select_for_update(no_key=True).filter(pk__in=local_queues).order_by("pk"))


def _limits(rows: Collection[LocalQueue]) -> dict[int, Limits]:
    found = {local.pk: limits_of(local) for local in rows}
    return {pk: limits for pk, limits in found.items() if limits.any}


def limits_of(local: LocalQueue) -> Limits:
    return Limits(local.most_cards, local.most_cards_each)


def _verdicts(limits: Mapping[int, Limits], now: datetime, wanted: Collection[str] = ()) -> dict[str, KeptBack | None]:
    """``wanted`` jobs ask, even if they left the line since they were loaded."""
    verdicts: dict[str, KeptBack | None] = {}
    for pk, found in _by_queue(_live(limits, now) if limits else ()).items():
        verdicts |= decide(limits[pk], _asking(found, wanted), _by_owner(found))
    return verdicts


def _live(local_queues: Collection[int], now: datetime) -> list[_Live]:
    with connection.cursor() as cursor:
        cursor.execute(_LIVE, {"queues": list(local_queues), "now": now})
        return [_Live(*row) for row in cursor.fetchall()]


def _by_queue(rows: Iterable[_Live]) -> dict[int, list[_Live]]:
    found: dict[int, list[_Live]] = defaultdict(list)
    for row in rows:
        found[row.queue].append(row)
    return found


def _asking(rows: Sequence[_Live], wanted: Collection[str] = ()) -> list[Asks]:
    return [
        Asks(row.job, row.owner, row.cards, row.let_in)
        for row in rows
        if row.cards > row.let_in and (row.stands_in_line or row.job in wanted)
    ]


def _by_owner(rows: Sequence[_Live]) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    for row in rows:
        found[row.owner] += row.let_in
    return found


def _let_in(jobs: Collection[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_LET_IN, [list(jobs)])
