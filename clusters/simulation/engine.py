"""The engine: a world, commands, and time that only moves when told to."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.simulation import admission, executor, lifecycle, operations
from clusters.simulation.codec import world_from_dict, world_to_dict
from clusters.simulation.commands import Command
from clusters.simulation.state import CYCLE, NODE_LOST, RETRY, WORKLOAD, State
from clusters.simulation.world import World


@dataclass(frozen=True, slots=True)
class Changes:
    """Names of the objects that were touched or removed. The header is always to be written."""

    nodes: frozenset[str]
    queues: frozenset[str]
    workloads: frozenset[str]
    removed_queues: frozenset[str]
    removed_workloads: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.nodes or self.queues or self.workloads or self.removed_queues or self.removed_workloads)


class Engine:
    """Runs one world. Splitting a run, or saving and loading the world in between, changes nothing.

    The engine changes the world it was given; :meth:`snapshot` gives an independent one.
    """

    def __init__(self, world: World) -> None:
        self._state = State(world)

    @property
    def world(self) -> World:
        return self._state.world

    @property
    def now_ms(self) -> int:
        return self._state.now

    @property
    def events(self) -> int:
        """Events handled by this object so far."""
        return self._state.events

    def apply(self, command: Command) -> None:
        """Run to the command's time and carry it out; a command whose time has passed is carried out now."""
        self.run_to(command.at_ms)
        operations.apply(self._state, command)

    def run_to(self, until_ms: int) -> None:
        """Let everything happen that is planned up to and including ``until_ms``. A past time does nothing."""
        state = self._state
        while (event := state.pop_until(until_ms)) is not None:
            _, kind, name = event
            if kind == WORKLOAD:
                workload = state.world.workloads[name]
                lifecycle.advance(state, workload)
                if name in state.unplaced:
                    executor.place_new(state, workload)
            elif kind == CYCLE:
                state.world.cycle_ms = None
                admission.run_cycle(state)
            elif kind == RETRY:
                state.world.retry_ms = None
                admission.unpark(state)
            elif kind == NODE_LOST:
                state.world.nodes[name].lost_ms = None
                state.touch_node(name)
                lifecycle.lose_pods(state, name)
            else:
                state.world.round_ms = None
                executor.place_waiting(state)
        state.world.now_ms = max(state.world.now_ms, until_ms)

    def drain_changes(self) -> Changes:
        """What was touched since the last call, and forget it."""
        state = self._state
        changes = Changes(
            frozenset(state.changed_nodes),
            frozenset(state.changed_queues),
            frozenset(state.changed_workloads),
            frozenset(state.removed_queues),
            frozenset(state.removed_workloads),
        )
        for names in (
            state.changed_nodes,
            state.changed_queues,
            state.changed_workloads,
            state.removed_queues,
            state.removed_workloads,
        ):
            names.clear()
        return changes

    def snapshot(self) -> Engine:
        """An engine over a deep copy of the world; neither ever touches the other."""
        return Engine(world_from_dict(world_to_dict(self.world)))
