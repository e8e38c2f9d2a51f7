"""Raw objects of one attempt → the facts every backend reports (decision 44). Pure, total, nothing remembered.

The order in which objects are believed is that of table C2 of the plan: the Job's own end, the gate's end, the
deletion, the gate's decisions, and only then the pods. Times are those of the newest admission, in order, and never
ahead of the moment of reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b

import msgspec

from clusters.backends.kueue_volcano.bundle import (
    UNKNOWN_TIME,
    Bundle,
    Size,
    Surroundings,
    admitted_pods,
    awaits_release,
    in_order,
    newest,
    pod_cards,
    priority_of,
    size_of,
    waiting_word,
)
from clusters.backends.kueue_volcano.conditions import (
    NO_GATE,
    Gate,
    changed_at,
    earliest,
    find,
    gate_of,
    holding,
    latest,
    moment,
)
from clusters.backends.kueue_volcano.outcomes import Verdict, failure_of, rank_in_name, verdict_of
from clusters.backends.kueue_volcano.pods import (
    is_over,
    misfit,
    placing,
    pod_facts,
    scheduled_at,
    started_at,
    told_to_stop_at,
    unknown_signal,
)
from clusters.backends.kueue_volcano.quantities import number
from clusters.backends.kueue_volcano.replicas import service_facts
from clusters.backends.kueue_volcano.steering import avoided
from clusters.backends.kueue_volcano.wire import Condition, Deployment, Job, Pod, PodGroup, Workload
from clusters.contract import Outcome, WorkloadFacts

_ENCODER = msgspec.json.Encoder()


def revision_of(facts: WorkloadFacts) -> str:
    """A digest of the facts: equal facts, equal revision."""
    return blake2b(_ENCODER.encode(facts), digest_size=12).hexdigest()


def facts_of(bundle: Bundle, around: Surroundings) -> WorkloadFacts:
    """Everything there is to read about one attempt."""
    if isinstance(bundle.owner, Deployment):
        return service_facts(bundle, bundle.owner, around)
    return _gang_facts(bundle, bundle.owner, around)


def _gang_facts(bundle: Bundle, job: Job | None, around: Surroundings) -> WorkloadFacts:
    workload = newest(bundle.workloads)
    gate = gate_of(workload) if workload is not None else NO_GATE
    verdict = verdict_of(job, workload, gate)
    size = size_of(bundle, _wanted(job))
    if workload is not None and gate.reserved_at is not None and (given := admitted_pods(workload)) is not None:
        size = replace(size, pods=given)
    ranks = _ranks(bundle.pods)
    pods = _current(bundle.pods, ranks, gate, verdict)
    there = [pod for pod in bundle.pods if not is_over(pod)]
    told = _deleted_at(bundle, job) if verdict is None else None
    runs = verdict is not None or gate.admitted_at is not None
    facts = WorkloadFacts(
        created_at=_created_at(bundle),
        active=gate.active,
        priority=priority_of(bundle),
        wanted_pods=size.pods,
        cards=size.cards,
        queued_at=gate.queued_at,
        reserved_at=gate.reserved_at,
        admitted_at=gate.admitted_at,
        scheduled_at=_scheduled_at(pods, size) if runs else None,
        ready_at=_ready_at(pods, size, workload, gate) if runs else None,
        evicted_at=told if told is not None else gate.evicted_at,
        ended_at=verdict.at if verdict is not None else None,
        evictions=gate.evictions,
        eviction_cause=gate.cause if told is None else None,
        evicted_by=around.job_of(gate.beneficiary) if gate.beneficiary and told is None else None,
        avoid_nodes=avoided(job.metadata.annotations.avoids) if job is not None else (),
        ending=gate.leaving or (bool(there) and (verdict is not None or told is not None or gate.reserved_at is None)),
        pods=tuple(pod_facts(pod, ranks[pod.metadata.name], pod_cards(pod, size), around.lost) for pod in pods),
        outcome=verdict.outcome if verdict is not None else None,
        outcome_by_policy=verdict is not None and verdict.by_policy,
    )
    if verdict is not None:
        facts = _ended(facts, verdict, bundle.pods, ranks, around)
    elif told is None and gate.admitted_at is not None and not gate.leaving:
        facts = _placing(facts, bundle, pods, size, around)
    elif told is None and workload is not None:
        facts = replace(facts, wait=waiting_word(bundle, workload, gate, size, around))
    unknown = _unknown(bundle, workload, pods, around) if verdict is None else ""
    return in_order(replace(facts, unknown=unknown) if unknown else facts, around)


# --------------------------------------------------------------------------- what it asks for


def _wanted(job: Job | None) -> int | None:
    """Pods of the gang, as it asks for them."""
    if job is None:
        return None
    noted = number(job.metadata.annotations.pods)
    return noted if noted is not None else job.spec.completions or job.spec.parallelism


def _created_at(bundle: Bundle) -> datetime:
    if bundle.owner is not None and (made := moment(bundle.owner.metadata.creation_timestamp)) is not None:
        return made
    made_at = (moment(part.metadata.creation_timestamp) for part in (*bundle.workloads, *bundle.pods))
    return earliest(*made_at) or UNKNOWN_TIME


# --------------------------------------------------------------------------- which pods


def _ranks(pods: Sequence[Pod]) -> dict[str, int]:
    """Rank by pod name: its index, else the one in its name, else its place in the list."""
    ranks = {}
    for place, pod in enumerate(sorted(pods, key=lambda pod: pod.metadata.name)):
        told = number(pod.metadata.annotations.index or pod.metadata.labels.index)
        named = rank_in_name(pod.metadata.name) if told is None else told
        ranks[pod.metadata.name] = place if named is None else named
    return ranks


def _current(pods: Sequence[Pod], ranks: dict[str, int], gate: Gate, verdict: Verdict | None) -> list[Pod]:
    """Pods of the newest admission by rank; without one, those that still end."""
    if gate.reserved_at is None and verdict is None:
        return sorted((pod for pod in pods if not is_over(pod)), key=lambda pod: (ranks[pod.metadata.name], pod.key))
    chosen: dict[int, Pod] = {}
    for pod in sorted(pods, key=_age):
        if verdict is None and not gate.leaving and _is_of_an_earlier_admission(pod, gate):
            continue
        chosen[ranks[pod.metadata.name]] = pod
    return [pod for _, pod in sorted(chosen.items())]


def _age(pod: Pod) -> tuple[bool, datetime, str]:
    """The newest last; of one second, the one that stays."""
    return (
        pod.metadata.deletion_timestamp is None,
        moment(pod.metadata.creation_timestamp) or UNKNOWN_TIME,
        pod.key,
    )


def _is_of_an_earlier_admission(pod: Pod, gate: Gate) -> bool:
    made, told = moment(pod.metadata.creation_timestamp), told_to_stop_at(pod)
    if told is None or gate.evictions == 0 or made is None or gate.reserved_at is None:
        return False
    return made < gate.reserved_at and told <= gate.reserved_at


# --------------------------------------------------------------------------- times


def _scheduled_at(pods: Sequence[Pod], size: Size) -> datetime | None:
    if len(pods) < size.pods or not all(pod.spec.node_name for pod in pods):
        return None
    return latest(*(scheduled_at(pod) for pod in pods))


def _ready_at(pods: Sequence[Pod], size: Size, workload: Workload | None, gate: Gate) -> datetime | None:
    """When the last of all containers started; the gate's word about it where not all pods are there to tell."""
    times = [started_at(pod) for pod in pods]
    if pods and len(pods) >= size.pods and None not in times:
        return latest(*times)
    told = changed_at(holding(workload.status.conditions, "PodsReady")) if workload is not None else None
    return told if told is not None and gate.reserved_at is not None and told >= gate.reserved_at else None


def _deleted_at(bundle: Bundle, job: Job | None) -> datetime | None:
    """When the deletion began that is under way. Pods whose Job is gone are told a moment after it."""
    if job is not None:
        return moment(job.metadata.deletion_timestamp)
    told = earliest(*(told_to_stop_at(pod) for pod in bundle.pods))
    known = (moment(pod.metadata.creation_timestamp) for pod in bundle.pods)
    return told or latest(*known, *(started_at(pod) for pod in bundle.pods)) or UNKNOWN_TIME


# --------------------------------------------------------------------------- the end, and before the start


def _ended(
    facts: WorkloadFacts, verdict: Verdict, pods: Sequence[Pod], ranks: dict[str, int], around: Surroundings
) -> WorkloadFacts:
    if verdict.outcome is Outcome.SUCCEEDED:
        return facts
    failure = failure_of(verdict, pods, ranks, around.lost)
    return replace(facts, failure=replace(failure, at=around.until_now(failure.at)))


def _placing(
    facts: WorkloadFacts, bundle: Bundle, pods: Sequence[Pod], size: Size, around: Surroundings
) -> WorkloadFacts:
    """Pods are the truth, their PodGroup only explains: its word of an earlier admission means nothing (B5)."""
    waiting = [pod for pod in pods if not pod.spec.node_name and not is_over(pod)]
    words = {placing(pod) for pod in waiting}
    if not waiting or "SchedulingGated" in words:
        return facts
    whole = len(pods) >= size.pods
    if "Unschedulable" not in words and not (whole and _gang_is_stuck(bundle.pod_group, facts.admitted_at)):
        return facts
    words_of = [*(find(pod.status.conditions, "PodScheduled") for pod in waiting), _word_of(bundle.pod_group)]
    if text := next(filter(None, map(misfit, words_of)), ""):
        return replace(facts, unplaceable=True, misfit=text)  # whatever comes free
    releasing = awaits_release(bundle, size, around)
    return replace(facts, unplaceable=not releasing, waiting_release=releasing)


def _word_of(pod_group: PodGroup | None) -> Condition | None:
    return find(pod_group.status.conditions, "Unschedulable") if pod_group is not None else None


def _gang_is_stuck(pod_group: PodGroup | None, admitted_at: datetime | None) -> bool:
    if pod_group is None or admitted_at is None:
        return False
    stuck = holding(pod_group.status.conditions, "Unschedulable")
    since = changed_at(stuck)
    if stuck is None or since is None or stuck.reason != "NotEnoughResources" or since < admitted_at:
        return False
    placed = changed_at(holding(pod_group.status.conditions, "Scheduled"))
    return placed is None or placed <= since


def _unknown(bundle: Bundle, workload: Workload | None, pods: Sequence[Pod], around: Surroundings) -> str:
    """What no rule knows, in the cluster's words (decision 2)."""
    for part in (bundle.owner, workload):
        if part is not None and part.unreadable:
            return f"{type(part).__name__}: {part.unreadable}"
    finished = find(workload.status.conditions, "Finished") if workload is not None else None
    if finished is not None and finished.status == "True":
        return f"Finished: {finished.reason}"
    return next((signal for pod in pods if (signal := unknown_signal(pod, around.lost))), "")
