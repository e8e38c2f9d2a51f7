"""The water level as an admin sees it: now, over time, and as a table for whoever has no chart."""

from __future__ import annotations

import html as markup
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.utils import timezone

from clusters.models import Cluster, Node, NodeGroup, WaterHour, WaterSample
from clusters.water import SAMPLES, water_roll_up, water_sample
from common.partitions import months_ensure
from tests.cast import Cast, build_cluster
from tests.pages.visitor import Visitor, html, words
from tests.stage import Stage

Visitors = Callable[[str | None], Visitor]


def written(group: NodeGroup, minutes: int, *, used: int = 8, until: datetime | None = None) -> None:
    """The newest minutes of a group of 32 cards."""
    now = (until or timezone.now()).replace(second=0, microsecond=0)
    for at in {now - timedelta(minutes=minutes), now}:
        months_ensure(SAMPLES, at)
    WaterSample.objects.bulk_create(
        WaterSample(
            group=group, at=now - timedelta(minutes=back), capacity=32, healthy=30, used=used, reserved=1,
            free=30 - used - 1, releasing=0, outside=0, unusable=2,
        )
        for back in range(minutes)
    )  # fmt: skip
    water_roll_up()


def figure(response: HttpResponse) -> dict[str, Any]:
    """What the script is given."""
    found = re.search(r'data-figure="([^"]*)"', html(response))
    assert found is not None
    data: dict[str, Any] = json.loads(markup.unescape(found[1]))
    return data


def test_the_figures_of_now_add_up_on_the_page(cast: Cast, visitor: Visitors) -> None:
    with Stage(cast) as stage:
        stage.submit(card_model="h100", cards=16)
        stage.run(40, 5)
        text = words(visitor("admin").get("/admin/water/"))
    assert "80 of 80 whole cards are healthy: 16 used, 0 reserved, 64 free." in text
    assert "The sum is of several vendors: NVIDIA 64 + Huawei Ascend 16." in text  # C-35
    assert "H100 NVLink 4 nodes 32 0 32 16 0 16 0 0 0 0" in text
    assert "Whole cards 80 0 80 16 0 64 0 0 0 0" in text
    assert "How many of the used ones really compute is not measured." in text


def test_free_cards_in_pieces_are_said_with_their_blocks(cast: Cast, visitor: Visitors) -> None:
    with Stage(cast) as stage:
        for _ in range(4):
            stage.submit("eng-vision-1", card_model="h100", cards=5)
        stage.run(40, 5)
        stage.submit("eng-language-1", card_model="h100", cards=8)
        text = words(visitor("admin").get("/admin/water/"))
    assert "free, and of no use to what waits" in text and "the largest job that waits needs 1 × 8." in text


def test_chart_and_table_have_the_same_numbers_and_a_gap_is_a_gap(cast: Cast, visitor: Visitors) -> None:
    group = cast.groups["h100"]
    now = timezone.now()
    span = now.replace(minute=now.minute // 10 * 10, second=0, microsecond=0)
    written(group, 120, until=span - timedelta(minutes=1))
    gap = span - timedelta(minutes=80)
    WaterSample.objects.filter(at__gte=gap, at__lt=gap + timedelta(minutes=40)).delete()
    response = visitor("admin").get("/admin/water/", group="h100")
    data = figure(response)
    used = next(part["cards"] for part in data["series"] if part["name"] == "used")
    known = [number for number in used if number is not None]
    assert known == [8] * 8, "twelve spans of ten minutes, four of them without a sample"
    assert None in used[used.index(8) : len(used) - used[::-1].index(8)]
    rows = re.findall(r"<tr><th scope=\"row\" class=\"sl-nowrap\">.*?</tr>", html(response), flags=re.S)
    assert len(rows) == len(known)
    assert all("32 8 1 0 2 19 2" in re.sub(r"(<[^>]+>|\s)+", " ", row) for row in rows)


@pytest.mark.parametrize(("period", "spans"), [("24h", 145), ("7d", 169), ("30d", 241), ("odd", 145)])
def test_a_chart_stays_small_however_far_back_it_goes(cast: Cast, visitor: Visitors, period: str, spans: int) -> None:
    for group in cast.groups.values():
        written(group, 180, used=7)
    response = visitor("admin").get("/admin/water/", period=period)
    data = figure(response)
    assert len(data["at"]) == spans
    assert len(data["at"]) * (len(data["series"]) + 1) <= 2_000
    assert len(json.dumps(data)) < 40_000


def test_all_whole_cards_are_the_sum_of_exclusive_groups_and_of_no_other(cast: Cast, visitor: Visitors) -> None:
    NodeGroup.objects.filter(slug="a100").update(sharing="mig", unit="slice")
    for group in cast.groups.values():
        written(group, 30, used=5)
    admin = visitor("admin")
    assert 10 in next(part["cards"] for part in figure(admin.get("/admin/water/"))["series"] if part["name"] == "used")
    text = words(admin.get("/admin/water/", group="a100"))
    assert "slices, the last 24 hours" in text and "Whole cards 48" in text


def test_a_silent_cluster_is_stale_and_another_is_not_affected(cast: Cast, visitor: Visitors) -> None:
    build_cluster("other", is_default=False)
    Cluster.objects.filter(slug="sandbox").update(synced_at=timezone.now() - timedelta(hours=2))
    admin = visitor("admin")
    old, other = words(admin.get("/admin/water/")), words(admin.get("/admin/water/", cluster="other"))
    assert "Sandbox, read 2 h ago" in old and "This cluster does not answer" in old
    assert "Other, read 0 s ago" in other and "This cluster does not answer" not in other


def test_before_anything_is_written_the_page_says_so(cast: Cast, visitor: Visitors) -> None:
    text = words(visitor("admin").get("/admin/water/"))
    assert "Nothing is written down yet" in text
    Node.objects.all().delete()
    assert "No cards yet" in words(visitor("admin").get("/admin/water/"))
    assert "No cards yet" in words(visitor("admin").get("/admin/water/", cluster="nowhere", group="x"))


def test_what_is_polled_is_the_figures_of_now_without_the_chart(cast: Cast, visitor: Visitors) -> None:
    water_sample({}, timezone.now())
    fragment = html(visitor("admin").fragment("/admin/water/"))
    assert 'id="now"' in fragment and "data-figure" not in fragment and "<html" not in fragment


def test_the_page_asks_as_often_with_many_groups_and_samples(cast: Cast, visitor: Visitors) -> None:
    admin = visitor("admin")
    written(cast.groups["h100"], 60)
    few = admin.count_queries("/admin/water/")
    for number in range(20):
        group = NodeGroup.objects.create(
            cluster=cast.cluster, slug=f"g{number}", title=f"G{number}", vendor="x", card_model="x",
            sharing="exclusive", unit="card", cards_per_node=8,
        )  # fmt: skip
        Node.objects.create(
            cluster=cast.cluster, group=group, name=f"n{number}", health="ready", installed=8, seen_at=timezone.now()
        )
        written(group, 60)
    assert admin.count_queries("/admin/water/") == few <= 12
    assert WaterHour.objects.count() > 20
