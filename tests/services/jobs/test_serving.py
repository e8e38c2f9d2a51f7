"""Inference from submit to stop, with real rows and the sandbox: replicas, cards, quota, and every refusal."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEvent
from common.errors import DomainError, InvalidInput, NotAllowed
from jobs.domain.operations import Operation
from jobs.models import Job, JobEvent, Run
from jobs.services.preview import Verdict, job_preview
from quotas.models import Demand
from quotas.selectors import quota_groups
from tests.cast import Cast
from tests.services.jobs.situations import OWNER, operate, until, until_state
from tests.services.support import refused
from tests.stage import BODY, Stage


def serve(stage: Stage, replicas: int = 2, cards: int = 4, **more: Any) -> Job:
    body = {"kind": "inference", "replicas": replicas, "cards": cards, "command": "serve", "card_model": "h100"}
    return stage.submit(OWNER, **{**body, **more})


def problems(stage: Stage, **body: Any) -> list[tuple[str, str]]:
    error = refused(lambda: serve(stage, **body), InvalidInput)
    assert isinstance(error, InvalidInput)
    return [(problem.attr, problem.code) for problem in error.problems]


def test_a_service_has_cards_of_each_replica_and_runs_until_it_is_stopped(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, serve(stage), "running")
        assert (job.pods, job.cards_per_pod, job.cards) == (2, 4, 8)
        stage.run(600, 60)
        assert stage.job(job).state == "running"
        operate(stage, job, Operation.CANCEL)
        stopped = until_state(stage, job, "cancelled")
        assert stopped.reason_code == "cancelled_by_person"
        run = Run.objects.get(attempt__job=job)
        assert (run.cards, run.end_cause) == (8, "cancelled") and run.started_at and run.released_at
        assert not Demand.objects.filter(job_ulid=job.public_id).exists()


def test_one_replica_is_what_is_meant_where_none_are_named(cast: Cast) -> None:
    with Stage(cast) as stage:
        assert stage.submit(OWNER, kind="inference").pods == 1


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"replicas": 0}, ("replicas", "out_of_range")),
        ({"replicas": 65}, ("replicas", "out_of_range")),
        ({"replicas": "two"}, ("replicas", "out_of_range")),
        ({"replicas": True}, ("replicas", "out_of_range")),
        ({"cards": 9}, ("cards", "no_shape")),
        ({"cards": 8, "replicas": 5}, ("cards", "never_fits")),
        ({"max_run_seconds": 3600}, ("max_run_seconds", "no_limit")),
        ({"kind": "training"}, ("replicas", "no_service")),
    ],
)
def test_what_cannot_be_served_is_refused_at_its_field(
    cast: Cast, body: dict[str, Any], problem: tuple[str, str]
) -> None:
    with Stage(cast) as stage:
        assert problems(stage, **body) == [problem]
        assert not Job.objects.exists()


def test_the_preview_of_a_service_counts_all_replicas(cast: Cast) -> None:
    data = {**BODY, "kind": "inference", "cards": 8, "card_model": "h100"}
    answers = {
        count: job_preview(actor=cast.actor(OWNER), data={**data, "replicas": str(count)}) for count in (1, 4, 5)
    }
    assert [answers[count].verdict for count in (1, 4, 5)] == [Verdict.NOW, Verdict.NOW, Verdict.NEVER]
    assert answers[4].is_service and answers[4].shape is not None and answers[4].shape.cards == 32


def test_scaling_changes_demand_and_story_at_once_and_the_cluster_follows(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, serve(stage), "running")
        for size in (3, 1):
            before = stage.job(job).pods
            operate(stage, job, Operation.SCALE, replicas=size)
            now = stage.job(job)
            assert (now.pods, now.cards) == (size, 4 * size)
            assert Demand.objects.get(job_ulid=job.public_id).cards == 4 * size
            event = JobEvent.objects.filter(job=job, code="asked_scale").order_by("-id")[0]
            assert event.facts == {"from": before, "to": size}
            assert AuditEvent.objects.filter(action="job.scale").count() == (1 if size == 3 else 2)
            until(stage, job, lambda now: now.reason_facts.get("ready") == now.pods and now.state == "running")
            assert _used(stage) == 4 * size
        assert Run.objects.filter(attempt__job=job).count() == 1


def _used(stage: Stage) -> int:
    group = next(group for group in quota_groups() if group.group.slug == "h100")
    return sum(row.used for row in group.rows)


def test_a_service_with_less_quota_than_it_wants_runs_in_part_and_says_so(cast: Cast) -> None:
    with Stage(cast) as stage:
        until_state(
            stage, stage.submit("eng-vision-2", cards=24, card_model="h100", command="sleep infinity"), "running"
        )
        job = until(stage, serve(stage, replicas=2, cards=8, priority="low"), lambda now: now.is_degraded)
        assert (job.state, job.reason_code) == ("running", "partly_ready")
        assert (job.reason_facts["ready"], job.reason_facts["pods"], job.reason_facts["waiting"]) == (1, 2, 1)


def test_a_service_held_and_scaled_meanwhile_comes_back_in_its_new_size(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, serve(stage), "running")
        operate(stage, job, Operation.HOLD)
        until(stage, job, lambda now: now.state == "queued" and not now.is_stopping)
        operate(stage, job, Operation.SCALE, replicas=3)
        stage.run(20)
        assert stage.job(job).state == "queued"
        operate(stage, job, Operation.RESUME)
        until(stage, job, lambda now: now.state == "running" and now.reason_facts.get("ready") == 3)


def test_a_program_that_ends_again_and_again_is_retrying_with_its_count_and_waits_in_no_queue(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = serve(stage, replicas=1, command="sleep 1; exit 5")
        seen = until(stage, job, lambda now: now.reason_code == "crash_loop")
        assert (seen.state, seen.reason_facts["exit_code"]) == ("retrying", 5)
        assert seen.reason_facts["restarts"] >= 1 and not seen.waits
        operate(stage, job, Operation.CANCEL)
        until_state(stage, job, "cancelled")


def test_an_image_that_no_replica_can_pull_ends_the_service(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = until_state(stage, serve(stage, image="sandbox.invalid/missing:1"), "failed", seconds=900, step=30)
        assert job.reason_code == "image_not_found"


def test_only_a_service_is_scaled_and_only_within_what_there_is(cast: Cast) -> None:
    with Stage(cast) as stage:
        training, service = stage.submit(OWNER, card_model="h100"), serve(stage)
        assert refused(lambda: operate(stage, training, Operation.SCALE, replicas=2), DomainError).code == "no_service"
        for replicas, code in ((0, "out_of_range"), (None, "out_of_range"), (9, "never_fits")):
            error = refused(lambda replicas=replicas: operate(stage, service, Operation.SCALE, replicas=replicas))
            assert isinstance(error, InvalidInput)
            assert [(p.attr, p.code) for p in error.problems] == [("replicas", code)]
        refused(lambda: operate(stage, service, Operation.SCALE, "eng-vision-2", replicas=3), NotAllowed)
        before = stage.job(service).generation
        operate(stage, service, Operation.SCALE, replicas=2)
        assert stage.job(service).generation == before
