"""The gate: admission cycles over the heads of all team queues.

One cycle takes one head per queue, decides about each against the same state, orders them (who does not borrow,
priority, creation) and then goes through them one after the other, each seeing what the ones before it took.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from clusters.contract import WaitCode
from clusters.simulation import explain, lifecycle
from clusters.simulation.preemption import Target, Trial, find_targets
from clusters.simulation.state import State
from clusters.simulation.world import Hold, Note, Queue, Reclaim, Shape, ShapeState, Stage, Strategy, Workload


class Mode(Enum):
    FIT = auto()
    PREEMPT = auto()  # fits once the targets are gone; without targets nobody can be evicted for it
    NO_FIT = auto()


@dataclass(slots=True)
class Entry:
    """A head and the gate's decision about it."""

    workload: Workload
    queue: Queue
    mode: Mode
    borrows: bool = False
    nodes: list[str] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    word: Note | None = None

    @property
    def order(self) -> tuple[bool, tuple[int, int, int]]:
        return (self.borrows, self.workload.order)


def run_cycle(state: State) -> None:
    """One admission cycle; asks for the next one as long as cycles get somewhere."""
    entries = [nominate(state, workload, queue) for queue, workload in _heads(state)]
    entries.sort(key=lambda entry: entry.order)
    cycle = _Cycle(state)
    progress = False
    for entry in entries:
        progress |= cycle.process(entry)
    cycle.close()
    if progress:
        state.request_cycle()


def unpark(state: State) -> None:
    """Set-aside workloads of every queue are tried again."""
    for queue in state.world.queues.values():
        for known in queue.shapes.values():
            if known.parked:
                known.parked = False
                state.touch_queue(queue)
    state.request_cycle()


def _heads(state: State) -> list[tuple[Queue, Workload]]:
    found = []
    workloads = state.world.workloads
    for name in sorted(state.world.queues):
        queue = state.world.queues[name]
        line = state.waiting.get(name)
        if queue.hold is not Hold.NONE or not line:
            continue
        sticky = workloads.get(queue.sticky or "")
        if sticky is not None and not _is_parked(queue, sticky.shape):
            found.append((queue, sticky))
            continue
        firsts = [workloads[first] for shape, first in line.heads() if not _is_parked(queue, shape)]
        if firsts:
            found.append((queue, min(firsts, key=lambda workload: workload.order)))
    return found


def _is_parked(queue: Queue, shape: Shape) -> bool:
    state = queue.shapes.get(shape)
    return state is not None and state.parked


def nominate(state: State, workload: Workload, queue: Queue) -> Entry:
    """What the gate would do with this workload as things stand."""
    spec = workload.spec
    group = spec.node_group
    ledger = state.ledger
    if not spec.cards or group is None:
        return Entry(workload, queue, Mode.FIT)
    if not ledger.offers(queue.name, group):
        return _refuse(state, workload, queue, WaitCode.NOT_OFFERED)
    if spec.cards > ledger.capacity(queue.name, group):
        return _refuse(state, workload, queue, WaitCode.NEVER_FITS)
    borrows = ledger.would_borrow(queue.name, group, spec.cards)
    quota_fits = spec.cards <= ledger.available(queue.name, group)
    if quota_fits:
        nodes = _choose(state, workload)
        if nodes is not None:
            return Entry(workload, queue, Mode.FIT, borrows, nodes)
    elif spec.cards > ledger.nominal(queue.name, group) and not queue.borrow_preempts:
        return _refuse(state, workload, queue, None, borrows)
    if state.world.topology_aware and state.floor.choose(spec, empty=True) is None:
        return _refuse(state, workload, queue, WaitCode.PLACES, borrows)
    entry = Entry(workload, queue, Mode.PREEMPT, borrows, targets=find_targets(state, workload, queue))
    if entry.targets:
        _look_past_targets(state, entry, group)
    else:
        entry.word = explain.note(ledger, queue, spec, WaitCode.PLACES if quota_fits else None)
    return entry


def _refuse(state: State, workload: Workload, queue: Queue, code: WaitCode | None, borrows: bool = False) -> Entry:
    word = explain.note(state.ledger, queue, workload.spec, code)
    return Entry(workload, queue, Mode.NO_FIT, borrows, word=word)


def _choose(state: State, workload: Workload) -> list[str] | None:
    """Nodes by the gate; an empty list where choosing them is the executor's business."""
    spec = workload.spec
    if not state.world.topology_aware or spec.node_group is None:
        return []
    return state.floor.choose(spec)


def _look_past_targets(state: State, entry: Entry, group: str) -> None:
    """Borrowing and nodes of an entry as they will be once its targets are gone."""
    trial = Trial(state)
    for target in entry.targets:
        trial.remove(target.workload)
    entry.borrows = state.ledger.would_borrow(entry.queue.name, group, entry.workload.spec.cards)
    entry.nodes = _choose(state, entry.workload) or []
    for target in entry.targets:
        trial.restore(target.workload)


class _Cycle:
    """The second half of a cycle: entries one after the other."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._preempted: dict[str, Workload] = {}
        self._reserved: list[tuple[Entry, int]] = []  # counted for this cycle only
        self._untouched = True  # nothing was taken yet: what was nominated still stands

    def process(self, entry: Entry) -> bool:
        """Act on one entry. True if another cycle may get further."""
        room = self._room(entry)
        if room is WaitCode.PLACES:
            entry = nominate(self._state, entry.workload, entry.queue)
            room = self._room(entry)
        if entry.mode is Mode.NO_FIT or (entry.mode is Mode.PREEMPT and not entry.targets):
            if entry.mode is Mode.PREEMPT and entry.queue.reclaim is not Reclaim.ANY:
                self._set_aside(entry)
            return self._park(entry)
        if any(target.workload.name in self._preempted for target in entry.targets) or room is not None:
            return False  # an earlier entry was in the way: tried again as soon as that one got further
        if entry.mode is Mode.FIT:
            self._untouched = False
            lifecycle.admit(self._state, entry.workload, entry.nodes)
            return True
        self._reserve(entry, entry.workload.spec.cards)
        return self._preempt(entry)

    def close(self) -> None:
        for entry, cards in self._reserved:
            self._count(entry, cards, -1)

    def _room(self, entry: Entry) -> WaitCode | None:
        """What is missing for an entry after the ones before it, its victims and theirs not counted."""
        spec = entry.workload.spec
        if self._untouched or not spec.cards or spec.node_group is None or entry.mode is Mode.NO_FIT:
            return None
        state = self._state
        leaving = dict(self._preempted)
        leaving.update((target.workload.name, target.workload) for target in entry.targets)
        trial = Trial(state)
        for victim in leaving.values():
            trial.remove(victim)
        missing = None
        if spec.cards > state.ledger.available(entry.queue.name, spec.node_group):
            missing = WaitCode.QUOTA
        elif entry.nodes and not state.floor.has_promise_room(entry.nodes, spec.cards_per_pod):
            missing = WaitCode.PLACES
        for victim in leaving.values():
            trial.restore(victim)
        return missing

    def _reserve(self, entry: Entry, cards: int) -> None:
        self._untouched = False
        self._count(entry, cards, 1)
        self._reserved.append((entry, cards))

    def _count(self, entry: Entry, cards: int, sign: int) -> None:
        spec = entry.workload.spec
        if spec.node_group is not None:
            self._state.ledger.hold(entry.queue.name, spec.node_group, sign * cards)
            self._state.floor.promise(entry.nodes, sign * spec.cards_per_pod)

    def _set_aside(self, entry: Entry) -> None:
        """A queue that cannot always reclaim keeps what it could still take, so that others do not."""
        spec = entry.workload.spec
        group = spec.node_group
        if group is None:
            return
        cards = spec.cards
        if not entry.borrows:
            ledger = self._state.ledger
            cards = max(0, min(cards, ledger.nominal(entry.queue.name, group) - ledger.used(entry.queue.name, group)))
        self._reserve(entry, cards)

    def _park(self, entry: Entry) -> bool:
        queue = entry.queue
        assert entry.word is not None
        parked = queue.strategy is Strategy.BEST_EFFORT
        known = queue.shapes.get(entry.workload.shape)
        if known is None or known.note != entry.word or known.parked != parked:
            queue.shapes[entry.workload.shape] = ShapeState(entry.word, parked)
            self._state.touch_queue(queue)
        if entry.workload.victims:
            entry.workload.victims = 0
            self._state.touch(entry.workload)
        return parked

    def _preempt(self, entry: Entry) -> bool:
        workload = entry.workload
        issued = False
        for target in entry.targets:
            victim = target.workload
            self._preempted[victim.name] = victim
            if victim.stage is Stage.ADMITTED:
                lifecycle.evict(self._state, victim, target.cause, by=workload.spec.job_ulid)
                issued = True
        if workload.victims != len(entry.targets):
            workload.victims = len(entry.targets)
            self._state.touch(workload)
        if entry.queue.strategy is Strategy.BEST_EFFORT and entry.queue.sticky != workload.name:
            entry.queue.sticky = workload.name
            self._state.touch_queue(entry.queue)
        return issued
