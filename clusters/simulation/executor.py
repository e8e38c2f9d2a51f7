"""The executor: gives nodes to admitted gangs, all pods or none.

Where the gate chose the nodes, the executor only waits until the gang's places on them are free. Otherwise it
packs gangs onto the fullest nodes that still take them, in order of priority and admission. A gang that does
not fit keeps its admission and does not stand in the way of the next one.
"""

from __future__ import annotations

from clusters.contract import EvictionCause
from clusters.simulation import lifecycle
from clusters.simulation.state import State
from clusters.simulation.world import Workload


def place_new(state: State, workload: Workload) -> None:
    """The pods of one gang have just been created."""
    if workload.run.nodes:
        _place_as_chosen(state, workload)
    else:
        place_waiting(state)  # those that wait longer may go first


def place_waiting(state: State) -> None:
    """One round over all admitted gangs without nodes."""
    misfits: dict[tuple[object, ...], bool] = {}  # what was asked for -> whether ending pods are in the way
    waiting = sorted(state.unplaced.values(), key=lambda w: (-w.spec.priority, w.run.admitted_ms, w.sequence))
    for workload in waiting:
        if workload.run.nodes:
            _place_as_chosen(state, workload)
            continue
        spec = workload.spec
        asked = (spec.node_group, spec.pods, spec.cards_per_pod, spec.cpu_millis, spec.memory_bytes, spec.avoid)
        if asked not in misfits:
            nodes = state.floor.pack(workload)
            if nodes is not None:
                lifecycle.schedule(state, workload, nodes)
                continue
            # Room only shrinks within a round, so the answer holds for every gang that asks for the same.
            misfits[asked] = state.floor.pack(workload, after_release=True) is not None
        _mark(state, workload, waiting_release=misfits[asked])


def _place_as_chosen(state: State, workload: Workload) -> None:
    """Nodes chosen by the gate: start together once all places are free there."""
    nodes = workload.run.nodes
    wanted = {name: workload.spec.cards_per_pod * nodes.count(name) for name in nodes}
    if any(state.world.nodes[name].down for name in wanted):
        lifecycle.evict(state, workload, EvictionCause.NODE_FAILURE)
        return
    if all(state.floor.free(name) >= need for name, need in wanted.items()):
        lifecycle.schedule(state, workload, nodes)
        return
    soon = all(state.floor.free(name, after_release=True) >= need for name, need in wanted.items())
    _mark(state, workload, waiting_release=soon)


def _mark(state: State, workload: Workload, *, waiting_release: bool) -> None:
    before = (workload.waiting_release, workload.unplaceable)
    workload.waiting_release, workload.unplaceable = waiting_release, not waiting_release
    if before != (workload.waiting_release, workload.unplaceable):
        state.touch(workload)
