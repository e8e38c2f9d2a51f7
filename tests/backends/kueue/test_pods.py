"""Pods: where they stand, what keeps them from starting, and which of them failed first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clusters.backends.kueue_volcano import names, raw
from clusters.backends.kueue_volcano.pods import phase_of, unknown_signal
from clusters.contract import INFRASTRUCTURE_FAILURES, Failure, FailureCode, Outcome, PodPhase
from clusters.domain.reasons import ReasonCode
from clusters.domain.states import GroupSnapshot, derive
from tests.backends.kueue.objects import (
    Object,
    admitted,
    cond,
    container,
    exited,
    facts_of,
    job,
    moment,
    node,
    pod,
    pod_group,
    running,
    snapshot_of,
    unplaced,
    waiting,
    workload,
)

FAILED = cond("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit", s=60)
POLICY = "Pod slu-alpha-000001/{} has condition DisruptionTarget matching FailJob rule at index 0"


def by_policy(name: str, s: float = 60) -> Object:
    return cond("Failed", "PodFailurePolicy", POLICY.format(name), s=s)


def disrupted(reason: str = "EvictionByEvictionAPI", s: float = 50) -> Object:
    return cond("DisruptionTarget", reason, "told so", s=s)


def failure(*pods: Object, condition: Object = FAILED, nodes: tuple[Object, ...] = ()) -> Failure:
    facts = facts_of(job(condition), workload(*admitted()), *pods, *nodes)
    assert facts.outcome is Outcome.FAILED and facts.failure is not None
    return facts.failure


def died(rank: int, code: int, s: float, reason: str = "", **more: Any) -> Object:
    return pod(rank, exited(code, s, reason), phase="Failed", **more)


# --------------------------------------------------------------------------- phases


@pytest.mark.parametrize(
    ("thing", "phase"),
    [
        (unplaced(0), PodPhase.WAITING),
        (unplaced(0, "Unschedulable"), PodPhase.WAITING),
        (pod(0, waiting("ContainerCreating")), PodPhase.PULLING),
        (pod(0, None, phase="Pending", node="n1"), PodPhase.PULLING),
        (pod(0), PodPhase.RUNNING),
        (pod(0, running(3), deleted=50), PodPhase.ENDING),
        (unplaced(0, deleted=50), PodPhase.ENDING),
        (pod(0, exited(0, 50), phase="Succeeded"), PodPhase.SUCCEEDED),
        (pod(0, exited(0, 50), phase="Succeeded", deleted=60), PodPhase.SUCCEEDED),
        (died(0, 1, 50), PodPhase.FAILED),
        (pod(0, exited(0, 50), phase="Running"), PodPhase.SUCCEEDED),
        (pod(0, exited(2, 50), phase="Running"), PodPhase.FAILED),
        (pod(0, phase="Unknown"), PodPhase.ENDING),
    ],
)
def test_a_pod_stands_where_its_containers_do(thing: Object, phase: PodPhase) -> None:
    if phase is PodPhase.PULLING and not thing["status"]["containerStatuses"]:
        thing["status"]["phase"] = "Pending"
    facts = facts_of(job(pods=1), workload(*admitted()), thing)
    assert [part.phase for part in facts.pods] == [phase]


def test_what_stands_beside_the_program_says_nothing_about_it() -> None:
    thing = pod(0, exited(0, 50), phase="Running")
    proxy = {"name": "proxy", "state": running(3)}
    thing["status"]["containerStatuses"].insert(0, proxy)
    facts = facts_of(job(pods=1), workload(*admitted()), thing)
    assert (facts.pods[0].phase, facts.pods[0].exit_code) == (PodPhase.SUCCEEDED, 0)


AWKWARD = {
    "p01": (PodPhase.PULLING, ""),
    "p02": (PodPhase.PULLING, "CrashLoopBackOff (4 restarts, OOMKilled 137)"),
    "p04": (PodPhase.ENDING, ""),
    "p05": (PodPhase.FAILED, ""),
    "p06": (PodPhase.SUCCEEDED, ""),
    "p09": (PodPhase.ENDING, "NodeLost: n1"),
    "p11": (PodPhase.FAILED, ""),
}


def test_awkward_pods_of_the_field_are_read_as_what_they_are() -> None:
    listed = raw.decode_list(names.PODS_KIND, (Path(__file__).parent / "awkward_pods.json").read_bytes())
    assert not listed.broken
    seen = {pod.metadata.name: (phase_of(pod, {}), unknown_signal(pod, {})) for pod in listed.items}
    assert seen == AWKWARD


def test_a_pod_on_a_machine_that_is_not_heard_of_does_not_run() -> None:
    """C-21: neither running nor failed; its cards are held and not free."""
    silent = node("n1", ready="Unknown", heard=40)
    facts = facts_of(job(pods=1), workload(*admitted()), pod(0), silent)
    assert facts.unknown == "NodeNotReady: n1" and facts.pods[0].phase is PodPhase.ENDING
    facts = facts_of(job(pods=1), workload(*admitted()), pod(0), node("n1", ready="Unknown"), node("n2"))
    assert facts.unknown
    assert not facts_of(job(pods=1), workload(*admitted()), pod(0), node("n1")).unknown


# --------------------------------------------------------------------------- images (C-11)


@pytest.mark.parametrize(
    ("reason", "message", "problem"),
    [
        ("InvalidImageName", "couldn't parse image name", FailureCode.IMAGE_NAME_INVALID),
        ("ErrImageNeverPull", "not present with pull policy of Never", FailureCode.IMAGE_NOT_FOUND),
        ("ErrImagePull", "rpc error: code = NotFound desc = manifest unknown", FailureCode.IMAGE_NOT_FOUND),
        ("ImagePullBackOff", 'Back-off pulling image "x": ErrImagePull: x: not found', FailureCode.IMAGE_NOT_FOUND),
        ("ErrImagePull", "pull access denied, repository does not exist", FailureCode.IMAGE_UNAUTHORIZED),
        ("ErrImagePull", "failed to authorize: 401 Unauthorized", FailureCode.IMAGE_UNAUTHORIZED),
        ("ErrImagePull", "dial tcp: i/o timeout", FailureCode.IMAGE_TIMEOUT),
        ("ErrImagePull", "toomanyrequests: slow down", FailureCode.IMAGE_TIMEOUT),
        ("ImagePullBackOff", 'Back-off pulling image "x"', FailureCode.IMAGE_TIMEOUT),
        ("CreateContainerError", "executable file not found", FailureCode.BAD_CONFIG),
        ("ContainerCreating", "", None),
        ("SomethingNew", "", None),
    ],
)
@pytest.mark.parametrize("init", [False, True])
def test_what_keeps_a_container_from_starting_is_told_apart(
    reason: str, message: str, problem: FailureCode | None, init: bool
) -> None:
    thing = pod(0, waiting(reason, message), cond("Initialized", status="False" if init else "True", s=5))
    if init:
        status = thing["status"]
        status["initContainerStatuses"] = [{"name": "code", "state": waiting(reason, message)}]
        status["containerStatuses"] = [{"name": "main", "state": waiting("PodInitializing")}]
    facts = facts_of(job(pods=1), workload(*admitted()), thing)
    (seen,) = facts.pods
    assert (seen.phase, seen.image_problem) == (PodPhase.PULLING, problem)
    assert seen.image_problem_since == (None if problem is None else moment(3 if init else 5))
    assert facts.unknown == ("SomethingNew" if reason == "SomethingNew" else "")


def test_an_image_problem_that_is_over_is_forgotten() -> None:
    facts = facts_of(job(pods=1), workload(*admitted()), pod(0))
    assert facts.pods[0].image_problem is None


# --------------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("thing", "code", "exit_code"),
    [
        (died(1, 3, 50), FailureCode.APP_EXIT, 3),
        (died(1, 143, 50), FailureCode.APP_EXIT, 143),
        (died(1, 137, 50, "OOMKilled"), FailureCode.OUT_OF_MEMORY, 137),
        (died(1, 128, 50, "StartError"), FailureCode.BAD_CONFIG, 128),
        (died(1, 137, 50, "ContainerStatusUnknown"), FailureCode.NODE_LOST, None),
        (pod(1, None, phase="Failed", reason="Evicted", message="low on disk"), FailureCode.NODE_PRESSURE, None),
        (pod(1, None, phase="Failed", reason="UnexpectedAdmissionError"), FailureCode.DEVICE_ADMISSION, None),
        (pod(1, None, phase="Failed", reason="OutOfnvidia.com/gpu"), FailureCode.DEVICE_ADMISSION, None),
        (pod(1, None, phase="Failed", reason="NodeAffinity"), FailureCode.DEVICE_ADMISSION, None),
        (pod(1, None, phase="Failed", reason="Terminated", message="node shutdown"), FailureCode.NODE_SHUTDOWN, None),
        (pod(1, None, phase="Failed", reason="Preempting"), FailureCode.DISRUPTION, None),
        (pod(1, None, phase="Failed", reason="DeadlineExceeded"), FailureCode.TIME_LIMIT, None),
        (pod(1, exited(143, 55), disrupted(), phase="Failed"), FailureCode.DISRUPTION, None),
        (pod(1, exited(143, 55), disrupted("PreemptionByScheduler"), phase="Failed"), FailureCode.DISRUPTION, None),
        (pod(1, running(3), disrupted("DeletionByPodGC")), FailureCode.NODE_LOST, None),
        (pod(1, exited(137, 55), disrupted("TerminationByKubelet"), phase="Failed"), FailureCode.NODE_PRESSURE, None),
        (pod(1, None, phase="Failed"), FailureCode.UNKNOWN, None),
    ],
)  # fmt: skip
def test_a_failed_pod_has_a_cause_and_a_rank(thing: Object, code: FailureCode, exit_code: int | None) -> None:
    seen = failure(pod(0, running(3), deleted=60), thing)
    assert (seen.code, seen.rank, seen.exit_code, seen.node) == (code, 1, exit_code, "n1")
    theirs = {FailureCode.TIME_LIMIT, FailureCode.UNKNOWN}
    assert (code in INFRASTRUCTURE_FAILURES) == (exit_code is None and code not in theirs)


def test_a_pod_that_the_taint_manager_deletes_is_lost_with_its_node() -> None:
    thing = pod(1, running(3), disrupted("DeletionByTaintManager", s=350), deleted=350)
    assert failure(thing, nodes=(node("n1", ready="Unknown", heard=40),)).code is FailureCode.NODE_LOST
    assert failure(thing, nodes=(node("n1"),)).code is FailureCode.DISRUPTION  # somebody else's taint


def test_the_earliest_failure_is_the_cause() -> None:
    assert (failure(died(0, 1, 52), died(1, 3, 50)).rank, failure(died(0, 1, 50), died(1, 3, 52)).rank) == (1, 0)
    assert failure(died(0, 1, 50), died(1, 3, 50)).rank == 0


def test_pods_that_were_told_to_stop_did_not_fail() -> None:
    stopped = pod(0, exited(143, 61), phase="Failed", deleted=60)
    assert failure(stopped, died(1, 3, 59)).rank == 1
    alone = failure(stopped)  # the one that failed is gone
    assert (alone.code, alone.rank, alone.raw) == (
        FailureCode.UNKNOWN,
        None,
        f"{FAILED['reason']}: {FAILED['message']}",
    )
    assert failure(died(0, 3, 59, deleted=60)).exit_code == 3  # it failed before it was told


def test_an_exit_after_a_sibling_was_taken_away_is_not_the_programs_fault() -> None:
    taken = pod(1, exited(143, 75), disrupted(s=50), deleted=50, phase="Failed")
    assert failure(died(0, 1, 50), taken).code is FailureCode.DISRUPTION  # within one second
    assert failure(died(0, 1, 60), taken).code is FailureCode.DISRUPTION
    assert failure(died(0, 1, 49), taken).code is FailureCode.APP_EXIT  # it was first


def test_a_machine_is_lost_from_its_last_word_on() -> None:
    """Its siblings notice long before the cluster does."""
    lost = pod(1, running(3))
    seen = failure(died(0, 1, 45), lost, nodes=(node("n1", ready="Unknown", heard=40), node("n2")))
    assert (seen.code, seen.at) == (FailureCode.NODE_LOST, moment(40))


def test_a_policy_names_the_pod_also_when_it_is_gone() -> None:
    seen = failure(condition=by_policy("j-bert-0000000001-1-1-xyz12"))
    assert (seen.code, seen.rank, seen.at) == (FailureCode.DISRUPTION, 1, moment(60))
    sibling = failure(died(0, 1, 55), condition=by_policy("j-bert-0000000001-1-1-xyz12"))
    assert (sibling.code, sibling.rank) == (FailureCode.DISRUPTION, 1)
    long_before = failure(died(0, 1, 55), condition=by_policy("j-bert-0000000001-1-1-xyz12", s=300))
    assert (long_before.code, long_before.rank) == (FailureCode.APP_EXIT, 0)


def test_a_policy_that_names_a_pod_which_is_there_is_told_with_its_node() -> None:
    thing = pod(1, exited(137, 58), phase="Failed")
    seen = failure(thing, condition=by_policy(thing["metadata"]["name"]))
    assert (seen.code, seen.node, seen.exit_code) == (FailureCode.DISRUPTION, "n1", None)


def test_a_failed_first_container_is_a_failure_of_the_pod() -> None:
    thing = pod(0, waiting("PodInitializing"), phase="Failed")
    thing["status"]["initContainerStatuses"] = [{"name": "code", "state": exited(128, 20)}]
    seen = failure(thing)
    assert (seen.code, seen.exit_code, seen.at) == (FailureCode.APP_EXIT, 128, moment(20))


# --------------------------------------------------------------------------- placing (C-38)


def placing(*things: Object) -> tuple[bool, bool]:
    facts = facts_of(job(), workload(*admitted(5)), *things)
    return facts.unplaceable, facts.waiting_release


STUCK = cond("Unschedulable", "NotEnoughResources", "1/2 tasks in gang unschedulable", s=9)


@pytest.mark.parametrize(
    ("things", "unplaceable"),
    [
        ((unplaced(0, "Unschedulable"), unplaced(1, "Schedulable")), True),
        ((unplaced(0, "Schedulable"), unplaced(1, "Schedulable")), False),
        ((unplaced(0), unplaced(1), pod_group(STUCK)), True),
        ((unplaced(0), pod_group(STUCK)), False),
        ((pod_group(STUCK),), False),
        ((pod(0), pod(1), pod_group(STUCK)), False),
        ((unplaced(0), unplaced(1), pod_group({**STUCK, "reason": "NotEnoughTasks"})), False),
        ((unplaced(0), unplaced(1), pod_group(cond("Unschedulable", "NotEnoughResources", s=3))), False),
        ((unplaced(0), unplaced(1), pod_group(STUCK, cond("Scheduled", "ready", s=10))), False),
        ((unplaced(0, "SchedulingGated"), unplaced(1, "Unschedulable"), pod_group(STUCK)), False),
        ((pod(0), unplaced(1, "Unschedulable")), True),
    ],
    ids=[
        "one fits, its peer does not", "all fit, waiting for each other", "the gang says so",
        "the gang speaks of pods that are not there yet", "the gang says 1/0 at birth", "the pods are the truth",
        "too few pods is another matter", "a word of the admission before", "placed since", "the gate holds pods back",
        "one runs, the other cannot",
    ],
)  # fmt: skip
def test_a_gang_does_not_fit_when_its_pods_say_so(things: tuple[Object, ...], unplaceable: bool) -> None:
    assert placing(*things) == (unplaceable, False)


NPU = "0/4 nodes: task checkNodeNPUByTask err: node label [accelerator-type] module Failed, want module-910b-8"


@pytest.mark.parametrize(
    "things",
    [
        (unplaced(0, "Unschedulable", NPU), unplaced(1, "Schedulable")),
        (unplaced(0, "Unschedulable"), unplaced(1), pod_group({**STUCK, "message": NPU})),
    ],
    ids=["a pod says so", "the gang says so"],
)
def test_cards_of_another_kind_are_told_from_cards_that_are_not_free(things: tuple[Object, ...]) -> None:
    """C-35: no machine of the wanted type; what comes free does not help."""
    facts = facts_of(job(), workload(*admitted(5)), *things)
    assert (facts.unplaceable, facts.waiting_release, facts.misfit) == (True, False, NPU)
    group = GroupSnapshot("Ascend 910B3", free_blocks=(8, 8), topology_aware=False)
    reason = derive(facts, group, moment(900)).reason
    assert (reason.code, reason.facts["misfit"]) == (ReasonCode.NOT_PLACED, NPU)


def test_scarce_cards_are_of_the_wanted_kind() -> None:
    told = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."
    assert facts_of(job(), workload(*admitted(5)), unplaced(0, "Unschedulable", told), unplaced(1)).misfit == ""


def test_a_gang_that_leaves_is_not_said_to_fit_nowhere() -> None:
    leaving = cond("Evicted", "Preempted", "Preempted", s=20)
    facts = facts_of(job(), workload(*admitted(5), leaving), unplaced(0, "Unschedulable"), unplaced(1))
    assert (facts.unplaceable, facts.ending) == (False, True)


def test_it_waits_for_cards_of_its_own_group_only() -> None:
    def ending(group: str) -> Object:
        labels = {**pod(9)["metadata"]["labels"], names.JOB: "01k9", names.GROUP: group}
        return pod(9, running(1), deleted=90, labels=labels, owner={"kind": "Job", "uid": "job-9"}, uid="pod-9")

    stuck = unplaced(0, "Unschedulable"), unplaced(1, "Unschedulable")
    for group, waits in (("h100", True), ("a100", False)):
        objects = [job(), workload(*admitted()), *stuck, ending(group)]
        (facts,) = (row.facts for row in snapshot_of(*objects).observed(read_at=moment(100)) if row.uid == "job-1")
        assert facts.waiting_release is waits and facts.unplaceable is not waits


# --------------------------------------------------------------------------- what a pod asks for (C-34)


def test_cards_are_those_of_containers_together_or_of_a_first_one_that_asks_for_more() -> None:
    def cards(containers: list[Object], first: list[Object] = []) -> int:  # noqa: B006
        facts = facts_of(job(pods=1), workload(*admitted()), pod(0, containers=containers, init_containers=first))
        return facts.pods[0].cards

    beside = container(1, "beside", restartPolicy="Always")
    assert cards([container(4)]) == 4
    assert cards([container(4), container(1, "second")]) == 5
    assert cards([container(4)], [container(6, "first")]) == 6
    assert cards([container(4)], [beside]) == 5
    assert cards([container(4)], [beside, container(4, "first")]) == 5
    assert cards([container(4)], [container(5, "first"), beside]) == 5
    assert cards([container(4)], [beside, container(6, "first")]) == 7
    limits_only = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "3"}}}
    assert cards([limits_only]) == 3


@pytest.mark.parametrize(("sidecar_first", "of_a_pod"), [(True, 18), (False, 17)])
def test_what_runs_one_after_the_other_is_not_added_and_what_stays_is(sidecar_first: bool, of_a_pod: int) -> None:
    """C-34, its sizes: 16 first, 1 that stays, 8 of the program under limits only, 1 for the runtime; two pods."""
    first = [container(1, "proxy", restartPolicy="Always"), container(16, "fetch")]
    program = {"name": "train", "resources": {"limits": {"nvidia.com/gpu": "8", "cpu": "8"}}}
    things = [
        pod(
            rank,
            uid=f"pod-{rank}",
            containers=[program],
            init_containers=first if sidecar_first else first[::-1],
            overhead={"nvidia.com/gpu": "1", "cpu": "250m"},
        )
        for rank in (0, 1)
    ]
    facts = facts_of(job(pods=2), workload(*admitted()), *things)
    assert [found.cards for found in facts.pods] == [of_a_pod, of_a_pod]
