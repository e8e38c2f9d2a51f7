"""The water level over the API: the identity of the figures, exact card-seconds, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.utils import timezone

from clusters.models import Cluster
from tests.api.client import Api
from tests.cast import Cast
from tests.pages.test_water import written
from tests.stage import Stage


def adds_up(level: dict[str, Any]) -> bool:
    parts = sum(level[name] for name in ("used", "reserved", "free", "releasing", "outside"))
    return bool(level["healthy"] == parts and level["capacity"] == parts + level["down"])


@pytest.mark.django_db
def test_the_figures_of_now_add_up_in_every_group_and_in_the_sum(standing_cast: Cast) -> None:
    with Stage(standing_cast) as stage:
        stage.submit(card_model="h100", cards=24)
        stage.run(40, 5)
        body = Api("admin").get("clusters/sandbox/water-level")
    assert [adds_up(level) for level in [*body["node_groups"], body["cards"]]] == [True] * 4
    h100 = next(group for group in body["node_groups"] if group["node_group"] == "h100")
    assert (h100["used"], h100["free"], h100["busy"], h100["free_blocks"]) == (24, 8, None, [8])
    assert body["cards"]["capacity"] == 80 and not body["is_stale"]
    assert body["vendors"] == {"nvidia": 64, "ascend": 16}  # C-35


def test_a_silent_cluster_says_how_old_its_figures_are(standing_cast: Cast) -> None:
    Cluster.objects.update(synced_at=timezone.now() - timedelta(minutes=5))
    body = Api("admin").get("clusters/sandbox/water-level")
    assert body["is_stale"] and body["cards"]["capacity"] == 80


def test_card_seconds_do_not_depend_on_the_step(standing_cast: Cast) -> None:
    written(standing_cast.groups["h100"], 150, used=7)
    sums = set()
    for step in (60, 600, 3_600, 10_800):
        begin = quote((timezone.now() - timedelta(hours=24)).replace(minute=0, second=0).isoformat())
        (group,) = Api("admin").get(f"clusters/sandbox/water-level/history?step={step}&from={begin}")["node_groups"]
        figures = [point["figures"] for point in group["points"]]
        assert all("busy" not in each for each in figures)
        sums.add((sum(f["used"]["seconds"] for f in figures), sum(f["used"]["card_seconds"] for f in figures)))
    assert sums == {(150 * 60, 150 * 60 * 7)}


@pytest.mark.parametrize(
    ("query", "attr", "code"),
    [
        ("step=61", "step", "invalid_choice"),
        ("step=", "step", "invalid_choice"),
        ("from=yesterday", "from", "invalid"),
        ("to=0001-01-01T00:00:00-23:00", "from", "not_before_end"),
        ("to=9999-99-99", "to", "invalid"),
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from", "not_before_end"),
        ("from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z&step=60", "step", "too_many_points"),
    ],
)
def test_what_makes_no_sense_is_refused(standing_cast: Cast, query: str, attr: str, code: str) -> None:
    answer = Api("admin").call("GET", f"clusters/sandbox/water-level/history?{query}")
    assert answer.status_code == 400
    assert [(error["attr"], error["code"]) for error in answer.json()["errors"]] == [(attr, code)]
