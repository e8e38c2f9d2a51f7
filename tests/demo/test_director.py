"""The director's single rules, on situations made by hand. It has no memory: each answer follows from what it sees."""

from __future__ import annotations

from collections.abc import Callable

from console.demo.director import next_actions
from console.demo.filling import FILLINGS, fill, make_way, startable
from console.demo.layout import A100, ASCEND, SLICES
from console.demo.situation import (
    Action,
    NodeSight,
    Operate,
    Power,
    Request,
    Situation,
    SubmitJob,
    Wishes,
)
from jobs.domain.operations import Operation
from jobs.domain.words import JobState
from tests.demo.house import BEGIN_MS, HOUR, MINUTE, TICK, group, house, job, node, situation

SEED = 1


def wishes_of(rule: Callable[[Wishes], None]) -> list[Action]:
    wishes = Wishes()
    rule(wishes)
    return wishes.actions


def filled(seen: Situation) -> list[Action]:
    return wishes_of(lambda wishes: fill(SEED, seen, FILLINGS[A100], wishes))


def requests(actions: list[Action]) -> list[Request]:
    return [action.request for action in actions if isinstance(action, SubmitJob)]


def cancelled(actions: list[Action]) -> set[str]:
    return {a.key for a in actions if isinstance(a, Operate) and a.operation is Operation.CANCEL}


FULL = ("x", 8)
THREE_EMPTY = (node("a100-01"), node("a100-02"), node("a100-03"))


def test_the_same_situation_gets_the_same_answer() -> None:
    seen = house(SEED).situation(TICK)
    assert next_actions(SEED, seen) == next_actions(SEED, seen)
    assert next_actions(SEED, seen) != next_actions(SEED + 1, seen)


def test_without_nodes_nothing_is_asked_for() -> None:
    assert next_actions(SEED, Situation(BEGIN_MS, TICK, {}, ())) == []


def test_an_empty_group_gets_a_job_at_once() -> None:
    (request,) = requests(filled(situation(group(A100, *THREE_EMPTY, node("a100-04")))))
    assert (request.group, request.priority.value in {"low", "normal"}) == (A100, True)


def test_the_next_job_comes_only_when_the_one_before_has_its_node() -> None:
    coming = job("coming", state=JobState.CREATING, running_since_ms=None)
    seen = situation(group(A100, *THREE_EMPTY, node("a100-04"), vision=1), jobs=[coming])
    assert filled(seen) == []


def test_a_held_job_stops_nobody() -> None:
    held = job("held", state=JobState.QUEUED, held=True)
    assert len(filled(situation(group(A100, *THREE_EMPTY, node("a100-04")), jobs=[held]))) == 1


def test_no_job_takes_the_last_free_node() -> None:
    nodes = [node("a100-01", ("a", 8)), node("a100-02", ("b", 8)), node("a100-03", ("c", 6)), node("a100-04")]
    offers = startable(group(A100, *nodes, robotics=14, vision=4, language=4), FILLINGS[A100])
    assert {cards for _, cards in offers} <= {1, 2}
    assert startable(group(A100, *nodes[:2], node("a100-03", ("c", 8)), nodes[3], robotics=14), FILLINGS[A100]) == []


def test_the_free_node_lies_inside_the_share_of_every_team_that_has_so_much() -> None:
    offers = startable(group(A100, *THREE_EMPTY, node("a100-04"), vision=5, language=4), FILLINGS[A100])
    assert {cards for team, cards in offers if team == "vision"} == set()
    assert {cards for team, cards in offers if team == "language"} == {1}
    assert {cards for team, cards in offers if team == "robotics"} == {1, 2, 4, 8}


def test_a_person_on_the_free_node_makes_the_demo_leave_another() -> None:
    jobs = [job("big", cards=8), *(job(f"small-{n}", cards=2) for n in range(4)), job("last", cards=8)]
    nodes = [
        node("a100-01", ("big", 8)),
        node("a100-02", *((f"small-{n}", 2) for n in range(4))),
        node("a100-03", ("mine", 8)),
        node("a100-04", ("last", 8)),
    ]
    actions = filled(situation(group(A100, *nodes, vision=32), jobs=jobs))
    assert cancelled(actions) == {"big"}  # one job of a whole node rather than four
    assert requests(actions) == []


def test_nobody_else_leaves_while_one_is_leaving() -> None:
    jobs = [job("big", cards=8, stopping=True), job("last", cards=8)]
    nodes = [node("a100-01", ("big", 8)), node("a100-02", ("mine", 8)), node("a100-03", ("last", 8))]
    assert filled(situation(group(A100, *nodes, vision=24), jobs=jobs)) == []


def test_a_waiting_person_gets_room_after_a_moment_and_no_demo_job_comes_meanwhile() -> None:
    mine = job("mine", is_demo=False, cards=8, group=ASCEND, state=JobState.QUEUED, running_since_ms=None)
    demo = [job("a", cards=4, group=ASCEND), job("b", cards=4, group=ASCEND), job("c", cards=2, group=ASCEND)]
    nodes = [node("ascend-01", ("a", 4), ("b", 4)), node("ascend-02", ("c", 2))]

    def at(seconds: int) -> Situation:
        return situation(group(ASCEND, *nodes, vision=10), jobs=[mine, *demo], now_ms=BEGIN_MS + seconds * 1_000)

    assert wishes_of(lambda wishes: make_way(at(5), wishes)) == []
    assert cancelled(wishes_of(lambda wishes: make_way(at(15), wishes))) == {"c"}
    assert wishes_of(lambda wishes: fill(SEED, at(15), FILLINGS[ASCEND], wishes)) == []


def test_a_node_that_takes_no_work_is_no_room() -> None:
    closed = NodeSight("a100-01", 8, 0, is_open=False)
    mine = job("mine", is_demo=False, cards=8, state=JobState.QUEUED, submitted_ms=BEGIN_MS - MINUTE)
    seen = situation(group(A100, closed, node("a100-02", FULL), vision=8), jobs=[mine, job("x", cards=8)])
    assert cancelled(wishes_of(lambda wishes: make_way(seen, wishes))) == {"x"}


def test_one_job_is_held_and_the_next_one_before_the_old_one_goes() -> None:
    nodes = [node("a100-01", ("a", 8)), node("a100-02", ("b", 8)), node("a100-03", ("c", 8)), node("a100-04")]
    full = group(A100, *nodes, robotics=14, vision=5, language=5)
    old = job("old", state=JobState.QUEUED, held=True, submitted_ms=BEGIN_MS - 20 * HOUR, running_since_ms=None)
    new = job("new", state=JobState.QUEUED, held=True, submitted_ms=BEGIN_MS - HOUR, running_since_ms=None)

    def held_requests(*jobs: object) -> list[bool]:
        return [r.held for r in requests(next_actions(SEED, situation(full, jobs=jobs)))]  # type: ignore[arg-type]

    assert True in held_requests()
    assert True in held_requests(old)
    assert True not in held_requests(old, new)
    assert "old" in cancelled(next_actions(SEED, situation(full, jobs=[old, new])))  # no room to go on
    roomy = group(A100, *nodes[:2], node("a100-03", ("c", 6)), nodes[3], robotics=14, vision=4, language=4)
    actions = next_actions(SEED, situation(roomy, jobs=[old, new]))
    assert Operate("old", Operation.RESUME) in actions


def test_a_node_without_power_comes_back_after_a_while() -> None:
    def at(minutes: int) -> list[Action]:
        dead = NodeSight("a100-slices-01", 56, 0, is_open=False, down_since_ms=BEGIN_MS)
        seen = situation(group(SLICES, dead, cards_nominal()), now_ms=BEGIN_MS + minutes * MINUTE)
        return [action for action in next_actions(SEED, seen) if isinstance(action, Power)]

    def cards_nominal() -> NodeSight:
        return node("a100-slices-02", cards=56)

    assert at(5) == []
    assert at(13) == [Power("a100-slices-01", up=True)]
