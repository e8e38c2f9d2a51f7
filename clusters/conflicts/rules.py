"""What is a conflict, by facts (decisions 9 and 43). Pure.

Every rule answers with signs: what a notice is about, and the facts that prove it, as plain JSON. Lists of evidence
are cut to ``SHOWN``; the counts beside them are whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from clusters.conflicts.told import Preemption
from clusters.contract import PodPhase, WaitCode, WorkloadFacts
from clusters.domain.reasons import ReasonCode
from clusters.domain.states import EMPTY_GROUP, GroupSnapshot, derive

ENDING_FOR = timedelta(minutes=10)
"""Beyond the job's own grace: pods that were told to end and are still there."""
LOOP_WITHIN = timedelta(minutes=30)
LOOP_FROM = 3
"""Preemptions of two jobs by each other."""
SHOWN = 20

Signs = dict[str, dict[str, Any]]
"""Subject → facts of a notice."""

NO_GROUP = "-"
"""Subject of what concerns jobs without cards."""


@dataclass(frozen=True, slots=True)
class Watched:
    """One attempt that may be in a conflict."""

    job: str  # ulid
    attempt: int
    facts: WorkloadFacts
    group: str | None  # slug of its node group
    stop_grace: timedelta


@dataclass(frozen=True, slots=True)
class NodeLook:
    """Cards on one node: of pods that no queue of ours admitted, and of our jobs; and who those pods are."""

    name: str
    outside: int
    ours: int
    outsiders: Sequence[Mapping[str, Any]] = ()  # {pod, space, scheduler, cards}


def not_placed(watched: Iterable[Watched], groups: Mapping[str, GroupSnapshot], now: datetime) -> Signs:
    """Admitted, and no node takes it for longer than decision 9 allows. By node group, with its free cards."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in watched:
        group = groups.get(each.group or "", EMPTY_GROUP)
        if derive(each.facts, group, now).reason.code is ReasonCode.NOT_PLACED:
            since = each.facts.admitted_at
            found[each.group or NO_GROUP].append(
                _evidence(each, since, pods=each.facts.wanted_pods) | {"unplaceable": each.facts.unplaceable}
            )
    signs = {}
    for slug, jobs in sorted(found.items()):
        group = groups.get(slug, EMPTY_GROUP)
        blocks = sorted((block for block in group.free_blocks if block > 0), reverse=True)
        signs[slug] = {"group": group.title, "free": group.free, "blocks": blocks[:SHOWN], **_jobs(jobs)}
    return signs


def never_ending(watched: Iterable[Watched], now: datetime) -> Signs:
    """Quota is free again and pods are still there, long after their grace. By node; '-' where none is known."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in watched:
        facts = each.facts
        begun = max((at for at in (facts.evicted_at, facts.ended_at) if at is not None), default=None)
        if not facts.ending or begun is None or now - begun < ENDING_FOR + each.stop_grace:
            continue
        staying = [pod for pod in facts.pods if pod.phase in (PodPhase.ENDING, PodPhase.RUNNING, PodPhase.PULLING)]
        cards: dict[str, int] = defaultdict(int)
        for pod in staying:
            cards[pod.node or NO_GROUP] += pod.cards
        for node, held in cards.items() or [(NO_GROUP, facts.cards)]:
            found[node].append(_evidence(each, begun) | {"cards": held, "ended": facts.outcome is not None})
    return {
        node[:120]: {
            "node": "" if node == NO_GROUP else node,
            "cards": sum(job["cards"] for job in jobs),
            **_jobs(jobs),
        }
        for node, jobs in sorted(found.items())
    }


def without_queue(watched: Iterable[Watched]) -> Signs:
    """Jobs that wait in a queue which is not on the cluster."""
    found = [
        _evidence(each, each.facts.queued_at or each.facts.created_at) | {"raw": each.facts.wait.raw}
        for each in watched
        if each.facts.wait is not None and each.facts.wait.code is WaitCode.QUEUE_MISSING and each.facts.active
    ]
    return {"waiting_jobs": _jobs(found)} if found else {}


def loops(preemptions: Iterable[Preemption], now: datetime) -> Signs:
    """Two jobs that interrupt each other again and again."""
    pairs: dict[tuple[str, str], list[Preemption]] = defaultdict(list)
    for each in preemptions:
        if now - each.at <= LOOP_WITHIN and each.by != each.victim:
            pairs[min(each.by, each.victim), max(each.by, each.victim)].append(each)
    return {
        f"{one}:{other}": {
            "jobs": [{"job": job, "count": sum(each.victim == job for each in found)} for job in (one, other)],
            "count": len(found),
            "times": [each.at.isoformat() for each in sorted(found, key=lambda each: each.at)][-SHOWN:],
        }
        for (one, other), found in sorted(pairs.items())
        if len(found) >= LOOP_FROM and len({each.victim for each in found}) == 2
    }


def two_schedulers(nodes: Mapping[str, Sequence[NodeLook]], titles: Mapping[str, str]) -> Signs:
    """Whole-card groups in which our queues and somebody else both place pods, so that neither knows what is free."""
    signs: Signs = {}
    for slug, looks in sorted(nodes.items()):
        foreign = sorted((look for look in looks if look.outside > 0), key=lambda look: (-look.outside, look.name))
        pods = [{"node": look.name, **pod} for look in foreign for pod in look.outsiders]
        if foreign and any(look.ours > 0 for look in looks):
            signs[slug] = {
                "group": titles.get(slug, slug),
                "cards": sum(look.outside for look in foreign),
                "count": len(foreign),
                "nodes": [{"node": look.name, "cards": look.outside} for look in foreign[:SHOWN]],
                "schedulers": sorted({pod["scheduler"] for pod in pods}),
                "pods": pods[:SHOWN],
            }
    return signs


def _evidence(each: Watched, since: datetime | None, **more: Any) -> dict[str, Any]:
    at = since.isoformat() if since is not None else None
    return {"job": each.job, "attempt": each.attempt, "cards": each.facts.cards, "since": at, **more}


def _jobs(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """The longest first."""
    jobs.sort(key=lambda job: (job["since"] or "", job["job"]))
    return {"count": len(jobs), "jobs": jobs[:SHOWN]}
