"""Stories of inference services beside training, through API and worker on the real schedulers."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.backends.kueue_volcano import names
from jobs.models import Job
from tests.controlplane.console import Console

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.every_kueue]

OWNER = "eng-language-1"


def serve(console: Console, replicas: int = 1, **more: Any) -> Job:
    """A service of the language team, eight cards a replica."""
    return console.submit(OWNER, **{"kind": "inference", "replicas": replicas, **more})


def until_serving(console: Console, job: Job, replicas: int) -> Job:
    """All of so many replicas run, and no other is left."""

    def check() -> Job | None:
        found = Job.objects.get(pk=job.pk)
        facts = found.reason_facts
        whole = found.state == "running" and not found.is_degraded
        return found if whole and (facts.get("ready"), facts.get("pods")) == (replicas, replicas) else None

    found: Job = console.until_true(check, lambda: f"{replicas} replicas, but it is {console.shown(job)}")
    return found


def test_a_service_takes_its_cards_back_from_a_borrowing_gang(console: Console) -> None:
    gang = console.submit(cards=32)
    console.until(gang, "running")
    service = serve(console)
    until_serving(console, service, 1)
    victim = console.until(gang, "queued", "preempted_quota_reclaimed")
    assert victim.reason_facts["by"] == service.public_id
    assert console.runs(victim)[0].end_cause == "quota_reclaimed"
    console.wait_for_quota(vision=0, language=8)
    console.operate(service, "cancel", OWNER)
    stopped = console.until(service, "cancelled", "cancelled_by_person")
    assert console.objects(stopped, names.DEPLOYMENTS) == []
    console.until(gang, "running")
    assert Job.objects.get(pk=gang.pk).attempt_no == 1 and len(console.runs(gang)) == 2


def test_a_service_grows_shrinks_pauses_and_stops(console: Console) -> None:
    console.until(console.submit(cards=16), "running")
    service = serve(console)
    until_serving(console, service, 1)
    console.operate(service, "scale", OWNER, replicas=2)
    until_serving(console, service, 2)
    console.wait_for_quota(language=16)
    console.operate(service, "scale", OWNER, replicas=3)
    partly = console.until(service, "running", "partly_ready")
    assert partly.is_degraded
    console.until_true(lambda: console.facts(service).get("waiting") == 1, lambda: console.shown(service))
    assert (console.facts(service)["ready"], console.facts(service)["pods"]) == (2, 3)
    console.operate(service, "scale", OWNER, replicas=1)
    until_serving(console, service, 1)
    console.wait_for_quota(language=8)
    console.operate(service, "hold", OWNER)
    console.until_true(
        lambda: (found := Job.objects.get(pk=service.pk)).state == "queued" and not found.is_stopping,
        lambda: console.shown(service),
    )
    console.wait_for_quota(language=0)
    console.operate(service, "resume", OWNER)
    until_serving(console, service, 1)
    console.operate(service, "cancel", OWNER)
    console.until(service, "cancelled")
    console.wait_for_quota(language=0)
    assert len(console.attempts(service)) == 1


def test_a_replica_that_is_lost_is_replaced_and_the_others_serve_on(console: Console) -> None:
    service = serve(console, 2)
    until_serving(console, service, 2)
    victim = console.pods(service)[0]["metadata"]
    console.plane.evict_pod(victim["namespace"], victim["name"])
    console.until_true(
        lambda: victim["name"] not in {pod["metadata"]["name"] for pod in console.pods(service)}, "another takes over"
    )
    until_serving(console, service, 2)
    assert len(console.attempts(service)) == 1
    assert {attempt.end for attempt in console.attempts(service)} == {""}


def test_a_service_without_an_image_gives_its_cards_back_after_ten_minutes(console: Console) -> None:
    service = serve(console, image="sandbox.invalid/missing:1")
    console.until(service, "creating", "image_not_found")
    with console.later(minutes=11):
        console.until(service, "failed", "image_not_found")
    assert console.objects(service, names.DEPLOYMENTS) == []
    console.until_free()
