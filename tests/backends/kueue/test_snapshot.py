"""A cluster kept in step: what belongs together, what an event concerns, and what nobody owns any more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusters.backends.kueue_volcano import names, raw
from clusters.backends.kueue_volcano.snapshot import Snapshot
from clusters.contract import EvictionCause, Outcome, PodPhase
from tests.backends.kueue.objects import (
    INSTALLATION,
    KINDS,
    QUEUES,
    SPACE,
    ULID,
    Object,
    admitted,
    cluster_queue,
    cond,
    decoded,
    deployment,
    event,
    exited,
    facts_of,
    job,
    local_queue,
    marks,
    moment,
    no,
    node,
    pod,
    pod_group,
    replica,
    running,
    snapshot_of,
    unplaced,
    workload,
)

KEY = (ULID, 1)
RUNNING = job(), workload(*admitted()), pod(0), pod(1), pod_group(), *QUEUES


def newer(thing: Object, version: str = "2", **changes: Any) -> Object:
    copy: Object = json.loads(json.dumps(thing))
    copy["metadata"]["resourceVersion"] = version
    for path, value in changes.items():
        *way, last = path.split("__")
        place = copy
        for step in way:
            place = place[step]
        place[last] = value
    return copy


def apply(snapshot: Snapshot, kind: str, thing: Object) -> set[tuple[str, int]]:
    return snapshot.apply(KINDS[thing["kind"]], event(kind, thing))


# --------------------------------------------------------------------------- what an event concerns


@pytest.mark.parametrize("thing", RUNNING[:5], ids=lambda thing: thing["kind"])
def test_each_part_of_an_attempt_concerns_it(thing: Object) -> None:
    snapshot = snapshot_of(*RUNNING)
    assert apply(snapshot, "MODIFIED", thing) == set()  # the version is known
    assert apply(snapshot, "MODIFIED", newer(thing)) == {KEY}
    assert apply(snapshot, "MODIFIED", thing) == set()  # older than what is known
    assert apply(snapshot, "ADDED", newer(thing)) == set()
    assert apply(snapshot, "DELETED", newer(thing, "3")) == {KEY}
    assert apply(snapshot, "DELETED", newer(thing, "3")) == set()


def test_a_part_may_come_before_the_job_it_belongs_to() -> None:
    snapshot = snapshot_of(*QUEUES)
    assert apply(snapshot, "ADDED", workload(*admitted())) == set()
    assert apply(snapshot, "ADDED", pod(0)) == {KEY}
    assert apply(snapshot, "ADDED", job()) == {KEY}
    assert snapshot.observed()[0].facts.admitted_at == moment(1)


def test_what_vanished_from_a_list_is_concerned_too() -> None:
    snapshot = snapshot_of(*RUNNING)
    assert snapshot.replace(names.PODS_KIND, decoded(names.PODS_KIND, pod(0))) == {KEY}
    assert [part.rank for part in snapshot.observed()[0].facts.pods] == [0]
    assert snapshot.replace(names.PODS_KIND, decoded(names.PODS_KIND, pod(0))) == set()


def test_only_what_is_asked_for_is_told() -> None:
    other = job(uid="job-2", ulid="01K2", name="j-2")
    snapshot = snapshot_of(*RUNNING, other)
    assert {row.job_ulid for row in snapshot.observed()} == {ULID, "01K2"}
    assert [row.job_ulid for row in snapshot.observed({KEY, ("01KNONE", 1)})] == [ULID]


def test_bookmarks_errors_and_what_cannot_be_read_concern_nothing() -> None:
    """C-84: an ERROR event is no object."""
    snapshot = snapshot_of(*RUNNING)
    before = snapshot.observed()
    lines = [
        b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"500"}}}',
        b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}',
        b'{"type":"MODIFIED","object":{"metadata":7}}',
        b'{"type":"NEWTYPE","object":{}}',
        b"not json",
        b"",
    ]
    for line in lines:
        assert snapshot.apply(names.PODS_KIND, raw.decode_event(names.PODS_KIND, line)) == set()
    assert snapshot.observed() == before


def test_a_queue_that_closes_concerns_what_waits_in_it_and_its_usage_does_not() -> None:
    waiting = job(suspend=True), workload(no("QuotaReserved", "Pending", "x")), *QUEUES
    for thing in QUEUES:
        snapshot = snapshot_of(*waiting)
        assert apply(snapshot, "MODIFIED", newer(thing, spec__stopPolicy="Hold")) == {KEY}
        assert (
            apply(snapshot, "MODIFIED", newer(thing, "3", spec__stopPolicy="Hold", status__pendingWorkloads=9)) == set()
        )
        assert apply(snapshot, "DELETED", newer(thing, "4")) == {KEY}
    snapshot = snapshot_of(*waiting)
    assert apply(snapshot, "MODIFIED", newer(cluster_queue(used=7))) == set()
    assert apply(snapshot, "MODIFIED", newer(cluster_queue(nominal=7), "3")) == {KEY}


def test_a_machine_that_falls_silent_concerns_those_on_it() -> None:
    snapshot = snapshot_of(*RUNNING, node("n1"), node("n2"))
    silent = newer(node("n1", ready="Unknown"))
    assert apply(snapshot, "MODIFIED", newer(node("n2", ready="Unknown"))) == set()
    assert apply(snapshot, "MODIFIED", silent) == {KEY}
    assert snapshot.observed()[0].facts.unknown
    assert apply(snapshot, "MODIFIED", newer(silent, "3")) == set()
    assert apply(snapshot, "MODIFIED", newer(node("n1"), "4")) == {KEY}


# --------------------------------------------------------------------------- deletions


def test_a_job_that_was_deleted_with_its_pods_still_ending_is_told_until_they_are_gone() -> None:
    snapshot = snapshot_of(*RUNNING)
    assert apply(snapshot, "DELETED", newer(job())) == {KEY}
    assert apply(snapshot, "DELETED", newer(workload(*admitted()))) == {KEY}
    for rank in (0, 1):
        assert apply(snapshot, "MODIFIED", newer(pod(rank, running(3), deleted=90))) == {KEY}
    (row,) = snapshot.observed()
    assert (row.uid, row.facts.being_deleted, row.facts.ending, row.facts.evicted_at) == (
        "job-1",
        True,
        True,
        moment(90),
    )
    assert (row.facts.cards, len(row.facts.pods)) == (8, 2)
    for rank in (0, 1):
        assert apply(snapshot, "DELETED", newer(pod(rank), "3")) == {KEY}
    assert snapshot.observed() == () == snapshot.observed({KEY})


def test_pods_that_nobody_ends_after_their_job_are_told_as_going_too() -> None:
    (row,) = snapshot_of(pod(0), pod(1)).observed()
    assert row.facts.being_deleted and row.facts.outcome is None


def test_the_last_word_of_a_job_that_is_deleted_at_its_end_is_heard() -> None:
    """C-20: both events come in one batch; the next list forgets it."""
    snapshot = snapshot_of(*RUNNING)
    over = newer(job(cond("Complete", "CompletionsReached", s=51)))
    assert apply(snapshot, "DELETED", over) == {KEY}
    for rank in (0, 1):
        apply(snapshot, "DELETED", newer(pod(rank)))
    (row,) = snapshot.observed({KEY})
    assert (row.uid, row.facts.outcome, row.facts.ended_at) == ("job-1", Outcome.SUCCEEDED, moment(51))
    assert snapshot.replace(names.JOBS, ()) == {KEY}
    assert snapshot.observed() == ()


def test_a_job_that_is_deleted_after_its_end_was_told_is_gone_at_once() -> None:
    over = job(cond("Complete", "CompletionsReached", s=51))
    snapshot = snapshot_of(over, pod(0, exited(0, 50), phase="Succeeded"))
    assert snapshot.observed()[0].facts.outcome is Outcome.SUCCEEDED
    assert apply(snapshot, "DELETED", newer(over)) == {KEY}
    assert snapshot.observed({KEY}) == () == snapshot.observed()


def test_a_told_end_is_not_forgotten_for_the_pods_that_are_left() -> None:
    over = job(cond("SuccessCriteriaMet", "SuccessPolicy", s=51))
    snapshot = snapshot_of(over, pod(0, exited(0, 50), phase="Succeeded"), pod(1))
    assert snapshot.observed()[0].facts.outcome is Outcome.SUCCEEDED
    assert apply(snapshot, "DELETED", newer(over)) == {KEY}
    assert snapshot.observed({KEY})[0].facts.outcome is Outcome.SUCCEEDED


def test_a_job_that_was_made_anew_takes_the_place_of_what_is_left_of_the_old_one() -> None:
    left = pod(0, running(3), deleted=90)
    again = job(uid="job-2", s=100)
    (row,) = snapshot_of(left, again, workload(owner="job-2", uid="wl-2")).observed()
    assert (row.uid, row.facts.being_deleted, row.facts.pods) == ("job-2", False, ())


# --------------------------------------------------------------------------- what nobody owns


def test_leftovers_of_ours_are_found_and_nobody_elses() -> None:
    foreign = workload(uid="wl-foreign", owner="job-9", labels={})
    other = workload(uid="wl-other", owner="job-8", labels=marks(installation="01kother"))
    owned = pod_group(), workload(*admitted())
    assert snapshot_of(job(), *owned, foreign, other).orphans() == ()
    found = snapshot_of(*owned, foreign, other, pod_group(uid="pg-2", labels={})).orphans()
    assert [(orphan.kind.kind, orphan.uid, orphan.owner) for orphan in found] == [
        ("PodGroup", "pg-1", (names.JOBS, "j-bert", "job-1")),
        ("Workload", "wl-1", (names.JOBS, "j", "job-1")),
    ]
    assert {(orphan.space, orphan.created_at) for orphan in found} == {(SPACE, moment(0))}


def test_a_workload_of_a_replica_that_is_gone_is_a_leftover() -> None:
    things = workload(uid="wl-0", owner="pod-0", owner_kind="Pod", labels={}), *QUEUES
    assert snapshot_of(replica(0), *things).orphans() == ()
    assert [orphan.uid for orphan in snapshot_of(*things).orphans()] == ["wl-0"]
    somebodys = newer(local_queue(), metadata__labels={})
    assert snapshot_of(things[0], somebodys).orphans() == ()


def test_what_is_being_deleted_or_was_never_listed_is_no_leftover() -> None:
    going = newer(pod_group(), metadata__deletionTimestamp="2026-01-10T08:00:09Z")
    assert snapshot_of(going).orphans() == ()
    assert snapshot_of(pod_group(), workload(), kinds=(names.POD_GROUPS, names.WORKLOADS)).orphans() == ()


def test_an_admitted_job_without_a_pod_group_is_found() -> None:
    def missing(*objects: Object) -> list[str]:
        return [found.uid for found in snapshot_of(*objects).without_pod_group()]

    assert missing(job(), workload(*admitted())) == ["job-1"]
    assert missing(job(), workload(*admitted()), pod_group()) == []
    assert missing(job(suspend=True), workload()) == []
    assert missing(job(cond("Complete", s=9)), workload(*admitted())) == []
    assert missing(job(deleted=9), workload(*admitted())) == []
    assert missing(job(), workload(*admitted(), cond("Evicted", "Preempted", s=9))) == []
    unlisted = snapshot_of(job(), workload(*admitted()), kinds=(names.JOBS, names.WORKLOADS))
    assert unlisted.without_pod_group() == ()


# --------------------------------------------------------------------------- services


def service(*pods: Object, **more: Any) -> Any:
    gates = [
        workload(*admitted(5 + number), uid=f"wl-{number}", owner=f"pod-{number}", owner_kind="Pod", labels={})
        for number, _ in enumerate(pods)
    ]
    return facts_of(deployment(2, **more), *pods, *gates)


def test_a_service_is_admitted_replica_by_replica() -> None:
    ready = cond("Ready", s=20), cond("Ready", s=30)
    facts = service(replica(0, ready[0]), replica(1, ready[1], s=6))
    assert (facts.wanted_pods, facts.cards, facts.priority) == (2, 2, 200)
    assert (facts.admitted_at, facts.scheduled_at, facts.ready_at) == (moment(5), moment(7), moment(30))
    assert [part.rank for part in facts.pods] == [0, 1]
    half = service(replica(0, ready[0]))
    assert half.admitted_at == moment(5) and half.ready_at is None and len(half.pods) == 1
    assert service(replica(0, ready[0]), replica(1)).ready_at is None


def test_a_waiting_replica_says_why_with_its_own_numbers() -> None:
    word = no(
        "QuotaReserved", "Pending", "insufficient unused quota for nvidia.com/gpu in flavor slu-h100, 1 more needed"
    )
    gates = [
        workload(*admitted(), uid="wl-0", owner="pod-0", owner_kind="Pod", labels={}),
        workload(word, uid="wl-1", owner="pod-1", owner_kind="Pod", labels={}),
    ]
    facts = facts_of(deployment(2), replica(0), unplaced(1, "SchedulingGated", owner={"kind": "ReplicaSet"}), *gates)
    assert facts.admitted_at is not None and facts.wait is not None
    assert (facts.wait.asked, facts.wait.more) == (1, 1)


def test_a_held_service_has_no_replicas_and_one_scaled_to_nothing_is_not_held() -> None:
    held = facts_of(deployment(0, noted=2), replica(0, deleted=9))
    assert (held.active, held.wanted_pods, held.ending) == (False, 2, True)
    nothing = facts_of(deployment(0, noted=0))
    assert (nothing.active, nothing.wanted_pods, nothing.cards) == (True, 0, 0)


def test_a_deleted_service_is_told_until_its_pods_are_gone() -> None:
    (row,) = snapshot_of(replica(0, deleted=50), replica(1, exited(0, 9), phase="Failed")).observed()
    assert row.facts.being_deleted and row.facts.evicted_at == moment(50)


def test_replicas_that_failed_before_are_no_replicas() -> None:
    facts = service(replica(0), replica(1, state=exited(1, 9), phase="Failed"))
    assert len(facts.pods) == 1 and facts.outcome is None


def test_a_replica_that_loops_tells_how_often_its_program_was_started_again() -> None:
    looping = replica(
        0,
        state={"waiting": {"reason": "CrashLoopBackOff"}},
        main={"restartCount": 3, "lastState": {"terminated": {"exitCode": 137}}},
        phase="Running",
    )
    facts = service(looping)
    (pod,) = facts.pods
    assert (pod.phase, pod.restarts, pod.exit_code) == (PodPhase.PULLING, 3, 137)
    assert not facts.unknown


def test_a_beneficiary_may_be_a_replica() -> None:
    text = "Preempted to accommodate a workload (UID: w, JobUID: pod-5) due to prioritization in the ClusterQueue"
    told = cond("Evicted", "Preempted", text, s=9)
    victim = workload(no("QuotaReserved", "Pending", text, s=9), told, evictions=[("Preempted", "", 1)])
    server = replica(5, labels=marks("01K5"))
    rows = snapshot_of(job(suspend=True), victim, server).observed()
    (facts,) = (row.facts for row in rows if row.job_ulid == ULID)
    assert (facts.evicted_by, facts.eviction_cause) == ("01K5", EvictionCause.HIGHER_PRIORITY)


def test_two_installations_on_one_cluster_see_their_own() -> None:
    """C-66."""
    theirs = job(uid="job-2", labels=marks(installation="01kother"), name="j-2")
    things = (*RUNNING, theirs)
    assert [row.uid for row in snapshot_of(*things).observed()] == ["job-1"]
    other = Snapshot("01kother")
    for kind in KINDS.values():
        other.replace(kind, decoded(kind, *(thing for thing in things if thing["kind"] == kind.kind)))
    assert [row.uid for row in other.observed()] == ["job-2"]
    assert INSTALLATION != "01kother"
