"""Who would start under a plan, and whom that costs what is lent: the gate's order, by quota alone."""

from __future__ import annotations

from quotas.domain.foresight import Foresight, Holding, Waiting, foresee
from quotas.domain.plan import Division, GroupPart, Plan, QueuePart

LOW, NORMAL, HIGH = 100, 200, 300


def held(job: str, queue: str, cards: int, at: float, priority: int = NORMAL) -> Holding:
    return Holding(job, queue, "g", cards, priority, at)


def waits(job: str, queue: str, cards: int, at: float = 0, priority: int = NORMAL) -> Waiting:
    return Waiting(job, queue, "g", cards, priority, at)


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
    normal = [held("c1", "c", 8, 1, NORMAL), held("a1", "a", 8, 1)]
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
