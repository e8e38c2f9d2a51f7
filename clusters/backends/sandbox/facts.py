"""Engine objects as the facts every backend reports: pure, nothing derived, nothing stored."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

from clusters.contract import (
    CardHolder,
    ClusterInventory,
    Failure,
    NodeCondition,
    NodeFacts,
    NodeGroupFacts,
    NodeHealth,
    NodeTrouble,
    ObservedObject,
    PodFacts,
    PodPhase,
    SharingMode,
    WorkloadFacts,
)
from clusters.domain import replicas
from clusters.simulation.explain import wait_of
from clusters.simulation.services import number_of
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


def observed_objects(world: World, spaces: frozenset[str] = frozenset()) -> Iterator[ObservedObject]:
    """Everything that a list of the cluster shows, of these spaces or of all; a service is one object."""
    services: defaultdict[str, list[Workload]] = defaultdict(list)
    for workload in world.workloads.values():
        if spaces and workload.spec.space not in spaces:
            continue
        if workload.spec.member is not None:
            services[workload.spec.member.service].append(workload)
        else:
            yield observed_object(workload, workload_facts(world, workload))
    for members in services.values():
        members.sort(key=number_of)
        yield observed_object(members[0], service_facts(world, members))


def observed_object(workload: Workload, facts: WorkloadFacts) -> ObservedObject:
    """A workload, or one replica for its whole service, with the facts that are shown of it."""
    return ObservedObject(
        job_ulid=workload.spec.job_ulid,
        attempt=workload.spec.attempt,
        uid=uid_of(workload),
        revision=revision_of(facts),
        facts=facts,
    )


def uid_of(workload: Workload) -> str:
    """Tells an object from a later one of the same name; the replicas of a service are one object."""
    member = workload.spec.member
    if member is not None:
        return f"{member.service}.{member.born_ms}"
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
        avoid_nodes=workload.spec.avoid,
        pods=tuple(_pod_facts(workload, pod) for pod in _shown_pods(workload, newest)),
        outcome=workload.outcome,
        outcome_by_policy=workload.outcome_by_policy,
        failure=_failure(workload),
    )


def service_facts(world: World, members: Sequence[Workload]) -> WorkloadFacts:
    """What the replicas of one service come to together, in the words of every backend."""
    wanted = [replica for replica in members if not replica.deleting]
    like = wanted[0] if wanted else members[0]
    leaving = [replica for replica in members if replica.stage is Stage.EVICTING]
    staying = wanted or leaving  # one that is being deleted holds what its replicas hold
    shown = {replica.name for replica in staying}
    freed = [run.freed_ms for replica in members for run in replica.runs if run.freed_ms is not None]
    facts = replicas.service_facts(
        replicas.Wanted(len(wanted) or len(members), like.spec.cards_per_pod, like.active, like.spec.priority),
        from_ms(like.created_ms if like.spec.member is None else like.spec.member.born_ms),
        [_replica(world, replica) for replica in staying],
        [_pod_facts(replica, pod) for replica in members for pod in _leaving_pods(replica, replica.name in shown)],
        deleted_at=from_ms(max(freed, default=world.now_ms)) if not wanted and not staying else None,
    )
    ends = not wanted or (bool(leaving) and not like.active)
    return replace(facts, ending=True) if ends else facts


def _replica(world: World, workload: Workload) -> replicas.Replica:
    if not workload.holds_quota:
        return replicas.Replica(wait=wait_of(world, workload))
    run = workload.run
    pod = run.pods[0] if run.pods else None
    up = pod is not None and pod.phase is PodPhase.RUNNING
    return replicas.Replica(
        pod=_pod_facts(workload, pod) if pod is not None else None,
        reserved_at=from_ms(run.admitted_ms),
        admitted_at=from_ms(run.admitted_ms),
        scheduled_at=_moment(run.scheduled_ms),
        ready_at=_moment(pod.started_ms) if pod is not None and up else None,
        unready_since=_moment(pod.down_ms) if pod is not None else None,
        misplaced=workload.unplaceable or workload.waiting_release,
        waiting_release=workload.waiting_release,
    )


def _leaving_pods(replica: Workload, stays: bool) -> list[Pod]:
    """Pods that end, beside those of the admission that the replica is shown with."""
    runs = replica.runs[:-1] if stays and replica.holds_quota else replica.runs
    return [pod for run in runs for pod in run.pods if pod.phase in ALIVE]


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
    member = workload.spec.member
    return PodFacts(
        rank=pod.rank if member is None else member.number,
        name=pod_name(workload.name, pod.rank) if member is None else workload.name,
        phase=pod.phase,
        node=pod.node,
        cards=workload.spec.cards_per_pod,
        exit_code=pod.exit_code,
        image_problem=pod.problem,
        image_problem_since=_moment(pod.problem_ms) if pod.problem else None,
        started_at=_moment(pod.started_ms),
        ended_at=_moment(pod.ended_ms),
        restarts=pod.restarts,
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


def _physical(world: World, node: Node) -> int | None:
    """Cards behind what the node counts, where its group says how many shares one has."""
    group = world.groups.get(node.group or "")
    if group is None or group.sharing == SharingMode.EXCLUSIVE.value:
        return node.cards
    return -(-node.cards // group.shares_per_card) if group.shares_per_card else None


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
            conditions=_conditions(node),
            physical=_physical(world, node),
        )
        for _, node in sorted(world.nodes.items())
    )


def _health(node: Node) -> NodeHealth:
    if node.down:
        return NodeHealth.DOWN
    if node.cordoned:
        return NodeHealth.CORDONED
    return NodeHealth.DEGRADED if node.sick else NodeHealth.READY


def _conditions(node: Node) -> tuple[NodeCondition, ...]:
    """The engine keeps one time: that of the health, which is that of the first trouble."""
    found = [
        NodeCondition(trouble, detail=detail)
        for trouble, on, detail in (
            (NodeTrouble.NOT_READY, node.down, ""),
            (NodeTrouble.CORDONED, node.cordoned, ""),
            (NodeTrouble.SICK_CARDS, node.sick > 0, str(node.sick)),
        )
        if on
    ]
    return (replace(found[0], since=from_ms(node.since_ms)), *found[1:]) if found else ()


def _holders(world: World) -> defaultdict[str, list[CardHolder]]:
    """By node; replicas of one service on the same node are one holder."""
    cards: Counter[tuple[str, str, int, bool, bool]] = Counter()  # (node, job, attempt, running, ending)
    for workload in world.workloads.values():
        spec = workload.spec
        if workload.inert or not spec.cards:
            continue
        for run in workload.runs:
            for pod in run.pods:
                if pod.node is not None and pod.phase in ALIVE:
                    ending = pod.phase is PodPhase.ENDING
                    is_running = ending or pod.phase is PodPhase.RUNNING
                    cards[pod.node, spec.job_ulid, spec.attempt, is_running, ending] += spec.cards_per_pod
        if workload.stage is Stage.ADMITTED and workload.run.scheduled_ms is None:
            for name in workload.run.nodes:
                cards[name, spec.job_ulid, spec.attempt, False, False] += spec.cards_per_pod
    found: defaultdict[str, list[CardHolder]] = defaultdict(list)
    for (node, job_ulid, attempt, is_running, ending), count in sorted(cards.items()):
        found[node].append(CardHolder(job_ulid, attempt, count, is_running, ending))
    return found
