"""Attempts that stand still are not worked out again; those whose surroundings changed are."""

from __future__ import annotations

import pytest

from clusters.backends.kueue_volcano import names, snapshot
from clusters.backends.kueue_volcano.snapshot import Snapshot
from clusters.contract import WorkloadFacts
from tests.backends.kueue.objects import (
    KINDS,
    NOW,
    QUEUES,
    Object,
    admitted,
    cluster_queue,
    cond,
    decoded,
    event,
    job,
    marks,
    moment,
    no,
    pod,
    running,
    snapshot_of,
    unplaced,
    workload,
)

OTHER = "01K00000000000000000000002"
SHORT = (
    "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor slu-h100,"
    " 3 more needed"
)
WAITS = no("QuotaReserved", "Pending", SHORT)


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The uids of the attempts that were worked out."""
    done: list[str] = []
    work = snapshot.facts_of

    def counted(bundle: object, around: object) -> WorkloadFacts:
        done.append(bundle.uid)
        return work(bundle, around)

    monkeypatch.setattr(snapshot, "facts_of", counted)
    return done


def tell(followed: Snapshot, thing: Object, kind: str = "MODIFIED", version: str = "2") -> None:
    thing["metadata"]["resourceVersion"] = version
    followed.apply(KINDS[thing["kind"]], event(kind, thing))


def facts(followed: Snapshot, uid: str = "job-1", seconds: float = 100) -> WorkloadFacts:
    (found,) = (row.facts for row in followed.observed(read_at=moment(seconds)) if row.uid == uid)
    return found


def test_what_stands_still_is_worked_out_once(worked_out: list[str]) -> None:
    things = [
        *QUEUES,
        *(job(suspend=True), workload(WAITS)),
        *(job(uid="job-2", ulid=OTHER, name="j-2"), workload(*admitted(), uid="wl-2", owner="job-2")),
        pod(0, labels=marks(OTHER), owner={"kind": "Job", "uid": "job-2", "controller": True}),
    ]
    followed = snapshot_of(*things)
    first = followed.observed()
    assert sorted(worked_out) == ["job-1", "job-2"]
    for kind in KINDS.values():  # listed again, nothing changed
        assert (
            followed.replace(kind, decoded(kind, *(thing for thing in things if thing["kind"] == kind.kind))) == set()
        )
    assert followed.observed() == first and len(worked_out) == 2
    tell(followed, job(cond("Complete", s=50), uid="job-2", ulid=OTHER, name="j-2"))
    assert followed.observed() != first and worked_out[2:] == ["job-2"]


def test_usage_of_a_queue_changes_what_waits_in_it_and_nothing_else(worked_out: list[str]) -> None:
    others = job(uid="job-2", ulid=OTHER, name="j-2"), workload(*admitted(), uid="wl-2", owner="job-2")
    followed = snapshot_of(*QUEUES, job(suspend=True), workload(WAITS), *others)
    assert facts(followed).wait.used == 0
    worked_out.clear()
    tell(followed, cluster_queue(used=7))
    assert facts(followed).wait.used == 7 and worked_out == ["job-1"]


def test_a_word_about_an_equal_one_is_found() -> None:
    silent = job(suspend=True), workload()
    followed = snapshot_of(*QUEUES, *silent, job(uid="job-2", ulid=OTHER, name="j-2", suspend=True))
    assert facts(followed).wait is None
    tell(followed, workload(WAITS, uid="wl-2", owner="job-2"), "ADDED")
    assert facts(followed).wait.more == 3
    tell(followed, workload(WAITS, uid="wl-2", owner="job-2"), "DELETED", "3")
    assert facts(followed).wait is None


def test_a_beneficiary_that_is_seen_later_is_named() -> None:
    taken = "Preempted to accommodate a workload (UID: wl-2, JobUID: job-2) due to prioritization in the ClusterQueue"
    told = [no("QuotaReserved", s=12), cond("Evicted", "Preempted", taken, s=10)]
    evicted = workload(*told, evictions=[("Preempted", "", 1)], lost=11)
    followed = snapshot_of(*QUEUES, job(suspend=True), evicted)
    assert facts(followed).evicted_by is None
    tell(followed, job(uid="job-2", ulid=OTHER, name="j-2"), "ADDED")
    assert facts(followed).evicted_by == OTHER
    followed.replace(names.JOBS, decoded(names.JOBS, job(suspend=True)))
    assert facts(followed).evicted_by is None


def test_cards_that_are_about_to_come_free_change_what_fits_nowhere() -> None:
    def leaving(deleted: float | None) -> Object:
        owner = {"kind": "Job", "uid": "job-9"}
        return pod(9, running(1), deleted=deleted, labels=marks("01k9"), owner=owner, uid="pod-9")

    stuck = unplaced(0, "Unschedulable"), unplaced(1, "Unschedulable")
    followed = snapshot_of(*QUEUES, job(), workload(*admitted()), *stuck, leaving(None))
    assert (facts(followed).unplaceable, facts(followed).waiting_release) == (True, False)
    tell(followed, leaving(90))
    assert (facts(followed).unplaceable, facts(followed).waiting_release) == (False, True)
    assert facts(followed, seconds=500).unplaceable  # it is long past its grace
    tell(followed, leaving(90), "DELETED", "3")
    assert facts(followed).unplaceable


def test_no_time_is_later_than_the_look_it_is_told_by() -> None:
    followed = snapshot_of(*QUEUES, job(), workload(*admitted(50)), pod())
    assert facts(followed, seconds=40).admitted_at == moment(40)
    assert facts(followed, seconds=100).admitted_at == moment(50)
    (row,) = followed.observed(read_at=NOW)
    assert row.facts.admitted_at == moment(50)
