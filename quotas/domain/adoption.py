"""From cards that were found on a cluster back to shares in percent. Pure, integers only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from clusters.contract import DriftField, QuotaChange
from quotas.domain.plan import STEP, Division, GroupPart, Plan, divide
from quotas.domain.shares import WHOLE, apportion, largest_remainder

_TRIES = 64
"""Corrections by one step each; a share that is right to one card needs one or two."""


def adopted(division: Division, changes: Iterable[QuotaChange]) -> Plan | None:
    """The plan whose cards and limits are those found by ``changes``; all other cards stay.

    None where no plan in steps of 0.1 % comes to exactly that, or where nothing that was found belongs to a team.
    """
    plan, whole = division.plan, replace(division, aside={})
    told = [each for each in changes if each.queue in plan.queues and each.node_group in division.cards]
    if not told:
        return None
    shared_out = divide(whole)
    for group in sorted({each.node_group for each in told}):
        cards = division.cards[group]
        nominal = {name: shared_out.part(name, group).nominal for name in plan.queues}
        aside = division.aside.get(group, {})
        nominal |= {
            each.queue: (each.found or 0) + aside.get(each.queue, 0)
            for each in told
            if (each.node_group, each.field) == (group, DriftField.NOMINAL)
        }
        points = points_for(cards, nominal, plan.points(group))
        if points is None:
            return None
        for name, share in points.items():
            plan = _with_part(plan, name, group, replace(plan.queue(name).part(group), basis_points=share))
    for each in told:
        if each.field in (DriftField.BORROW_LIMIT, DriftField.LEND_LIMIT):
            cards = division.cards[each.node_group]
            limit = None if each.found is None else _limit_points(cards, each.found)
            if limit is not None and cards * limit // WHOLE != each.found:
                return None
            part = plan.queue(each.queue).part(each.node_group)
            if each.field is DriftField.BORROW_LIMIT:
                part = replace(part, borrow_basis_points=limit)
            else:
                part = replace(part, lend_basis_points=limit)
            plan = _with_part(plan, each.queue, each.node_group, part)
    return plan


def points_for(cards: int, wanted: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int] | None:
    """Shares in steps of 0.1 % that come to exactly these cards; None where there are none.

    Shares that are right already stay if the others can be written beside them.
    """
    if sum(wanted.values()) > cards:
        return None
    right = apportion(cards, now).nominal
    exact = {name: count * WHOLE // cards // STEP * STEP if cards else 0 for name, count in wanted.items()}
    kept = {name: now[name] if right[name] == wanted[name] else exact[name] for name in wanted}
    return _corrected(cards, wanted, kept) or _corrected(cards, wanted, exact)


def _corrected(cards: int, wanted: Mapping[str, int], points: Mapping[str, int]) -> dict[str, int] | None:
    """Shares near ``points``: one step more for whoever has too few cards, one less for whoever has too many."""
    points = dict(points)
    for _ in range(_TRIES):
        if sum(points.values()) > WHOLE or min(points.values(), default=0) < 0:
            return None
        found = apportion(cards, points).nominal
        if found == dict(wanted):
            return points
        for name, count in wanted.items():
            points[name] += STEP * ((found[name] < count) - (found[name] > count))
    return None


def _limit_points(cards: int, limit: int) -> int:
    """The smallest share in steps that comes to at least this limit, at most the whole group."""
    if not cards:
        return 0
    step = cards * STEP
    return min(WHOLE, -(-limit * WHOLE // step) * STEP)


def _with_part(plan: Plan, queue: str, group: str, part: GroupPart) -> Plan:
    before = plan.queue(queue)
    return Plan({**plan.queues, queue: replace(before, groups={**before.groups, group: part})})


def taken_over(division: Division, wanted: Mapping[str, Mapping[str, int]]) -> Plan:
    """The plan in which queues have the shares that come to these cards, by node group and queue; all others stay.

    Shares are of the whole group, whatever is set aside there. Where steps of 0.1 % do not come to a number exactly,
    or other queues have the rest already, the nearest that there is.
    """
    plan = division.plan
    for group, by_queue in sorted(wanted.items()):
        cards, now = division.cards.get(group, 0), plan.points(group)
        known = {name: count for name, count in by_queue.items() if name in plan.queues}
        exact = points_for(cards, {**apportion(cards, now).nominal, **known}, now) if cards else None
        points = exact if exact is not None else _nearest(cards, known, now)
        for name, share in points.items():
            plan = _with_part(plan, name, group, replace(plan.queue(name).part(group), basis_points=share))
    return plan


def _nearest(cards: int, wanted: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Shares nearest to ``wanted`` within what the others leave; all by the same part less where that is too little."""
    room = (WHOLE - sum(points for name, points in now.items() if name not in wanted)) // STEP
    steps = {
        name: (2 * count * WHOLE + cards * STEP) // (2 * cards * STEP) if cards else 0 for name, count in wanted.items()
    }
    if sum(steps.values()) > room:
        steps = largest_remainder(max(0, room), steps)
    return {name: count * STEP for name, count in steps.items()}
