"""The objects of one attempt together, and what the facts of it take from the rest of the cluster. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.conditions import TICK, Gate, find, latest, moment
from clusters.backends.kueue_volcano.pods import LostNodes, is_lost, is_over
from clusters.backends.kueue_volcano.quantities import number
from clusters.backends.kueue_volcano.waits import Asking, Queue, check_wait, wait_of
from clusters.backends.kueue_volcano.wire import Condition, Deployment, Job, Meta, Pod, PodGroup, PodSpec, Workload
from clusters.contract import PodFacts, Wait, WorkloadFacts
from clusters.domain.accelerators import accelerator, is_known

T = TypeVar("T")

UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)
STUCK_AFTER = timedelta(seconds=60)
"""A pod so long past the end of its grace is stuck; nobody waits for its cards any more."""

Releasing = frozenset[tuple[str, str]]
"""(node group, resource) of cards whose pods are ending; the group is '' for pods that are not ours."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """All objects of one attempt. ``owner`` None: only its pods are left, at least one. ``uid`` is the owner's."""

    uid: str
    owner: Job | Deployment | None
    pods: tuple[Pod, ...] = ()
    workloads: tuple[Workload, ...] = ()  # of the Job; of each pod where the owner is a Deployment
    pod_group: PodGroup | None = None

    @property
    def meta(self) -> Meta:
        return self.owner.metadata if self.owner is not None else self.pods[0].metadata


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the facts of an attempt take from other objects of the cluster."""

    read_at: datetime | None = None
    lost: LostNodes = field(default_factory=dict)
    releasing: Releasing = frozenset()
    queue: Callable[[str, str], Queue | None] = lambda space, name: None
    job_of: Callable[[str], str | None] = lambda uid: None  # ULID of the job behind the uid of an object of ours
    peers_word: Callable[[Workload], Condition | None] = lambda workload: None
    """What the gate said of another Workload that is equal in everything it looks at."""

    def until_now(self, at: datetime | None) -> datetime | None:
        return self.read_at if at is not None and self.read_at is not None and at > self.read_at else at


@dataclass(frozen=True, slots=True)
class Size:
    """What an attempt asks for, as it was written down at submit, or as its pods ask where that is missing."""

    pods: int
    cards_per_pod: int
    resource: str

    @property
    def cards(self) -> int:
        return self.pods * self.cards_per_pod


def size_of(bundle: Bundle, pods: int | None) -> Size:
    """``pods``: as the owner's spec says; the annotation decides where it says nothing."""
    noted = bundle.meta.annotations
    wanted = pods if pods is not None else number(noted.pods)
    asks = [workload_set.template.spec for workload in bundle.workloads for workload_set in workload.spec.pod_sets]
    seen: PodSpec | None = next(iter([*(pod.spec for pod in bundle.pods), *asks]), None)
    resource = noted.resource
    if not resource and seen is not None and not noted.cards:
        resource = card_resource(name for name, _ in seen.asks)
    cards = number(noted.cards)
    if cards is None:
        cards = seen.asked(resource) if seen is not None else 0
    return Size(wanted if wanted is not None else max(1, len(bundle.pods)), cards, resource)


def card_resource(resources: Iterable[str]) -> str:
    """Which of these counts cards: never the memory or cores of virtual ones (C-32), and not a network device.

    One that the catalogue knows before one that only looks like a card; '' for none.
    """
    cards = (name for name in resources if accelerator(name) is not None)
    return min(cards, key=lambda name: (not is_known(name), name), default="")


def admitted_pods(workload: Workload) -> int | None:
    """Pods that quota was given to, where it was: fewer than asked for if the job allows that (C-28)."""
    admission = workload.status.admission
    counts = [part.count for part in admission.pod_set_assignments] if admission is not None else []
    told = [count for count in counts if count is not None]
    return sum(told) if counts and len(told) == len(counts) else None


def priority_of(bundle: Bundle) -> int | None:
    """What the gate compares; its own number first, since a change of the label reaches it a moment later."""
    told = next((workload.spec.priority for workload in bundle.workloads if workload.spec.priority is not None), None)
    prefix = names.priority_class(0).removesuffix("0")
    return told if told is not None else number(bundle.meta.labels.priority_class.removeprefix(prefix))


def pod_cards(pod: Pod, size: Size) -> int:
    """As the pod itself asks, or as was written down where its containers could not be read."""
    return pod.spec.asked(size.resource) or size.cards_per_pod if size.resource else size.cards_per_pod


def newest(workloads: Collection[Workload]) -> Workload | None:
    """The one that counts: an older one may still be going away."""
    return foremost(
        workloads,
        key=lambda workload: (
            workload.metadata.deletion_timestamp is None,
            moment(workload.metadata.creation_timestamp) or UNKNOWN_TIME,
            workload.key,
        ),
    )


def foremost(things: Collection[T], key: Callable[[T], Any]) -> T | None:
    """The greatest by its key. Of almost everything there is one, whose key is not even asked for."""
    return next(iter(things)) if len(things) == 1 else max(things, key=key, default=None)


def waiting_word(bundle: Bundle, workload: Workload, gate: Gate, size: Size, around: Surroundings) -> Wait | None:
    """Why this Workload is not admitted; None where it is, or where nobody has said."""
    asking = Asking(size.cards, size.resource, names.flavor(bundle.meta.labels.group))
    if not gate.active or gate.admitted_at is not None or gate.leaving:
        return None
    if gate.reserved_at is not None:
        return check_wait(workload.status.admission_checks, asking)
    queue = around.queue(bundle.meta.namespace, workload.spec.queue_name or bundle.meta.labels.queue)
    return wait_of(own_word(workload) or around.peers_word(workload), asking, queue)


def own_word(workload: Workload) -> Condition | None:
    """What the gate said about waiting. After an eviction it first repeats that, which says nothing about waiting."""
    told = find(workload.status.conditions, "QuotaReserved")
    if told is None or told.status == "True":
        return None
    evicted = find(workload.status.conditions, "Evicted")
    return None if evicted is not None and evicted.message and told.message == evicted.message else told


def is_releasing(pod: Pod, around: Surroundings) -> bool:
    """Its cards come free soon: it was told to end, its node answers, and its grace is not long over."""
    deadline = moment(pod.metadata.deletion_timestamp)
    if deadline is None or not pod.spec.node_name or is_over(pod) or is_lost(pod, around.lost):
        return False
    return around.read_at is None or around.read_at - deadline < STUCK_AFTER


def awaits_release(bundle: Bundle, size: Size, around: Surroundings) -> bool:
    places = {(bundle.meta.labels.group, size.resource), ("", size.resource)}
    return bool(places & around.releasing)


_IN_TURN = ("created_at", "queued_at", "reserved_at", "admitted_at", "scheduled_at", "ready_at", "ended_at")


def in_order(facts: WorkloadFacts, around: Surroundings) -> WorkloadFacts:
    """Clocks of several machines and whole seconds made consistent: what the statuses prove decides.

    created <= queued <= reserved <= admitted <= scheduled <= ready <= ended <= now. An admission that lasts is later
    than the eviction before it; a deletion is not earlier than the admission that it ends.
    """
    until_now = around.until_now
    changes: dict[str, Any] = {}
    floor = None
    for name in _IN_TURN:
        told = getattr(facts, name)
        if told is None:
            continue
        floor = latest(until_now(told), floor)
        if floor != told:
            changes[name] = floor
    held_since = changes.get("reserved_at", facts.reserved_at)
    evicted = until_now(facts.evicted_at)
    if evicted is not None and held_since is not None:
        if facts.being_deleted:
            evicted = latest(evicted, held_since, changes.get("admitted_at", facts.admitted_at))
        else:
            evicted = min(evicted, held_since - TICK)
    pods = facts.pods if around.read_at is None else tuple(_until_now(pod, around.read_at) for pod in facts.pods)
    released = None
    if facts.outcome is not None and not facts.ending:
        released = latest(changes.get("ended_at", facts.ended_at), *(pod.ended_at for pod in pods))
    elif evicted is not None and not facts.pods and held_since is None:
        released = evicted  # a lower bound: pods leave no trace of their end
    last: dict[str, Any] = {"evicted_at": evicted, "released_at": released, "pods": pods}
    changes |= {name: value for name, value in last.items() if value != getattr(facts, name)}
    return replace(facts, **changes) if changes else facts


def _until_now(pod: PodFacts, now: datetime) -> PodFacts:
    times = {name: getattr(pod, name) for name in ("started_at", "ended_at", "image_problem_since")}
    ahead: dict[str, Any] = {name: now for name, at in times.items() if at is not None and at > now}
    return replace(pod, **ahead) if ahead else pod
