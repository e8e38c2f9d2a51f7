"""An inference service: a Deployment whose pods the gate admits one by one, as facts. Pure.

What the replicas come to together is `clusters.domain.replicas`. A replica that is preempted is replaced by a new pod
with a new Workload; the cluster gives replicas no numbers, so a pod's rank is its place by age.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from clusters.backends.kueue_volcano.bundle import (
    UNKNOWN_TIME,
    Bundle,
    Size,
    Surroundings,
    awaits_release,
    in_order,
    pod_cards,
    priority_of,
    size_of,
    waiting_word,
)
from clusters.backends.kueue_volcano.conditions import NO_GATE, Gate, changed_at, find, gate_of, holding, moment
from clusters.backends.kueue_volcano.pods import (
    is_crashing,
    is_lost,
    is_over,
    placing,
    pod_facts,
    scheduled_at,
    unknown_signal,
)
from clusters.backends.kueue_volcano.quantities import number
from clusters.backends.kueue_volcano.wire import Deployment, Pod, Workload
from clusters.contract import PodFacts, PodPhase, WorkloadFacts
from clusters.domain import replicas


def service_facts(bundle: Bundle, service: Deployment, around: Surroundings) -> WorkloadFacts:
    noted = number(service.metadata.annotations.pods)
    held = service.spec.replicas == 0 and bool(noted)
    size = size_of(bundle, noted if held else service.spec.replicas)
    pods = sorted((pod for pod in bundle.pods if not is_over(pod)), key=_place)
    staying = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
    by_pod = {owner.uid: workload for workload in bundle.workloads if (owner := workload.metadata.owner) is not None}
    told = replicas.numbered(_pod_facts(pod, size, around) for pod in pods)
    stay = [
        _replica(bundle, pod, facts, by_pod.get(pod.key), size, around)
        for pod, facts in zip(staying, told, strict=False)  # those that stay come first
    ]
    facts = replicas.service_facts(
        replicas.Wanted(size.pods, size.cards_per_pod, active=not held, priority=priority_of(bundle)),
        moment(service.metadata.creation_timestamp) or UNKNOWN_TIME,
        stay,
        told[len(stay) :],
        deleted_at=moment(service.metadata.deletion_timestamp),
        unknown=_unknown_of_pods(staying, around),
    )
    if service.unreadable:
        facts = replace(facts, unknown=f"Deployment: {service.unreadable}")
    return in_order(facts, around)


def _place(pod: Pod) -> tuple[bool, datetime, str]:
    """Those that stay first, the oldest first: a replica keeps its number while nothing before it goes."""
    made = moment(pod.metadata.creation_timestamp) or UNKNOWN_TIME
    return pod.metadata.deletion_timestamp is not None, made, pod.key


def _pod_facts(pod: Pod, size: Size, around: Surroundings) -> PodFacts:
    """A program that ended is started again where it was, so its pod is not over."""
    facts = pod_facts(pod, 0, pod_cards(pod, size), around.lost)
    over = facts.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)
    return replace(facts, phase=PodPhase.PULLING, restarts=facts.restarts + 1) if over else facts


def _replica(
    bundle: Bundle, pod: Pod, facts: PodFacts, workload: Workload | None, size: Size, around: Surroundings
) -> replicas.Replica:
    gate = gate_of(workload) if workload is not None else NO_GATE
    one = Size(1, size.cards_per_pod, size.resource)  # the gate's numbers are of this replica alone
    misplaced = gate.admitted_at is not None and placing(pod) == "Unschedulable"
    return replicas.Replica(
        pod=facts,
        reserved_at=gate.reserved_at,
        admitted_at=gate.admitted_at,
        scheduled_at=scheduled_at(pod),
        ready_at=None if is_lost(pod, around.lost) else changed_at(holding(pod.status.conditions, "Ready")),
        unready_since=_unready_since(pod, gate),
        wait=waiting_word(bundle, workload, gate, one, around) if workload is not None else None,
        misplaced=misplaced,
        waiting_release=misplaced and awaits_release(bundle, size, around),
    )


def _unready_since(pod: Pod, gate: Gate) -> datetime | None:
    """Ready to answer, as its own probe says; a pod is born unready, which says nothing before its admission."""
    told = find(pod.status.conditions, "Ready")
    if told is None or told.status == "True" or gate.admitted_at is None:
        return None
    since = changed_at(told)
    return since if since is not None and since > gate.admitted_at else None


def _unknown_of_pods(pods: list[Pod], around: Surroundings) -> str:
    signals = (unknown_signal(pod, around.lost) for pod in pods if not is_crashing(pod))
    return next((signal for signal in signals if signal), "")
