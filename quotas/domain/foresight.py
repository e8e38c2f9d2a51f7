"""What would happen at once to today's jobs under a plan: who starts, whom that costs their cards, who waits for what.

Nobody knows how long jobs run, so no job ends here. Pure.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass

from quotas.domain.gate import Gate
from quotas.domain.live import Holding, Live, Taken, Verdict, Waiting
from quotas.domain.plan import Division, SharedOut, divide


@dataclass(frozen=True, slots=True)
class Foresight:
    """What happens at once under a plan."""

    verdicts: tuple[tuple[Waiting, Verdict], ...]
    """Of all that wait, in the order in which it was decided."""
    taken: tuple[Taken, ...]
    returnable: tuple[Holding, ...]
    """What is held beyond a team's own share, in the order in which it would be taken back if its owners asked."""

    @property
    def started(self) -> tuple[Waiting, ...]:
        return tuple(each for each, verdict in self.verdicts if verdict.starts)


def foresee(division: Division, live: Live) -> Foresight:
    """Let the waiting jobs of all queues come to the gate, one head of each queue at a time.

    Who was refused is not asked again: what is taken back is taken for somebody else.
    """
    gate = Gate(division, live)
    verdicts: list[tuple[Waiting, Verdict]] = []
    lines = _lines(live.waiting)
    while lines:
        for head in sorted((line[0] for line in lines.values()), key=gate.order):
            line = lines[head.queue]
            verdicts.append((line.popleft(), verdict := gate.decide(head)))
            if not verdict.starts and division.plan.queue(head.queue).strict:
                verdicts.extend((each, Verdict.BEHIND) for each in line)
                line.clear()
        for line in lines.values():
            while line and (refused := gate.refused_before(line[0])) is not None:
                verdicts.append((line.popleft(), refused))
        lines = {name: line for name, line in lines.items() if line}
    left = returnable(divide(division), gate.holdings())
    return Foresight(tuple(verdicts), tuple(gate.taken), tuple(left))


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
