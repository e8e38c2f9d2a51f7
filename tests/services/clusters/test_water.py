"""The water level is written down minute by minute, made into hours and days, and dropped by whole months."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import Sum
from django.utils import timezone

from clusters.backends.sandbox import driver
from clusters.domain.packing import Gang
from clusters.domain.water import FIGURES
from clusters.models import Cluster, Node, NodeGroup, WaterDay, WaterHour, WaterSample
from clusters.simulation.commands import NodePower, Sicken
from clusters.tasks import water_keep_task, water_roll_up_task, water_sample_task
from clusters.waiting import waiting
from clusters.water import HOURS, SAMPLES, water_keep, water_roll_up, water_sample
from clusters.water_selectors import GroupHistory, group_levels, water_history, water_now
from common.errors import NotAllowed
from common.partitions import months_drop, months_ensure, parts_of
from console.celery import app
from jobs.domain.operations import Operation
from jobs.services.operations import job_operate
from tests.cast import Cast, build_cluster
from tests.node_rows import count_cards
from tests.stage import Stage

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def minutes(group: NodeGroup, begin: datetime, used: list[int | None]) -> None:
    """One sample a minute of a group of 32 cards; None is a minute in which nobody looked."""
    months_ensure(SAMPLES, begin)
    months_ensure(SAMPLES, begin + timedelta(minutes=len(used)))
    nothing: dict[str, int | None] = {**dict.fromkeys(FIGURES, 0), "busy": None}
    WaterSample.objects.bulk_create(
        WaterSample(
            group=group,
            at=begin + timedelta(minutes=number),
            **{**nothing, "capacity": 32, "healthy": 32, "used": cards, "free": 32 - cards},
        )
        for number, cards in enumerate(used)
        if cards is not None
    )


def history(cast: Cast, start: datetime, end: datetime, step: int) -> GroupHistory:
    found = water_history(viewer=cast.actor("admin"), cluster=cast.cluster, start=start, end=end, step=step)
    assert len(found) == 1
    return found[0]


# --------------------------------------------------------------------------- now


def test_what_is_running_reserved_and_free_is_what_the_nodes_say(cast: Cast) -> None:
    with Stage(cast) as stage:
        stage.submit(card_model="h100", cards=16)
        stage.submit("eng-language-1", card_model="h100", cards=5)
        stage.run(60, 5)
        level = next(row for row in group_levels(waiting()) if row.group.slug == "h100").level
    assert (level.capacity, level.healthy, level.used + level.reserved, level.free) == (32, 32, 21, 11)


def test_a_look_writes_what_the_cards_of_each_node_do_beside_it(cast: Cast) -> None:
    figures = ("name", "free", "used", "reserved", "ending", "out")
    with Stage(cast) as stage:
        job = stage.submit(card_model="h100", cards=16, command="sleep 600")
        stage.submit("eng-language-1", card_model="h100", cards=5)
        stage.run(40, 5)
        driver.send(cast.cluster, Sicken(driver.now_ms(), "a100-01", 3))
        driver.send(cast.cluster, NodePower(driver.now_ms(), "a100-02", up=False))
        job_operate(actor=cast.actor("eng-vision-1"), job=job, operation=Operation.CANCEL)
        stage.run(4)
        written = list(Node.objects.order_by("pk").values_list(*figures))
        count_cards()
        assert list(Node.objects.order_by("pk").values_list(*figures)) == written
        assert {sum(row[place] > 0 for row in written) > 0 for place in (1, 2, 5)} == {True}


def test_the_level_is_asked_for_in_two_queries(cast: Cast, django_assert_num_queries: Any) -> None:
    admin = cast.actor("admin")
    with django_assert_num_queries(2):
        water_now(viewer=admin, waiting={})


def test_lost_and_closed_nodes_give_no_free_cards_and_what_runs_there_still_counts(cast: Cast) -> None:
    group = cast.groups["h100"]
    n1, n2, n3, n4 = Node.objects.filter(group=group).order_by("name")
    holder = {"job_ulid": "J", "attempt": 1, "running": True, "ending": False}
    for node, health, used in ((n1, "ready", 3), (n2, "cordoned", 5), (n3, "down", 0), (n4, "down", 8)):
        Node.objects.filter(pk=node.pk).update(health=health, holders=[{**holder, "cards": used}] if used else [])
    count_cards()
    row = next(row for row in group_levels({}) if row.group == group)
    level = row.level
    assert (level.capacity, level.used, level.free, level.down, level.healthy) == (32, 16, 5, 11, 21)
    assert row.held_on_lost == 8


def test_free_cards_in_pieces_are_told_from_those_that_can_be_used(cast: Cast) -> None:
    group = cast.groups["h100"]
    holder = {"job_ulid": "J", "attempt": 1, "running": True, "ending": False}
    for node, used in zip(Node.objects.filter(group=group), (3, 5, 8, 8), strict=True):
        Node.objects.filter(pk=node.pk).update(holders=[{**holder, "cards": used}])
    count_cards()
    row = next(row for row in group_levels({group.pk: [Gang(1, 8)]}) if row.group == group)
    assert (row.level.free, row.level.unusable, row.unusable_exact) == (8, 8, True)
    assert (row.free_blocks, row.largest_waiting, row.waiting) == ((5, 3), Gang(1, 8), 8)


def test_shared_pools_are_in_no_sum_of_cards(cast: Cast) -> None:
    NodeGroup.objects.filter(slug="a100").update(sharing="mig", unit="slice")
    (found,) = water_now(viewer=cast.actor("admin"), waiting={})
    assert found.cards is not None and found.cards.capacity == 32 + 16
    assert [row.is_shared for row in found.groups] == [True, False, False]


def test_a_cluster_that_does_not_answer_is_stale_and_the_others_are_not(cast: Cast) -> None:
    build_cluster("other", is_default=False)
    Cluster.objects.filter(slug="sandbox").update(synced_at=NOON - timedelta(days=1))
    assert [(row.cluster.slug, row.stale) for row in water_now(viewer=cast.actor("admin"), waiting={})] == [
        ("sandbox", True),
        ("other", False),
    ]


@pytest.mark.parametrize("who", ["eng-vision-1", "lead-vision"])
def test_only_admins_see_it(cast: Cast, who: str) -> None:
    with pytest.raises(NotAllowed):
        water_now(viewer=cast.actor(who), waiting={})
    with pytest.raises(NotAllowed):
        water_history(viewer=cast.actor(who), cluster=cast.cluster, start=NOON, end=NOON, step=60)


def test_what_waits_is_counted_by_shape_without_what_stands_in_no_queue(cast: Cast) -> None:
    with Stage(cast) as stage:
        for _ in range(2):
            stage.submit(card_model="ascend-910b", cards=16)
        stage.submit(card_model="ascend-910b", cards=4)
        stage.submit(card_model="ascend-910b", cards=8)
        assert {(g.pods, g.cards, g.count) for g in waiting()[cast.groups["ascend-910b"].pk]} == {
            (2, 8, 2),
            (1, 4, 1),
            (1, 8, 1),
        }


# --------------------------------------------------------------------------- minutes


def test_a_minute_is_written_once_however_often_it_is_asked_for(cast: Cast) -> None:
    Cluster.objects.update(synced_at=NOON)
    assert water_sample({}, NOON + timedelta(seconds=5)) == 3
    Node.objects.update(health="down")
    count_cards()
    water_sample({}, NOON + timedelta(seconds=35))
    assert WaterSample.objects.count() == 3
    assert WaterSample.objects.aggregate(free=Sum("free"))["free"] == 80


def test_while_a_cluster_does_not_answer_there_is_a_gap_and_no_zero(cast: Cast) -> None:
    Cluster.objects.update(synced_at=NOON)
    water_sample({}, NOON)
    assert water_sample({}, NOON + timedelta(minutes=2)) == 0  # the look is older than 90 s
    Cluster.objects.update(synced_at=NOON + timedelta(minutes=3))
    water_sample({}, NOON + timedelta(minutes=3))
    assert {sample.at.minute for sample in WaterSample.objects.all()} == {0, 3}


def test_the_tasks_of_the_schedule_do_all_of_it_and_may_come_twice(cast: Cast) -> None:
    Cluster.objects.update(synced_at=timezone.now())
    for _ in range(2):
        for task in (water_sample_task, water_roll_up_task, water_keep_task):
            task()
    assert WaterSample.objects.values("group").distinct().count() == 3
    assert WaterHour.objects.filter(figure="capacity").values("group").distinct().count() == 3
    scheduled = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert {"clusters.water_sample", "clusters.water_roll_up", "clusters.water_keep"} <= scheduled


# --------------------------------------------------------------------------- hours and days


def test_card_seconds_of_hours_and_days_are_exactly_those_of_the_minutes(cast: Cast) -> None:
    group = cast.groups["h100"]
    begin = NOON - timedelta(hours=26, minutes=13)
    used = [None if number % 7 == 3 else (number * 5) % 33 for number in range(26 * 60)]
    minutes(group, begin, used)
    water_roll_up()
    known = [cards for cards in used if cards is not None]
    for model in (WaterHour, WaterDay):
        rows = model.objects.filter(figure="used")
        sums = rows.aggregate(cards=Sum("card_seconds"), seconds=Sum("seconds"))
        assert sums == {"cards": 60 * sum(known), "seconds": 60 * len(known)}
        assert (min(row.least for row in rows), max(row.most for row in rows)) == (min(known), max(known))
    assert WaterDay.objects.filter(figure="used").count() == 2
    assert not WaterHour.objects.filter(figure="busy").exists()  # nobody measures it


def test_rolling_up_again_changes_nothing_and_takes_up_what_came_since(cast: Cast) -> None:
    group = cast.groups["h100"]
    minutes(group, NOON, [8] * 30)
    water_roll_up()
    before = list(WaterHour.objects.order_by("figure").values("figure", "seconds", "card_seconds"))
    water_roll_up()
    assert list(WaterHour.objects.order_by("figure").values("figure", "seconds", "card_seconds")) == before
    minutes(group, NOON + timedelta(minutes=30), [16] * 40)
    water_roll_up()
    assert list(WaterHour.objects.filter(figure="used").order_by("at").values_list("at", "card_seconds", "most")) == [
        (NOON, 30 * 60 * 8 + 30 * 60 * 16, 16),
        (NOON + timedelta(hours=1), 10 * 60 * 16, 16),
    ]


def test_history_is_the_same_whether_it_is_read_from_minutes_or_from_hours(cast: Cast) -> None:
    minutes(cast.groups["h100"], NOON - timedelta(hours=3), [number % 30 for number in range(180)])
    water_roll_up()
    start = NOON - timedelta(hours=3)
    fine, coarse = history(cast, start, NOON, 600).points, history(cast, start, NOON, 3_600).points
    assert (len(fine), len(coarse)) == (18, 3)
    assert sum(p["used"].card_seconds for p in fine.values()) == sum(p["used"].card_seconds for p in coarse.values())
    assert coarse[start]["used"].mean == sum(number % 30 for number in range(60)) / 60


def test_a_span_without_a_look_has_no_point(cast: Cast) -> None:
    minutes(cast.groups["h100"], NOON, [4] * 10 + [None] * 10 + [4] * 10)
    points = history(cast, NOON, NOON + timedelta(minutes=30), 600).points
    assert [at.minute for at in points] == [0, 20]


# --------------------------------------------------------------------------- what is kept


def test_whole_months_go_and_days_stay(cast: Cast) -> None:
    group = cast.groups["h100"]
    for back in (20, 40, 70, 500):
        minutes(group, NOON - timedelta(days=back), [1, 2])
    water_roll_up()
    days = WaterDay.objects.count()
    dropped = water_keep(NOON)
    minutes_dropped = [name.removeprefix(SAMPLES) for name in dropped if name.startswith(SAMPLES)]
    hours_dropped = [name.removeprefix(HOURS) for name in dropped if name.startswith(HOURS)]
    assert minutes_dropped == ["_2025_07", "_2025_08", "_2026_09", "_2026_10"]
    assert hours_dropped == ["_2025_07", "_2025_08", "_2025_09"]
    assert WaterSample.objects.count() == 2  # of this month
    assert WaterDay.objects.count() == days
    assert {f"{SAMPLES}_2026_12", f"{SAMPLES}_2027_01"} <= set(parts_of(SAMPLES))
    assert water_keep(NOON) == []


def test_a_part_that_still_holds_something_young_is_not_dropped(db: None) -> None:
    months_ensure(SAMPLES, datetime(2026, 10, 5, tzinfo=UTC), ahead=0)
    assert months_drop(SAMPLES, datetime(2026, 10, 31, 23, 59, tzinfo=UTC)) == []
    assert months_drop(SAMPLES, datetime(2026, 11, 1, tzinfo=UTC)) == [f"{SAMPLES}_2026_10"]


def test_parts_are_made_once_and_over_the_end_of_a_year(db: None) -> None:
    assert months_ensure(SAMPLES, datetime(2030, 12, 31, tzinfo=UTC)) == [f"{SAMPLES}_2030_12", f"{SAMPLES}_2031_01"]
    assert months_ensure(SAMPLES, datetime(2030, 12, 1, tzinfo=UTC)) == []
