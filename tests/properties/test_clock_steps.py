"""R23: the console's clock is put forward and back, by the NTP daemon or by hand, while everything goes on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusters.models import Cluster
from clusters.sync import WATCHED_EVERY, due_clusters, rest_of
from jobs.domain.operations import Operation
from jobs.models import Job, JobSync, Run
from jobs.reconcile.claims import claim_due
from jobs.reconcile.load import load
from jobs.reconcile.loop import reconcile_loaded, sweep
from jobs.services.operations import job_operate
from tests.faults.seeds.cluster import SimulatedCluster, on_stage
from tests.faults.seeds.house import House, open_house

steps = st.lists(
    st.tuples(st.sampled_from((-3_600, -60, -1, 1, 60, 3_600)), st.sampled_from((1, 3, 8))), min_size=1, max_size=4
)
CALM = (5.0, 31.0, 5.0, 5.0, 31.0, 5.0, 5.0, 31.0, 5.0)


@pytest.fixture
def house(db: None, caplog: pytest.LogCaptureFixture) -> Iterator[House]:
    caplog.set_level(logging.CRITICAL)
    with open_house() as house:
        yield house


@given(steps=steps)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_the_clock_does_no_wait_is_negative_and_everything_ends(
    house: House, steps: list[tuple[int, int]]
) -> None:
    """R23: steps of an hour, a minute, a second; times of a life stay in order, and nobody waits for the old time."""
    begun_ms = house.now_ms
    with transaction.atomic():
        house.cluster = SimulatedCluster(house.scene.fresh_world(2), lambda: house.now_ms, lambda call: None)
        with on_stage(house.cluster):
            jobs = [house.submit(command=f"sleep {n}; exit 0", cards=n) for n in (1, 4)]
            for step, seconds in steps:
                house.one_pass(seconds)
                house.set_clock(step)
                house.one_pass(seconds)
            for seconds in CALM:
                house.one_pass(seconds)
            for run in Run.objects.all():
                moments = [run.queued_at, run.admitted_at, run.started_at, run.ended_at, run.released_at]
                known = [moment for moment in moments if moment is not None]
                assert known == sorted(known)
            assert set(Job.objects.values_list("state", flat=True)) == {"succeeded"}
            assert len(house.cluster.born) == len(jobs)
        transaction.set_rollback(True)
    house.now_ms, house.ahead_ms = begun_ms, 0
    house.skip(0)


# --------------------------------------------------------------------------- clock put back by an hour


def test_after_the_clock_was_put_back_clusters_are_looked_at_at_once(house: House) -> None:
    """R23: a look that lies in the future is no look."""
    house.run(4)
    house.set_clock(-3_600)
    assert [cluster.pk for cluster in due_clusters(timezone.now())] == [house.scene.cluster.pk]
    Cluster.objects.update(rest_until=timezone.now() + timedelta(hours=1), synced_at=None)
    assert due_clusters(timezone.now()) != []  # no cluster rests that long
    cluster = Cluster.objects.get()
    cluster.synced_at = timezone.now() + timedelta(hours=1)
    assert timedelta(0) < rest_of(cluster, timezone.now()) <= WATCHED_EVERY


def test_a_job_that_was_due_in_the_old_time_is_due_in_the_new(house: House) -> None:
    """R23: a deadline an hour ahead that was seconds away is not waited for."""
    job = house.submit(command="sleep 600")
    house.run(6)
    JobSync.objects.filter(job=job).update(due_at=timezone.now() + timedelta(seconds=20))
    house.set_clock(-3_600)
    assert claim_due(timezone.now(), 10).job_ids == (job.pk,)


@pytest.mark.parametrize("operation", [Operation.CANCEL, Operation.REQUEUE])
@pytest.mark.parametrize("is_there", [False, True])
def test_what_was_asked_of_the_cluster_in_the_old_time_is_asked_again(
    house: House, is_there: bool, operation: Operation
) -> None:
    """R23: no look can be later than a stop an hour ahead, and nobody waits for one."""
    job = house.submit(command="sleep 600")
    if is_there:
        house.run(10)
    job_operate(actor=house.scene.actors["ada"], job=job, operation=operation)
    sweep()  # the stop is asked for, and the clock put back before anybody looks
    house.set_clock(-3_600)
    house.run(20)
    job.refresh_from_db()
    shown = (job.state, job.attempt_no)
    assert shown == (("cancelled", 1) if operation is Operation.CANCEL else ("running", 2))


@pytest.mark.parametrize("step", [-25, -1, 0, 1, 25])
def test_a_claim_that_is_worked_on_is_not_taken_by_another(house: House, step: int) -> None:
    """R23: no lease is stolen by a step that is shorter than the lease."""
    house.submit(command="sleep 600")
    claim = claim_due(timezone.now(), 10)
    assert len(claim.job_ids) == 1
    house.set_clock(step)
    assert claim_due(timezone.now(), 10).job_ids == ()


@pytest.mark.parametrize("step", [-3_600, 3_600])
def test_a_claim_taken_over_after_a_great_step_is_worth_nothing_to_the_first(house: House, step: int) -> None:
    """R23: the token is law: a dead worker's claim is not waited for, a live one's writes are void."""
    job = house.submit(command="sleep 600")
    claim = claim_due(timezone.now(), 10)
    asleep = load(claim.job_ids)
    house.set_clock(step)
    house.run(6)
    job.refresh_from_db()
    shown = (job.state, job.reason_code)
    assert shown != ("queued", "submitted")
    reconcile_loaded(claim, asleep)
    job.refresh_from_db()
    assert (job.state, job.reason_code) == shown
    assert house.cluster.born == [(job.public_id, 1)]
