"""How each command changes the world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from clusters.contract import EvictionCause, PodPhase
from clusters.simulation import commands as c
from clusters.simulation import lifecycle, services
from clusters.simulation.state import State
from clusters.simulation.world import Group, Hold, Member, Node, Plan, Pod, Queue, Spec, Stage, Workload


def apply(state: State, command: c.Command) -> None:
    """Carry out one command now."""
    _HANDLERS[type(command)](state, command)


def _submit(state: State, command: c.Submit) -> None:
    world = state.world
    if command.name in world.workloads or services.replicas_of(world, command.name):
        return
    if command.spec.kind != services.KIND:
        _create(state, command.name, command.spec, command.plan)
        return
    for number in range(command.spec.pods):
        member = Member(command.name, number, state.now)
        _create(
            state,
            services.replica_name(command.name, number),
            replace(command.spec, pods=1, member=member),
            command.plan,
        )


def _create(state: State, name: str, spec: Spec, plan: Plan) -> None:
    world = state.world
    world.sequence += 1
    workload = Workload(
        name=name, spec=spec, plan=plan, created_ms=state.now, sequence=world.sequence, queued_ms=state.now
    )
    state.add(workload)
    state.enqueue(workload)


def _scale(state: State, command: c.Scale) -> None:
    world = state.world
    found = services.replicas_of(world, command.name)
    staying = [workload for workload in found if not workload.deleting]
    if not staying:
        return
    for workload in staying:
        if services.number_of(workload) >= command.replicas:
            lifecycle.delete(state, workload, workload.spec.grace_ms)
    like = staying[0]
    assert like.spec.member is not None
    for number in range(command.replicas):
        name = services.replica_name(command.name, number)
        if name not in world.workloads:  # one that is still going leaves its number first
            _create(state, name, replace(like.spec, member=replace(like.spec.member, number=number)), like.plan)


def _delete(state: State, command: c.Delete) -> None:
    for workload in services.named(state.world, command.name):
        lifecycle.delete(state, workload, command.grace_ms)


def _set_active(state: State, command: c.SetActive) -> None:
    for workload in services.named(state.world, command.name):
        if workload.active != command.active and workload.stage is not Stage.FINISHED:
            _set_workload_active(state, workload, command.active)


def _set_workload_active(state: State, workload: Workload, active: bool) -> None:
    workload.active = active
    if active:
        if workload.stage is Stage.QUEUED:
            workload.queued_ms = state.now
            state.enqueue(workload)
    elif workload.stage is Stage.QUEUED:
        state.dequeue(workload)
    elif workload.stage is Stage.ADMITTED:
        lifecycle.evict(state, workload, EvictionCause.HELD)
    state.touch(workload)


def _set_priority(state: State, command: c.SetPriority) -> None:
    for workload in services.named(state.world, command.name):
        if workload.stage is not Stage.FINISHED and workload.spec.priority != command.priority:
            state.rerank(workload, command.priority)


def _steer(state: State, command: c.Steer) -> None:
    for workload in services.named(state.world, command.name):
        if workload.stage is Stage.QUEUED and workload.spec.avoid != command.avoid:
            state.steer(workload, command.avoid)


def _set_quotas(state: State, command: c.SetQuotas) -> None:
    world = state.world
    world.slowdowns = dict(command.slowdowns)
    wanted = {definition.name: definition for definition in command.queues}
    gone = [name for name in world.queues if name not in wanted]
    for name in gone:
        del world.queues[name]
        state.changed_queues.discard(name)
        state.removed_queues.add(name)
    changed = [name for name, definition in wanted.items() if _set_queue(state, definition)]
    pool = dict(command.pool)
    if gone or changed or pool != world.pool:
        world.pool = pool
        state.queues_changed()


def _set_queue(state: State, definition: c.QueueDef) -> bool:
    """Make one queue as defined. False if it already was."""
    queue = state.world.queues.get(definition.name)
    values = {
        "space": definition.space,
        "quotas": dict(definition.quotas),
        "limits": dict(definition.limits),
        "local_queues": definition.local_queues,
        "held_local_queues": definition.held_local_queues,
        "strategy": definition.strategy,
        "reclaim": definition.reclaim,
        "borrow_preempts": definition.borrow_preempts,
        "borrow_threshold": definition.borrow_threshold,
    }
    if queue is not None and all(getattr(queue, name) == value for name, value in values.items()):
        return False
    if queue is None:
        queue = state.world.queues[definition.name] = Queue(definition.name)
        state.removed_queues.discard(definition.name)
    for name, value in values.items():
        setattr(queue, name, value)
    state.touch_queue(queue)
    return True


def _set_nodes(state: State, command: c.SetNodes) -> None:
    for group in command.groups:
        state.world.groups[group.name] = group
    changed = [definition.name for definition in command.nodes if _set_node(state, definition)]
    if changed:
        _nodes_changed(state)


def _set_node(state: State, definition: c.NodeDef) -> bool:
    """Make one node as defined. False if it already was."""
    world = state.world
    node = world.nodes.get(definition.name)
    values = {item.name: getattr(definition, item.name) for item in fields(definition)}
    if node is not None and all(getattr(node, name) == value for name, value in values.items()):
        return False
    if node is None:
        node = world.nodes[definition.name] = Node(**values, since_ms=state.now)
    for name, value in values.items():
        setattr(node, name, value)
    node.sick = min(node.sick, node.cards)
    if node.group is not None:
        world.groups.setdefault(node.group, Group(node.group))
    state.touch_node(node.name)
    return True


def _cordon(state: State, command: c.Cordon) -> None:
    node = state.world.nodes.get(command.node)
    if node is not None and node.cordoned != command.cordoned:
        node.cordoned = command.cordoned
        _health_changed(state, node)


def _node_power(state: State, command: c.NodePower) -> None:
    node = state.world.nodes.get(command.node)
    if node is None or node.down is not command.up:
        return
    node.down = not command.up
    node.lost_ms = None
    if node.down:
        node.lost_ms = state.now + state.world.latencies.node_lost
        state.plan_node_lost(node.name, node.lost_ms)
    _health_changed(state, node)


def _sicken(state: State, command: c.Sicken) -> None:
    node = state.world.nodes.get(command.node)
    if node is None:
        return
    sick = max(0, min(command.cards, node.cards))
    if sick != node.sick:
        node.sick = sick
        _health_changed(state, node)


def _health_changed(state: State, node: Node) -> None:
    node.since_ms = state.now
    state.touch_node(node.name)
    _nodes_changed(state)


def _nodes_changed(state: State) -> None:
    state.floor.nodes_changed()
    if state.world.topology_aware:
        state.request_retry()
    state.request_round()


def _exit_pod(state: State, command: c.ExitPod) -> None:
    found = _admitted_pod(state, command.name, command.rank)
    if found is not None and found[1].phase is PodPhase.RUNNING:
        lifecycle.exit_pod(state, *found, command.code, command.reason)


def _evict_pod(state: State, command: c.EvictPod) -> None:
    found = _admitted_pod(state, command.name, command.rank)
    if found is not None and found[1].node is not None and found[1].phase in (PodPhase.PULLING, PodPhase.RUNNING):
        lifecycle.disrupt(state, *found)


def _admitted_pod(state: State, name: str, rank: int) -> tuple[Workload, Pod] | None:
    workloads = state.world.workloads
    workload = workloads.get(name)
    if workload is None:
        workload, rank = workloads.get(services.replica_name(name, rank)), 0
    if workload is None or workload.stage is not Stage.ADMITTED or rank >= len(workload.run.pods):
        return None
    return workload, workload.run.pods[rank]


def _hold_queue(state: State, command: c.HoldQueue) -> None:
    queue = state.world.queues.get(command.queue)
    if queue is None or queue.hold is command.hold:
        return
    queue.hold = command.hold
    state.touch_queue(queue)
    if command.hold is Hold.HOLD_AND_DRAIN:
        for workload in sorted(state.world.workloads.values(), key=lambda workload: workload.sequence):
            if workload.spec.queue == queue.name and workload.stage is Stage.ADMITTED:
                lifecycle.evict(state, workload, EvictionCause.QUEUE_DRAINED)
    state.request_retry()


_HANDLERS: dict[type, Callable[[State, Any], None]] = {
    c.Submit: _submit,
    c.Scale: _scale,
    c.Delete: _delete,
    c.SetActive: _set_active,
    c.SetPriority: _set_priority,
    c.Steer: _steer,
    c.SetQuotas: _set_quotas,
    c.SetNodes: _set_nodes,
    c.Cordon: _cordon,
    c.NodePower: _node_power,
    c.Sicken: _sicken,
    c.ExitPod: _exit_pod,
    c.EvictPod: _evict_pod,
    c.HoldQueue: _hold_queue,
}
