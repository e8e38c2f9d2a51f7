"""The director at work on a real console: people's own jobs, refusals, two workers at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.actors import actor_of
from accounts.models import AuditEvent, Membership, User
from clusters.models import Cluster, SandboxCommand
from clusters.sync import cluster_sync
from common.locks import LockSpace
from console.demo.arrivals import carry_out, read_situation, tick
from console.demo.layout import A100, H100
from console.demo.repertoire import Part, compose
from console.demo.situation import Disrupt, Operate, Power, SubmitJob
from jobs.domain.operations import Operation
from jobs.models import Job
from jobs.reconcile.loop import sweep
from jobs.services.submit import job_submit

BODY = {"framework": "pytorch", "image": "registry.example/mine:1", "cards": 8, "priority": "normal"}


def let_pass(clock: time_machine.Traveller, cluster: Cluster, seconds: int) -> None:
    """Everything that a running console does in that time, every five seconds."""
    for _ in range(0, seconds, 5):
        clock.shift(timedelta(seconds=5))
        cluster_sync(cluster)
        sweep()
        tick(cluster)


@pytest.mark.parametrize("username", ["eng-vision-1", "eng-language-1", "eng-robotics-1"])
def test_a_person_of_any_team_starts_a_job_of_eight_within_a_minute(
    demo: Cluster, clock: time_machine.Traveller, username: str
) -> None:
    begun = timezone.now()
    mine = job_submit(actor=actor_of(User.objects.get(username=username)), data=BODY).job
    assert mine.group is not None
    assert mine.group.slug == A100
    let_pass(clock, demo, 60)
    mine.refresh_from_db()
    assert mine.state == "running"
    assert mine.started_at is not None
    assert mine.started_at - begun <= timedelta(seconds=60)
    assert read_situation(demo).groups[A100].blocks[0] == 8  # for the next one
    assert not mine.is_demo


def test_the_stage_stands_for_minutes_of_the_whole_chain(demo: Cluster, clock: time_machine.Traveller) -> None:
    for _ in range(12):
        let_pass(clock, demo, 15)
        codes = set(Job.objects.filter(state="queued").values_list("reason_code", flat=True))
        assert Job.objects.filter(state="running").count() >= 10
        assert {"held", "split_over_nodes"} <= codes
        assert any(code.startswith("preempted_") for code in codes)
        assert read_situation(demo).groups[H100].blocks == (5, 3)


def test_a_person_who_resumes_the_held_job_finds_another_one_held(demo: Cluster, clock: time_machine.Traveller) -> None:
    held = Job.objects.get(state="queued", held=True)
    carry_out(demo, Operate(held.public_id, Operation.RESUME))
    let_pass(clock, demo, 20)
    other = Job.objects.get(held=True, state="queued")
    assert other.pk != held.pk
    assert other.reason_code == "held"
    assert not other.attempts.filter(submitted_at__isnull=False).exists()  # it never was on the cluster


def test_demo_jobs_are_submitted_by_their_owners_like_all_others(demo: Cluster) -> None:
    request = compose(1, Part("language", A100, 2, (10, 20)), "now")
    assert carry_out(demo, SubmitJob(request))
    job = Job.objects.latest("submitted_at", "id")
    assert (job.display_name, job.owner.username, job.is_demo) == (request.name, request.owner, True)
    assert AuditEvent.objects.filter(target_id=job.public_id, action="job.submit", actor=job.owner).count() == 1


def test_what_the_product_refuses_is_left_undone(demo: Cluster) -> None:
    request = compose(1, Part("robotics", A100, 2, (10, 20)), "now")
    Membership.objects.filter(user__username=request.owner).delete()
    before = Job.objects.count()
    assert not carry_out(demo, SubmitJob(request))
    assert not carry_out(demo, Operate(Job.objects.filter(state="succeeded").latest("id").public_id, Operation.CANCEL))
    assert Job.objects.count() == before


def test_only_demo_jobs_are_operated_on_or_disturbed(demo: Cluster) -> None:
    mine = job_submit(actor=actor_of(User.objects.get(username="eng-vision-1")), data=BODY).job
    assert not carry_out(demo, Operate(mine.public_id, Operation.CANCEL))
    assert not carry_out(demo, Disrupt(mine.public_id))
    assert not SandboxCommand.objects.filter(payload__kind="evict_pod").exists()
    assert carry_out(demo, Power("a100-slices-01", up=False))
    assert SandboxCommand.objects.filter(payload__kind="node_power").count() == 1


def test_a_disrupted_job_is_tried_again_by_the_platform(demo: Cluster, clock: time_machine.Traveller) -> None:
    job = Job.objects.filter(state="running", group__slug=A100, attempt_no=1).latest("submitted_at")
    assert carry_out(demo, Disrupt(job.public_id))
    let_pass(clock, demo, 40)
    job.refresh_from_db()
    assert (job.attempt_no, job.state) == (2, "running")
    assert job.attempts.get(number=1).end_reason == "disruption"


@pytest.mark.django_db(transaction=True)
def test_one_director_at_a_time() -> None:
    cluster = Cluster.objects.create(slug="sandbox", name="Sandbox", kind="sandbox")
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s, %s)", [int(LockSpace.DEMO), cluster.pk])
        with CaptureQueriesContext(connection) as queries:
            assert tick(cluster) == 0
        assert len(queries) == 1
    finally:
        other.close()


def test_reading_the_situation_takes_the_same_number_of_queries_whatever_there_is(
    demo: Cluster, clock: time_machine.Traveller
) -> None:
    with CaptureQueriesContext(connection) as few:
        read_situation(demo)
    person = actor_of(User.objects.get(username="eng-vision-2"))
    for _ in range(20):
        job_submit(actor=person, data=BODY)
    let_pass(clock, demo, 5)
    with CaptureQueriesContext(connection) as many:
        read_situation(demo)
    assert len(few) == len(many)
