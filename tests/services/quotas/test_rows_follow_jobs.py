"""The quota table while jobs come and go: after every step it is true, and it adds up (decision 19)."""

from __future__ import annotations

from random import Random

import pytest

from clusters.backends.sandbox import driver
from clusters.models import Node
from clusters.simulation.commands import Cordon, EvictPod, NodePower, Sicken
from common.errors import DomainError
from jobs.domain.operations import Operation
from jobs.models import Attempt, Job
from quotas.models import Demand, LocalQueue
from quotas.selectors import QuotaRow, quota_rows
from quotas.services import quotas_apply, shares_set
from tests.cast import Cast
from tests.faults.truth import quota_problems
from tests.services.jobs.situations import fill, operate, particulars, until_state
from tests.stage import Stage


def _row(cast: Cast, team: str, group: str = "h100", level: str = "team", viewer: str = "admin") -> QuotaRow:
    rows = quota_rows(viewer=cast.actor(viewer), level=level)
    return next(r for r in rows if r.node_group == group and r.queue.split("/")[0] == team)


def test_an_empty_cluster_is_free_to_the_last_card(cast: Cast) -> None:
    row = _row(cast, "vision")
    assert (row.nominal, row.usable, row.free, row.borrowable) == (13, 13, 13, 19)
    assert (row.used, row.reserved, row.borrowed, row.lent, row.over, row.down) == (0, 0, 0, 0, 0, 0)
    assert quota_problems() == []


def test_cards_go_from_pending_to_reserved_to_used_and_back(cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(card_model="h100", command="sleep 20; exit 0")
        row = _row(cast, "vision")
        assert (row.pending, row.pending_jobs, row.reserved, row.used) == (8, 1, 0, 0)
        until_state(stage, job, "creating", step=1)
        row = _row(cast, "vision")
        assert (row.pending, row.pending_jobs, row.reserved, row.used, row.free) == (0, 0, 8, 0, 5)
        until_state(stage, job, "running", step=1)
        row = _row(cast, "vision")
        assert (row.reserved, row.used, row.free) == (0, 8, 5)
        until_state(stage, job, "succeeded", step=1)
        row = _row(cast, "vision")
        assert (row.pending, row.reserved, row.used, row.free) == (0, 0, 0, 13)
        assert not Demand.objects.exists()


def test_borrowing_takes_the_idle_cards_of_others_and_is_lent_by_them(cast: Cast) -> None:
    with Stage(cast) as stage:
        fill(stage, "h100", 32)
        vision, language, robotics = (_row(cast, team) for team in ("vision", "language", "robotics"))
        assert (vision.borrowed, vision.over, vision.usable, vision.free) == (19, 0, 32, 0)
        assert (language.lent, robotics.lent) == (13, 6)
        assert (language.usable, language.free, language.borrowable) == (0, 0, 0)
        assert quota_problems() == []


def test_the_pool_lends_first(cast: Cast) -> None:
    with Stage(cast) as stage:
        shares = {cast.queues["robotics"].pk: 0}
        shares_set(actor=None, group=cast.groups["h100"], basis_points=shares)
        quotas_apply(cast.cluster)
        job = stage.submit(card_model="h100", cards=16, command="sleep infinity")
        until_state(stage, job, "running")
        vision, language = _row(cast, "vision"), _row(cast, "language")
        assert (vision.borrowed, language.lent) == (3, 0)
        assert quota_problems() == []


def test_a_share_taken_away_from_running_work_is_over_and_evicts_nothing(cast: Cast) -> None:
    with Stage(cast) as stage:
        jobs = [fill(stage, "h100", cards, name) for cards, name in ((8, "eng-vision-2"), (24, "eng-language-1"))]
        shares = {cast.queues["vision"].pk: 0, cast.queues["language"].pk: 0, cast.queues["robotics"].pk: 10_000}
        shares_set(actor=None, group=cast.groups["h100"], basis_points=shares)
        quotas_apply(cast.cluster)
        stage.run(60, 10)
        assert {stage.job(job).state for job in jobs} == {"running"}
        assert sum(_row(cast, team).borrowed for team in ("vision", "language")) == 32
        assert _row(cast, "robotics").lent == 32
        assert quota_problems() == []


def test_local_queues_add_up_to_their_team_and_are_marked_as_a_guide(cast: Cast) -> None:
    LocalQueue.objects.create(queue=cast.queues["vision"], slug="night", name="Night", weight=3)
    quotas_apply(cast.cluster)
    with Stage(cast) as stage:
        night = stage.submit(card_model="h100", local_queue="night", cards=4, command="sleep infinity")
        day = stage.submit(card_model="h100", cards=2, command="sleep infinity")
        for job in (night, day):
            until_state(stage, job, "running")
        rows = [row for row in quota_rows(viewer=cast.actor("lead-vision"), level="local") if row.node_group == "h100"]
        assert {row.queue: row.used for row in rows} == {"vision/default": 2, "vision/night": 4}
        assert all(row.is_guide and row.level == "local" for row in rows)
        assert quota_problems() == []


def test_everybody_sees_their_own_rows_and_an_admin_all(cast: Cast) -> None:
    def teams(username: str) -> set[str]:
        return {row.team_slug for row in quota_rows(viewer=cast.actor(username))}

    assert teams("eng-vision-1") == teams("lead-vision") == {"vision"}
    assert teams("eng-language-1") == {"language"}
    assert teams("admin") == {"vision", "language", "robotics"}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_table_is_true_after_every_step_of_a_busy_day(cast: Cast, seed: int) -> None:
    random = Random(seed)
    LocalQueue.objects.create(queue=cast.queues["vision"], slug="night", name="Night", weight=2)
    quotas_apply(cast.cluster)
    people = ("eng-vision-1", "eng-vision-2", "lead-vision", "eng-language-1", "lead-language", "eng-robotics-1")
    with Stage(cast) as stage:
        for _ in range(40):
            _something_happens(stage, random, random.choice(people))
            stage.run(random.choice((1, 3, 9)), 9)
            assert quota_problems() == []
        assert {job.state for job in Job.objects.all()} >= {"running", "queued"}


def _something_happens(stage: Stage, random: Random, username: str) -> None:
    what = random.random()
    if what < 0.5:
        group = random.choice(("h100", "a100", "ascend-910b"))
        priority = random.choice(("low", "normal", "high" if username.startswith("lead") else "normal"))
        command = f"sleep {random.randrange(5, 120)}; exit {random.choice((0, 0, 1))}"
        cards = random.choice((1, 2, 4, 8, 8, 16))
        body = {"card_model": group, "cards": cards, "priority": priority, "command": command, "retry_limit": 1}
        if cards <= 2 and random.random() < 0.5:
            body |= {"kind": "inference", "replicas": random.choice((1, 2, 3))}
        stage.submit(username, **body)
    elif what < 0.8:
        jobs = list(Job.objects.filter(owner__username=username).order_by("pk"))
        if jobs:
            try:
                operation = random.choice(list(Operation))
                operate(stage, random.choice(jobs), operation, username, **particulars(operation))
            except DomainError as refusal:
                assert refusal.status in (403, 409)  # to preempt is for leads
    else:
        _trouble(stage, random)


def _trouble(stage: Stage, random: Random) -> None:
    at = driver.now_ms()
    node = random.choice(list(Node.objects.order_by("name").values_list("name", flat=True)))
    attempt = random.choice([None, *Attempt.objects.filter(end="").order_by("pk")])
    commands = [
        Sicken(at, node, random.choice((0, 2))),
        Cordon(at, node, random.choice((True, False))),
        NodePower(at, node, random.choice((True, True, False))),
    ]
    if attempt is not None:
        commands.append(EvictPod(at, attempt.object_name, 0))
    driver.send(stage.cast.cluster, random.choice(commands))
