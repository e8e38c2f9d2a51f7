"""Every row of the table from low-level signals to a business state, on objects as they are read (C2 of the plan)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from clusters.contract import WorkloadFacts
from clusters.domain.reasons import ReasonCode
from clusters.domain.states import Derived, GroupSnapshot, ObservedState, derive
from tests.backends.kueue.objects import (
    Object,
    admitted,
    cond,
    container,
    exited,
    facts_of,
    job,
    look,
    moment,
    no,
    pod,
    pod_group,
    snapshot_of,
    unplaced,
    waiting,
    workload,
)

Q, C, R = ObservedState.QUEUED, ObservedState.CREATING, ObservedState.RUNNING
S, F, U = ObservedState.SUCCEEDED, ObservedState.FAILED, ObservedState.UNKNOWN
LATER = moment(200)

PREEMPTED = (
    "Preempted to accommodate a workload (UID: wl-9, JobUID: job-9) due to {}; "
    "preemptor path: /slu/slu-beta; preemptee path: /slu/slu-alpha"
)
EXITED = "Container main for pod a/j-x-1-ab failed with exit code 3 matching FailJob rule at index 0"
DISRUPTED = "Pod a/j-x-1-ab has condition DisruptionTarget matching FailJob rule at index 0"
TRIES = "The workload is deactivated due to exceeding the maximum number of re-queuing retries"
FREED = no("QuotaReserved", "Pending", "couldn't assign flavors to pod set main: something new", s=60)
GONE = no("Admitted", "NoReservation", s=60)


def evicted(reason: str, message: str = "", s: float = 58) -> Object:
    return cond("Evicted", reason, message or reason, s=s)


def preempted(reason: str, words: str) -> list[Object]:
    return [evicted("Preempted", PREEMPTED.format(words)), cond("Preempted", reason, PREEMPTED.format(words), s=58)]


@dataclass(frozen=True)
class Row:
    name: str
    objects: tuple[Object, ...]
    state: ObservedState
    code: ReasonCode
    stopping: bool = False
    held: bool = False
    degraded: bool = False


def ended(name: str, condition: Object, state: ObservedState, code: ReasonCode, *pods: Object, **flags: bool) -> Row:
    objects = (job(cond("Suspended", status="False"), condition), workload(*admitted()), *pods)
    return Row(name, objects, state, code, **flags)


def waits(name: str, *conditions: Object, state: ObservedState = Q, code: ReasonCode, **flags: bool) -> Row:
    return Row(name, (job(suspend=True), workload(*conditions)), state, code, **flags)


def starts(name: str, code: ReasonCode, *things: Object, state: ObservedState = C, **flags: bool) -> Row:
    return Row(name, (job(), workload(*admitted()), *things), state, code, **flags)


DONE = [pod(0, exited(0, 50), phase="Succeeded"), pod(1, exited(0, 50), phase="Succeeded")]
DEAD = "DeactivatedDueTo"

ROWS = (
    ended("3a complete", cond("Complete", "CompletionsReached", s=51), S, ReasonCode.COMPLETED, *DONE),
    ended("3a by success policy", cond("Complete", "SuccessPolicy", s=51), S, ReasonCode.COMPLETED_BY_LAUNCHER),
    Row(
        "3a the gate says so first",
        (job(), workload(*admitted(), cond("Finished", "Succeeded", s=51))),
        S,
        ReasonCode.COMPLETED,
    ),
    ended("3b deadline", cond("Failed", "DeadlineExceeded", s=51), F, ReasonCode.TIME_LIMIT),
    ended(
        "3c an exit code that a policy names",
        cond("Failed", "PodFailurePolicy", EXITED, s=51),
        F,
        ReasonCode.APP_EXIT,
    ),
    ended(
        "3c a disruption that a policy names",
        cond("Failed", "PodFailurePolicy", DISRUPTED, s=51),
        F,
        ReasonCode.DISRUPTION,
    ),
    ended(
        "3d an exit",
        cond("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit", s=51),
        F,
        ReasonCode.APP_EXIT,
        pod(0, exited(3, 50), phase="Failed"),
    ),
    ended(
        "3d out of memory",
        cond("Failed", "BackoffLimitExceeded", s=51),
        F,
        ReasonCode.OUT_OF_MEMORY,
        pod(0, exited(137, 50, "OOMKilled"), phase="Failed"),
    ),
    ended("3d nothing left to tell", cond("Failed", "BackoffLimitExceeded", s=51), F, ReasonCode.UNKNOWN_FAILURE),
    Row(
        "3e a label conflict with the flavor",
        (job(suspend=True), workload(*admitted(), cond("Finished", "FailedToStart", "conflict for pool", s=5))),
        F,
        ReasonCode.BAD_CONFIG,
    ),
    Row(
        "3f out of sync is passing",
        (job(), workload(*admitted(), cond("Finished", "OutOfSync", s=5))),
        U,
        ReasonCode.UNKNOWN_SIGNAL,
    ),
    ended(
        "3h sure to fail, pods still end",
        cond("FailureTarget", "BackoffLimitExceeded", s=51),
        F,
        ReasonCode.APP_EXIT,
        pod(0, exited(3, 50), phase="Failed"),
        pod(1, deleted=51),
        stopping=True,
    ),
    ended(
        "3h sure to succeed, pods still end",
        cond("SuccessCriteriaMet", "SuccessPolicy", s=51),
        S,
        ReasonCode.COMPLETED_BY_LAUNCHER,
        pod(0, exited(0, 50), phase="Succeeded"),
        pod(1, deleted=51),
        stopping=True,
    ),
    Row(
        "4a never ready",
        (job(suspend=True), workload(FREED, GONE, evicted(f"{DEAD}RequeuingLimitExceeded"), active=False, lost=9)),
        F,
        ReasonCode.NEVER_READY,
    ),
    Row(
        "4a the cause stands in the text alone",
        (
            job(suspend=True),
            workload(
                FREED,
                GONE,
                evicted("Deactivated", TRIES),
                active=False,
                lost=9,
            ),
        ),
        F,
        ReasonCode.NEVER_READY,
    ),
    Row(
        "4b the policy's ceiling",
        (
            job(suspend=True),
            workload(FREED, GONE, evicted(f"{DEAD}MaximumExecutionTimeExceeded"), active=False, lost=9),
        ),
        F,
        ReasonCode.TIME_LIMIT,
    ),
    Row(
        "4c rejected by a check",
        (job(suspend=True), workload(FREED, evicted(f"{DEAD}AdmissionCheck"), active=False)),
        F,
        ReasonCode.REJECTED,
    ),
    Row(
        "5 held by a person",
        (job(suspend=True), workload(FREED, GONE, evicted("Deactivated"), active=False, lost=9)),
        Q,
        ReasonCode.HELD,
        held=True,
    ),
    Row(
        "6 told to leave, still holding",
        (
            job(),
            workload(*admitted(), *preempted("InCohortReclamation", "reclamation within the cohort")),
            pod(0),
            pod(1),
        ),
        R,
        ReasonCode.RUNNING,
        stopping=True,
    ),
    waits(
        "7a by a higher priority",
        FREED,
        GONE,
        *preempted("InClusterQueue", "prioritization in the ClusterQueue"),
        code=ReasonCode.PREEMPTED_HIGHER_PRIORITY,
    ),
    waits(
        "7a taken back",
        FREED,
        GONE,
        *preempted("InCohortReclamation", "reclamation within the cohort"),
        code=ReasonCode.PREEMPTED_QUOTA_RECLAIMED,
    ),
    waits(
        "7a while borrowing",
        FREED,
        GONE,
        *preempted("InCohortReclaimWhileBorrowing", "reclamation within the cohort while borrowing"),
        code=ReasonCode.PREEMPTED_WHILE_BORROWING,
    ),
    waits(
        "7a for a fair share",
        FREED,
        GONE,
        *preempted("InCohortFairSharing", "Fair Sharing within the cohort"),
        code=ReasonCode.PREEMPTED_FAIR_SHARE,
    ),
    waits("7b not ready in time", FREED, GONE, evicted("PodsReadyTimeout"), code=ReasonCode.WAITING),
    waits("7c its node failed", FREED, GONE, evicted("NodeFailures"), code=ReasonCode.WAITING),
    waits("7d a check asks to retry", FREED, GONE, evicted("AdmissionCheck"), code=ReasonCode.WAITING),
    waits("7e its queue was drained", FREED, GONE, evicted("ClusterQueueStopped"), code=ReasonCode.QUEUE_DRAINED),
    waits("7e its local queue was drained", FREED, GONE, evicted("LocalQueueStopped"), code=ReasonCode.QUEUE_DRAINED),
    Row("8b nobody picked it up", (job(suspend=True),), Q, ReasonCode.NOT_PICKED_UP),
    waits("9j a word that nobody knows", no("QuotaReserved", "Pending", "the moon is full"), code=ReasonCode.WAITING),
    waits(
        "10 a check has not answered",
        cond("QuotaReserved", "QuotaReserved", s=1),
        no("Admitted", "UnsatisfiedChecks", s=1),
        code=ReasonCode.WAITING_FOR_CHECK,
    ),
    starts("11 admitted, not started", ReasonCode.STARTING),
    starts(
        "12 no such image", ReasonCode.IMAGE_NOT_FOUND, pod(0, waiting("ErrImagePull", "manifest unknown")), unplaced(1)
    ),
    starts(
        "12 no access to the image",
        ReasonCode.IMAGE_UNAUTHORIZED,
        pod(0, waiting("ImagePullBackOff", "401 Unauthorized")),
    ),
    starts("12 an image name that is none", ReasonCode.IMAGE_NAME_INVALID, pod(0, waiting("InvalidImageName", "x"))),
    starts("12 a secret is missing", ReasonCode.BAD_CONFIG, pod(0, waiting("CreateContainerConfigError", "secret x"))),
    starts(
        "13 a loop of crashes", ReasonCode.UNKNOWN_SIGNAL, pod(0, waiting("CrashLoopBackOff"), phase="Running"), state=U
    ),
    starts(
        "14 a rank is gone, the others run",
        ReasonCode.PARTLY_READY,
        pod(0),
        pod(1, exited(0, 50), deleted=40, phase="Running"),
        state=R,
        degraded=True,
    ),
    starts("16 no word about its pods", ReasonCode.WAITING_FOR_PODS, unplaced(0), unplaced(1)),
    starts("18 no node fits", ReasonCode.PLACING, unplaced(0, "Unschedulable", "0/4 nodes are available"), unplaced(1)),
    starts(
        "18 its gang says so",
        ReasonCode.PLACING,
        unplaced(0),
        unplaced(1),
        pod_group(cond("Unschedulable", "NotEnoughResources", s=9)),
    ),
    starts(
        "19 waits for its peers", ReasonCode.WAITING_FOR_PODS, unplaced(0, "Schedulable"), unplaced(1, "Schedulable")
    ),
    starts("20 gated", ReasonCode.WAITING_FOR_PODS, unplaced(0, "SchedulingGated"), unplaced(1, "SchedulingGated")),
    starts(
        "21 pulling", ReasonCode.PULLING_IMAGE, pod(0, waiting("ContainerCreating")), pod(1, waiting("PodInitializing"))
    ),
    starts("22 all run", ReasonCode.RUNNING, pod(0), pod(1), state=R),
    starts("22 one is done, one runs", ReasonCode.RUNNING, pod(0), pod(1, exited(0, 50), phase="Succeeded"), state=R),
    starts("23 one runs, one is to come", ReasonCode.PULLING_IMAGE, pod(0), pod(1, waiting("ContainerCreating"))),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_objects_of_a_row_are_read_as_its_state(row: Row) -> None:
    derived = _derived(facts_of(*row.objects))
    assert (derived.state, derived.reason.code) == (row.state, row.code)
    assert (derived.stopping, derived.held, derived.degraded) == (row.stopping, row.held, row.degraded)


def _derived(facts: WorkloadFacts) -> Derived:
    return derive(facts, GroupSnapshot("H100"), LATER)


def test_row_1_an_object_that_is_gone_is_in_no_look() -> None:
    assert snapshot_of(workload(*admitted()), pod_group()).observed() == ()


def test_rows_2_and_3g_a_deleted_job_is_told_until_its_pods_are_gone() -> None:
    (row,) = snapshot_of(pod(0, deleted=90), pod(1, deleted=91)).observed()
    assert row.uid == "job-1" and row.facts.being_deleted and row.facts.ending
    assert row.facts.evicted_at == moment(90)
    assert snapshot_of(pod(0, exited(0, 95), phase="Succeeded", deleted=90)).observed() == ()


def test_row_2_a_job_that_is_being_deleted_holds_nothing_any_more() -> None:
    facts = facts_of(job(deleted=100), workload(*admitted()), pod(0, deleted=100), pod(1, deleted=100))
    assert facts.being_deleted and facts.ending and facts.outcome is None
    assert facts.evicted_at == moment(100) and facts.admitted_at == moment(1)


def test_row_8a_a_fresh_job_is_submitted() -> None:
    derived = derive(facts_of(job(suspend=True)), GroupSnapshot("H100"), moment(20))
    assert (derived.state, derived.reason.code) == (Q, ReasonCode.SUBMITTED)


def test_row_18_while_others_still_end_on_its_nodes_it_waits_for_them() -> None:
    other = {"labels": {}, "owner": None, "uid": "x", "containers": [container(8)]}
    stuck = unplaced(0, "Unschedulable"), unplaced(1, "Unschedulable")
    for read_at, waits_for_release in ((100, True), (500, False)):  # long past its grace, nobody waits for it
        facts = facts_of(job(), workload(*admitted()), *stuck, pod(7, deleted=90, **other), read_at=moment(read_at))
        assert (facts.waiting_release, facts.unplaceable) == (waits_for_release, not waits_for_release)


def test_a_retention_that_deletes_workloads_of_finished_jobs_loses_no_outcome() -> None:
    row = look(job(cond("Complete", "CompletionsReached", s=51)), *DONE)
    assert row.facts.ended_at == moment(51) and _derived(row.facts).state is S
