"""The preview of a plan: cards before and after, who would be beyond, what could be taken back; nothing is written."""

from __future__ import annotations

import time

from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.errors import InvalidInput, NotAllowed
from quotas.domain.plan import GroupPart, Plan, QueuePart
from quotas.plans.preview import PlanPreview, plan_preview, recount_preview, rollback_preview
from quotas.services import quotas_apply
from tests.cast import Cast
from tests.services.quotas.test_plans import out, parts, save
from tests.services.support import refused, row_counts
from tests.stage import Stage


def preview(cast: Cast, plan: Plan) -> PlanPreview:
    return plan_preview(viewer=cast.actor("admin"), cluster=cast.cluster, plan=plan)


def test_cards_before_and_after_stand_beside_what_is_held_and_nothing_is_written(cast: Cast) -> None:
    with Stage(cast) as stage:
        stage.submit(cards=8, card_model="h100")
        stage.run(20)
        before = row_counts()
        seen = preview(cast, parts(vision=1_000))
        assert row_counts() == before
    row = next(row for row in seen.rows if row.change.queue == "vision")
    assert (row.change.cards_before.nominal, row.change.cards_after.nominal) == (13, 3)
    assert (row.held, row.beyond_before, row.beyond_after) == (8, 0, 5)
    assert [(each.cards, each.queue) for each in seen.returnable] == [(8, "vision")]
    assert (seen.returnable_cards, seen.newly_returnable) == (8, 8)
    assert seen.taken == ()  # nobody asks for them now


def test_what_is_foretold_to_start_and_to_be_taken_back_happens(cast: Cast) -> None:
    with Stage(cast) as stage:
        jobs = [stage.submit(cards=8, card_model="h100", command="sleep infinity") for _ in range(4)]
        stage.run(40)
        waiting = stage.submit("eng-language-1", cards=16, card_model="h100", command="sleep infinity")
        stage.run(2)
        plan = parts(vision=2_000, language=6_000, robotics=0)
        seen = preview(cast, plan)
        assert (seen.waiting_jobs, seen.starts_before, seen.starts_after) == (1, 0, 1)
        foretold = {each.holding.job_ulid for each in seen.taken}
        assert {each.by.job_ulid for each in seen.taken} == {waiting.public_id}
        save(cast, plan)
        quotas_apply(cast.cluster)
        stage.run(180)
        states = {job.public_id: stage.job(job).state for job in [*jobs, waiting]}
    assert states[waiting.public_id] == "running"
    assert {name for name, state in states.items() if state == "queued"} == foretold


def test_a_plan_that_cannot_be_saved_cannot_be_previewed(cast: Cast) -> None:
    refused(lambda: preview(cast, parts(vision=10_010)), InvalidInput)
    viewer = cast.actor("lead-vision")
    refused(lambda: plan_preview(viewer=viewer, cluster=cast.cluster, plan=parts(vision=10)), NotAllowed)


def test_going_back_and_taking_over_other_nodes_have_a_preview_too(cast: Cast) -> None:
    old = save(cast, parts(vision=3_000))
    save(cast, Plan({"vision": QueuePart(rank=1, groups={"h100": GroupPart(1_000)})}))
    seen = rollback_preview(viewer=cast.actor("admin"), cluster=cast.cluster, number=old.number)
    assert [(row.change.cards_before.nominal, row.change.cards_after.nominal) for row in seen.rows] == [(3, 10)]
    assert [(rule.before.rank, rule.after.rank) for rule in seen.rules] == [(1, 0)]
    out(cast, "h100", 1)
    recounted = recount_preview(viewer=cast.actor("admin"), cluster=cast.cluster)
    assert [(change.group, change.before, change.after) for change in recounted.groups] == [("h100", 32, 24)]


def test_a_preview_takes_the_same_queries_whatever_the_number_of_jobs(cast: Cast) -> None:
    with CaptureQueriesContext(connection) as few:
        preview(cast, parts(vision=1_000))
    with Stage(cast) as stage:
        for _ in range(6):
            stage.submit(cards=8, card_model="h100")
        stage.run(10)
        with CaptureQueriesContext(connection) as many:
            preview(cast, parts(vision=1_000))
    assert len(many) == len(few) <= 13


def test_ten_thousand_jobs_are_previewed_within_half_a_second_of_work(cast: Cast) -> None:
    """A third of them hold cards, far beyond what one team has; the others wait. Other work on the machine, and the
    database, which has its statistics as it would have them a minute later, do not count.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO quotas_demand (job_ulid, local_queue_id, group_id, owner_id, cards, attempt_no, held)
            SELECT 'x' || n, (ARRAY[%s, %s, %s])[n %% 3 + 1], %s, 1, 1 + n %% 8, 1, false
              FROM generate_series(1, 10000) n
            """,
            [*(cast.local_queue(team).pk for team in cast.queues), cast.groups["h100"].pk],
        )
        cursor.execute(
            """
            INSERT INTO clusters_observedworkload (cluster_id, job_ulid, attempt_no, uid, revision, version, facts,
                                                   gone, cards_running, cards_held, cards_ending, seen_at)
            SELECT %s, job_ulid, 1, job_ulid, '1', id, jsonb_build_object(
                       'priority', 100 + 100 * (id %% 3), 'created_at', now() - id * interval '1 second',
                       'admitted_at', now() - id * interval '1 second'),
                   false, CASE WHEN id %% 3 = 0 THEN cards ELSE 0 END, CASE WHEN id %% 3 = 0 THEN cards ELSE 0 END, 0,
                   now()
              FROM quotas_demand
            """,
            [cast.cluster.pk],
        )
        cursor.execute("ANALYZE quotas_demand, clusters_observedworkload")
    times = []
    for _ in range(3):
        begin = time.process_time()
        preview(cast, parts(vision=1_000))
        times.append(time.process_time() - begin)
    assert min(times) < 0.5, times
