"""Admissions and evictions: what the gate's conditions prove, whatever their whole seconds seem to say."""

from __future__ import annotations

import pytest

from clusters.contract import EvictionCause, WaitCode, WorkloadFacts
from clusters.observed import held_cards
from tests.backends.kueue.objects import (
    Object,
    admitted,
    cond,
    facts_of,
    job,
    marks,
    moment,
    no,
    pod,
    snapshot_of,
    unplaced,
    workload,
)

TAKEN = "Preempted to accommodate a workload (UID: {}, JobUID: {}) due to {}; preemptor path: /a; preemptee path: /b"
RECLAIM = TAKEN.format("wl-2", "job-2", "reclamation within the cohort")
OTHER = "01K00000000000000000000002"


def is_admitted(facts: WorkloadFacts) -> bool:
    return facts.admitted_at is not None and (facts.evicted_at is None or facts.admitted_at > facts.evicted_at)


def preempted(at: float, freed: float | None) -> list[Object]:
    """Conditions of one that was admitted in second 1 and preempted; ``freed`` None: its quota is not free yet."""
    told = [cond("Evicted", "Preempted", RECLAIM, s=at), cond("Preempted", "InCohortReclamation", RECLAIM, s=at)]
    if freed is None:
        return [*admitted(1), *told]
    return [
        no("QuotaReserved", "Pending", RECLAIM, s=freed),
        no("Admitted", "NoReservation", s=freed),
        cond("Requeued", "Preempted", RECLAIM, s=freed),
        *told,
    ]


def again(at: float, text: str = RECLAIM, requeued: float | None = None) -> list[Object]:
    """Conditions after a new admission: the old eviction is history, with the time of the admission."""
    return [
        *admitted(at),
        no("Evicted", "QuotaReserved", f"Previously: {text}", s=at),
        no("Preempted", "QuotaReserved", f"Previously: {text}", s=at),
        *([cond("Requeued", "Preempted", text, s=requeued)] if requeued is not None else []),
    ]


ONCE = [("Preempted", "", 1)]


def test_while_it_leaves_its_admission_still_counts() -> None:
    facts = facts_of(job(), workload(*preempted(10, None), evictions=ONCE), pod(0, deleted=10), pod(1, deleted=10))
    assert is_admitted(facts) and facts.ending and facts.evictions == 0 and facts.evicted_at is None
    assert facts.eviction_cause is EvictionCause.QUOTA_RECLAIMED
    assert held_cards(facts)[1] == 8


def test_freed_quota_is_an_eviction_and_its_pods_may_still_end() -> None:
    objects = job(suspend=True), workload(*preempted(10, 12), evictions=ONCE, lost=11)
    facts = facts_of(*objects, pod(0, deleted=10), pod(1, deleted=10))
    assert not is_admitted(facts) and facts.ending and facts.evictions == 1
    assert (facts.evicted_at, facts.queued_at, facts.released_at) == (moment(12), moment(12), None)
    assert held_cards(facts) == (0, 0, 8)
    assert facts.wait is None  # the gate has repeated the eviction and said nothing about waiting
    without_pods = facts_of(*objects)
    assert not without_pods.ending and without_pods.released_at == moment(12)


def test_the_beneficiary_is_named_by_its_job_by_its_pod_or_by_its_workload() -> None:
    victim = job(suspend=True), workload(*preempted(10, 12), evictions=ONCE, lost=11)
    heir = job(uid="job-2", ulid=OTHER, name="j-2"), workload(*admitted(12), uid="wl-2", owner="job-2")
    rows = {row.job_ulid: row.facts for row in snapshot_of(*victim, *heir).observed()}
    assert rows.pop(OTHER).evicted_by is None
    assert [facts.evicted_by for facts in rows.values()] == [OTHER]

    nameless = TAKEN.format("wl-2", "UNKNOWN", "prioritization in the ClusterQueue")
    told = cond("Evicted", "Preempted", nameless, s=10)
    rows = {
        row.job_ulid: row.facts
        for row in snapshot_of(victim[0], workload(no("QuotaReserved", s=12), told, evictions=ONCE), *heir).observed()
    }
    (facts,) = (facts for ulid, facts in rows.items() if ulid != OTHER)
    assert (facts.evicted_by, facts.eviction_cause) == (OTHER, EvictionCause.HIGHER_PRIORITY)


def test_a_beneficiary_that_is_gone_leaves_the_cause() -> None:
    facts = facts_of(job(suspend=True), workload(*preempted(10, 12), evictions=ONCE, lost=11))
    assert (facts.evicted_by, facts.eviction_cause) == (None, EvictionCause.QUOTA_RECLAIMED)


@pytest.mark.parametrize("second", [12, 13, 4000])
def test_a_new_admission_is_newer_than_the_eviction_before_it_also_in_one_second(second: float) -> None:
    facts = facts_of(job(), workload(*again(second, requeued=12), evictions=ONCE, lost=11))
    assert is_admitted(facts) and not facts.ending and facts.evictions == 1
    assert facts.eviction_cause is EvictionCause.QUOTA_RECLAIMED
    assert facts.evicted_at is not None and facts.reserved_at == moment(second)
    assert facts.evicted_at < facts.reserved_at


def test_an_eviction_in_the_second_of_its_admission_is_newer() -> None:
    facts = facts_of(job(suspend=True), workload(*preempted(1, 1), evictions=ONCE, lost=0))
    assert not is_admitted(facts) and facts.evictions == 1 and facts.evicted_at == moment(1)


def test_of_several_evictions_only_the_newest_may_be_timed() -> None:
    """The condition Requeued keeps the time of the first preemption; after the second it proves nothing."""
    facts = facts_of(job(), workload(*again(4000, requeued=12), evictions=[("Preempted", "", 2)], lost=11))
    assert facts.evictions == 2 and facts.evicted_at is not None
    assert moment(3999) <= facts.evicted_at < moment(4000)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (TAKEN.format("a", "b", "prioritization in the ClusterQueue"), EvictionCause.HIGHER_PRIORITY),
        (TAKEN.format("a", "b", "reclamation within the cohort while borrowing"), EvictionCause.WHILE_BORROWING),
        (TAKEN.format("a", "b", "Fair Sharing within the cohort"), EvictionCause.FAIR_SHARE),
        ("The workload is deactivated", EvictionCause.HELD),
        ("Exceeded the PodsReady timeout ns/name", EvictionCause.NOT_READY),
        ("The ClusterQueue is stopped", EvictionCause.QUEUE_DRAINED),
        ("The LocalQueue is stopped", EvictionCause.QUEUE_DRAINED),
        ("Workload was evicted as there was no replacement for unhealthy node(s): n1", EvictionCause.NODE_FAILURE),
        ("At least one admission check is false", EvictionCause.CHECK),
        ("moved to a nicer place", EvictionCause.OTHER),
        ("", EvictionCause.OTHER),
    ],
)
def test_the_cause_of_an_eviction_that_is_over_is_in_its_text(text: str, cause: EvictionCause) -> None:
    facts = facts_of(job(), workload(*again(20, text), evictions=[("X", "", 1)], lost=3))
    assert facts.eviction_cause is cause and facts.evictions == 1 and is_admitted(facts)
    assert not facts.being_deleted


def test_an_eviction_counts_once_where_the_gate_keeps_no_counters() -> None:
    assert facts_of(job(suspend=True), workload(*preempted(10, 12))).evictions == 1
    assert facts_of(job(), workload(*again(20))).evictions == 1
    assert facts_of(job(), workload(*admitted())).evictions == 0


HOLD = "The workload is deactivated"
DEACTIVATED = [("Deactivated", "", 1)]


def test_a_hold_of_a_running_job_is_an_eviction() -> None:
    held = [
        no("QuotaReserved", "Pending", HOLD, s=12),
        no("Admitted", "NoReservation", s=12),
        cond("Evicted", "Deactivated", HOLD, s=10),
        no("Requeued", "Deactivated", HOLD, s=12),
    ]
    facts = facts_of(job(suspend=True), workload(*held, active=False, evictions=DEACTIVATED, lost=11))
    assert (facts.active, facts.evictions, facts.eviction_cause) == (False, 1, EvictionCause.HELD)
    assert facts.outcome is None and facts.wait is None and held_cards(facts) == (0, 0, 0)

    resumed = [*held[:3], cond("Requeued", "Reactivated", "The workload was reactivated", s=30)]
    facts = facts_of(job(suspend=True), workload(*resumed, evictions=DEACTIVATED, lost=11))
    assert facts.active and facts.queued_at == moment(30) and facts.evictions == 1

    facts = facts_of(job(), workload(*again(31, HOLD, requeued=30), evictions=DEACTIVATED, lost=11))
    assert is_admitted(facts) and facts.evictions == 1 and facts.eviction_cause is EvictionCause.HELD


def test_a_hold_of_a_waiting_job_took_nothing_from_it() -> None:
    """Kueue counts it among the evictions all the same."""
    told = cond("Evicted", "Deactivated", HOLD, s=10)
    for word in ([], [no("QuotaReserved", "Pending", "couldn't assign flavors", s=3)], [no("QuotaReserved", s=10)]):
        facts = facts_of(job(suspend=True), workload(*word, told, active=False, evictions=DEACTIVATED))
        assert (facts.active, facts.evictions, facts.evicted_at, facts.eviction_cause) == (False, 0, None, None)
    facts = facts_of(job(), workload(*again(31, HOLD), evictions=DEACTIVATED))
    assert is_admitted(facts) and (facts.evictions, facts.evicted_at) == (0, None)


def test_a_preemption_and_the_hold_after_it_are_one_eviction() -> None:
    """It waited when it was held, and Kueue does not evict twice."""
    facts = facts_of(job(suspend=True), workload(*preempted(10, 12), active=False, evictions=ONCE, lost=11))
    assert not facts.active and facts.evictions == 1


def test_pods_of_the_admission_before_are_not_those_of_this_one() -> None:
    old = pod(0, uid="old-0", name="j-bert-0000000001-1-0-aaaaa", deleted=10)
    new = unplaced(0, s=21)
    gate = workload(*again(20, requeued=12), evictions=ONCE, lost=11)
    facts = facts_of(job(pods=1), gate, old, new)
    assert [pod.name for pod in facts.pods] == [new["metadata"]["name"]]
    assert not facts.ending
    assert facts_of(job(pods=1), gate, old).pods == ()


def test_quota_without_admission_is_reserved_only() -> None:
    checks = [{"name": "provisioning", "state": "Pending", "message": ""}, {"name": "budget", "state": "Ready"}]
    facts = facts_of(job(suspend=True), workload(cond("QuotaReserved", s=5), no("Admitted", s=5), checks=checks))
    assert (facts.reserved_at, facts.admitted_at) == (moment(5), None)
    assert facts.wait is not None and facts.wait.code is WaitCode.CHECK
    assert "provisioning" in facts.wait.raw and "budget" not in facts.wait.raw


def test_times_are_in_order_whatever_the_clocks_say() -> None:
    facts = facts_of(
        job(cond("Complete", s=30), s=10),
        workload(*admitted(5), s=9),
        pod(0, s=8),
        pod(1, s=50),
        read_at=moment(40),
    )
    times = [facts.created_at, facts.queued_at, facts.reserved_at, facts.admitted_at]
    times += [facts.scheduled_at, facts.ready_at, facts.ended_at]
    assert None not in times and times == sorted(times)  # type: ignore[type-var]
    assert max(times) <= moment(40)  # type: ignore[type-var]
    assert all(pod.started_at is not None and pod.started_at <= moment(40) for pod in facts.pods)


def test_a_clock_that_is_ahead_does_not_turn_an_admission_into_an_eviction() -> None:
    facts = facts_of(job(), workload(*again(90), evictions=ONCE, lost=3), read_at=moment(60))
    assert is_admitted(facts) and facts.admitted_at == moment(60)


def test_ready_is_when_the_last_container_started() -> None:
    ready = cond("PodsReady", "Started", s=30)
    assert facts_of(job(), workload(*admitted(), ready), pod(0), pod(1, s=20)).ready_at == moment(21)
    assert facts_of(job(), workload(*admitted(), ready), pod(0)).ready_at == moment(30)  # one is gone: the gate's word
    assert facts_of(job(), workload(*admitted(), no("PodsReady", "WaitForStart", s=9)), pod(0)).ready_at is None
    stale = cond("PodsReady", "Started", s=15)  # of the admission before
    assert facts_of(job(), workload(*again(20, requeued=12), stale, evictions=ONCE, lost=9)).ready_at is None


def test_the_newest_of_two_workloads_counts() -> None:
    old = workload(*admitted(1), uid="wl-0")
    new = workload(no("QuotaReserved", "Pending", "x"), uid="wl-1", s=9)
    assert facts_of(job(suspend=True), old, new).admitted_at is None


def test_shape_and_priority_are_told_as_they_were_asked_for() -> None:
    facts = facts_of(job(pods=3, cards=8), workload(*admitted()))
    assert (facts.wanted_pods, facts.cards, facts.priority) == (3, 24, 200)
    nothing_noted = job(pods=2)
    nothing_noted["metadata"]["annotations"] = {}
    facts = facts_of(nothing_noted, workload(*admitted()), pod(0), pod(1))
    assert (facts.wanted_pods, facts.cards) == (2, 8)
    no_cards = job(pods=1, cards=0)
    assert facts_of(no_cards, workload(*admitted()), pod(0, containers=[{"name": "main"}])).cards == 0


def test_a_job_of_our_name_and_somebody_elses_labels_is_not_ours() -> None:
    for labels in ({}, marks(installation="01kother"), {**marks(), "sluice.dev/attempt": "x"}):
        foreign = job(labels=labels)
        assert snapshot_of(foreign, workload(*admitted())).observed() == ()


def test_what_was_admitted_counts_and_not_what_was_asked_for() -> None:
    """C-28: 20 pods were asked for, 5 were enough, 9 are admitted; put back, it asks for 20 again."""
    given = {"podSetAssignments": [{"name": "main", "count": 9}]}
    part = workload(*admitted(), podSets=[{"name": "main", "count": 20, "minCount": 5}])
    part["status"]["admission"] = {"clusterQueue": "cq", **given}
    facts = facts_of(job(pods=20, cards=1), part)
    assert (facts.cards, facts.wanted_pods) == (9, 9)
    assert held_cards(facts) == (0, 9, 0)
    part["status"] = {"conditions": [no("QuotaReserved", "Pending", "")]}
    facts = facts_of(job(pods=20, cards=1), part)
    assert (facts.cards, facts.wanted_pods) == (20, 20)
    assert held_cards(facts) == (0, 0, 0)


@pytest.mark.parametrize("given", [{}, {"podSetAssignments": []}, {"podSetAssignments": [{"name": "main"}]}])
def test_an_admission_that_counts_no_pods_is_of_all(given: Object) -> None:
    whole = workload(*admitted())
    whole["status"]["admission"] = given
    assert facts_of(job(pods=2, cards=8), whole).cards == 16
