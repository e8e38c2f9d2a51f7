"""Stories of several jobs on the real schedulers: who waits for what, who gives way to whom, and who comes next."""

from __future__ import annotations

import pytest
from django.utils import timezone

from clusters.backends.kueue_volcano import names
from clusters.models import PreflightRow
from clusters.preflight.words import Feature, Verdict
from jobs.models import Job
from quotas.services import quotas_apply
from tests.controlplane.console import Console, open_console
from tests.controlplane.plane import Plane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.every_kueue]


def fragmented(console: Console) -> Job:
    """Two nodes hold five of eight cards each; six more are asked for in one piece."""
    holders = [console.submit(cards=5) for _ in range(2)]
    for holder in holders:
        console.until(holder, "running")
    return console.submit(cards=6)


def test_cards_in_pieces_keep_a_job_queued_without_quota(shared_plane: Plane, transactional_db: None) -> None:
    console = open_console(shared_plane, nodes=2, shares=(100, 0))
    job = fragmented(console)
    console.until(job, "queued", "split_over_nodes")
    facts = console.facts(job)
    assert (facts["per_pod"], facts["free"], facts["blocks"]) == (6, 6, [3, 3])
    console.wait_for_quota(vision=10)


def test_without_topology_a_job_in_pieces_is_admitted_named_and_after_a_while_released(
    shared_plane: Plane, transactional_db: None
) -> None:
    console = open_console(shared_plane, nodes=2, shares=(100, 0), topology=False)
    job = fragmented(console)
    console.until(job, "creating", "placing")
    console.wait_for_quota(vision=16)
    with console.later(seconds=125):
        console.until(job, "creating", "not_placed")
    facts = console.facts(job)
    assert (facts["per_pod"], facts["free"], facts["blocks"]) == (6, 6, [3, 3])
    with console.later(minutes=16):  # each admission is too old at once
        console.until(job, "queued", "held_not_placed")
    released = console.attempts(job)[:3]
    assert [(attempt.end, attempt.end_reason) for attempt in released] == [("stopped", "not_placed")] * 3
    assert [event.code for event in job.events.order_by("id") if "not_placed" in event.code] == [
        "not_placed", "released_not_placed", "not_placed", "released_not_placed", "not_placed", "held_not_placed",
    ]  # fmt: skip
    console.wait_for_quota(vision=10)
    assert console.objects(job) == []


def test_the_owner_of_lent_cards_takes_them_back_and_the_borrower_runs_again(console: Console) -> None:
    borrowers = [console.submit(name=f"borrower {number}") for number in range(3)]
    for job in borrowers:
        console.until(job, "running")
    owner = console.submit("eng-language-1", cards=16)
    console.until(owner, "running")
    (victim,) = Job.objects.filter(pk__in=[job.pk for job in borrowers], state="queued")
    assert victim.reason_code == "preempted_quota_reclaimed"
    assert victim.reason_facts["by"] == owner.public_id
    assert victim.attempt_no == 1 and [run.end_cause for run in console.runs(victim)] == ["quota_reclaimed", ""]
    console.exit_pods(owner)
    console.until(victim, "running")
    first, second = console.runs(victim)
    assert first.started_at <= first.ended_at <= second.queued_at <= second.admitted_at  # the gate tells whole seconds
    for job in borrowers:
        console.exit_pods(job)
        console.until(job, "succeeded")
    assert Job.objects.filter(attempt_no=1).count() == 4
    console.until_free()


def test_a_job_that_was_held_keeps_its_place(shared_plane: Plane, transactional_db: None) -> None:
    console = open_console(shared_plane, nodes=2, shares=(100, 0))
    running, early, late = (console.submit_in_turn(cards=16, name=name) for name in ("running", "early", "late"))
    console.until(running, "running")
    console.until(early, "queued", "waiting_for_quota")
    console.operate(early, "hold")
    held = console.until(early, "queued", "held")
    assert held.flags == ["held"]
    console.until(late, "queued", "waiting_for_quota")
    console.operate(early, "resume")
    console.until(early, "queued", "waiting_for_quota")
    console.exit_pods(running)
    console.until(early, "running")
    assert Job.objects.get(pk=late.pk).state == "queued"


def test_a_running_job_that_is_held_gives_its_cards_at_once_and_runs_again(
    shared_plane: Plane, transactional_db: None
) -> None:
    console = open_console(shared_plane, nodes=2, shares=(100, 0))
    job, waiting = (console.submit_in_turn(cards=16, name=name) for name in ("held", "waiting"))
    console.until(job, "running")
    console.operate(job, "hold")
    console.until(waiting, "running")
    assert Job.objects.get(pk=job.pk).flags == ["held"] and console.pods(job) == []
    console.operate(job, "resume")
    console.until(job, "queued", "waiting_for_quota")
    console.exit_pods(waiting)
    console.until(job, "running")
    assert [(run.ordinal, run.end_cause) for run in console.runs(job)] == [(1, "held"), (2, "")]
    assert len(console.attempts(job)) == 1


def test_a_higher_priority_comes_first_and_interrupts_nobody_of_its_own_class(
    shared_plane: Plane, transactional_db: None
) -> None:
    console = open_console(shared_plane, nodes=2, shares=(100, 0))
    running = console.submit("lead-vision", cards=16, priority="high")
    console.until(running, "running")
    early, late = (console.submit_in_turn(cards=16, name=name) for name in ("early", "late"))
    console.until(late, "queued", "waiting_for_quota")
    console.operate(late, "priority", priority="high")
    console.until_true(
        lambda: console.objects(late)[0]["metadata"]["labels"][names.PRIORITY_CLASS] == "slu-300", "the label says so"
    )
    console.exit_pods(running)
    console.until(late, "running")
    assert Job.objects.get(pk=early.pk).state == "queued"


def test_a_job_of_a_lower_class_gives_way_inside_its_team(shared_plane: Plane, transactional_db: None) -> None:
    console = open_console(shared_plane, nodes=2, shares=(100, 0))
    low = console.submit(cards=16, priority="low")
    console.until(low, "running")
    urgent = console.submit("lead-vision", cards=16, priority="urgent", priority_reason="a deadline")
    console.until(urgent, "running")
    given_way = console.until(low, "queued", "preempted_higher_priority")
    assert given_way.reason_facts["by"] == urgent.public_id
    console.exit_pods(urgent)
    console.until(low, "running")


def test_a_preempted_job_stays_out_until_its_beneficiary_runs(shared_plane: Plane, transactional_db: None) -> None:
    console = open_console(shared_plane, nodes=2, shares=(100, 0))
    victims = [console.submit(name=f"victim {number}") for number in range(2)]
    for victim in victims:
        console.until(victim, "running")
    beneficiary = console.submit(cards=16)
    console.until(beneficiary, "queued", "waiting_for_quota")
    for victim in victims:
        console.operate(victim, "preempt", beneficiary=beneficiary.public_id)
    console.until(beneficiary, "running")
    for victim in victims:
        console.until_true(
            lambda victim=victim: Job.objects.get(pk=victim.pk).rests_until is None, "it may queue again"
        )
        console.until(victim, "queued")
    console.exit_pods(beneficiary)
    for victim in victims:
        console.until(victim, "running")
        assert len(console.attempts(victim)) == 1 and len(console.runs(victim)) == 2


def test_a_requeued_job_starts_anew_behind_the_others(shared_plane: Plane, transactional_db: None) -> None:
    console = open_console(shared_plane, nodes=2, shares=(100, 0))
    job, other = (console.submit_in_turn(cards=16, name=name) for name in ("first", "second"))
    console.until(job, "running")
    console.until(other, "queued", "waiting_for_quota")
    console.operate(job, "requeue")
    console.until(other, "running")
    console.until(job, "queued", "waiting_for_quota")
    assert Job.objects.get(pk=job.pk).attempt_no == 2
    console.exit_pods(other)
    console.until(job, "running")
    console.until_true(lambda: len(console.objects(job)) == 1, "the object of the first attempt is gone")


def test_a_check_that_nobody_answers_is_named(console: Console) -> None:
    check = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": "budget"},
        "spec": {"controllerName": "sluice.test/nobody"},
    }
    checks = "/apis/kueue.x-k8s.io/v1beta2/admissionchecks"
    console.plane.request("POST", checks, check)
    active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": EPOCH}
    console.plane.request("PATCH", f"{checks}/budget/status", {"status": {"conditions": [active]}})
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": "budget"}]}}
    queue = names.CLUSTER_QUEUES.path(None, "slu-vision")
    console.plane.request("PATCH", queue, {"spec": strategy})
    job = console.submit()
    console.until(job, "queued", "waiting_for_check")
    assert "budget" in console.facts(job)["raw"]
    console.apply_quotas()
    assert console.plane.request("GET", queue)["spec"]["admissionChecksStrategy"] == strategy["admissionChecksStrategy"]
    _weights_come_and_go(console, queue)
    console.operate(job, "cancel", "eng-vision-1")
    console.until(job, "cancelled")
    console.until_free()


def _weights_come_and_go(console: Console, queue: str) -> None:
    """Switched off, they leave nothing behind, also where somebody has set the same by hand."""
    row, _made = PreflightRow.objects.update_or_create(
        cluster=console.cluster,
        feature=Feature.QUEUE_WEIGHTS,
        defaults={"verdict": Verdict.OK, "since": timezone.now()},
    )
    console.apply_quotas()
    scope = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}
    assert console.plane.request("GET", queue)["spec"].items() >= scope.items()
    console.plane.request("PATCH", queue, {"spec": scope})
    row.verdict = Verdict.MISSING
    row.save()
    console.apply_quotas()
    assert "admissionScope" not in console.plane.request("GET", queue)["spec"]
    assert "slu-vision" not in quotas_apply(console.cluster).changed


EPOCH = "2026-01-01T00:00:00Z"
