"""Maintenance by a date: planned, begun, ended, called off, and what jobs do meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent
from clusters.backends.sandbox import driver
from clusters.models import Cluster, Node
from clusters.nodes_cordon import node_cordon
from clusters.nodes_maintenance import maintenance_cancel, maintenance_plan, maintenances_step
from clusters.nodes_models import Maintenance, NodeCordon
from clusters.simulation.commands import Cordon
from clusters.simulation.world import Workload
from common.errors import DomainError, InvalidInput, NotAllowed, NotFound
from jobs.models import Job
from tests.cast import Cast
from tests.stage import Stage

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
NODE = "h100-01"


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def plan(stage: Stage, starts: timedelta = HOUR, length: timedelta = HOUR, **more: Any) -> Maintenance:
    starts_at = timezone.now() + starts
    values = {"node": NODE, "reason": "new firmware", **more}
    return maintenance_plan(
        actor=stage.cast.actor("admin"),
        cluster=stage.cast.cluster,
        starts_at=starts_at,
        ends_at=starts_at + length,
        **values,
    ).row


def step(stage: Stage) -> None:
    maintenances_step(timezone.now())
    stage.run(4)


def health(name: str = NODE) -> str:
    return Node.objects.get(name=name).health


def found(job: Job) -> Workload:
    (workload,) = driver.find_workloads(job.cluster, job.attempts.get().object_name)
    return workload


def avoids(job: Job) -> tuple[str, ...]:
    return found(job).spec.avoid


def test_its_nodes_are_closed_from_its_start_to_its_end(stage: Stage) -> None:
    row = plan(stage)
    step(stage)
    assert health() == "ready"
    stage.skip(3600)
    step(stage)
    cordon = NodeCordon.objects.get()
    assert health() == "cordoned" and (cordon.reason, cordon.maintenance) == ("new firmware", row)
    stage.skip(3600)
    step(stage)
    row.refresh_from_db()
    assert health() == "ready" and row.begun_at is not None and row.finished_at is not None
    assert maintenances_step(timezone.now()) == 0


def test_a_group_is_closed_as_a_whole_and_what_others_closed_stays_closed(stage: Stage) -> None:
    node_cordon(actor=stage.cast.actor("admin"), cluster=stage.cast.cluster, node="h100-02", reason="a fan")
    driver.send(stage.cast.cluster, Cordon(driver.now_ms(), "h100-03"))
    stage.run(4)
    row = plan(stage, timedelta(0), node="", group="h100")
    step(stage)
    assert {health(f"h100-0{number}") for number in range(1, 5)} == {"cordoned"}
    assert health("a100-01") == "ready"
    maintenance_cancel(actor=stage.cast.actor("admin"), public_id=row.public_id)
    step(stage)
    found = {number: health(f"h100-0{number}") for number in range(1, 5)}
    assert found == {1: "ready", 2: "cordoned", 3: "cordoned", 4: "ready"}


def test_jobs_that_would_not_end_before_go_to_other_nodes(stage: Stage) -> None:
    plan(stage)
    endless = stage.submit(cards=8, card_model="h100", command="sleep 600")
    short = stage.submit(cards=8, card_model="h100", command="sleep 60", max_run_seconds=1800)
    stage.run(4)
    assert (avoids(endless), avoids(short)) == ((NODE,), ())


def test_a_job_that_fits_nowhere_else_is_kept_back_until_it_is_called_off(stage: Stage) -> None:
    row = plan(stage, node="", group="h100")
    job = stage.submit(cards=8, card_model="h100", command="sleep 600")
    stage.run(10)
    job.refresh_from_db()
    assert (job.state, job.reason_code) == ("queued", "waiting_for_maintenance")
    assert job.reason_facts == {"until": row.starts_at.isoformat()}
    assert driver.find_workloads(job.cluster, job.attempts.get().object_name) == []
    maintenance_cancel(actor=stage.cast.actor("admin"), public_id=row.public_id)
    stage.run(90)
    job.refresh_from_db()
    assert job.state == "running"


def test_jobs_that_were_handed_over_before_it_was_planned_are_steered_to_other_nodes(stage: Stage) -> None:
    blocker = stage.submit("eng-vision-2", cards=32, card_model="h100", command="sleep 600")
    stage.run(30)
    endless = stage.submit(cards=8, card_model="h100", command="sleep 600")
    short = stage.submit(cards=8, card_model="h100", command="sleep 60", max_run_seconds=600)
    stage.run(30)
    before = found(endless)
    assert not before.runs and before.spec.avoid == ()
    row = plan(stage)
    stage.run(30)
    after = found(endless)
    assert (after.spec.avoid, after.created_ms, after.sequence) == ((NODE,), before.created_ms, before.sequence)
    assert avoids(short) == () == avoids(blocker)
    maintenance_cancel(actor=stage.cast.actor("admin"), public_id=row.public_id)
    stage.run(30)
    assert avoids(endless) == ()


def test_one_that_fits_nowhere_else_is_taken_out_of_the_queue_and_let_back_in_its_old_place(stage: Stage) -> None:
    stage.submit("eng-vision-2", cards=32, card_model="h100", command="sleep 120", max_run_seconds=600)
    stage.run(30)
    job = stage.submit(cards=8, card_model="h100", command="sleep 600")
    stage.run(30)
    created = found(job).created_ms
    row = plan(stage, node="", group="h100")
    stage.run(180)
    job.refresh_from_db()
    assert (job.state, job.reason_code, job.is_held) == ("queued", "waiting_for_maintenance", False)
    assert not found(job).active  # though the cards that it waited for are free
    maintenance_cancel(actor=stage.cast.actor("admin"), public_id=row.public_id)
    stage.run(90)
    job.refresh_from_db()
    assert job.state == "running" and (found(job).created_ms, job.attempt_no) == (created, 1)


def test_jobs_without_cards_keep_off_too(stage: Stage) -> None:
    plan(stage)
    job = stage.submit(cards=0, command="sleep 600")
    stage.run(4)
    assert avoids(job) == (NODE,)


def test_a_plan_says_what_is_on_its_nodes_and_a_dry_run_keeps_nothing(stage: Stage) -> None:
    stage.submit(cards=8, card_model="h100", command="sleep 600")
    stage.run(60)
    now = timezone.now()
    found = maintenance_plan(
        actor=stage.cast.actor("admin"), cluster=stage.cast.cluster, group="h100", starts_at=now + HOUR,
        ends_at=now + 2 * HOUR, reason="firmware", dry_run=True,
    )  # fmt: skip
    assert (found.nodes, found.on_it) == (("h100-01", "h100-02", "h100-03", "h100-04"), 1)
    assert not Maintenance.objects.exists() and not AuditEvent.objects.filter(action="maintenance.plan").exists()


@pytest.mark.parametrize(
    "more",
    [
        {"reason": " "}, {"node": ""}, {"group": "h100"}, {"node": "none"}, {"node": "", "group": "none"},
        {"starts": -HOUR}, {"length": timedelta(0)}, {"length": timedelta(days=31)}, {"starts": timedelta(days=400)},
    ],
    ids=[
        "no reason", "neither node nor group", "both", "no such node", "no such group",
        "in the past", "no length", "too long", "too far away",
    ],
)  # fmt: skip
def test_a_plan_makes_sense(stage: Stage, more: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        plan(stage, **more)


def test_only_admins_plan_and_call_off_and_nobody_twice(stage: Stage) -> None:
    row = plan(stage)
    lead, admin = stage.cast.actor("lead-vision"), stage.cast.actor("admin")
    with pytest.raises(NotAllowed):
        maintenance_cancel(actor=lead, public_id=row.public_id)
    maintenance_cancel(actor=admin, public_id=row.public_id)
    with pytest.raises(DomainError):
        maintenance_cancel(actor=admin, public_id=row.public_id)
    with pytest.raises(NotFound):
        maintenance_cancel(actor=admin, public_id="0" * 26)
    actions = AuditEvent.objects.filter(target_id=row.public_id).values_list("action", flat=True)
    assert sorted(actions) == ["maintenance.cancel", "maintenance.plan"]


def test_where_the_console_may_not_close_nodes_jobs_are_kept_off_all_the_same(stage: Stage) -> None:
    row = plan(stage, timedelta(0))
    Cluster.objects.create(slug="dead", name="Dead", kind="kueue_volcano")
    Maintenance.objects.filter(pk=row.pk).update(cluster=Cluster.objects.get(slug="dead"))
    assert maintenances_step(timezone.now()) == 1, "a cluster without that node has nothing to close"
    row.refresh_from_db()
    assert row.begun_at is not None and not NodeCordon.objects.exists()
