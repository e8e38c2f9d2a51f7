"""What is a conflict and what is not, case by case (decisions 9 and 43)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clusters.conflicts.rules import (
    SHOWN,
    NodeLook,
    Watched,
    loops,
    never_ending,
    not_placed,
    two_schedulers,
    without_queue,
)
from clusters.conflicts.told import Preemption
from clusters.contract import EvictionCause, Outcome, PodFacts, PodPhase, Wait, WaitCode, WorkloadFacts
from clusters.domain.states import GroupSnapshot

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
GRACE = timedelta(seconds=120)
PLAIN = GroupSnapshot("H100", free_blocks=(3, 3), topology_aware=False)
TOPOLOGY = replace(PLAIN, topology_aware=True)


def ago(**much: float) -> datetime:
    return NOW - timedelta(**much)


def watched(job: str = "A", group: str | None = "h100", **facts: Any) -> Watched:
    whole = {"created_at": ago(hours=2), "cards": 8, "wanted_pods": 1, **facts}
    return Watched(job, 1, WorkloadFacts(**whole), group, GRACE)


def pod(phase: PodPhase, node: str | None = None, cards: int = 8) -> PodFacts:
    return PodFacts(0, "pod-0", phase, node, cards)


def admitted(seconds: float, **facts: Any) -> Watched:
    at = ago(seconds=seconds)
    return watched(reserved_at=at, admitted_at=at, pods=(pod(PodPhase.WAITING),), **facts)


# --------------------------------------------------------------------------- not placed


@pytest.mark.parametrize(
    ("seconds", "group", "is_one"),
    [(119, PLAIN, False), (120, PLAIN, True), (120, TOPOLOGY, False), (299, TOPOLOGY, False), (300, TOPOLOGY, True)],
)
@pytest.mark.parametrize("unplaceable", [True, False])
def test_admitted_and_not_placed_counts_from_the_time_that_goes_with_the_cluster(
    seconds: float, group: GroupSnapshot, is_one: bool, unplaceable: bool
) -> None:
    signs = not_placed([admitted(seconds, unplaceable=unplaceable)], {"h100": group}, NOW)
    assert bool(signs) is is_one


def test_the_evidence_is_each_job_beside_the_free_cards_of_its_group() -> None:
    jobs = [
        admitted(200, unplaceable=True),
        replace(admitted(400), job="B"),
        replace(admitted(500), job="C", group=None),
    ]
    signs = not_placed(jobs, {"h100": PLAIN}, NOW)
    assert set(signs) == {"h100", "-"}
    told = signs["h100"]
    assert (told["group"], told["free"], told["blocks"], told["count"]) == ("H100", 6, [3, 3], 2)
    assert [(job["job"], job["since"], job["unplaceable"]) for job in told["jobs"]] == [
        ("B", ago(seconds=400).isoformat(), False),
        ("A", ago(seconds=200).isoformat(), True),
    ]


@pytest.mark.parametrize(
    "facts",
    [
        {"scheduled_at": ago(minutes=9), "pods": (pod(PodPhase.PULLING, "n1"),)},
        {"evicted_at": ago(minutes=1), "evictions": 1},
        {"outcome": Outcome.SUCCEEDED, "ended_at": ago(minutes=1)},
        {"active": False},
    ],
    ids=["it has its nodes", "evicted since", "ended", "held"],
)
def test_what_is_not_waiting_for_nodes_is_no_conflict(facts: dict[str, Any]) -> None:
    whole = {"reserved_at": ago(minutes=10), "admitted_at": ago(minutes=10), **facts}
    assert not_placed([watched(**whole)], {"h100": PLAIN}, NOW) == {}


def test_a_thousand_jobs_are_one_notice_with_a_short_list() -> None:
    signs = not_placed([replace(admitted(1_000 + n), job=f"J{n:04}") for n in range(1_000)], {"h100": PLAIN}, NOW)
    assert signs["h100"]["count"] == 1_000 and len(signs["h100"]["jobs"]) == SHOWN
    assert signs["h100"]["jobs"][0]["job"] == "J0999"


# --------------------------------------------------------------------------- pods that do not end

EVICTED: dict[str, Any] = {"ending": True, "evictions": 1, "eviction_cause": EvictionCause.QUOTA_RECLAIMED}


@pytest.mark.parametrize(("seconds", "is_one"), [(719, False), (720, True)])
def test_an_eviction_never_ends_ten_minutes_after_the_jobs_own_grace(seconds: float, is_one: bool) -> None:
    job = watched(evicted_at=ago(seconds=seconds), pods=(pod(PodPhase.ENDING, "n1"),), **EVICTED)
    assert bool(never_ending([job], NOW)) is is_one


def test_a_node_that_is_lost_names_its_jobs_and_cards() -> None:
    """C-21: the pods are Terminating for hours, and no cards come free."""
    jobs = [
        watched("A", evicted_at=ago(hours=3), pods=tuple(pod(PodPhase.ENDING, n, 4) for n in ("n1", "n2")), **EVICTED),
        watched("B", evicted_at=ago(hours=1), pods=(pod(PodPhase.ENDING, "n1", 2),), **EVICTED),
    ]
    signs = never_ending(jobs, NOW)
    assert {node: (told["cards"], [job["job"] for job in told["jobs"]]) for node, told in signs.items()} == {
        "n1": (6, ["A", "B"]),
        "n2": (4, ["A"]),
    }


def test_a_failed_job_whose_other_pods_run_on_holds_its_cards() -> None:
    """C-19: retries are exhausted, one worker keeps its 8 cards."""
    job = watched(
        outcome=Outcome.FAILED, ended_at=ago(minutes=30), ending=True, cards=16, pods=(pod(PodPhase.RUNNING, "n1"),)
    )
    told = never_ending([job], NOW)["n1"]
    assert (told["cards"], told["jobs"][0]["ended"]) == (8, True)


def test_pods_that_nobody_saw_are_told_without_a_node() -> None:
    told = never_ending([watched(evicted_at=ago(hours=1), **EVICTED)], NOW)["-"]
    assert (told["node"], told["cards"]) == ("", 8)


# --------------------------------------------------------------------------- missing, loops, two schedulers


def test_jobs_of_a_queue_that_is_not_there_are_named_together() -> None:
    """C-41: the queue does not exist."""
    wait = Wait(WaitCode.QUEUE_MISSING, raw="ClusterQueue slu-vision doesn't exist")
    jobs = [
        watched("A", wait=wait, queued_at=ago(minutes=5)),
        watched("B", wait=wait),
        watched("C", wait=replace(wait, code=WaitCode.QUOTA)),
        watched("D", wait=wait, active=False),
        watched("E"),
    ]
    told = without_queue(jobs)["waiting_jobs"]
    assert (told["count"], [job["job"] for job in told["jobs"]]) == (2, ["B", "A"])
    assert without_queue(jobs[2:]) == {}


def preempted(victim: str, by: str, minutes: float) -> Preemption:
    return Preemption(1, victim, by, ago(minutes=minutes))


@pytest.mark.parametrize(
    ("preemptions", "is_one"),
    [
        ([("A", "B", 25), ("B", "A", 15), ("A", "B", 5)], True),
        ([("A", "B", 25), ("B", "A", 15)], False),
        ([("A", "B", 31), ("B", "A", 15), ("A", "B", 5)], False),
        ([("A", "B", 30), ("B", "A", 15), ("A", "B", 0)], True),
        ([("A", "B", 25), ("A", "B", 15), ("A", "B", 5)], False),
        ([("A", "B", 25), ("B", "C", 15), ("C", "A", 5)], False),
        ([("A", "A", 25), ("A", "A", 15), ("A", "A", 5)], False),
    ],
    ids=["ping-pong", "twice", "too long ago", "just within", "one always wins", "three in a round", "itself"],
)
def test_two_jobs_that_interrupt_each_other_three_times_are_a_loop(
    preemptions: list[tuple[str, str, float]], is_one: bool
) -> None:
    signs = loops([preempted(*each) for each in preemptions], NOW)
    assert list(signs) == (["A:B"] if is_one else [])
    if is_one:
        assert signs["A:B"]["count"] == 3 and [job["job"] for job in signs["A:B"]["jobs"]] == ["A", "B"]
        assert sum(job["count"] for job in signs["A:B"]["jobs"]) == 3


@pytest.mark.parametrize(
    ("nodes", "cards"),
    [
        ([NodeLook("n1", outside=4, ours=0), NodeLook("n2", outside=0, ours=8)], 4),
        ([NodeLook("n1", outside=4, ours=4), NodeLook("n2", outside=1, ours=0)], 5),
        ([NodeLook("n1", outside=8, ours=0)], None),
        ([NodeLook("n1", outside=0, ours=8)], None),
        ([], None),
    ],
    ids=["on other nodes", "on the same node", "only theirs", "only ours", "empty"],
)
def test_pods_of_no_queue_are_a_conflict_only_beside_jobs_of_ours(nodes: list[NodeLook], cards: int | None) -> None:
    """C-44: quota is free and the machines are full of others' pods."""
    signs = two_schedulers({"h100": nodes}, {"h100": "H100"})
    assert {slug: told["cards"] for slug, told in signs.items()} == ({} if cards is None else {"h100": cards})
