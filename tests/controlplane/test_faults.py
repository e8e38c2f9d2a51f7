"""Parts of the cluster are away for a while: what people are told meanwhile, and that nothing is lost or doubled."""

from __future__ import annotations

import pytest

from clusters.backends.kueue_volcano import lists, names
from clusters.models import Cluster, ObservedWorkload
from jobs.models import Job, JobSync
from tests.controlplane.console import Console

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.every_kueue]


def one_object_each(console: Console) -> None:
    """Each job has one attempt with one Job and one PodGroup, none is forgotten."""
    for job in Job.objects.all():
        assert len(console.attempts(job)) == 1
        assert len(console.objects(job)) == len(console.objects(job, names.POD_GROUPS)) == 1


def test_a_job_submitted_while_the_gate_is_away_is_sent_when_it_is_back(console: Console) -> None:
    console.plane.stop_process("kueue")
    job = console.submit()
    console.until(job, "queued", "not_sent")
    assert console.facts(job) == {"error": "webhook_silent"}
    assert console.objects(job) == []
    assert Cluster.objects.get(pk=console.cluster.pk).sync_error == ""  # the cluster itself answers
    console.plane.start_process("kueue")
    console.until(job, "running")
    assert JobSync.objects.get(job=job).failures == 0
    one_object_each(console)


def test_jobs_wait_on_while_the_gate_is_away(console: Console) -> None:
    console.shares(vision=100, language=0)
    running = console.submit(cards=32)
    console.until(running, "running")
    waiting = console.submit(cards=16)
    console.until(waiting, "queued", "waiting_for_quota")
    for pod in console.pods(running):
        path = names.PODS_KIND.path(pod["metadata"]["namespace"], pod["metadata"]["name"])
        console.plane.request("PATCH", path, {"metadata": {"annotations": {"sluice.test/run-for": "3s"}}})
    console.plane.stop_process("kueue")
    console.until(running, "succeeded")
    for _ in range(5):
        console.work()
    assert Job.objects.get(pk=waiting.pk).state == "queued"
    console.plane.start_process("kueue")
    console.until(waiting, "running")


def test_pods_that_nobody_starts_are_told_of_and_run_when_the_executor_is_back(console: Console) -> None:
    console.plane.stop_process("volcano")
    job = console.submit(cards=16)
    console.until(job, "creating", "waiting_for_pods")
    console.wait_for_quota(vision=16)
    with console.later(seconds=310):
        console.until(job, "creating", "not_placed")
    console.plane.start_process("volcano")
    console.until(job, "running")
    one_object_each(console)


def test_while_the_api_server_is_away_states_stand_and_submits_are_taken(console: Console) -> None:
    running, ending = console.submit(name="running"), console.submit(name="ending")
    for job in (running, ending):
        console.until(job, "running")
    rows = ObservedWorkload.objects.count()
    pods_of_ending = [pod["metadata"]["name"] for pod in console.pods(ending)]
    console.plane.stop_process("apiserver")
    assert not console.look()
    cluster = Cluster.objects.get(pk=console.cluster.pk)
    assert cluster.sync_error == "unreachable" and cluster.rest_until > cluster.synced_at
    submitted = console.submit(name="submitted meanwhile")
    console.operate(running, "cancel", "eng-vision-1")
    with console.later(seconds=60):
        for _ in range(3):
            console.work()
        shown = {job.display_name: (job.state, job.reason_code) for job in Job.objects.all()}
    assert shown == {
        "running": ("running", "running"),
        "ending": ("running", "running"),
        "submitted meanwhile": ("queued", "submitted"),
    }
    assert ObservedWorkload.objects.filter(gone=False).count() == rows
    console.plane.start_process("apiserver")
    console.plane.wait_for(lambda: len(pods_of_ending) == len(console.pods(ending)), "the pods are still there")
    console.exit_pods(ending)
    console.until(ending, "succeeded")
    console.until(running, "cancelled")
    console.until(submitted, "running")
    assert Cluster.objects.get(pk=console.cluster.pk).sync_error == ""
    assert console.objects(running) == [] and len(console.objects(submitted)) == 1
    assert not JobSync.objects.filter(failures__gt=0).exists()
    console.exit_pods(submitted)
    console.until(submitted, "succeeded")
    console.until_free()


def test_a_list_in_many_pages_is_one_look(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PAGE", 2)
    jobs = [console.submit(cards=1, name=f"job {number}") for number in range(7)]
    for job in jobs:
        console.until(job, "running")
    assert ObservedWorkload.objects.filter(gone=False).count() == 7
    mark = console.plane.audit.mark()
    assert console.look()
    calls = console.plane.audit.calls(mark, user=console.plane.user_of("runtime"))
    assert [call.verb for call in calls if call.resource == "pods"] == ["list"] * 4
