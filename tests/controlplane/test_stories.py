"""Stories of single jobs through API and worker on the real schedulers: how they start, run and end."""

from __future__ import annotations

import pytest

from clusters.backends.kueue_volcano import names
from jobs.models import Job
from tests.controlplane.console import Console

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.every_kueue]

MISSING_IMAGE = "sandbox.invalid/missing:1"


def test_a_gang_runs_whole_and_succeeds(console: Console) -> None:
    job = console.submit(cards=16)
    assert (job.pods, job.cards_per_pod) == (2, 8)
    console.until(job, "running", "running")
    assert len(console.pods(job)) == 2
    console.wait_for_quota(vision=16, language=0)
    console.exit_pods(job)
    done = console.until(job, "succeeded", "completed")
    run = done.attempts.get().runs.get()
    assert run.cards == 16 and len(run.nodes) == 2 and run.end_cause == "succeeded"
    assert run.queued_at <= run.admitted_at <= run.scheduled_at <= run.started_at <= run.ended_at
    console.until_free()
    assert Job.objects.count() == 1


def test_a_job_without_cards_runs_outside_the_quota(console: Console) -> None:
    job = console.submit(cards=0, cpu="2", memory="4Gi")
    console.until(job, "running")
    assert not any(console.held_quota().values())
    console.exit_pods(job)
    console.until(job, "succeeded")


def test_a_launcher_that_ends_well_ends_its_workers(console: Console) -> None:
    job = console.submit(cards=16, framework="mpi")
    console.until(job, "running")
    console.exit_pods(job, rank=0)
    console.until(job, "succeeded", "completed_by_launcher")
    console.until_free()
    assert not [pod for pod in console.pods(job) if pod["status"]["phase"] == "Running"]


def test_the_rank_that_fails_is_named_and_the_whole_gang_stops(console: Console) -> None:
    job = console.submit(cards=16)
    console.until(job, "running")
    console.exit_pods(job, code=3, rank=1)
    failed = console.until(job, "failed", "app_exit")
    assert (failed.reason_facts["rank"], failed.reason_facts["exit_code"]) == (1, 3)
    attempt = failed.attempts.get()
    assert attempt.exit_code == 3 and not attempt.is_infrastructure
    console.until_free()


def test_a_failed_job_is_tried_again_as_often_as_its_owner_asked(console: Console) -> None:
    job = console.submit(retry_limit=1)
    for number in (1, 2):
        console.until_true(
            lambda number=number: Job.objects.filter(pk=job.pk, state="running", attempt_no=number).exists(),
            lambda: console.shown(job),
        )
        console.exit_pods(job, code=number)
    console.until(job, "failed", "app_exit")
    assert [(a.end, a.exit_code) for a in console.attempts(job)] == [("failed", 1), ("failed", 2)]
    assert len({a.uid for a in console.attempts(job)}) == 2
    console.until_free()


def test_an_evicted_rank_fails_the_gang_and_the_next_attempt_queues_at_the_tail(console: Console) -> None:
    console.shares(vision=100, language=0)
    gang, other = console.submit(cards=32), None
    console.until(gang, "running")
    other = console.submit(cards=32)
    console.until(other, "queued", "waiting_for_quota")
    victim = console.pods(gang)[0]["metadata"]
    console.plane.evict_pod(victim["namespace"], victim["name"])
    console.until_true(lambda: len(console.attempts(gang)) == 2, lambda: console.shown(gang))
    first = console.attempts(gang)[0]
    assert (first.end, first.end_reason, first.is_infrastructure) == ("failed", "disruption", True)
    console.until(other, "running")
    console.until(gang, "queued", "waiting_for_quota")
    console.exit_pods(other)
    console.until(gang, "running")
    assert [run.end_cause for run in console.runs(gang)] == ["failed", ""]
    console.exit_pods(gang)
    console.until(gang, "succeeded")


def test_an_image_that_cannot_be_pulled_holds_its_cards_for_ten_minutes_only(console: Console) -> None:
    job = console.submit(image=MISSING_IMAGE)
    console.until(job, "creating", "image_not_found")
    console.wait_for_quota(vision=8)
    with console.later(minutes=9):
        console.work()
        assert Job.objects.get(pk=job.pk).state == "creating"
    with console.later(minutes=11):
        console.until(job, "failed", "image_not_found")
    assert console.objects(job) == [] and len(console.attempts(job)) == 1
    console.until_free()


@pytest.mark.parametrize("stage", ["queued", "creating", "running"])
def test_a_cancel_is_over_when_the_objects_are_gone(console: Console, stage: str) -> None:
    if stage == "queued":  # more than the team has while the other team uses its own
        console.shares(vision=25, language=75)
        console.until(console.submit("eng-language-1", cards=8), "running")
    job = console.submit(
        cards=32 if stage == "queued" else 8, image=MISSING_IMAGE if stage == "creating" else "registry.example/a:1"
    )
    console.until(job, stage)
    for pod in console.pods(job):  # it takes its time to end
        path = names.PODS_KIND.path(pod["metadata"]["namespace"], pod["metadata"]["name"])
        console.plane.request("PATCH", path, {"metadata": {"annotations": {"sluice.test/stop-for": "2s"}}})
    console.operate(job, "cancel", "eng-vision-1")

    def is_over() -> bool:
        left = console.pods(job)
        found = Job.objects.get(pk=job.pk)
        assert found.state != "cancelled" or not left
        return found.state == "cancelled"

    console.until_true(is_over, lambda: console.shown(job))
    assert console.objects(job) == []
    assert [event.code for event in job.events.order_by("id")][-2:] == ["cancelling", "cancelled_by_person"]
    console.plane.wait_for(lambda: not console.objects(job, names.POD_GROUPS), "its PodGroup goes with it")
    console.wait_for_quota(vision=0)
