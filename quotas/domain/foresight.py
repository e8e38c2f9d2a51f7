"""What the gate would do with today's jobs under a plan, by quota alone: who starts, and whom that costs what is lent.

It follows the gate's own order (`clusters.simulation.admission`) and shares its ledger, but looks at no nodes, ends no
job and lets nobody of the own team give way: those do not depend on how a cluster is divided. Pure.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge

from clusters.simulation.quota import Ledger
from clusters.simulation.world import Limits, Queue
from quotas.domain.plan import TAKES_UP_TO, Division, SharedOut, divide


@dataclass(frozen=True, slots=True)
class Holding:
    """Cards that one job (of a service: one replica) holds."""

    job_ulid: str
    queue: str
    group: str
    cards: int
    priority: int
    admitted_at: float  # seconds; the newest loan is taken back first

    @property
    def claim(self) -> tuple[int, float, str]:
        """The order in which holdings are taken: lowest priority, newest, by name."""
        return self.priority, -self.admitted_at, self.job_ulid


@dataclass(frozen=True, slots=True)
class Waiting:
    """Cards that one job (of a service: one replica) waits for."""

    job_ulid: str
    queue: str
    group: str
    cards: int
    priority: int
    queued_at: float  # seconds

    @property
    def place(self) -> tuple[int, float, str]:
        """The order of a queue: highest priority, then first come."""
        return -self.priority, self.queued_at, self.job_ulid


@dataclass(frozen=True, slots=True)
class Taken:
    """A holding that is taken back at once, and the job that gets further by it."""

    holding: Holding
    by: Waiting


@dataclass(frozen=True, slots=True)
class Foresight:
    """What happens at once under a plan."""

    started: tuple[Waiting, ...]
    taken: tuple[Taken, ...]
    returnable: tuple[Holding, ...]
    """What is held beyond a team's own share, in the order in which it would be taken back if its owners asked."""


def foresee(division: Division, holdings: Iterable[Holding], waiting: Iterable[Waiting]) -> Foresight:
    """Let the waiting jobs of all queues come to the gate, one head of each queue at a time.

    Who was refused is not asked again: what is taken back is taken for somebody else.
    """
    gate = _Gate(division, list(holdings))
    lines = _lines(waiting)
    while lines:
        for head in sorted((line[0] for line in lines.values()), key=gate.order):
            line = lines[head.queue]
            line.popleft()
            if not gate.lets_in(head) and division.plan.queue(head.queue).strict:
                line.clear()
        for line in lines.values():
            while line and gate.is_hopeless(line[0]):
                line.popleft()
        lines = {name: line for name, line in lines.items() if line}
    shared_out = divide(division)
    return Foresight(tuple(gate.started), tuple(gate.taken), tuple(returnable(shared_out, gate.holdings())))


def returnable(shared_out: SharedOut, holdings: Iterable[Holding]) -> list[Holding]:
    """Of each queue, what would go before it is back at its own share, in the order of the gate."""
    held: dict[tuple[str, str], int] = defaultdict(int)
    of_place: dict[tuple[str, str], list[Holding]] = defaultdict(list)
    for holding in holdings:
        held[holding.queue, holding.group] += holding.cards
        of_place[holding.queue, holding.group].append(holding)
    found = []
    for place, cards in held.items():
        beyond = cards - shared_out.part(*place).nominal
        for holding in sorted(of_place[place], key=lambda each: each.claim) if beyond > 0 else ():
            if beyond <= 0:
                break
            found.append(holding)
            beyond -= holding.cards
    return sorted(found, key=lambda holding: holding.claim)


def _lines(waiting: Iterable[Waiting]) -> dict[str, deque[Waiting]]:
    by_queue: dict[str, list[Waiting]] = defaultdict(list)
    for each in waiting:
        by_queue[each.queue].append(each)
    return {name: deque(sorted(line, key=lambda each: each.place)) for name, line in sorted(by_queue.items())}


class _Gate:
    """Quotas, what is held of them, and what was decided so far."""

    def __init__(self, division: Division, holdings: list[Holding]) -> None:
        self.started: list[Waiting] = []
        self.taken: list[Taken] = []
        self._plan = division.plan
        self._ledger = _ledger(division)
        self._lent: dict[str, dict[str, list[Holding]]] = defaultdict(dict)  # group -> queue -> in the order of claims
        self._refused: dict[tuple[str, str], int] = {}  # place -> fewest cards that did not fit
        for holding in sorted(holdings, key=lambda each: each.claim):
            self._ledger.hold(holding.queue, holding.group, holding.cards)
            self._lent[holding.group].setdefault(holding.queue, []).append(holding)

    def order(self, head: Waiting) -> tuple[bool, tuple[int, float, str]]:
        """Who does not borrow comes first."""
        return self._ledger.would_borrow(head.queue, head.group, head.cards), head.place

    def holdings(self) -> list[Holding]:
        """What was not taken."""
        return [each for by_queue in self._lent.values() for found in by_queue.values() for each in found]

    def is_hopeless(self, waiting: Waiting) -> bool:
        """No more cards than these did not fit at the same place."""
        fewest = self._refused.get((waiting.queue, waiting.group))
        return fewest is not None and waiting.cards >= fewest

    def lets_in(self, head: Waiting) -> bool:
        """Give the head its cards, after taking back what that needs. False where that is not enough."""
        ledger = self._ledger
        taken = [] if head.cards <= ledger.available(head.queue, head.group) else self._victims(head)
        if head.cards > ledger.capacity(head.queue, head.group) or taken is None:
            self._refused[head.queue, head.group] = head.cards
            return False
        for victim in taken:
            ledger.hold(victim.queue, victim.group, -victim.cards)
            self._lent[victim.group][victim.queue].remove(victim)
            self.taken.append(Taken(victim, head))
        ledger.hold(head.queue, head.group, head.cards)
        self.started.append(head)
        return True

    def _victims(self, head: Waiting) -> list[Holding] | None:
        """Whoever has to give back for this head, none to spare; None where that does not help or is not allowed."""
        ledger, rules = self._ledger, self._plan.queue(head.queue)
        borrows = ledger.would_borrow(head.queue, head.group, head.cards)
        highest = TAKES_UP_TO[rules.rank]
        if not rules.reclaims or (borrows and highest is None):
            return None
        removed: list[Holding] = []
        for victim in self._candidates(head):
            is_low_enough = highest is not None and victim.priority < head.priority and victim.priority <= highest
            if (borrows and not is_low_enough) or not ledger.borrows(victim.queue, victim.group):
                continue
            ledger.hold(victim.queue, victim.group, -victim.cards)
            removed.append(victim)
            if head.cards <= ledger.available(head.queue, head.group):
                break
        fits = head.cards <= ledger.available(head.queue, head.group)
        needed = self._needed(head, removed) if fits else removed
        for victim in needed:
            ledger.hold(victim.queue, victim.group, victim.cards)
        return needed if fits else None

    def _needed(self, head: Waiting, removed: list[Holding]) -> list[Holding]:
        """Of those removed, without whom the head would not fit; the others get their cards again."""
        needed = list(removed)
        for victim in reversed(removed[:-1]):
            self._ledger.hold(victim.queue, victim.group, victim.cards)
            if head.cards <= self._ledger.available(head.queue, head.group):
                needed.remove(victim)
            else:
                self._ledger.hold(victim.queue, victim.group, -victim.cards)
        return needed

    def _candidates(self, head: Waiting) -> Iterator[Holding]:
        others = (
            found
            for queue, found in self._lent[head.group].items()
            if queue != head.queue and self._ledger.borrows(queue, head.group)
        )
        return merge(*others, key=lambda holding: holding.claim)


def _ledger(division: Division) -> Ledger:
    shared_out = divide(division)
    queues = {}
    for name in division.plan.queues:
        parts = {group: shared_out.part(name, group) for group in division.cards}
        queues[name] = Queue(
            name,
            quotas={group: part.nominal for group, part in parts.items()},
            limits={
                group: Limits(part.borrow_limit, part.lend_limit)
                for group, part in parts.items()
                if (part.borrow_limit, part.lend_limit) != (None, None)
            },
        )
    ledger = Ledger()
    ledger.set_quotas(queues, dict(shared_out.pool))
    return ledger
