"""Whatever a cluster says and however it arrives: facts, never an exception, and the same for the same objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.inventory import cluster_inventory
from clusters.backends.kueue_volcano.shape import ClusterShape
from clusters.backends.kueue_volcano.snapshot import Snapshot
from clusters.contract import ObservedObject, Outcome, WorkloadFacts
from clusters.domain.states import GroupSnapshot, derive
from clusters.facts_codec import facts_from_json, facts_to_json
from clusters.observed import held_cards
from jobs.domain.runs import advance_runs
from tests.backends.kueue.objects import (
    INSTALLATION,
    KINDS,
    Object,
    admitted,
    cluster_queue,
    cond,
    decoded,
    deployment,
    event,
    exited,
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
    waiting,
    workload,
)

READ_AT = moment(500)
SECONDS = st.integers(0, 600)
STATUSES = st.sampled_from(["True", "False", "Unknown", ""])
WORDS = st.sampled_from(
    [
        "", "Pending", "Inadmissible", "Preempted", "Deactivated", "DeactivatedDueToRequeuingLimitExceeded",
        "Succeeded", "Failed", "OutOfSync", "PodsReadyTimeout", "QuotaReserved", "InClusterQueue",
        "BackoffLimitExceeded", "PodFailurePolicy", "SuccessPolicy", "NotEnoughResources", "Unschedulable",
        "SchedulingGated", "Tomorrow", "Previously: The workload is deactivated",
        "Pod a/b-1-x has condition DisruptionTarget matching FailJob rule",
        "insufficient unused quota for nvidia.com/gpu in flavor slu-h100, 8 more needed", "(UID: a, JobUID: job-1)",
        "Pending the preemption of 99999999999 workload(s)", "topology \"x\" allows to fit only", "\x00\ud7ff'\"",
    ]
)  # fmt: skip
TYPES = st.sampled_from(
    [
        "QuotaReserved", "Admitted", "Evicted", "Preempted", "Requeued", "Finished", "PodsReady", "Complete", "Failed",
        "FailureTarget", "SuccessCriteriaMet", "Suspended", "PodScheduled", "DisruptionTarget", "Ready", "Initialized",
        "Unschedulable", "Scheduled", "Active", "Tomorrow",
    ]
)  # fmt: skip
CONDITIONS = st.lists(
    st.builds(lambda kind, status, reason, message, s: {**cond(kind, reason, message, s=s), "status": status},
              TYPES, STATUSES, WORDS, WORDS, SECONDS),
    max_size=6,
)  # fmt: skip
STATES = st.sampled_from(
    [
        None, running(3), exited(0, 50), exited(137, 40, "OOMKilled"), waiting("ErrImagePull", "not found"),
        waiting("Tomorrow"), {}, {"terminated": {}}, {"running": {}},
    ]
)  # fmt: skip
PODS = st.builds(
    lambda rank, state, conditions, phase, deleted, reason, on: pod(
        rank, state, *conditions, phase=phase, deleted=deleted, reason=reason, node=on, uid=f"pod-{rank}-{phase}"
    ),
    st.integers(0, 2), STATES, CONDITIONS,
    st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown", "", "X"]),
    st.none() | SECONDS, WORDS, st.sampled_from(["", "n1", "n2"]),
)  # fmt: skip
WORKLOADS = st.builds(
    lambda conditions, active, evictions, lost, number: workload(
        *conditions, active=active, evictions=evictions, lost=lost, uid=f"wl-{number}"
    ),
    CONDITIONS, st.booleans(),
    st.none() | st.lists(st.tuples(WORDS, WORDS, st.integers(-1, 3)), max_size=3),
    st.none() | SECONDS, st.integers(0, 1),
)  # fmt: skip
JOBS = st.builds(lambda conditions, deleted: job(*conditions, deleted=deleted), CONDITIONS, st.none() | SECONDS)
QUEUES = st.builds(lambda stop, conditions: [local_queue(stop=stop), cluster_queue(conditions=conditions)],
                   st.sampled_from(["None", "Hold", "Tomorrow"]), CONDITIONS)  # fmt: skip
NODES = st.builds(lambda ready: node("n1", ready=ready), STATUSES)


@st.composite
def clusters(draw: st.DrawFn) -> list[Object]:
    """Objects around one attempt, some of them missing; each is there once."""
    things = [
        *draw(st.lists(JOBS | st.builds(lambda conditions: deployment(2, None, *conditions), CONDITIONS), max_size=1)),
        *draw(st.lists(PODS, max_size=3)),
        *draw(st.lists(WORKLOADS, max_size=2)),
        *draw(st.lists(st.builds(lambda conditions: pod_group(*conditions), CONDITIONS), max_size=1)),
        *draw(st.just([]) | QUEUES),
        *draw(st.lists(NODES, max_size=1)),
    ]
    return list({thing["metadata"]["uid"]: thing for thing in things}.values())


def _holes(draw: st.DrawFn, value: Any) -> Any:
    """The same with some of it missing, of another type or of another text."""
    if isinstance(value, dict):
        kept = {key: _holes(draw, part) for key, part in value.items() if draw(st.integers(0, 15))}
        return kept if draw(st.integers(0, 30)) else draw(st.sampled_from([None, {}, [], 7, "x"]))
    if isinstance(value, list):
        return [_holes(draw, part) for part in value]
    return value if draw(st.integers(0, 30)) else draw(st.sampled_from([None, "x", 7, [], {}, True, -1]))


@st.composite
def damaged(draw: st.DrawFn) -> list[Object]:
    return [
        {key: part if key == "kind" else _holes(draw, part) for key, part in thing.items()}
        for thing in draw(clusters())
    ]


fast = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@fast
@given(damaged())
def test_any_objects_give_facts_that_the_whole_house_can_read(things: list[Object]) -> None:
    snapshot = Snapshot(INSTALLATION)
    for kind in KINDS.values():
        snapshot.replace(kind, decoded(kind, *(thing for thing in things if thing["kind"] == kind.kind)))
    for row in snapshot.observed(read_at=READ_AT):
        _check(row)
    snapshot.orphans()
    snapshot.without_pod_group()
    cluster_inventory(snapshot, ClusterShape(INSTALLATION, {}), READ_AT)


@fast
@given(clusters())
def test_facts_keep_their_promises(things: list[Object]) -> None:
    for row in snapshot_of(*things).observed(read_at=READ_AT):
        _check(row)


def _check(row: ObservedObject) -> None:
    facts = row.facts
    times = [at for at in _in_turn(facts) if at is not None]
    assert times == sorted(times) and all(at <= READ_AT for at in times)
    for at in (facts.evicted_at, facts.released_at, *(part.started_at for part in facts.pods)):
        assert at is None or at <= READ_AT
    assert facts.evictions >= 0
    if facts.evictions and facts.evicted_at is not None and not facts.being_deleted and facts.outcome is None:
        assert facts.eviction_cause is not None
    if facts.admitted_at is not None and facts.evicted_at is not None and not facts.being_deleted:
        assert facts.outcome is not None or facts.admitted_at > facts.evicted_at
    assert (facts.failure is not None) == (facts.outcome is Outcome.FAILED)
    assert not (facts.unplaceable and facts.waiting_release)
    assert facts_from_json(facts_to_json(facts)) is not None
    assert min(held_cards(facts)) >= 0
    derive(facts, GroupSnapshot("H100"), READ_AT)
    runs = advance_runs((), facts, READ_AT)
    assert advance_runs(runs, facts, READ_AT) == runs


def _in_turn(facts: WorkloadFacts) -> Iterator[Any]:
    yield from (facts.created_at, facts.queued_at, facts.reserved_at, facts.admitted_at)
    yield from (facts.scheduled_at, facts.ready_at, facts.ended_at)


# --------------------------------------------------------------------------- however it arrives

HISTORY = (
    job(suspend=True), job(), job(cond("Complete", s=50)), job(uid="job-2", attempt=2, name="j-2"),
    workload(), workload(*admitted()), workload(no("QuotaReserved", "Pending", "x"), cond("Evicted", "Preempted", s=9)),
    workload(uid="wl-2", owner="job-2"), workload(no("QuotaReserved", "Pending", "y"), uid="wl-0", owner="job-3"),
    unplaced(0), pod(0), pod(1), pod(1, running(3), deleted=90),
    pod(7, labels=marks(installation="01kother"), uid="pod-7"), replica(3), deployment(1), pod_group(),
    pod_group(owner="job-2"), *[local_queue(stop=stop) for stop in ("None", "Hold")], cluster_queue(),
    cluster_queue(used=7), node("n1"), node("n1", ready="Unknown"), node("n2", usable=3),
)  # fmt: skip


@st.composite
def stories(draw: st.DrawFn) -> list[tuple[str, Object]]:
    """Events as watches tell them: each with a newer version, some twice, some after a deletion."""
    told = draw(st.lists(st.tuples(st.sampled_from(["MODIFIED", "DELETED"]), st.sampled_from(HISTORY)), max_size=25))
    events = []
    for version, (kind, thing) in enumerate(told, start=10):
        copy = json.loads(json.dumps(thing))
        copy["metadata"]["resourceVersion"] = str(version)
        events += [(kind, copy)] * draw(st.integers(1, 2))
    return events


@fast
@given(stories())
def test_events_lead_where_a_list_of_the_end_leads(story: list[tuple[str, Object]]) -> None:
    followed, before = Snapshot(INSTALLATION), {}
    for kind in KINDS.values():
        followed.replace(kind, ())
    there: dict[str, Object] = {}
    for kind, thing in story:
        touched = followed.apply(KINDS[thing["kind"]], event(kind, thing))
        after = {(row.job_ulid, row.attempt): row for row in followed.observed(read_at=READ_AT)}
        changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        assert changed <= touched or _by_others(thing), (kind, thing["kind"])
        before = after
        if kind == "DELETED":
            there.pop(thing["metadata"]["uid"], None)
        else:
            there[thing["metadata"]["uid"]] = thing
    followed.replace(names.JOBS, decoded(names.JOBS, *(thing for thing in there.values() if thing["kind"] == "Job")))
    listed = snapshot_of(*there.values())
    assert followed.observed(read_at=READ_AT) == listed.observed(read_at=READ_AT)
    assert followed.orphans() == listed.orphans()
    assert set(followed.without_pod_group()) == set(listed.without_pod_group())
    shape = ClusterShape(INSTALLATION, {})
    assert cluster_inventory(followed, shape, READ_AT) == cluster_inventory(listed, shape, READ_AT)


def _by_others(thing: Object) -> bool:
    """What is said to be told by whole looks only: usage of queues, pods that end, and equal ones that wait."""
    return thing["kind"] in ("ClusterQueue", "LocalQueue", "Pod", "Workload", "Job")


@fast
@given(clusters(), clusters())
def test_a_revision_changes_exactly_with_the_facts(some: list[Object], others: list[Object]) -> None:
    rows = [*snapshot_of(*some).observed(read_at=READ_AT), *snapshot_of(*others).observed(read_at=READ_AT)]
    for one in rows:
        for other in rows:
            assert (one.revision == other.revision) == (one.facts == other.facts)
