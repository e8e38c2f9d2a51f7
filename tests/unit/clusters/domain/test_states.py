"""The rule table from facts to state and reason: every row at least once, and what it must never say."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from clusters.contract import EvictionCause, FailureCode, Outcome, PodPhase, Wait, WaitCode, WorkloadFacts
from clusters.domain.reasons import ReasonCode as C
from clusters.domain.states import CONDITIONS, EMPTY_GROUP, RULES, GroupSnapshot, ObservedState, derive
from tests.builders import (
    ADMITTED,
    CREATED,
    LOOKED,
    admitted,
    at,
    evicted,
    failed,
    pod,
    queued,
    running,
    service,
    succeeded,
)

Q, CREATING, R = ObservedState.QUEUED, ObservedState.CREATING, ObservedState.RUNNING
Y = ObservedState.RETRYING
S, F, U = ObservedState.SUCCEEDED, ObservedState.FAILED, ObservedState.UNKNOWN
WAITING, PULLING, RUNNING = PodPhase.WAITING, PodPhase.PULLING, PodPhase.RUNNING
SUCCEEDED, FAILED, ENDING = PodPhase.SUCCEEDED, PodPhase.FAILED, PodPhase.ENDING

IN_PIECES = GroupSnapshot("H100", (5, 0, 3))
TOO_FEW = GroupSnapshot("H100", (5, 0, 2))
NO_TOPOLOGY = GroupSnapshot("H100", (0, 0), topology_aware=False)
EVENING = at(22)
SOON = ADMITTED + timedelta(seconds=30)


def unpullable(problem: FailureCode) -> WorkloadFacts:
    return admitted(phases=(PULLING,), pods=(pod(0, PULLING, image_problem=problem, image_problem_since=ADMITTED),))


CRASHED = pod(0, PULLING, restarts=5, exit_code=1)

ROWS = [
    # row of the table, facts, group, time of the look, state, reason, flags
    ("name conflict", queued(foreign_owner=True), EMPTY_GROUP, LOOKED, Q, C.NAME_CONFLICT, ""),
    ("launcher ended", succeeded(outcome_by_policy=True), EMPTY_GROUP, LOOKED, S, C.COMPLETED_BY_LAUNCHER, ""),
    ("completed", succeeded(), EMPTY_GROUP, LOOKED, S, C.COMPLETED, ""),
    ("completed", succeeded(ending=True), EMPTY_GROUP, LOOKED, S, C.COMPLETED, "stopping"),
    ("failed", failed(), EMPTY_GROUP, LOOKED, F, C.APP_EXIT, ""),
    ("failed", failed(FailureCode.NODE_LOST), EMPTY_GROUP, LOOKED, F, C.NODE_LOST, ""),
    ("failed", failed(FailureCode.UNKNOWN), EMPTY_GROUP, LOOKED, F, C.UNKNOWN_FAILURE, ""),
    ("failed", failed(failure=None), EMPTY_GROUP, LOOKED, F, C.UNKNOWN_FAILURE, ""),
    ("held", queued(active=False), EMPTY_GROUP, LOOKED, Q, C.HELD, "held"),
    ("held", running(active=False, phases=(ENDING,), ending=True), EMPTY_GROUP, LOOKED, Q, C.HELD, "held stopping"),
    ("unknown signal", queued(unknown="Phase=SomethingNew"), EMPTY_GROUP, LOOKED, U, C.UNKNOWN_SIGNAL, ""),
    ("preempted inside the team", evicted(LOOKED), EMPTY_GROUP, LOOKED, Q, C.PREEMPTED_HIGHER_PRIORITY, ""),
    (
        "taken back",
        evicted(LOOKED, EvictionCause.QUOTA_RECLAIMED, ending=True),
        EMPTY_GROUP,
        LOOKED,
        Q,
        C.PREEMPTED_QUOTA_RECLAIMED,
        "stopping",
    ),
    (
        "taken while borrowing",
        evicted(LOOKED, EvictionCause.WHILE_BORROWING),
        EMPTY_GROUP,
        LOOKED,
        Q,
        C.PREEMPTED_WHILE_BORROWING,
        "",
    ),
    (
        "taken for a fair share",
        evicted(LOOKED, EvictionCause.FAIR_SHARE),
        EMPTY_GROUP,
        LOOKED,
        Q,
        C.PREEMPTED_FAIR_SHARE,
        "",
    ),
    ("queue drained", evicted(LOOKED, EvictionCause.QUEUE_DRAINED), EMPTY_GROUP, LOOKED, Q, C.QUEUE_DRAINED, ""),
    ("queue held", queued(WaitCode.QUEUE_HELD), EMPTY_GROUP, LOOKED, Q, C.QUEUE_HELD, ""),
    ("queue missing", queued(WaitCode.QUEUE_MISSING), EMPTY_GROUP, LOOKED, Q, C.QUEUE_MISSING, ""),
    ("queue misconfigured", queued(WaitCode.QUEUE_MISCONFIGURED), EMPTY_GROUP, LOOKED, Q, C.QUEUE_MISCONFIGURED, ""),
    ("not offered", queued(WaitCode.NOT_OFFERED), EMPTY_GROUP, LOOKED, Q, C.NOT_OFFERED, ""),
    ("never fits", queued(WaitCode.NEVER_FITS), EMPTY_GROUP, LOOKED, Q, C.NEVER_FITS, ""),
    ("victims ending", queued(WaitCode.PREEMPTING), EMPTY_GROUP, LOOKED, Q, C.WAITING_FOR_PREEMPTION, ""),
    ("free in pieces", queued(WaitCode.PLACES), IN_PIECES, LOOKED, Q, C.SPLIT_OVER_NODES, ""),
    ("no place", queued(WaitCode.PLACES), TOO_FEW, LOOKED, Q, C.NO_PLACE, ""),
    ("no place", queued(WaitCode.PLACES, cards=0), IN_PIECES, LOOKED, Q, C.NO_PLACE, ""),
    ("above the share", queued(WaitCode.ABOVE_NOMINAL), EMPTY_GROUP, LOOKED, Q, C.WAITING_ABOVE_SHARE, ""),
    ("quota short", queued(WaitCode.QUOTA), EMPTY_GROUP, LOOKED, Q, C.WAITING_FOR_QUOTA, ""),
    ("quota short", evicted(LOOKED, EvictionCause.NOT_READY), EMPTY_GROUP, LOOKED, Q, C.WAITING_FOR_QUOTA, ""),
    ("check pending", queued(WaitCode.CHECK), EMPTY_GROUP, LOOKED, Q, C.WAITING_FOR_CHECK, ""),
    ("check after quota", queued(reserved_at=ADMITTED), EMPTY_GROUP, LOOKED, Q, C.WAITING_FOR_CHECK, ""),
    ("other wait", queued(WaitCode.OTHER), EMPTY_GROUP, LOOKED, Q, C.WAITING, ""),
    ("not picked up", queued(), EMPTY_GROUP, at(10, 1), Q, C.NOT_PICKED_UP, ""),
    ("submitted", queued(), EMPTY_GROUP, at(10, 0, 59), Q, C.SUBMITTED, ""),
    (
        "image problem",
        unpullable(FailureCode.IMAGE_NOT_FOUND),
        EMPTY_GROUP,
        LOOKED,
        CREATING,
        C.IMAGE_NOT_FOUND,
        "",
    ),
    (
        "image problem",
        unpullable(FailureCode.IMAGE_NAME_INVALID),
        EMPTY_GROUP,
        LOOKED,
        CREATING,
        C.IMAGE_NAME_INVALID,
        "",
    ),
    (
        "not placed",
        admitted(phases=(WAITING,), unplaceable=True),
        NO_TOPOLOGY,
        at(10, 7),
        CREATING,
        C.NOT_PLACED,
        "",
    ),
    ("not placed", admitted(phases=(WAITING,), unplaceable=True), TOO_FEW, at(10, 10), CREATING, C.NOT_PLACED, ""),
    ("placing", admitted(phases=(WAITING,), unplaceable=True), NO_TOPOLOGY, at(10, 6, 59), CREATING, C.PLACING, ""),
    ("placing", admitted(phases=(WAITING,), unplaceable=True), TOO_FEW, at(10, 9, 59), CREATING, C.PLACING, ""),
    ("waiting for release", admitted(waiting_release=True), EMPTY_GROUP, LOOKED, CREATING, C.WAITING_FOR_RELEASE, ""),
    ("service up", service(RUNNING, RUNNING), EMPTY_GROUP, LOOKED, R, C.RUNNING, ""),
    ("service up in part", service(RUNNING, wanted=2), EMPTY_GROUP, LOOKED, R, C.PARTLY_READY, "degraded"),
    ("service up in part", service(RUNNING, PULLING), EMPTY_GROUP, LOOKED, R, C.PARTLY_READY, "degraded"),
    ("service crashes", service(pods=(CRASHED,)), EMPTY_GROUP, LOOKED, Y, C.CRASH_LOOP, ""),
    ("service stuck", service(PULLING, stalled_since=ADMITTED), EMPTY_GROUP, at(10, 15), Y, C.ROLLOUT_STUCK, ""),
    ("running", running(count=2), EMPTY_GROUP, LOOKED, R, C.RUNNING, ""),
    ("running", running(phases=(RUNNING, SUCCEEDED)), EMPTY_GROUP, LOOKED, R, C.RUNNING, ""),
    ("partly ready", running(phases=(RUNNING, WAITING)), EMPTY_GROUP, LOOKED, R, C.PARTLY_READY, "degraded"),
    ("partly ready", running(phases=(RUNNING, FAILED)), EMPTY_GROUP, LOOKED, R, C.PARTLY_READY, "degraded"),
    ("finishing", running(phases=(SUCCEEDED, SUCCEEDED)), EMPTY_GROUP, LOOKED, R, C.FINISHING, ""),
    ("finishing", running(phases=(ENDING, ENDING), ending=True), EMPTY_GROUP, LOOKED, R, C.FINISHING, "stopping"),
    ("finishing", running(phases=(), ending=True), EMPTY_GROUP, LOOKED, R, C.FINISHING, "stopping"),
    ("pulling", admitted(phases=(RUNNING, PULLING)), EMPTY_GROUP, LOOKED, CREATING, C.PULLING_IMAGE, ""),
    ("not started", admitted(phases=(WAITING,)), EMPTY_GROUP, LOOKED, CREATING, C.NOT_PLACED, ""),
    ("not started", admitted(), NO_TOPOLOGY, at(10, 8), CREATING, C.NOT_PLACED, ""),
    ("waiting for pods", admitted(phases=(WAITING,)), EMPTY_GROUP, SOON, CREATING, C.WAITING_FOR_PODS, ""),
    ("waiting for pods", admitted(phases=(RUNNING, WAITING)), EMPTY_GROUP, LOOKED, CREATING, C.WAITING_FOR_PODS, ""),
    ("waiting for pods", running(phases=(WAITING, WAITING)), EMPTY_GROUP, SOON, CREATING, C.WAITING_FOR_PODS, ""),
    ("starting", admitted(), EMPTY_GROUP, SOON, CREATING, C.STARTING, ""),
]


@pytest.mark.parametrize(
    ("row", "facts", "group", "now", "state", "code", "flags"),
    [pytest.param(*row, id=f"{number} {row[0]}: {row[5]} {row[6]}") for number, row in enumerate(ROWS)],
)
def test_row(
    row: str, facts: WorkloadFacts, group: GroupSnapshot, now: object, state: ObservedState, code: C, flags: str
) -> None:
    derived = derive(facts, group, now)  # type: ignore[arg-type]
    marks = {"held": derived.held, "stopping": derived.stopping, "degraded": derived.degraded}
    assert (derived.row, derived.state, derived.reason.code) == (row, state, code)
    assert [name for name, on in marks.items() if on] == flags.split()


def test_every_row_is_tested_above_and_uses_known_conditions() -> None:
    assert {row[0] for row in ROWS} == {rule.name for rule in RULES}
    assert {name for rule in RULES for name in rule.when} == set(CONDITIONS)
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert RULES[-1].when == ()


# --------------------------------------------------------------------------- cases of other people's platforms


def test_an_object_without_any_status_is_queued_never_running() -> None:
    """C-09: from the 201 on the job is queued, also while the object says nothing."""
    fresh = WorkloadFacts(created_at=CREATED)
    assert derive(fresh, EMPTY_GROUP, CREATED).state is Q
    assert derive(fresh, EMPTY_GROUP, CREATED + timedelta(minutes=10)).reason.code is C.NOT_PICKED_UP


@pytest.mark.parametrize("facts", [queued(unknown="Aborted?"), running(unknown="SomethingNew")])
def test_a_word_nobody_knows_is_told_verbatim_and_never_taken_for_running(facts: WorkloadFacts) -> None:
    """C-09."""
    derived = derive(facts, EMPTY_GROUP, LOOKED)
    assert derived.state is U
    assert derived.reason.facts["raw"] == facts.unknown


def test_an_image_that_cannot_be_pulled_is_creating_and_recovers_by_itself() -> None:
    """C-11."""
    stuck = unpullable(FailureCode.IMAGE_NOT_FOUND)
    assert derive(stuck, EMPTY_GROUP, LOOKED).state is CREATING
    pulled = replace(stuck, pods=(pod(),), ready_at=at(10, 8))
    assert derive(pulled, EMPTY_GROUP, LOOKED).reason.code is C.RUNNING


def test_a_preempted_gang_is_queued_again_although_its_times_of_running_are_still_there() -> None:
    """C-13: who was preempted, by whom, and how often."""
    facts = evicted(at(10, 20), evicted_by="01J8Z6T9K3M5N7P9R1S3T5V7W9")
    derived = derive(facts, EMPTY_GROUP, at(10, 21))
    assert derived.state is Q
    assert derived.reason.facts["by"] == "01J8Z6T9K3M5N7P9R1S3T5V7W9"
    assert derived.reason.facts["evictions"] == 1
    again = replace(facts, admitted_at=at(10, 40), pods=(pod(),), ready_at=at(10, 41))
    assert derive(again, EMPTY_GROUP, at(10, 42)).state is R


def test_an_admission_that_an_eviction_took_in_the_same_moment_is_over() -> None:
    assert derive(evicted(ADMITTED), EMPTY_GROUP, LOOKED).state is Q
    assert derive(queued(reserved_at=ADMITTED, evicted_at=ADMITTED), EMPTY_GROUP, at(10, 5)).reason.code is C.SUBMITTED


def test_after_an_eviction_the_minute_without_a_word_counts_anew() -> None:
    facts = evicted(at(11), EvictionCause.NOT_READY, wait=None)
    assert derive(facts, EMPTY_GROUP, at(11, 0, 30)).reason.code is C.SUBMITTED
    assert derive(facts, EMPTY_GROUP, at(11, 1)).reason.code is C.NOT_PICKED_UP


def test_a_state_never_jumps_back_while_a_job_ends() -> None:
    """C-15: pods run, end, are gone, and only then comes the outcome."""
    steps = [
        running(count=2),
        running(phases=(RUNNING, SUCCEEDED)),
        running(phases=(SUCCEEDED, SUCCEEDED)),
        running(phases=()),
        succeeded(),
    ]
    assert [derive(facts, EMPTY_GROUP, LOOKED).state for facts in steps] == [R, R, R, R, S]


def test_a_held_workload_is_not_in_the_queue_whatever_the_gate_said_last() -> None:
    """C-17."""
    derived = derive(queued(WaitCode.QUOTA, active=False), EMPTY_GROUP, LOOKED)
    assert (derived.reason.code, derived.held) == (C.HELD, True)


def test_a_failed_gang_whose_other_pods_still_run_is_failed_and_stopping() -> None:
    """C-19."""
    derived = derive(failed(phases=(FAILED, RUNNING), ending=True), EMPTY_GROUP, LOOKED)
    assert (derived.state, derived.stopping) == (F, True)


def test_a_replica_that_ends_again_and_again_is_told_with_its_count_and_exit_code() -> None:
    """C-10: retrying while none is up, in part while others are."""
    alone = derive(service(pods=(CRASHED,)), EMPTY_GROUP, LOOKED)
    assert {"rank": 0, "restarts": 5, "exit_code": 1}.items() <= dict(alone.reason.facts).items()
    beside = derive(service(pods=(CRASHED, pod(1))), EMPTY_GROUP, LOOKED)
    assert (beside.state, beside.degraded) == (R, True)


@pytest.mark.parametrize(
    ("facts", "state", "waiting"),
    [
        pytest.param(service(wanted=2), Q, None, id="no replica is admitted"),
        pytest.param(service(RUNNING, wanted=3), R, 2, id="one of three is"),
        pytest.param(service(PULLING, wanted=3), CREATING, None, id="one is and starts"),
    ],
)
def test_a_service_is_what_its_replicas_are(facts: WorkloadFacts, state: ObservedState, waiting: int | None) -> None:
    derived = derive(facts, EMPTY_GROUP, LOOKED)
    assert derived.state is state
    if waiting is not None:
        assert (derived.reason.facts["ready"], derived.reason.facts["waiting"]) == (1, waiting)


def test_a_service_is_stuck_only_after_ten_minutes_in_which_all_were_admitted_and_none_was_ready() -> None:
    assert derive(service(PULLING, stalled_since=ADMITTED), EMPTY_GROUP, at(10, 14, 59)).state is CREATING
    assert derive(service(PULLING, wanted=2), EMPTY_GROUP, at(12)).reason.code is C.PULLING_IMAGE


def test_a_lost_node_is_named() -> None:
    """C-21."""
    reason = derive(failed(FailureCode.NODE_LOST, exit_code=None), EMPTY_GROUP, LOOKED).reason
    assert (reason.code, reason.facts["node"]) == (C.NODE_LOST, "node-1")


# --------------------------------------------------------------------------- the numbers of a reason


def test_a_short_quota_comes_with_the_numbers_of_the_gate() -> None:
    wait = Wait(WaitCode.QUOTA, asked=8, more=3, maximum=32, nominal=16, used=11, raw="insufficient quota")
    facts = derive(queued(wait), GroupSnapshot("H100"), LOOKED).reason.facts
    assert facts == {
        "cards": 8,
        "pods": 1,
        "group": "H100",
        "asked": 8,
        "more": 3,
        "maximum": 32,
        "nominal": 16,
        "used": 11,
        "raw": "insufficient quota",
    }


def test_free_cards_in_pieces_are_told_largest_first() -> None:
    facts = derive(queued(WaitCode.PLACES), GroupSnapshot("H100", (0, 3, 0, 5)), LOOKED).reason.facts
    assert (facts["free"], facts["blocks"], facts["per_pod"]) == (8, [5, 3], 8)


@pytest.mark.parametrize("wait", [WaitCode.PLACES, WaitCode.ABOVE_NOMINAL, WaitCode.QUOTA, WaitCode.NEVER_FITS])
def test_cards_out_of_service_are_told_where_they_have_a_part_in_it(wait: WaitCode) -> None:
    facts = derive(queued(wait), GroupSnapshot("H100", (3,), out=11), LOOKED).reason.facts
    assert facts.get("out") == (None if wait is WaitCode.NEVER_FITS else 11)
    assert "out" not in derive(queued(wait), GroupSnapshot("H100", (3,)), LOOKED).reason.facts


@pytest.mark.parametrize(
    ("wait", "code"),
    [
        (WaitCode.QUEUE_HELD, C.QUEUE_HELD),
        (WaitCode.QUEUE_MISSING, C.QUEUE_MISSING),
        (WaitCode.QUEUE_MISCONFIGURED, C.QUEUE_MISCONFIGURED),
        (WaitCode.NOT_OFFERED, C.NOT_OFFERED),
        (WaitCode.NEVER_FITS, C.NEVER_FITS),
        (WaitCode.QUOTA, C.PREEMPTED_QUOTA_RECLAIMED),
        (WaitCode.PLACES, C.PREEMPTED_QUOTA_RECLAIMED),
    ],
)
def test_what_keeps_a_preempted_job_from_ever_starting_counts_for_more_than_the_preemption(
    wait: WaitCode, code: C
) -> None:
    facts = replace(evicted(LOOKED, EvictionCause.QUOTA_RECLAIMED), wait=Wait(wait, asked=8))
    assert derive(facts, EMPTY_GROUP, LOOKED).reason.code is code


def test_what_the_gate_said_before_the_admission_is_forgotten() -> None:
    stale = running(wait=Wait(WaitCode.QUOTA, asked=8, more=3))
    assert "more" not in derive(stale, EMPTY_GROUP, LOOKED).reason.facts


def test_pods_that_are_up_are_counted() -> None:
    facts = derive(admitted(phases=(RUNNING, PULLING, PULLING)), EMPTY_GROUP, LOOKED).reason.facts
    assert (facts["ready"], facts["pulling"], facts["pods"]) == (1, 2, 3)


@pytest.mark.parametrize("code", list(FailureCode))
def test_every_cause_of_failure_has_a_reason(code: FailureCode) -> None:
    reason = derive(failed(code), EMPTY_GROUP, LOOKED).reason
    expected = C.UNKNOWN_FAILURE if code is FailureCode.UNKNOWN else C(code.value)
    assert reason.code is expected
    assert (reason.facts["rank"], reason.facts["exit_code"], reason.facts["node"]) == (0, 1, "node-1")


@pytest.mark.parametrize("problem", list(FailureCode))
def test_every_cause_of_an_image_problem_has_a_reason(problem: FailureCode) -> None:
    derived = derive(unpullable(problem), EMPTY_GROUP, LOOKED)
    expected = C.UNKNOWN_FAILURE if problem is FailureCode.UNKNOWN else C(problem.value)
    assert (derived.state, derived.reason.code) == (CREATING, expected)


@pytest.mark.parametrize("code", list(WaitCode))
def test_every_word_of_the_gate_keeps_the_job_queued(code: WaitCode) -> None:
    assert derive(queued(code), EMPTY_GROUP, LOOKED).state is Q


@pytest.mark.parametrize("cause", list(EvictionCause))
def test_after_every_kind_of_eviction_the_job_is_queued(cause: EvictionCause) -> None:
    assert derive(evicted(LOOKED, cause), EMPTY_GROUP, LOOKED).state is Q


def test_an_outcome_outlives_every_other_signal() -> None:
    facts = succeeded(active=False, unknown="x", evictions=1, evicted_at=at(10, 20), wait=Wait(WaitCode.QUOTA))
    assert derive(facts, EMPTY_GROUP, LOOKED).state is S
    assert derive(replace(facts, outcome=Outcome.FAILED), EMPTY_GROUP, LOOKED).state is F
