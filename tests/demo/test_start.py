"""The first start: with the demo a set stage and two weeks behind it, without it an empty sandbox."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
import time_machine
from django.apps import apps
from django.test import override_settings
from django.utils import timezone

from accounts.actors import actor_of
from accounts.models import AuditEvent, Team, User
from clusters.models import Cluster, Node, ObservedWorkload, SandboxObject
from clusters.sync import cluster_sync
from clusters.waiting import waiting
from clusters.water import water_sample
from clusters.water_models import WaterHour, WaterSample
from console.demo import history
from console.demo.arrivals import read_situation
from console.demo.layout import A100, ASCEND, H100
from console.setup import ensure_instance
from console.tasks import demo_arrivals_task
from jobs.logs import last_lines
from jobs.models import Attempt, Job, JobSync, Run
from jobs.reconcile.loop import sweep
from jobs.selectors import reasons_of, timeline
from jobs.services.submit import job_submit
from quotas.models import Demand

LIVE = ("queued", "creating", "running", "retrying")


def counts() -> dict[str, int]:
    names = ("accounts", "clusters", "jobs", "quotas")
    return {m._meta.label: m._default_manager.count() for name in names for m in apps.get_app_config(name).get_models()}


def test_a_fresh_demo_has_its_stage_set_and_two_weeks_behind_it(clock: time_machine.Traveller, tmp_path: Path) -> None:
    now = timezone.now()
    made = ensure_instance(demo=True, state_dir=tmp_path)

    assert len(made) == 7
    assert all(person.username in (tmp_path / "sign-in.txt").read_text() for person in made)
    assert all(User.objects.get(username=person.username).check_password(person.password) for person in made)
    queued = Job.objects.filter(state="queued")
    codes = Counter(queued.values_list("reason_code", flat=True))
    assert Job.objects.filter(state="running").count() >= 10
    assert queued.filter(held=False).count() >= 6
    assert len(codes) >= 4
    assert codes["held"] >= 1
    assert any(code.startswith("preempted_") for code in codes)
    split = queued.filter(reason_code="split_over_nodes", cards=8, pods=1)
    assert [5, 3] in [facts["blocks"] for facts in split.values_list("reason_facts", flat=True)]
    assert Job.objects.filter(state="running", started_at__lt=now - timedelta(minutes=30)).count() >= 10

    groups = read_situation(Cluster.objects.get()).groups
    assert all(0.6 <= groups[name].held_total / groups[name].capacity <= 0.95 for name in (H100, A100, ASCEND))
    assert groups[A100].blocks[0] == 8
    assert groups[H100].blocks == (5, 3)

    ended = Job.objects.exclude(state__in=LIVE)
    assert ended.count() >= 500
    assert ended.filter(submitted_at__lt=now - timedelta(days=13)).exists()
    assert not ended.filter(ended_at__gt=now).exists()
    causes = set(ended.values_list("reason_code", flat=True))
    assert causes >= {"completed", "app_exit", "out_of_memory", "cancelled_by_person"}
    assert Attempt.objects.filter(number=2, end="succeeded").exists()
    assert Attempt.objects.filter(number=1, is_infrastructure=True).exists()
    assert Run.objects.filter(ordinal=2, attempt__end="succeeded", started_at__isnull=False).exists()


def test_the_water_level_of_the_past_is_there_from_the_first_minute(demo: Cluster) -> None:
    now = timezone.now()
    samples = list(WaterSample.objects.filter(group__slug=H100).order_by("at"))
    assert samples[0].at < now - timedelta(hours=23) and now - timedelta(minutes=10) <= samples[-1].at <= now
    assert {(b.at - a.at) for a, b in pairwise(samples)} <= {timedelta(minutes=10), timedelta(minutes=30)}
    for sample in samples:
        parts = sample.used + sample.reserved + sample.free + sample.releasing + sample.outside
        assert sample.healthy == parts <= sample.capacity and sample.unusable <= sample.free
    water_sample(waiting(), now)  # what the console itself sees now is how the past ended
    seen = WaterSample.objects.get(group__slug=H100, at=now.replace(second=0, microsecond=0))
    assert (seen.used, seen.free, seen.unusable) == (samples[-1].used, samples[-1].free, samples[-1].unusable)
    assert WaterHour.objects.filter(group__slug=H100, figure="used").count() >= 23


def test_what_the_history_left_reads_like_everything_else(demo: Cluster) -> None:
    admin = actor_of(User.objects.get(username="admin"))
    jobs = list(Job.objects.filter(state__in=("succeeded", "failed", "cancelled")).order_by("-ended_at")[:20])
    assert len(jobs) == 20
    for job in jobs:
        story = timeline(viewer=admin, job=job)
        assert story[0].code == "submitted"
        assert story[0].actor == job.owner.display_name
        assert story[-1].code == job.reason_code
        assert [entry.at for entry in story] == sorted(entry.at for entry in story)
        attempt = job.attempts.get(number=job.attempt_no)
        assert attempt.log_complete
        for run in attempt.runs.all():
            assert run.ended_at is not None
            assert run.queued_at <= run.ended_at
        if job.state == "succeeded":
            assert last_lines(attempt).lines
    assert all("?" not in reason.text for reason in reasons_of(admin, jobs).values())
    acts = AuditEvent.objects.filter(action="job.submit")
    assert acts.count() == Job.objects.count()
    assert acts.filter(at__lt=timezone.now() - timedelta(hours=20)).exists()
    assert dict(acts.values_list("target_id", "at")) == dict(Job.objects.values_list("public_id", "submitted_at"))


def test_what_runs_at_the_end_of_the_history_is_real(demo: Cluster, clock: time_machine.Traveller) -> None:
    live = Job.objects.filter(state__in=LIVE)
    before = dict(live.values_list("public_id", "state"))
    on_cluster = set(SandboxObject.objects.filter(kind="workload").values_list("name", flat=True))
    newest = {a.object_name for job in live.filter(held=False) for a in job.attempts.filter(number=job.attempt_no)}
    assert newest <= on_cluster
    assert set(Demand.objects.values_list("job_ulid", flat=True)) == set(before)
    assert set(ObservedWorkload.objects.values_list("job_ulid", flat=True)) >= set(
        live.exclude(held=True).values_list("public_id", flat=True)
    )

    clock.shift(timedelta(seconds=2))
    cluster_sync(demo)
    sweep()
    assert {key: state for key, state in Job.objects.values_list("public_id", "state") if key in before} == before
    assert not JobSync.objects.exclude(last_error="").exists()


def test_a_second_start_adds_nothing(demo: Cluster, tmp_path: Path) -> None:
    before = counts()
    assert ensure_instance(demo=True, state_dir=tmp_path) == []
    assert counts() == before


def test_without_the_demo_there_is_one_admin_an_empty_sandbox_and_nobody_else_comes(db: None, tmp_path: Path) -> None:
    made = ensure_instance(demo=False, state_dir=tmp_path)
    with override_settings(DEMO=False):
        demo_arrivals_task()
    assert [person.username for person in made] == ["admin"]
    assert User.objects.get().is_platform_admin
    assert not Team.objects.exists()
    assert not Job.objects.exists()
    assert Node.objects.count() == 12


def test_a_demo_that_comes_later_leaves_what_runs_alone(
    clock: time_machine.Traveller, short_history: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.setup.make_history", lambda cluster: 0)
    monkeypatch.setattr("console.setup.tick", lambda cluster: 0)
    ensure_instance(demo=True, state_dir=tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(history, "HISTORY_DAYS", 1)
    body = {"framework": "pytorch", "image": "registry.example/mine:1", "cards": 4, "priority": "normal"}
    mine = job_submit(actor=actor_of(User.objects.get(username="eng-vision-1")), data=body).job
    cluster = Cluster.objects.get()
    for _ in range(10):
        clock.shift(timedelta(seconds=2))
        cluster_sync(cluster)
        sweep()
    mine.refresh_from_db()
    assert mine.state == "running"

    ensure_instance(demo=True, state_dir=tmp_path)
    assert Job.objects.filter(is_demo=True).exclude(state__in=LIVE).count() > 50
    assert SandboxObject.objects.filter(kind="workload", name=mine.attempts.get().object_name).exists()
    clock.shift(timedelta(seconds=2))
    cluster_sync(cluster)
    sweep()
    mine.refresh_from_db()
    assert mine.state == "running"
