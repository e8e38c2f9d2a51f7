"""While the console was off, time went on: what ran has ended when it should, and people came and went."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import time_machine
from django.utils import timezone

from accounts.actors import actor_of
from accounts.models import User
from clusters.models import Cluster, SandboxObject
from clusters.sync import cluster_sync
from console.demo.arrivals import tick
from console.setup import ensure_instance
from jobs.models import Job
from jobs.reconcile.loop import sweep
from jobs.services.submit import job_submit

LIVE = ("queued", "creating", "running", "retrying")
OFF = timedelta(hours=9)


def test_a_gap_is_filled_and_nothing_that_was_there_is_lost(
    demo: Cluster, clock: time_machine.Traveller, tmp_path: Path
) -> None:
    body = {"framework": "pytorch", "image": "registry.example/mine:1", "cards": 8, "priority": "normal"}
    owner = actor_of(User.objects.get(username="eng-language-1"))
    mine = job_submit(actor=owner, data=body | {"command": "sleep 3600; exit 0"}).job
    for _ in range(8):
        clock.shift(timedelta(seconds=5))
        cluster_sync(demo)
        sweep()
        tick(demo)
    mine.refresh_from_db()
    assert mine.state == "running"
    left = timezone.now()
    before = set(Job.objects.filter(state__in=LIVE).values_list("public_id", flat=True))

    clock.shift(OFF)
    assert ensure_instance(demo=True, state_dir=tmp_path) == []

    mine.refresh_from_db()
    assert mine.state == "succeeded"
    assert mine.started_at is not None
    assert mine.ended_at == mine.started_at + timedelta(hours=1)
    came = Job.objects.filter(submitted_at__gt=left)
    assert came.filter(state="succeeded").count() >= 10
    assert all(job.is_demo for job in came)
    ended = Job.objects.filter(public_id__in=before).exclude(state__in=LIVE)
    assert ended.count() >= 5
    assert all(left < job.ended_at < timezone.now() for job in ended.filter(state="succeeded"))

    queued = Job.objects.filter(state="queued")
    codes = set(queued.values_list("reason_code", flat=True))
    assert Job.objects.filter(state="running").count() >= 10
    assert {"held", "split_over_nodes"} <= codes
    assert any(code.startswith("preempted_") for code in codes)
    live = Job.objects.filter(state__in=("creating", "running"))
    names = {a.object_name for job in live for a in job.attempts.filter(number=job.attempt_no)}
    assert names <= set(SandboxObject.objects.filter(kind="workload").values_list("name", flat=True))


def test_a_short_pause_is_no_gap(demo: Cluster, clock: time_machine.Traveller, tmp_path: Path) -> None:
    left = timezone.now()
    clock.shift(timedelta(minutes=5))
    ensure_instance(demo=True, state_dir=tmp_path)
    assert all(job.submitted_at == timezone.now() for job in Job.objects.filter(submitted_at__gt=left))


def test_a_gap_longer_than_the_history_begins_with_its_last_days(
    demo: Cluster, clock: time_machine.Traveller, tmp_path: Path
) -> None:
    left = timezone.now()
    clock.shift(timedelta(days=5))  # the history of these tests is a day long
    ensure_instance(demo=True, state_dir=tmp_path)
    came = Job.objects.filter(submitted_at__gt=left).order_by("submitted_at")
    first = came.first()
    assert first is not None
    assert first.submitted_at > timezone.now() - timedelta(days=1, seconds=1)
    assert Job.objects.filter(state="running").count() >= 10
