"""Why something waits: the gate's texts of 0.17 and 0.19, its finer reasons, and the queues as they are."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.backends.kueue_volcano import names
from clusters.contract import Wait, WaitCode, WorkloadFacts
from tests.backends.kueue.objects import (
    RESOURCE,
    Object,
    cluster_queue,
    cond,
    facts_of,
    job,
    local_queue,
    no,
    snapshot_of,
    workload,
)

NOT_ASSIGNED = "couldn't assign flavors to pod set main: "
UNUSED = f"insufficient unused quota for {RESOURCE} in flavor slu-h100, 8 more needed"
MAXIMUM = (
    f"insufficient quota for {RESOURCE} in flavor slu-h100, previously considered podsets requests (0) + "
    "current podset request (80) > maximum capacity (32)"
)
AFFINITY = "flavor slu-a100 doesn't match node affinity"


def waits(
    message: str,
    reason: str = "Pending",
    *,
    queues: tuple[Object, ...] | None = None,
    pods: int = 2,
    cards: int = 4,
) -> Wait | None:
    word = no("QuotaReserved", reason, message, s=3)
    found = facts_of(
        job(suspend=True, pods=pods, cards=cards),
        workload(word),
        queues=queues if queues is not None else (local_queue(), cluster_queue(used=8)),
    )
    return found.wait


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (NOT_ASSIGNED + UNUSED, WaitCode.ABOVE_NOMINAL),
        (NOT_ASSIGNED + MAXIMUM, WaitCode.NEVER_FITS),
        (NOT_ASSIGNED + f"{AFFINITY}, {UNUSED}", WaitCode.ABOVE_NOMINAL),
        (NOT_ASSIGNED + UNUSED + ". Pending the preemption of 2 workload(s)", WaitCode.PREEMPTING),
        (NOT_ASSIGNED + UNUSED + ". Preempting 1 workload(s) failed, will retry.", WaitCode.ABOVE_NOMINAL),
        (". Pending the migration of 1 workload(s)", WaitCode.PREEMPTING),
        (
            NOT_ASSIGNED + 'topology "slu-hosts" doesn\'t allow to fit any of 1 pod(s). Total nodes: 4; '
            'excluded: resource "nvidia.com/gpu": 4',
            WaitCode.PLACES,
        ),
        (NOT_ASSIGNED + 'topology "slu-hosts" allows to fit only 1 out of 2 pod(s)', WaitCode.PLACES),
        (NOT_ASSIGNED + 'topology "racks" doesn\'t allow to fit; 1/2 slice(s) fit on level rack', WaitCode.PLACES),
        (NOT_ASSIGNED + "no topology domains at level: kubernetes.io/hostname", WaitCode.PLACES),
        ("Workload no longer fits after processing another workload", WaitCode.ABOVE_NOMINAL),
        ("Workload has overlapping preemption targets with another workload", WaitCode.ABOVE_NOMINAL),
        (
            "Workload has overlapping preemption targets with another workload, but will fit after these preemptions "
            "complete",
            WaitCode.PREEMPTING,
        ),
        (NOT_ASSIGNED + f"resource {RESOURCE} unavailable in ClusterQueue", WaitCode.NOT_OFFERED),
        (NOT_ASSIGNED + AFFINITY, WaitCode.NOT_OFFERED),
        (NOT_ASSIGNED + "untolerated taint {pool train NoSchedule <nil>} in flavor slu-h100", WaitCode.NOT_OFFERED),
        (NOT_ASSIGNED + "flavor slu-h100 not found", WaitCode.QUEUE_MISCONFIGURED),
        ("Workload namespace doesn't match ClusterQueue selector", WaitCode.QUEUE_MISCONFIGURED),
        ("workload namespace doesn't match ClusterQueue selector", WaitCode.QUEUE_MISCONFIGURED),
        ("The workload has failed admission checks", WaitCode.CHECK),
        ("LocalQueue slu-typo doesn't exist", WaitCode.QUEUE_MISSING),
        ("ClusterQueue slu-alpha not found", WaitCode.QUEUE_MISSING),
        ("ClusterQueue slu-alpha is inactive", WaitCode.QUEUE_HELD),
        ("LocalQueue slu-default is stopped", WaitCode.QUEUE_HELD),
        (NOT_ASSIGNED + "insufficient unused quota for cpu in flavor slu-h100, 8 more needed", WaitCode.OTHER),
        ("resources validation failed: limits must be at least requests", WaitCode.OTHER),
        ("something that a later version says", WaitCode.OTHER),
    ],
)
def test_every_known_text_has_its_code_and_is_kept(message: str, code: WaitCode) -> None:
    wait = waits(message)
    assert wait is not None and (wait.code, wait.raw, wait.asked) == (code, message, 8)


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("WaitingForQuota", WaitCode.ABOVE_NOMINAL),
        ("ExceedsMaxQuota", WaitCode.NEVER_FITS),
        ("NoMatchingFlavor", WaitCode.NOT_OFFERED),
        ("TopologyPlacementFailed", WaitCode.PLACES),
        ("WaitingForPreemptedWorkloads", WaitCode.PREEMPTING),
        ("Misconfigured", WaitCode.QUEUE_MISCONFIGURED),
        ("Suspended", WaitCode.QUEUE_HELD),
        ("PendingEvaluation", WaitCode.OTHER),
        ("ReasonOfTomorrow", WaitCode.OTHER),
    ],
)
def test_finer_reasons_help_where_the_text_says_nothing(reason: str, code: WaitCode) -> None:
    """C-36: one code per reason; an unknown one is shown as it is."""
    said = "Bypassed scheduling evaluation because an equivalent workload recently failed"
    for message in (said, ""):
        wait = waits(message, reason)
        assert wait is not None and (wait.code, wait.raw) == (code, message or reason)


def test_the_numbers_are_those_of_the_text_and_of_the_queue_now() -> None:
    wait = waits(NOT_ASSIGNED + UNUSED, queues=(local_queue(), cluster_queue(nominal=13, used=8)))
    assert wait is not None
    assert (wait.asked, wait.more, wait.nominal, wait.used, wait.maximum) == (8, 8, 13, 8, None)
    wait = waits(NOT_ASSIGNED + MAXIMUM, pods=10, cards=8)
    assert wait is not None and (wait.asked, wait.maximum) == (80, 32)
    wait = waits(NOT_ASSIGNED + UNUSED + ". Pending the preemption of 3 workload(s)")
    assert wait is not None and (wait.victims, wait.more) == (3, 8)


@pytest.mark.parametrize(
    ("nominal", "used", "code"),
    [(8, 8, WaitCode.QUOTA), (13, 8, WaitCode.ABOVE_NOMINAL), (4, 0, WaitCode.ABOVE_NOMINAL), (16, 24, WaitCode.QUOTA)],
)
def test_a_shortage_is_told_by_the_rule_of_every_backend(nominal: int, used: int, code: WaitCode) -> None:
    wait = waits(NOT_ASSIGNED + UNUSED, queues=(local_queue(), cluster_queue(nominal=nominal, used=used)))
    assert wait is not None and wait.code is code


def test_without_a_quota_of_this_group_in_the_queue_no_number_is_made_up() -> None:
    bare = cluster_queue()
    bare["spec"]["resourceGroups"] = []
    wait = waits(NOT_ASSIGNED + UNUSED, queues=(local_queue(), bare))
    assert wait is not None and (wait.code, wait.nominal, wait.used) == (WaitCode.QUOTA, None, None)
    silent = cluster_queue()
    del silent["status"]
    wait = waits(NOT_ASSIGNED + UNUSED, queues=(local_queue(), silent))
    assert wait is not None and (wait.code, wait.nominal, wait.used) == (WaitCode.QUOTA, 13, None)


@pytest.mark.parametrize(
    ("queues", "code"),
    [
        ((), WaitCode.QUEUE_MISSING),
        ((local_queue(),), WaitCode.QUEUE_MISSING),
        ((local_queue(stop="Hold"), cluster_queue()), WaitCode.QUEUE_HELD),
        ((local_queue(), cluster_queue(stop="Hold")), WaitCode.QUEUE_HELD),
        ((local_queue(), cluster_queue(stop="HoldAndDrain")), WaitCode.QUEUE_HELD),
        ((local_queue(), cluster_queue(conditions=[no("Active", "Stopped")])), WaitCode.QUEUE_HELD),
        ((local_queue(), cluster_queue(conditions=[no("Active", "FlavorNotFound")])), WaitCode.QUEUE_MISCONFIGURED),
        ((local_queue(), cluster_queue(conditions=[no("Active", "TopologyNotFound")])), WaitCode.QUEUE_MISCONFIGURED),
        ((local_queue(), cluster_queue(conditions=[no("Active", "Terminating")])), WaitCode.QUEUE_MISCONFIGURED),
        ((local_queue(), cluster_queue(conditions=[no("Active", "Unknown")])), WaitCode.QUEUE_MISCONFIGURED),
    ],
)  # fmt: skip
@pytest.mark.parametrize("word", [[], [no("QuotaReserved", "Inadmissible", "ClusterQueue slu-alpha is inactive")]])
def test_a_queue_that_lets_nothing_in_is_the_reason_whatever_was_said_before(
    queues: tuple[Object, ...], code: WaitCode, word: list[Object]
) -> None:
    """C-41, also before the gate has said anything."""
    wait = facts_of(job(suspend=True), workload(*word), queues=queues).wait
    assert wait is not None and wait.code is code and wait.raw


def test_before_the_queues_were_read_they_are_not_said_to_be_missing() -> None:
    kinds = (names.JOBS, names.WORKLOADS)
    (row,) = snapshot_of(job(suspend=True), workload(), kinds=kinds).observed()
    assert row.facts.wait is None


def test_nothing_is_said_of_what_nobody_picked_up() -> None:
    assert facts_of(job(suspend=True), queues=()).wait is None


class TestEqualOnes:
    """Since 0.18 Kueue looks at one of many equal ones, and says nothing about the others."""

    def facts(self, **more: Any) -> dict[str, WorkloadFacts]:
        told = workload(no("QuotaReserved", "Pending", NOT_ASSIGNED + UNUSED), uid="wl-1", owner="job-1")
        silent = workload(uid="wl-2", owner="job-2", **more)
        objects = [job(suspend=True), job(uid="job-2", ulid="01K2", name="j-2", suspend=True), told, silent]
        return {row.uid: row.facts for row in snapshot_of(*objects, local_queue(), cluster_queue(used=8)).observed()}

    def test_the_word_about_one_is_the_word_about_all(self) -> None:
        facts = self.facts()
        assert facts["job-2"].wait == facts["job-1"].wait is not None

    def test_but_not_about_those_of_another_priority(self) -> None:
        assert self.facts(priority=300)["job-2"].wait is None

    def test_nor_about_one_that_is_held(self) -> None:
        assert self.facts(active=False)["job-2"].wait is None


def test_an_admitted_one_does_not_wait() -> None:
    word = cond("QuotaReserved", "QuotaReserved", "Quota reserved in ClusterQueue slu-alpha", s=1)
    facts = facts_of(job(), workload(word, cond("Admitted", s=1)), queues=(local_queue(), cluster_queue(stop="Hold")))
    assert facts.wait is None and facts.admitted_at is not None
