"""Engine objects as the facts every backend reports: pure, nothing derived, nothing stored."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

from clusters.contract import (
    CardHolder,
    ClusterInventory,
    Failure,
    NodeFacts,
    NodeGroupFacts,
    NodeHealth,
    ObservedObject,
    PodFacts,
    PodPhase,
    SharingMode,
    WorkloadFacts,
)
from clusters.simulation.explain import wait_of
from clusters.simulation.world import ALIVE, Node, Pod, Run, Stage, Workload, World

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_ms(at_ms: int) -> datetime:
    """Engine time as an aware UTC datetime, exact to the millisecond."""
    return _EPOCH + timedelta(milliseconds=at_ms)


def to_ms(at: datetime) -> int:
    """An aware datetime as engine time."""
    return (at - _EPOCH) // timedelta(milliseconds=1)


def _moment(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else from_ms(at_ms)


# workloads


def observed_object(world: World, workload: Workload) -> ObservedObject:
    """One workload as a list of the cluster shows it."""
    facts = workload_facts(world, workload)
    return ObservedObject(
        job_ulid=workload.spec.job_ulid,
        attempt=workload.spec.attempt,
        uid=uid_of(workload),
        revision=revision_of(facts),
        facts=facts,
    )


def uid_of(workload: Workload) -> str:
    """Tells an object from a later one of the same name."""
    return f"{workload.name}.{workload.created_ms}.{workload.sequence}"


def revision_of(facts: WorkloadFacts) -> str:
    """A digest of the facts: equal facts, equal revision."""
    return blake2b(repr(facts).encode(), digest_size=12).hexdigest()


def workload_facts(world: World, workload: Workload) -> WorkloadFacts:
    """Everything there is to read about one workload. The times describe its newest admission."""
    newest = workload.runs[-1] if workload.runs else None
    evicted = _newest_eviction(workload)
    deleted = newest if workload.deleting and workload.outcome is None else None
    freed_ms = deleted.freed_ms if deleted is not None and deleted.freed_ms is not None else None
    told = next((run for run in reversed(workload.runs) if run.told_ms is not None), None)
    ending = newest is not None and newest.told_ms is not None and newest.released_ms is None
    return WorkloadFacts(
        created_at=from_ms(workload.created_ms),
        active=workload.active,
        priority=workload.spec.priority,
        wanted_pods=workload.spec.pods,
        cards=workload.spec.cards,
        queued_at=from_ms(workload.queued_ms),
        reserved_at=_moment(newest.admitted_ms) if newest else None,
        admitted_at=_moment(newest.admitted_ms) if newest else None,
        scheduled_at=_moment(newest.scheduled_ms) if newest else None,
        ready_at=_moment(newest.ready_ms) if newest else None,
        evicted_at=_moment(freed_ms if freed_ms is not None else evicted.freed_ms if evicted else None),
        released_at=_moment(told.released_ms) if told else None,
        ended_at=_moment(workload.ended_ms),
        evictions=workload.evictions,
        eviction_cause=evicted.cause if evicted and freed_ms is None else None,
        evicted_by=evicted.by if evicted else None,
        ending=ending,
        wait=wait_of(world, workload),
        unplaceable=workload.unplaceable,
        waiting_release=workload.waiting_release,
        pods=tuple(_pod_facts(workload, pod) for pod in _shown_pods(workload, newest)),
        outcome=workload.outcome,
        outcome_by_policy=workload.outcome_by_policy,
        failure=_failure(workload),
    )


def _newest_eviction(workload: Workload) -> Run | None:
    return next((run for run in reversed(workload.runs) if run.cause is not None), None)


def _shown_pods(workload: Workload, newest: Run | None) -> list[Pod]:
    """The pods of the newest admission; those of an evicted one disappear as they end."""
    if newest is None:
        return []
    if workload.stage in (Stage.QUEUED, Stage.EVICTING):
        return [pod for pod in newest.pods if pod.phase in ALIVE]
    return newest.pods


def _pod_facts(workload: Workload, pod: Pod) -> PodFacts:
    return PodFacts(
        rank=pod.rank,
        name=pod_name(workload.name, pod.rank),
        phase=pod.phase,
        node=pod.node,
        cards=workload.spec.cards_per_pod,
        exit_code=pod.exit_code,
        image_problem=pod.problem,
        image_problem_since=_moment(pod.problem_ms) if pod.problem else None,
        started_at=_moment(pod.started_ms),
        ended_at=_moment(pod.ended_ms),
    )


def pod_name(workload: str, rank: int) -> str:
    return f"{workload}-{rank}"


def _failure(workload: Workload) -> Failure | None:
    fault = workload.fault
    if fault is None:
        return None
    return Failure(fault.code, fault.rank, fault.exit_code, fault.node, from_ms(fault.at_ms), fault.raw)


# nodes


def inventory(world: World) -> ClusterInventory:
    """Node groups and nodes, with who holds their cards, as of the world's time."""
    return ClusterInventory(
        read_at=from_ms(world.now_ms),
        groups=group_facts(world),
        nodes=node_facts(world),
        topology_aware=world.topology_aware,
    )


def group_facts(world: World) -> tuple[NodeGroupFacts, ...]:
    """Groups that have nodes; a group's node size is the most common one, the larger of equals."""
    members: defaultdict[str, list[Node]] = defaultdict(list)
    for node in world.nodes.values():
        if node.group is not None:
            members[node.group].append(node)
    found = []
    for name in sorted(members, key=lambda name: (world.groups[name].position, name)):
        group = world.groups[name]
        nodes = members[name]
        found.append(
            NodeGroupFacts(
                name=name,
                title=group.title or name,
                vendor=group.vendor,
                card_model=group.card_model,
                interconnect=group.interconnect,
                sharing=SharingMode(group.sharing),
                unit=group.unit,
                cards_per_node=_most_common(node.cards for node in nodes),
                cpu_millis_per_node=_most_common(node.cpu_millis for node in nodes),
                memory_bytes_per_node=_most_common(node.memory_bytes for node in nodes),
            )
        )
    return tuple(found)


def _most_common(values: Iterable[int]) -> int:
    counts = Counter(values)
    return max(counts, key=lambda value: (counts[value], value))


def node_facts(world: World) -> tuple[NodeFacts, ...]:
    """All nodes by name. Cards promised by the gate to pods that are not there yet are held, not running."""
    holders = _holders(world)
    return tuple(
        NodeFacts(
            name=node.name,
            node_group=node.group,
            health=_health(node),
            installed=node.cards,
            sick=node.sick,
            since=from_ms(node.since_ms),
            cpu_millis=node.cpu_millis,
            memory_bytes=node.memory_bytes,
            holders=tuple(holders[node.name]),
            outside=node.outside,
        )
        for _, node in sorted(world.nodes.items())
    )


def _health(node: Node) -> NodeHealth:
    if node.down:
        return NodeHealth.DOWN
    if node.cordoned:
        return NodeHealth.CORDONED
    return NodeHealth.DEGRADED if node.sick else NodeHealth.READY


def _holders(world: World) -> defaultdict[str, list[CardHolder]]:
    found: defaultdict[str, list[CardHolder]] = defaultdict(list)
    for _, workload in sorted(world.workloads.items()):
        if workload.inert or not workload.spec.cards:
            continue
        pods: Counter[tuple[str, bool, bool]] = Counter()  # (node, running, ending)
        for run in workload.runs:
            for pod in run.pods:
                if pod.node is not None and pod.phase in ALIVE:
                    ending = pod.phase is PodPhase.ENDING
                    pods[pod.node, ending or pod.phase is PodPhase.RUNNING, ending] += 1
        if workload.stage is Stage.ADMITTED and workload.run.scheduled_ms is None:
            pods.update((name, False, False) for name in workload.run.nodes)
        for (name, running, ending), count in sorted(pods.items()):
            cards = count * workload.spec.cards_per_pod
            found[name].append(CardHolder(workload.spec.job_ulid, workload.spec.attempt, cards, running, ending))
    return found
