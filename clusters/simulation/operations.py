"""How each command changes the world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from clusters.contract import EvictionCause, PodPhase
from clusters.simulation import commands as c
from clusters.simulation import lifecycle
from clusters.simulation.state import State
from clusters.simulation.world import Group, Hold, Node, Queue, Stage, Workload


def apply(state: State, command: c.Command) -> None:
    """Carry out one command now."""
    _HANDLERS[type(command)](state, command)


def _submit(state: State, command: c.Submit) -> None:
    if command.name in state.world.workloads:
        return
    world = state.world
    world.sequence += 1
    workload = Workload(
        name=command.name,
        spec=command.spec,
        plan=command.plan,
        created_ms=state.now,
        sequence=world.sequence,
        queued_ms=state.now,
    )
    state.add(workload)
    state.enqueue(workload)


def _delete(state: State, command: c.Delete) -> None:
    workload = state.world.workloads.get(command.name)
    if workload is not None:
        lifecycle.delete(state, workload, command.grace_ms)


def _set_active(state: State, command: c.SetActive) -> None:
    workload = state.world.workloads.get(command.name)
    if workload is None or workload.active == command.active or workload.stage is Stage.FINISHED:
        return
    workload.active = command.active
    if command.active:
        if workload.stage is Stage.QUEUED:
            workload.queued_ms = state.now
            state.enqueue(workload)
    elif workload.stage is Stage.QUEUED:
        state.dequeue(workload)
    elif workload.stage is Stage.ADMITTED:
        lifecycle.evict(state, workload, EvictionCause.HELD)
    state.touch(workload)


def _set_priority(state: State, command: c.SetPriority) -> None:
    workload = state.world.workloads.get(command.name)
    if workload is None or workload.stage is Stage.FINISHED or workload.spec.priority == command.priority:
        return
    state.rerank(workload, command.priority)


def _set_quotas(state: State, command: c.SetQuotas) -> None:
    world = state.world
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
        "local_queues": definition.local_queues,
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
    workload = state.world.workloads.get(command.name)
    if workload is None or workload.stage is not Stage.ADMITTED or command.rank >= len(workload.run.pods):
        return
    pod = workload.run.pods[command.rank]
    if pod.phase is PodPhase.RUNNING:
        lifecycle.exit_pod(state, workload, pod, command.code, command.reason)


def _evict_pod(state: State, command: c.EvictPod) -> None:
    workload = state.world.workloads.get(command.name)
    if workload is None or workload.stage is not Stage.ADMITTED or command.rank >= len(workload.run.pods):
        return
    pod = workload.run.pods[command.rank]
    if pod.node is not None and pod.phase in (PodPhase.PULLING, PodPhase.RUNNING):
        lifecycle.disrupt(state, workload, pod)


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
    c.Delete: _delete,
    c.SetActive: _set_active,
    c.SetPriority: _set_priority,
    c.SetQuotas: _set_quotas,
    c.SetNodes: _set_nodes,
    c.Cordon: _cordon,
    c.NodePower: _node_power,
    c.Sicken: _sicken,
    c.ExitPod: _exit_pod,
    c.EvictPod: _evict_pod,
    c.HoldQueue: _hold_queue,
}
