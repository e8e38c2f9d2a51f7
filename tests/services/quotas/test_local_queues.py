"""A lead's own local queues: what each act does to new, waiting and running jobs, and who may do it (decision 20)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from accounts.models import AuditEvent
from common.errors import InvalidInput, NotAllowed
from jobs import selectors
from jobs.domain.operations import Operation
from jobs.models import Job
from jobs.services.operations import job_operate
from jobs.team_queue import team_queue
from jobs.waiting import waiting_gangs
from quotas.local_queues import (
    local_queue_change,
    local_queue_close,
    local_queue_create,
    local_queue_drain,
    local_queue_hold,
    local_queue_reopen,
)
from quotas.models import LocalQueue
from quotas.selectors import quota_rows
from quotas.selectors.choices import queue_choices
from quotas.selectors.local_queues import local_queue_views
from quotas.services import quota_plan, quotas_apply
from tests.cast import Cast
from tests.faults.truth import quota_problems
from tests.services.jobs.situations import until_state
from tests.services.support import refused
from tests.stage import Stage


def made(cast: Cast, name: str = "Night", **values: Any) -> LocalQueue:
    queue = local_queue_create(actor=cast.actor("lead-vision"), queue=cast.queues["vision"], name=name, **values)
    quotas_apply(cast.cluster)
    return queue


def problems(call: Callable[[], Any]) -> dict[str, str]:
    """Codes of the refused fields."""
    error = refused(call, InvalidInput)
    assert isinstance(error, InvalidInput)
    return {problem.attr: problem.code for problem in error.problems}


def acts() -> list[str]:
    return list(AuditEvent.objects.filter(target_type="local_queue").order_by("pk").values_list("action", flat=True))


# --------------------------------------------------------------------------- held, drained, open again


def test_in_a_held_queue_new_jobs_wait_with_the_reason_and_running_ones_go_on(cast: Cast) -> None:
    night, lead = made(cast), cast.actor("lead-vision")
    with Stage(cast) as stage:
        runs = stage.submit(local_queue="night", card_model="h100", cards=4, command="sleep infinity")
        until_state(stage, runs, "running")
        local_queue_hold(actor=lead, local=night, reason="Storage is moved tonight")
        quotas_apply(cast.cluster)
        waits = stage.submit(local_queue="night", card_model="h100", cards=4, command="sleep infinity")
        other = stage.submit(card_model="h100", cards=4, command="sleep infinity")
        stage.run(60)
        assert [stage.job(job).state for job in (runs, waits, other)] == ["running", "queued", "running"]
        reason = selectors.reasons_of(
            cast.actor("eng-vision-1"), [selectors.job_get(viewer=lead, public_id=waits.public_id)]
        )
        assert reason[waits.pk].code == "queue_held"
        assert reason[waits.pk].text == "The team's queue Night is held by lead-vision: Storage is moved tonight"
        assert quota_problems() == []
        queue = team_queue(viewer=lead, team_id=cast.teams["vision"].pk)
        assert ([*queue.waiting], queue.stopped, queue.waiting_total, queue.stopped_total) == ([], [waits], 0, 1)
        assert [(local.name, local.state_by_name) for local in queue.stopped_queues] == [("Night", "lead-vision")]
        rows = [row for row in quota_rows(viewer=lead) if row.node_group == "h100"]
        assert [(row.pending, row.pending_stopped, row.pending_jobs_stopped) for row in rows] == [(4, 4, 1)]
        assert waiting_gangs() == {}
        local_queue_reopen(actor=lead, local=night)
        quotas_apply(cast.cluster)
        until_state(stage, waits, "running")
    assert acts() == ["local_queue.create", "local_queue.hold", "local_queue.reopen"]


def test_a_drained_queue_takes_no_new_jobs_and_is_closed_when_the_last_has_ended(cast: Cast) -> None:
    night, lead = made(cast), cast.actor("lead-vision")
    with Stage(cast) as stage:
        job = stage.submit(local_queue="night", card_model="h100", cards=4, command="sleep 30")
        until_state(stage, job, "running")
        local_queue_drain(actor=lead, local=night, reason="Project is over")
        quotas_apply(cast.cluster)
        found = problems(lambda: stage.submit(local_queue="night", card_model="h100", cards=4))
        assert found["local_queue"] == "queue_draining"
        assert refused(lambda: local_queue_close(actor=lead, local=night)).code == "not_empty"
        until_state(stage, job, "succeeded")
        local_queue_close(actor=lead, local=night)
        quotas_apply(cast.cluster)
        found = problems(lambda: stage.submit(local_queue="night", card_model="h100", cards=4))
        assert found["local_queue"] == "unknown_queue"
        assert Job.objects.get(pk=job.pk).local_queue == night
        ended = selectors.job_get(viewer=lead, public_id=job.public_id)
        refusal = refused(lambda: job_operate(actor=lead, job=ended, operation=Operation.RESTART))
        assert refusal.code == "queue_takes_none"
    assert [queue.local_queues for queue in quota_plan(cast.cluster).queues if queue.queue == "vision"] == [
        ("default",)
    ]


def test_a_job_that_came_in_while_its_queue_was_closed_still_runs_there(cast: Cast) -> None:
    """Submit and close may pass each other: the queue stays on the cluster until the job has ended."""
    night = made(cast)
    with Stage(cast) as stage:
        job = stage.submit(local_queue="night", card_model="h100", cards=4, command="sleep 20")
        LocalQueue.objects.filter(pk=night.pk).update(state="closed")
        quotas_apply(cast.cluster)
        until_state(stage, job, "running")
        assert quota_problems() == []
        until_state(stage, job, "succeeded")
    assert "night" not in str(quota_plan(cast.cluster))


def test_a_queue_that_is_being_emptied_is_not_offered_for_new_jobs(cast: Cast) -> None:
    night, lead = made(cast), cast.actor("lead-vision")

    def offered() -> list[str]:
        return [choice.local.slug for choice in queue_choices([cast.teams["vision"].pk])]

    assert offered() == ["default", "night"]
    local_queue_hold(actor=lead, local=night, reason="x")
    assert offered() == ["default", "night"]
    local_queue_drain(actor=lead, local=night, reason="x")
    assert offered() == ["default"]


def test_saying_the_same_again_is_no_second_act(cast: Cast) -> None:
    night, lead = made(cast), cast.actor("lead-vision")
    for _ in range(2):
        local_queue_hold(actor=lead, local=night, reason="Maintenance")
    local_queue_hold(actor=lead, local=night, reason="Longer than thought")
    for _ in range(2):
        local_queue_reopen(actor=lead, local=night)
    assert acts()[1:] == ["local_queue.hold", "local_queue.hold", "local_queue.reopen"]


# --------------------------------------------------------------------------- made, named, weighed, closed


def test_a_name_of_any_script_gets_an_address_of_its_own(cast: Cast) -> None:
    slugs = [made(cast, name).slug for name in ("Night shift", "训练", "开发", "queue", "default!")]
    assert slugs == ["night-shift", "queue", "queue-2", "queue-3", "default-2"]


def test_a_queue_closed_and_made_again_under_its_name_is_the_same_one(cast: Cast) -> None:
    night, lead = made(cast), cast.actor("lead-vision")
    local_queue_close(actor=lead, local=night)
    assert refused(lambda: local_queue_hold(actor=lead, local=night, reason="x")).code == "is_closed"
    again = made(cast, "NIGHT", weight=3)
    assert (again.pk, again.name, again.state, again.weight) == (night.pk, "NIGHT", "open", 3)


def test_another_queue_can_be_the_default_and_the_old_one_be_closed(cast: Cast) -> None:
    night, lead, default = made(cast), cast.actor("lead-vision"), cast.local_queue("vision")
    assert refused(lambda: local_queue_close(actor=lead, local=default)).code == "is_default"
    local_queue_change(actor=lead, local=night, is_default=True)
    local_queue_close(actor=lead, local=default)
    with Stage(cast) as stage:
        assert stage.submit(card_model="h100", cards=1).local_queue == night


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"name": ""}, ("name", "blank")),
        ({"name": None}, ("name", "not_text")),
        ({"name": "x" * 101}, ("name", "too_long")),
        ({"name": "DEFAULT"}, ("name", "taken")),
        ({"name": "a", "weight": 0}, ("weight", "out_of_range")),
        ({"name": "a", "weight": 101}, ("weight", "out_of_range")),
        ({"name": "a", "weight": True}, ("weight", "out_of_range")),
        ({"name": "a", "weight": "2"}, ("weight", "out_of_range")),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_field(cast: Cast, values: Any, problem: tuple[str, str]) -> None:
    found = problems(lambda: local_queue_create(actor=cast.actor("lead-vision"), queue=cast.queues["vision"], **values))
    assert list(found.items()) == [problem]


@pytest.mark.parametrize(("reason", "code"), [("", "required"), (None, "required"), ("y" * 301, "too_long")])
def test_a_queue_is_stopped_with_a_reason_only(cast: Cast, reason: Any, code: str) -> None:
    for act in (local_queue_hold, local_queue_drain):
        call = partial(act, actor=cast.actor("lead-vision"), local=cast.local_queue("vision"), reason=reason)
        assert problems(call)["reason"] == code


def test_a_team_has_at_most_fifty_local_queues(cast: Cast) -> None:
    LocalQueue.objects.bulk_create(
        [LocalQueue(queue=cast.queues["vision"], slug=f"q{n}", name=f"Q{n}") for n in range(49)]
    )
    error = refused(lambda: local_queue_create(actor=cast.actor("admin"), queue=cast.queues["vision"], name="One more"))
    assert error.code == "too_many"


# --------------------------------------------------------------------------- who, and only trying


@pytest.mark.parametrize("username", ["eng-vision-1", "lead-language", "eng-language-1"])
def test_only_the_teams_lead_and_admins_change_its_queues(cast: Cast, username: str) -> None:
    actor, queue, local = cast.actor(username), cast.queues["vision"], cast.local_queue("vision")
    for call in (
        lambda: local_queue_create(actor=actor, queue=queue, name="x"),
        lambda: local_queue_change(actor=actor, local=local, name="x"),
        lambda: local_queue_hold(actor=actor, local=local, reason="x"),
        lambda: local_queue_drain(actor=actor, local=local, reason="x"),
        lambda: local_queue_reopen(actor=actor, local=local),
        lambda: local_queue_close(actor=actor, local=local),
    ):
        refused(call, NotAllowed)
    local_queue_hold(actor=cast.actor("admin"), local=local, reason="By the platform")


def test_an_attempt_without_effect_checks_everything_and_keeps_nothing(cast: Cast) -> None:
    night, lead, queue = made(cast), cast.actor("lead-vision"), cast.queues["vision"]
    before = (list(LocalQueue.objects.order_by("pk").values()), acts())
    assert local_queue_create(actor=lead, queue=queue, name="Day", dry_run=True).slug == "day"
    assert local_queue_change(actor=lead, local=night, name="Late", is_default=True, dry_run=True).name == "Late"
    assert local_queue_hold(actor=lead, local=night, reason="x", dry_run=True).state == "held"
    assert local_queue_drain(actor=lead, local=night, reason="x", dry_run=True).state == "draining"
    assert local_queue_reopen(actor=lead, local=night, dry_run=True).state == "open"
    assert local_queue_close(actor=lead, local=night, dry_run=True).state == "closed"
    assert (list(LocalQueue.objects.order_by("pk").values()), acts()) == before
    with pytest.raises(InvalidInput):
        local_queue_create(actor=lead, queue=queue, name="night", dry_run=True)


def test_everybody_sees_the_queues_of_their_teams_with_what_is_in_them(cast: Cast) -> None:
    made(cast)
    with Stage(cast) as stage:
        stage.submit(local_queue="night", card_model="h100", cards=1)

    def seen(username: str) -> list[tuple[str, str, int, bool]]:
        views = local_queue_views(viewer=cast.actor(username))
        return [(view.team_slug, view.slug, view.jobs, view.can_close) for view in views]

    mine = [("vision", "default", 0, False), ("vision", "night", 1, False)]
    assert seen("eng-vision-1") == seen("lead-vision") == mine
    assert [team for team, *_rest in seen("admin")] == ["language", "robotics", "vision", "vision"]
    assert not any(view.weighs for view in local_queue_views(viewer=cast.actor("admin")))


def test_weights_go_to_a_cluster_that_orders_by_them(cast: Cast) -> None:
    made(cast, weight=3)
    assert all(queue.weights == () for queue in quota_plan(cast.cluster).queues)
    cast.cluster.preflight.update_or_create(
        feature="queue_weights", defaults={"verdict": "ok", "since": cast.cluster.created_at}
    )
    plans = {queue.queue: queue.weights for queue in quota_plan(cast.cluster).queues}
    assert plans["vision"] == (("default", 1), ("night", 3))
