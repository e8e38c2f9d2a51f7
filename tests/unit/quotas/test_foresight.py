"""Who would start under a plan, and whom that costs their cards: the gate's order, its quota and its nodes."""

from __future__ import annotations

from collections.abc import Iterable

from quotas.domain import foresight
from quotas.domain.blocks import NodeRoom
from quotas.domain.foresight import Foresight
from quotas.domain.live import Holding, Live, Verdict, Waiting
from quotas.domain.plan import Division, GroupPart, Plan, QueuePart

LOW, NORMAL, HIGH = 100, 200, 300


WIDE = (NodeRoom("wide", "g", 1_000, 1_000),)


def held(job: str, queue: str, cards: int, at: float, priority: int = NORMAL, node: str = "") -> Holding:
    return Holding(job, queue, "g", cards, priority, at, ((node, cards),) if node else ())


def waits(job: str, queue: str, cards: int, at: float = 0, priority: int = NORMAL, pods: int = 1) -> Waiting:
    return Waiting(job, queue, "g", cards, priority, at, pods)


def foresee(
    division: Division,
    holdings: Iterable[Holding],
    waiting: Iterable[Waiting],
    rooms: tuple[NodeRoom, ...] = WIDE,
    *,
    by_topology: bool = True,
) -> Foresight:
    return foresight.foresee(division, Live(tuple(holdings), tuple(waiting), rooms, by_topology))


def eights(*free: int) -> tuple[NodeRoom, ...]:
    """Nodes of 8 cards with so many free."""
    return tuple(NodeRoom(f"n{number}", "g", 8, cards) for number, cards in enumerate(free, start=1))


def verdicts(seen: Foresight) -> dict[str, Verdict]:
    return {each.job_ulid: verdict for each, verdict in seen.verdicts}


def plan(cards: int, shares: dict[str, int], **rules: QueuePart) -> Division:
    """Percent of one node group by team; ``rules`` have the rules of some."""
    queues = {}
    for name, percent in shares.items():
        rule = rules.get(name, QueuePart())
        part = GroupPart(percent * 100, rule.part("g").borrow_basis_points, rule.part("g").lend_basis_points)
        queues[name] = QueuePart(rule.rank, rule.strict, rule.reclaims, {"g": part})
    return Division(Plan(queues), {"g": cards})


def started(seen: Foresight) -> list[str]:
    return [each.job_ulid for each in seen.started]


def taken(seen: Foresight) -> list[tuple[str, str]]:
    return [(each.holding.job_ulid, each.by.job_ulid) for each in seen.taken]


def test_idle_cards_are_lent_to_whoever_asks_and_own_ones_come_first() -> None:
    seen = foresee(plan(16, {"a": 50, "b": 50}), [], [waits("a1", "a", 8), waits("a2", "a", 4), waits("b1", "b", 4)])
    assert started(seen) == ["a1", "b1", "a2"]
    assert seen.taken == ()


def test_the_newest_loan_is_taken_back_and_no_more_than_is_needed() -> None:
    loans = [held("old", "b", 4, 1), held("new", "b", 4, 3), held("mid", "b", 4, 2)]
    seen = foresee(plan(12, {"a": 40, "b": 0}), loans, [waits("a1", "a", 4)])
    assert taken(seen) == [("new", "a1")]
    assert [holding.job_ulid for holding in seen.returnable] == ["mid", "old"]


def test_low_work_goes_before_newer_work() -> None:
    loans = [held("low", "b", 4, 1, LOW), held("new", "b", 4, 3)]
    assert taken(foresee(plan(8, {"a": 50, "b": 0}), loans, [waits("a1", "a", 4)])) == [("low", "a1")]


def test_a_team_within_its_own_share_never_gives_back() -> None:
    seen = foresee(plan(16, {"a": 50, "b": 50}), [held("b1", "b", 8, 1), held("a1", "a", 8, 1)], [waits("a2", "a", 1)])
    assert started(seen) == [] and seen.taken == ()


def test_a_job_larger_than_the_share_starts_on_idle_cards_and_takes_nothing_back() -> None:
    shares = plan(16, {"a": 40, "b": 60})  # 6 and 10
    assert started(foresee(shares, [], [waits("a1", "a", 8)])) == ["a1"]
    assert started(foresee(shares, [held("b1", "b", 12, 1)], [waits("a1", "a", 8)])) == []


def test_a_ranked_team_takes_low_loans_while_it_borrows_itself() -> None:
    loans = [held("c1", "c", 8, 1, LOW), held("a1", "a", 8, 1)]
    ranked = plan(16, {"a": 50, "c": 0, "d": 50}, a=QueuePart(rank=1))
    assert taken(foresee(ranked, loans, [waits("a2", "a", 8, priority=HIGH)])) == [("c1", "a2")]
    assert taken(foresee(ranked, loans, [waits("a2", "a", 8, priority=LOW)])) == []
    normal = [held("c1", "c", 8, 1, NORMAL), held("a1", "a", 8, 1, HIGH)]
    assert taken(foresee(ranked, normal, [waits("a2", "a", 8, priority=HIGH)])) == []


def test_a_team_that_takes_nothing_back_waits() -> None:
    patient = plan(8, {"a": 50, "b": 0}, a=QueuePart(reclaims=False))
    assert started(foresee(patient, [held("b1", "b", 8, 1)], [waits("a1", "a", 4)])) == []


def test_limits_are_kept() -> None:
    borrow = plan(16, {"a": 50, "b": 50}, a=QueuePart(groups={"g": GroupPart(0, borrow_basis_points=2_500)}))
    assert started(foresee(borrow, [held("a0", "a", 8, 1)], [waits("a1", "a", 4), waits("a2", "a", 4)])) == ["a1"]
    lend = plan(16, {"a": 50, "b": 50}, b=QueuePart(groups={"g": GroupPart(0, lend_basis_points=0)}))
    assert started(foresee(lend, [held("a0", "a", 8, 1)], [waits("a1", "a", 1)])) == []


def test_smaller_jobs_pass_one_that_does_not_fit_unless_the_order_is_strict() -> None:
    waiting = [waits("big", "a", 9, 1), waits("small", "a", 2, 2)]
    assert started(foresee(plan(8, {"a": 100}), [], waiting)) == ["small"]
    assert started(foresee(plan(8, {"a": 100}, a=QueuePart(strict=True)), [], waiting)) == []


def test_a_queue_lets_its_higher_priorities_first() -> None:
    waiting = [waits("first", "a", 8, 1), waits("urgent", "a", 8, 2, HIGH)]
    assert started(foresee(plan(8, {"a": 100}), [], waiting)) == ["urgent"]


def test_two_teams_of_eight_lend_four_and_get_them_back() -> None:
    shares = plan(16, {"a": 50, "b": 50})
    in_use = [held("a1", "a", 8, 1), held("b1", "b", 2, 1)]
    assert started(foresee(shares, in_use, [waits("a2", "a", 4)])) == ["a2"]
    seen = foresee(shares, [*in_use, held("a2", "a", 4, 2)], [waits("b2", "b", 6)])
    assert (started(seen), taken(seen)) == (["b2"], [("a2", "b2")])


def test_five_and_three_free_cards_are_no_place_for_eight() -> None:
    shares, in_use = plan(16, {"a": 100}), [held("a1", "a", 3, 1, node="n1"), held("a2", "a", 5, 1, node="n2")]
    seen = foresee(shares, in_use, [waits("eight", "a", 8), waits("five", "a", 5, 1)], eights(5, 3))
    assert verdicts(seen) == {"eight": Verdict.PLACES, "five": Verdict.NOW}
    assert verdicts(foresee(shares, in_use, [waits("two", "a", 8, pods=2)], eights(5, 3))) == {"two": Verdict.PLACES}
    assert verdicts(foresee(shares, in_use, [waits("two", "a", 6, pods=2)], eights(5, 3))) == {"two": Verdict.NOW}


def test_without_a_gate_that_knows_nodes_such_a_job_holds_quota_and_finds_no_place() -> None:
    shares, in_use = plan(16, {"a": 100}), [held("a1", "a", 3, 1, node="n1"), held("a2", "a", 5, 1, node="n2")]
    waiting = [waits("eight", "a", 8), waits("five", "a", 5, 1)]
    seen = foresee(shares, in_use, waiting, eights(5, 3), by_topology=False)
    assert verdicts(seen) == {"eight": Verdict.PLACES, "five": Verdict.CARDS}


def test_a_loan_is_taken_back_where_that_makes_the_place() -> None:
    loans = [held("b1", "b", 4, 1, node="n1"), held("b2", "b", 4, 2, node="n2")]
    rooms = (*eights(4, 4), NodeRoom("n3", "g", 8, 0))
    seen = foresee(plan(24, {"a": 50, "b": 0, "c": 50}), [*loans, held("c1", "c", 8, 1, node="n3")],
                   [waits("a1", "a", 8)], rooms)  # fmt: skip
    assert (verdicts(seen), taken(seen)) == ({"a1": Verdict.TAKES}, [("b2", "a1")])


def test_low_work_of_the_own_team_leaves_for_higher_work_after_loans_and_equals_never() -> None:
    low = held("low", "a", 8, 5, LOW)
    alone = plan(8, {"a": 100})
    assert taken(foresee(alone, [low], [waits("high", "a", 8, priority=HIGH)])) == [("low", "high")]
    assert verdicts(foresee(alone, [low], [waits("low2", "a", 8, priority=LOW)])) == {"low2": Verdict.CARDS}
    shares = plan(16, {"a": 100, "b": 0})
    seen = foresee(shares, [low, held("b1", "b", 8, 1)], [waits("high", "a", 8, priority=HIGH)])
    assert taken(seen) == [("b1", "high")]


def test_who_leaves_anyway_is_taken_first() -> None:
    loans = [held("new", "b", 4, 9), Holding("leaving", "b", "g", 4, HIGH, 1, (), leaving=True)]
    assert taken(foresee(plan(8, {"a": 100, "b": 0}), loans, [waits("a1", "a", 4)])) == [("leaving", "a1")]


def test_what_can_never_start_is_told_from_what_waits() -> None:
    shares = plan(16, {"a": 50, "b": 50})
    in_use = [held("b1", "b", 8, 1), held("a0", "a", 8, 1)]
    waiting = [waits("waits", "a", 1), waits("larger than all", "a", 17, 2), waits("larger than a node", "a", 9, 1)]
    assert verdicts(foresee(shares, in_use, waiting, eights(0, 0))) == {
        "waits": Verdict.CARDS,
        "larger than a node": Verdict.NEVER,
        "larger than all": Verdict.NEVER,
    }


def test_behind_a_first_job_that_cannot_start_all_of_a_strict_team_waits() -> None:
    strict = plan(8, {"a": 100}, a=QueuePart(strict=True))
    seen = foresee(strict, [held("a0", "a", 1, 1)], [waits("big", "a", 8, 1), waits("small", "a", 2, 2)])
    assert verdicts(seen) == {"big": Verdict.CARDS, "small": Verdict.BEHIND}
