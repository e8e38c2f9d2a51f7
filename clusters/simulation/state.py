"""The world in motion: its objects, everything that is derived from them, and what has changed.

All indexes are rebuilt from the world alone, so that a world loaded from a store continues exactly as the one
that was saved. Rules live in the modules beside this one; they change the world only through these methods or
call :meth:`State.touch` after changing a workload.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import heapify, heappop, heappush

from clusters.simulation.holders import Holders
from clusters.simulation.placement import Floor
from clusters.simulation.quota import Ledger
from clusters.simulation.world import ALIVE, Queue, Shape, Spec, Stage, Workload, World

# Order of events inside one millisecond: facts first, then the gate, then the executor.
NODE_LOST, WORKLOAD, RETRY, CYCLE, ROUND = range(5)

Event = tuple[int, int, str]  # (time, kind, object name)


class WaitingLine:
    """The waiting workloads of one queue, by shape; inside a shape by creation."""

    __slots__ = ("_heaps", "_members")

    def __init__(self) -> None:
        self._heaps: dict[Shape, list[tuple[int, int, str]]] = {}
        self._members: dict[str, tuple[Shape, tuple[int, int, str]]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def add(self, workload: Workload) -> None:
        if workload.name not in self._members:
            shape = workload.shape
            entry = (workload.created_ms, workload.sequence, workload.name)
            self._members[workload.name] = (shape, entry)
            heappush(self._heaps.setdefault(shape, []), entry)

    def discard(self, name: str) -> None:
        self._members.pop(name, None)

    def first(self, shape: Shape) -> str | None:
        """The oldest workload of a shape. A shape without members is forgotten."""
        heap = self._heaps.get(shape, [])
        # Entries of workloads that left, or left and came back, are dropped here.
        while heap and self._members.get(heap[0][2]) != (shape, heap[0]):
            heappop(heap)
        if heap:
            return heap[0][2]
        self._heaps.pop(shape, None)
        return None

    def heads(self) -> Iterator[tuple[Shape, str]]:
        """The oldest workload of every shape."""
        for shape in list(self._heaps):
            name = self.first(shape)
            if name is not None:
                yield shape, name

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


def _admission_order(workload: Workload) -> tuple[int, int]:
    return (workload.run.admitted_ms if workload.runs else 0, workload.sequence)


class State:
    """A world, its indexes, its event heap and its change marks."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.events = 0  # handled so far by this object
        self.changed_nodes: set[str] = set()
        self.changed_queues: set[str] = set()
        self.changed_workloads: set[str] = set()
        self.removed_queues: set[str] = set()
        self.removed_workloads: set[str] = set()
        self.ledger = Ledger()
        self.floor = Floor(world.nodes)
        self.waiting: dict[str, WaitingLine] = {}
        self.holders: dict[tuple[str, str], Holders] = {}  # by (queue, node group)
        self.unplaced: dict[str, Workload] = {}  # pods exist, no nodes yet
        self._due: dict[str, int] = {}
        self._heap: list[Event] = []
        self._rebuild()

    def _rebuild(self) -> None:
        world = self.world
        self.ledger.set_quotas(world.queues, world.pool)
        for workload in sorted(world.workloads.values(), key=_admission_order):
            self._index(workload)
            due = workload.next_due()
            if due is not None:
                self._due[workload.name] = due
                self._heap.append((due, WORKLOAD, workload.name))
        for node in world.nodes.values():
            if node.lost_ms is not None:
                self._heap.append((node.lost_ms, NODE_LOST, node.name))
        for due, kind in ((world.retry_ms, RETRY), (world.cycle_ms, CYCLE), (world.round_ms, ROUND)):
            if due is not None:
                self._heap.append((due, kind, ""))
        heapify(self._heap)

    def _index(self, workload: Workload) -> None:
        if workload.waits and self._may_enter(workload):
            self.line(workload.spec.queue).add(workload)
        if workload.holds_quota:
            self._count_quota(workload, 1)
            if workload.stage is Stage.ADMITTED and workload.run.pods and workload.run.scheduled_ms is None:
                self.unplaced[workload.name] = workload
        for run in workload.runs:
            for pod in run.pods:
                if pod.node is not None and pod.phase in ALIVE:
                    self.floor.occupy(pod.node, workload)
                    if pod.stops_ms is not None:
                        self.floor.mark_ending(pod.node, workload.spec.cards_per_pod)

    # time and events

    @property
    def now(self) -> int:
        return self.world.now_ms

    def pop_until(self, until_ms: int) -> Event | None:
        """The next event that still stands, up to and including ``until_ms``; moves the clock to it."""
        heap = self._heap
        world = self.world
        while heap and heap[0][0] <= until_ms:
            event = heappop(heap)
            at, kind, name = event
            if kind == WORKLOAD:
                stands = self._due.get(name) == at
            elif kind == NODE_LOST:
                node = world.nodes.get(name)
                stands = node is not None and node.lost_ms == at
            else:
                planned = world.retry_ms if kind == RETRY else world.cycle_ms if kind == CYCLE else world.round_ms
                stands = at == planned
            if stands:
                if kind == WORKLOAD:
                    del self._due[name]
                world.now_ms = max(world.now_ms, at)
                self.events += 1
                return event
        return None

    def plan_node_lost(self, name: str, at_ms: int) -> None:
        heappush(self._heap, (at_ms, NODE_LOST, name))

    def request_cycle(self) -> None:
        """An admission cycle soon, unless one is planned."""
        if self.world.cycle_ms is None:
            self.world.cycle_ms = self.now + max(1, self.world.latencies.cycle)
            heappush(self._heap, (self.world.cycle_ms, CYCLE, ""))

    def request_retry(self) -> None:
        """Something in the cohort changed: set-aside workloads come back soon."""
        self.request_cycle()
        if self.world.retry_ms is None:
            self.world.retry_ms = self.now + self.world.latencies.retry
            heappush(self._heap, (self.world.retry_ms, RETRY, ""))

    def request_round(self) -> None:
        """Room for pods may have come free: the executor looks at the waiting gangs soon."""
        if self.world.round_ms is None and self.unplaced:
            self.world.round_ms = self.now + self.world.latencies.round
            heappush(self._heap, (self.world.round_ms, ROUND, ""))

    # objects

    def touch(self, workload: Workload) -> None:
        """Mark a workload as changed and plan its next event."""
        name = workload.name
        self.changed_workloads.add(name)
        due = workload.next_due()
        if due is None:
            self._due.pop(name, None)
        elif self._due.get(name) != due:
            self._due[name] = due
            heappush(self._heap, (due, WORKLOAD, name))

    def touch_queue(self, queue: Queue) -> None:
        self.changed_queues.add(queue.name)

    def touch_node(self, name: str) -> None:
        self.changed_nodes.add(name)

    def add(self, workload: Workload) -> None:
        self.world.workloads[workload.name] = workload
        self.removed_workloads.discard(workload.name)
        self.touch(workload)

    def remove(self, workload: Workload) -> None:
        name = workload.name
        del self.world.workloads[name]
        self._due.pop(name, None)
        self.changed_workloads.discard(name)
        self.removed_workloads.add(name)

    def line(self, queue: str) -> WaitingLine:
        line = self.waiting.get(queue)
        if line is None:
            line = self.waiting[queue] = WaitingLine()
        return line

    def enqueue(self, workload: Workload) -> None:
        """Back into its queue at the place its creation gives it, if it waits at all."""
        if workload.waits and self._may_enter(workload):
            self.line(workload.spec.queue).add(workload)
            self.request_cycle()

    def dequeue(self, workload: Workload) -> None:
        """Out of its queue: admitted, held or deleted."""
        self._leave_line(workload)
        self.request_cycle()

    def rerank(self, workload: Workload, priority: int) -> None:
        """Another priority for a workload that waits or holds quota; everybody is tried again by the new order."""
        self._respecify(workload, replace(workload.spec, priority=priority))

    def steer(self, workload: Workload, avoid: tuple[str, ...]) -> None:
        """Other nodes to avoid for a workload that waits; its place in the queue is kept."""
        self._respecify(workload, replace(workload.spec, avoid=avoid))

    def _respecify(self, workload: Workload, spec: Spec) -> None:
        waits = workload.waits
        holders = self._holders_of(workload)
        if waits:
            self._leave_line(workload)  # while its shape is still the old one
        if holders is not None:
            holders.remove(workload)
        workload.spec = spec
        if holders is not None:
            holders.insert(workload)
        if waits:
            self.enqueue(workload)
        self.touch(workload)
        self.request_retry()

    def _leave_line(self, workload: Workload) -> None:
        """A sticky head lets go of its queue; with the last of a shape goes what the gate said about it."""
        if workload.victims:
            workload.victims = 0
            self.touch(workload)
        line = self.line(workload.spec.queue)
        line.discard(workload.name)
        queue = self.world.queues.get(workload.spec.queue)
        if queue is None:
            return
        if queue.sticky == workload.name:
            queue.sticky = None
            self.touch_queue(queue)
        if workload.shape in queue.shapes and line.first(workload.shape) is None:
            del queue.shapes[workload.shape]
            self.touch_queue(queue)

    def _may_enter(self, workload: Workload) -> bool:
        """Its queue and local queue are there, and the local queue is not held."""
        spec = workload.spec
        queue = self.world.queues.get(spec.queue)
        if queue is None or spec.local_queue in queue.held_local_queues:
            return False
        return not spec.local_queue or spec.local_queue in queue.local_queues

    def queues_changed(self) -> None:
        """Queues, local queues or quotas are new: everybody waits where they belong now."""
        self.ledger.set_quotas(self.world.queues, self.world.pool)
        for workload in self.world.workloads.values():
            if workload.waits:
                if self._may_enter(workload):
                    self.line(workload.spec.queue).add(workload)
                else:
                    self._leave_line(workload)
        self.request_retry()

    # quota

    def take_quota(self, workload: Workload) -> None:
        self._count_quota(workload, 1)

    def start_leaving(self, workload: Workload) -> None:
        """An admitted workload was told to leave; it holds its quota a little longer."""
        holders = self._holders_of(workload)
        if holders is not None:
            holders.remove(workload)
        workload.stage = Stage.EVICTING
        if holders is not None:
            holders.add(workload)

    def _holders_of(self, workload: Workload) -> Holders | None:
        """Where a workload that holds quota is listed."""
        spec = workload.spec
        if not workload.holds_quota or not spec.cards or spec.node_group is None:
            return None
        return self.holders.get((spec.queue, spec.node_group))

    def free_quota(self, workload: Workload) -> None:
        self._count_quota(workload, -1)
        self.request_retry()

    def _count_quota(self, workload: Workload, sign: int) -> None:
        spec = workload.spec
        if not spec.cards or spec.node_group is None:
            return
        self.ledger.hold(spec.queue, spec.node_group, sign * spec.cards)
        holders = self.holders.setdefault((spec.queue, spec.node_group), Holders())
        if sign > 0:
            holders.add(workload)
        else:
            holders.remove(workload)
        if self.world.topology_aware:
            self.floor.promise(workload.run.nodes, sign * spec.cards_per_pod)
