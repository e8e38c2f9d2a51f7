"""What the gate decides about one job after the other, on counts alone.

It follows the simulation of a cluster (`clusters.simulation.admission` and `preemption`) and shares its ledger: quota,
then places on nodes, then who has to leave. A property test holds both to the same answers. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from heapq import merge

from clusters.simulation.quota import Ledger
from clusters.simulation.world import Limits, Queue
from quotas.domain.blocks import Blocks
from quotas.domain.live import Holding, Live, Taken, Verdict, Waiting
from quotas.domain.plan import TAKES_UP_TO, Division, divide

Refusal = tuple[int, int, Verdict]  # pods, cards of a pod


class Gate:
    """Quotas and nodes, what is held of them, and what was decided so far."""

    def __init__(self, division: Division, live: Live) -> None:
        self.taken: list[Taken] = []
        self.ledger = ledger_of(division)
        self.blocks = Blocks(live.rooms)
        self.by_topology = live.by_topology
        self.plan = division.plan
        self._held: dict[str, dict[str, list[Holding]]] = defaultdict(dict)  # group -> queue -> in the order of claims
        self._refused: dict[tuple[str, str], list[Refusal]] = defaultdict(list)
        for holding in sorted(live.holdings, key=lambda each: each.claim):
            self.ledger.hold(holding.queue, holding.group, holding.cards)
            self._held[holding.group].setdefault(holding.queue, []).append(holding)

    def order(self, head: Waiting) -> tuple[bool, tuple[int, float, str]]:
        """Who does not borrow comes first."""
        return self.ledger.would_borrow(head.queue, head.group, head.cards), head.place

    def holdings(self) -> list[Holding]:
        """What was not taken."""
        return [each for by_queue in self._held.values() for found in by_queue.values() for each in found]

    def held_by(self, queue: str, group: str) -> list[Holding]:
        """In the order of claims."""
        return self._held[group].get(queue, [])

    def others(self, queue: str, group: str) -> list[list[Holding]]:
        """What the queues hold that are above their own share, but for this one."""
        return [
            found
            for name, found in self._held[group].items()
            if name != queue and found and self.ledger.borrows(name, group)
        ]

    def refused_before(self, waiting: Waiting) -> Verdict | None:
        """What was said to a smaller job of the same place, which came before because it goes first."""
        for pods, size, verdict in self._refused[waiting.queue, waiting.group]:
            if waiting.pods >= pods and waiting.size >= size:
                return Verdict.NEVER if self._is_impossible(waiting) else verdict
        return None

    def _is_impossible(self, waiting: Waiting) -> bool:
        """More than the team can ever have, or than the gate would find nodes for if nobody held anything."""
        if waiting.cards > self.ledger.capacity(waiting.queue, waiting.group):
            return True
        return self.by_topology and not self._could_fit(waiting)

    def _could_fit(self, waiting: Waiting) -> bool:
        return self.blocks.could_fit(waiting.group, waiting.pods, waiting.size)

    def decide(self, head: Waiting) -> Verdict:
        """Give the head its cards, after taking back what that needs; else say what it waits for."""
        victims = self.victims(head)
        if isinstance(victims, Verdict):
            self._refused[head.queue, head.group].append((head.pods, head.size, victims))
            return victims
        for victim in victims:
            self.remove(victim)
            self._held[victim.group][victim.queue].remove(victim)
            self.taken.append(Taken(victim, head))
        self.ledger.hold(head.queue, head.group, head.cards)
        nodes = self.blocks.choose(head.group, head.pods, head.size)
        for name in nodes or ():
            self.blocks.move(head.group, name, head.size)
        if nodes is None and not self.by_topology:
            # it holds quota from now on, and has no node to run on
            return Verdict.PLACES if self._could_fit(head) else Verdict.NEVER
        return Verdict.TAKES if victims else Verdict.NOW

    def victims(self, head: Waiting) -> list[Holding] | Verdict:
        """Whoever has to leave for this head, often nobody; a verdict where it is refused."""
        ledger, place = self.ledger, (head.queue, head.group)
        if self._is_impossible(head):
            return Verdict.NEVER
        has_quota = head.cards <= ledger.available(*place)
        if has_quota and self.has_place(head):
            return []
        takes_while_borrowing = TAKES_UP_TO[self.plan.queue(head.queue).rank] is not None
        if not has_quota and head.cards > ledger.nominal(*place) and not takes_while_borrowing:
            return Verdict.CARDS
        found = _Search(self, head).victims()
        return found or (Verdict.PLACES if has_quota else Verdict.CARDS)

    def has_place(self, head: Waiting) -> bool:
        """Where the gate does not look for nodes, it always has one."""
        return not self.by_topology or self.blocks.fits(head.group, head.pods, head.size)

    def remove(self, holding: Holding, sign: int = 1) -> None:
        """Count a holding out; with ``sign`` -1 in again."""
        self.ledger.hold(holding.queue, holding.group, -sign * holding.cards)
        for name, cards in holding.nodes:
            self.blocks.move(holding.group, name, -sign * cards)


class _Search:
    """One search for those who would have to leave for one head."""

    def __init__(self, gate: Gate, head: Waiting) -> None:
        self._gate, self._head, self._ledger = gate, head, gate.ledger
        rules = gate.plan.queue(head.queue)
        self._highest = TAKES_UP_TO[rules.rank]
        self._fits_nominal = not self._ledger.would_borrow(head.queue, head.group, head.cards)
        self._own = gate.held_by(head.queue, head.group)
        self._others = gate.others(head.queue, head.group) if rules.reclaims else []

    def victims(self) -> list[Holding]:
        """None to spare; nobody where that would not help or is not allowed."""
        for borrowing in self._attempts():
            if self._could_help(borrowing) and (found := self._minimal(borrowing)):
                return found
        return []

    def _attempts(self) -> tuple[bool, ...]:
        """Whether to try with borrowing, without, or both, and in which order."""
        place = self._head.queue, self._head.group
        is_full = self._ledger.used(*place) >= self._ledger.nominal(*place)
        if not self._others or (is_full and self._highest is None):
            return (True,)
        return (False, True) if self._highest is None and not self._fits_nominal else (True, False)

    def _could_help(self, borrowing: bool) -> bool:
        """Whether the cards of all candidates together would be enough: most searches end here."""
        free = self._ledger.available(self._head.queue, self._head.group)
        if free >= self._head.cards:
            return True
        free += sum(each.cards for each in self._own if each.priority < self._head.priority)
        for found in self._lenders(borrowing):
            free += sum(each.cards for each in found if self._may_take(each, borrowing))
        return free >= self._head.cards

    def _minimal(self, borrowing: bool) -> list[Holding]:
        """Count candidates out until the head fits, then in again whoever need not leave."""
        gate, removed, fits = self._gate, [], False
        for holding in self._candidates(borrowing):
            if self._may_take(holding, borrowing) and self._is_fair(holding):
                gate.remove(holding)
                removed.append(holding)
                if fits := self._fits(borrowing):
                    break
        needed = list(removed) if fits else []
        for holding in reversed(needed[:-1]):
            gate.remove(holding, -1)
            if self._fits(borrowing):
                needed.remove(holding)
            else:
                gate.remove(holding)
        for holding in needed or removed:
            gate.remove(holding, -1)
        return needed

    def _lenders(self, borrowing: bool) -> list[list[Holding]]:
        """Others of whom this attempt may take something."""
        may_take = self._fits_nominal or self._highest is not None or not borrowing
        return self._others if may_take else []

    def _candidates(self, borrowing: bool) -> Iterator[Holding]:
        """Who leaves anyway first, others before the own team, low priority first, newest first."""
        own = [each for each in self._own if each.priority < self._head.priority]
        leaving = [each for each in own if each.leaving]
        for holding in merge(*self._lenders(borrowing), key=lambda each: each.claim):
            if not holding.leaving:
                yield from leaving
                leaving = []
            yield holding
        yield from leaving
        yield from (each for each in own if not each.leaving)

    def _may_take(self, holding: Holding, borrowing: bool) -> bool:
        if holding.queue == self._head.queue or self._fits_nominal:
            return True
        is_low_enough = (
            self._highest is not None and holding.priority < self._head.priority and holding.priority <= self._highest
        )
        return is_low_enough or not borrowing

    def _is_fair(self, holding: Holding) -> bool:
        """Nobody goes below their own share for others."""
        return holding.queue == self._head.queue or self._ledger.borrows(holding.queue, holding.group)

    def _fits(self, borrowing: bool) -> bool:
        head, ledger = self._head, self._ledger
        if not borrowing and ledger.would_borrow(head.queue, head.group, head.cards):
            return False
        return head.cards <= ledger.available(head.queue, head.group) and self._gate.has_place(head)


def ledger_of(division: Division) -> Ledger:
    """The quotas and limits of a division, with nothing held."""
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
