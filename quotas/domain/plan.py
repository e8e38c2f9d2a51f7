"""How one cluster is divided between its teams: the plan in basis points, what may be wrong with it, and its cards.

Pure, integers only. Queues and node groups are named by their slugs. Percent becomes cards in one place, `divide`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from quotas.domain.shares import WHOLE, apportion, beside

STEP = 10
"""Basis points: what a person writes is not finer than 0.1 %."""
TAKES_UP_TO: tuple[int | None, ...] = (None, 150, 250, 350)
"""By rank: the highest priority that a team takes from borrowers while it borrows itself (decisions 11 and 22)."""
RANK_MAX = len(TAKES_UP_TO) - 1


@dataclass(frozen=True, slots=True)
class GroupPart:
    """One team's part of one node group, in basis points of the group. None = no limit."""

    basis_points: int = 0
    borrow_basis_points: int | None = None  # at most so much of others' cards
    lend_basis_points: int | None = None  # at most so much of its own to others


NO_PART = GroupPart()
PART_FIELDS = ("basis_points", "borrow_basis_points", "lend_basis_points")


@dataclass(frozen=True, slots=True)
class QueuePart:
    """One team queue: its rules, and its part of each node group.

    ``rank`` 0 takes only its own back. From 1 to 3 it may also, while it borrows, take from borrowers what their
    low, normal or high jobs hold, for a job of a higher priority.
    """

    rank: int = 0
    strict: bool = False
    reclaims: bool = True
    groups: Mapping[str, GroupPart] = field(default_factory=dict)

    def part(self, group: str) -> GroupPart:
        return self.groups.get(group, NO_PART)


NO_QUEUE = QueuePart()


@dataclass(frozen=True, slots=True)
class Plan:
    """All team queues of a cluster. What is left of 100 % of a group is the common pool (decision 55)."""

    queues: Mapping[str, QueuePart]

    def queue(self, name: str) -> QueuePart:
        return self.queues.get(name, NO_QUEUE)

    def points(self, group: str) -> dict[str, int]:
        """Basis points of a node group by queue."""
        return {name: queue.part(group).basis_points for name, queue in self.queues.items()}


def with_points(plan: Plan, points: Mapping[str, Mapping[str, int]]) -> Plan:
    """The plan with other basis points by group and queue; limits and rules stay."""
    queues = {}
    for name, queue in plan.queues.items():
        groups = dict(queue.groups)
        for group, by_queue in points.items():
            if name in by_queue:
                groups[group] = replace(queue.part(group), basis_points=by_queue[name])
        queues[name] = replace(queue, groups=groups)
    return Plan(queues)


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """One thing that is wrong. ``field`` is a name of QueuePart or GroupPart; ``given`` what was asked for."""

    code: str
    field: str
    given: int
    queue: str = ""
    group: str = ""


def problems(plan: Plan, before: Plan, *, queues: Iterable[str], groups: Iterable[str]) -> list[PlanProblem]:
    """Everything that is wrong with ``plan``; ``before`` is what holds now, whose values may stay as they are."""
    known_queues, known_groups = set(queues), sorted(groups)
    found: list[PlanProblem] = []
    for name, queue in plan.queues.items():
        if name not in known_queues:
            found.append(PlanProblem("unknown_team", "queue", 0, name))
            continue
        found.extend(_rule_problems(name, queue))
        for group, part in queue.groups.items():
            if group not in known_groups:
                found.append(PlanProblem("unknown_group", "group", 0, name, group))
            else:
                found.extend(_part_problems(name, group, part, before.queue(name).part(group)))
    for group in known_groups:
        points = [share for name, share in plan.points(group).items() if name in known_queues]
        given = sum(points)
        if given > WHOLE and min(points) >= 0:
            found.append(PlanProblem("above_whole", "basis_points", given, group=group))
    return found


def _rule_problems(name: str, queue: QueuePart) -> Iterator[PlanProblem]:
    if not 0 <= queue.rank <= RANK_MAX:
        yield PlanProblem("unknown_rank", "rank", queue.rank, name)
    elif queue.rank and not queue.reclaims:
        yield PlanProblem("rank_needs_reclaim", "rank", queue.rank, name)


def _part_problems(name: str, group: str, part: GroupPart, before: GroupPart) -> Iterator[PlanProblem]:
    for label in PART_FIELDS:
        value: int | None = getattr(part, label)
        if value is None or value == getattr(before, label):
            continue
        if value < 0:
            yield PlanProblem("negative", label, value, name, group)
        elif value > WHOLE:
            yield PlanProblem("share_above_whole", label, value, name, group)
        elif value % STEP:
            yield PlanProblem("too_fine", label, value, name, group)


# --------------------------------------------------------------------------- cards


@dataclass(frozen=True, slots=True)
class CardPart:
    """A part in whole cards of the node group. None = no limit."""

    nominal: int = 0
    borrow_limit: int | None = None
    lend_limit: int | None = None


NO_CARDS = CardPart()


@dataclass(frozen=True, slots=True)
class Division:
    """A plan and the cards it divides, by node group. A group without nodes has 0, and so has every part of it.

    ``aside`` are cards of a group that queues of others still have, by the queue that shall have them one day ('' =
    none): a part is so much smaller until then.
    """

    plan: Plan
    cards: Mapping[str, int]
    aside: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def shared_out(self) -> SharedOut:
        return divide(self)


@dataclass(frozen=True, slots=True)
class SharedOut:
    """What a division comes to: nominal cards and pool of each group add up to its cards."""

    parts: Mapping[tuple[str, str], CardPart]  # (queue, group)
    pool: Mapping[str, int]

    def part(self, queue: str, group: str) -> CardPart:
        return self.parts.get((queue, group), NO_CARDS)


def divide(division: Division) -> SharedOut:
    """Whole cards by largest remainder; limits are rounded down. Raises SharesExceedWhole above 100 %."""
    parts: dict[tuple[str, str], CardPart] = {}
    pool: dict[str, int] = {}
    for group, cards in division.cards.items():
        split = beside(cards, apportion(cards, division.plan.points(group)), division.aside.get(group, {}))
        pool[group] = split.pool
        for name, queue in division.plan.queues.items():
            part = queue.part(group)
            parts[name, group] = CardPart(
                split.nominal[name],
                borrow_limit=limit_in_cards(cards, part.borrow_basis_points),
                lend_limit=limit_in_cards(cards, part.lend_basis_points),
            )
    return SharedOut(parts, pool)


def limit_in_cards(cards: int, basis_points: int | None) -> int | None:
    """A limit in cards, rounded down; None = no limit."""
    return None if basis_points is None else cards * basis_points // WHOLE


# --------------------------------------------------------------------------- differences


@dataclass(frozen=True, slots=True)
class PartChange:
    """One team's part of one node group, before and after."""

    queue: str
    group: str
    before: GroupPart
    after: GroupPart
    cards_before: CardPart
    cards_after: CardPart


@dataclass(frozen=True, slots=True)
class RuleChange:
    """One team's rules, before and after."""

    queue: str
    before: QueuePart
    after: QueuePart


@dataclass(frozen=True, slots=True)
class GroupChange:
    """The cards of one node group that are divided, before and after."""

    group: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PlanDiff:
    """What differs between two divisions, in the order of names."""

    parts: tuple[PartChange, ...]
    rules: tuple[RuleChange, ...]
    groups: tuple[GroupChange, ...]

    def __bool__(self) -> bool:
        return bool(self.parts or self.rules or self.groups)


def diff(before: Division, after: Division) -> PlanDiff:
    """All that differs. What one side does not name has nothing there: 0 %, 0 cards, the usual rules."""
    old, new = divide(before), divide(after)
    queues = sorted({*before.plan.queues, *after.plan.queues})
    groups = sorted({*before.cards, *after.cards})
    pairs = [(queue, group) for group in groups for queue in queues]
    parts = [
        PartChange(
            queue,
            group,
            before.plan.queue(queue).part(group),
            after.plan.queue(queue).part(group),
            old.part(queue, group),
            new.part(queue, group),
        )
        for queue, group in pairs
    ]
    rules = [RuleChange(name, before.plan.queue(name), after.plan.queue(name)) for name in queues]
    counted = [GroupChange(group, before.cards.get(group, 0), after.cards.get(group, 0)) for group in groups]
    return PlanDiff(
        tuple(part for part in parts if (part.before, part.cards_before) != (part.after, part.cards_after)),
        tuple(rule for rule in rules if _rules(rule.before) != _rules(rule.after)),
        tuple(change for change in counted if change.before != change.after),
    )


def _rules(queue: QueuePart) -> tuple[int, bool, bool]:
    return queue.rank, queue.strict, queue.reclaims
