"""An inference service as facts: a Deployment whose pods the gate admits one by one. Pure.

The service counts as admitted from its first replica on, and as ready when all of them are. A replica that is
preempted is replaced by a new pod with a new Workload, so the service itself is never evicted; what its waiting
replicas wait for is told beside what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from clusters.backends.kueue_volcano.conditions import (
    NO_GATE,
    Gate,
    changed_at,
    earliest,
    gate_of,
    holding,
    latest,
    moment,
)
from clusters.backends.kueue_volcano.pods import is_over, placing, pod_facts, scheduled_at, unknown_signal
from clusters.backends.kueue_volcano.quantities import number
from clusters.backends.kueue_volcano.wire import Deployment, Pod, Workload
from clusters.contract import Wait, WorkloadFacts


def service_facts(bundle: Bundle, service: Deployment, around: Surroundings) -> WorkloadFacts:
    noted = number(service.metadata.annotations.pods)
    held = service.spec.replicas == 0 and bool(noted)
    size = size_of(bundle, noted if held else service.spec.replicas)
    pods = sorted((pod for pod in bundle.pods if not is_over(pod)), key=_place)
    staying = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
    by_pod = {owner.uid: workload for workload in bundle.workloads if (owner := workload.metadata.owner) is not None}
    gates = {pod.key: gate_of(by_pod[pod.key]) if pod.key in by_pod else NO_GATE for pod in staying}
    admitted_at = earliest(*(gate.admitted_at for gate in gates.values()))
    told = moment(service.metadata.deletion_timestamp)
    waits = _waits(bundle, staying, by_pod, gates, size, around) if told is None and not held else None
    facts = WorkloadFacts(
        created_at=moment(service.metadata.creation_timestamp) or UNKNOWN_TIME,
        active=not held,
        priority=priority_of(bundle),
        wanted_pods=size.pods,
        cards=size.cards,
        queued_at=moment(service.metadata.creation_timestamp),
        reserved_at=earliest(*(gate.reserved_at for gate in gates.values())),
        admitted_at=admitted_at,
        scheduled_at=_all_since(staying, size, scheduled_at),
        ready_at=_all_since(staying, size, _ready_at),
        evicted_at=told,
        ending=len(staying) < len(pods) and (held or told is not None or not staying),
        wait=waits,
        pods=tuple(pod_facts(pod, rank, pod_cards(pod, size), around.lost) for rank, pod in enumerate(pods)),
        unknown=_unknown(service, staying, around),
    )
    if admitted_at is not None and told is None and any(_is_stuck(pod, gates[pod.key]) for pod in staying):
        releasing = awaits_release(bundle, size, around)
        facts = replace(facts, unplaceable=not releasing, waiting_release=releasing)
    return in_order(facts, around)


def _place(pod: Pod) -> tuple[bool, datetime, str]:
    """Those that stay first, the oldest first: a replica keeps its number while nothing before it goes."""
    made = moment(pod.metadata.creation_timestamp) or UNKNOWN_TIME
    return pod.metadata.deletion_timestamp is not None, made, pod.key


def _waits(
    bundle: Bundle,
    pods: Sequence[Pod],
    by_pod: dict[str, Workload],
    gates: dict[str, Gate],
    size: Size,
    around: Surroundings,
) -> Wait | None:
    """The word about the first replica that has one; its numbers are of that replica alone."""
    one = Size(1, size.cards_per_pod, size.resource)
    for pod in pods:
        if pod.key in by_pod:
            wait = waiting_word(bundle, by_pod[pod.key], gates[pod.key], one, around)
            if wait is not None:
                return wait
    return None


def _all_since(pods: Sequence[Pod], size: Size, time_of: Callable[[Pod], datetime | None]) -> datetime | None:
    """The newest of all replicas' times; None while one is missing or has none."""
    times = [time_of(pod) for pod in pods]
    return latest(*times) if pods and len(pods) >= size.pods and None not in times else None


def _ready_at(pod: Pod) -> datetime | None:
    """Ready to answer, as its own probe says."""
    return changed_at(holding(pod.status.conditions, "Ready"))


def _is_stuck(pod: Pod, gate: Gate) -> bool:
    return gate.admitted_at is not None and placing(pod) == "Unschedulable"


def _unknown(service: Deployment, pods: Sequence[Pod], around: Surroundings) -> str:
    if service.unreadable:
        return f"Deployment: {service.unreadable}"
    return next((signal for pod in pods if (signal := unknown_signal(pod, around.lost))), "")
