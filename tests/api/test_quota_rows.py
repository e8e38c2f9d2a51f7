"""`GET /quotas` and `/quotas/{queue}`: both levels and their sums, filters, pages, who sees what."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from quotas.models import LocalQueue
from quotas.selectors import listing
from quotas.services import quotas_apply
from tests.api.client import Api, refused
from tests.cast import Cast
from tests.services.jobs.situations import fill
from tests.stage import Stage

FIGURES = (
    "nominal", "usable", "used", "reserved", "free", "borrowed", "lent", "over", "down", "pending", "pending_jobs",
    "pending_stopped", "pending_jobs_stopped",
)  # fmt: skip
OF_CLUSTER = ("capacity", "pool", "pool_lent", "pool_down", "pool_free", "missing", "down_held", "releasing", "outside")


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


def rows(api: Api, path: str) -> list[dict[str, Any]]:
    """Of every page."""
    found: list[dict[str, Any]] = []
    page = api.get(path)
    found += page["results"]
    while page["next"] is not None:
        page = api.get(page["next"].split("/api/v1/")[1])
        found += page["results"]
    return found


def sums(found: list[dict[str, Any]]) -> dict[str, int]:
    return dict(sum((Counter({name: row[name] for name in FIGURES}) for row in found), Counter()))


def busy(cast: Cast, stage: Stage) -> None:
    """Two teams at work, one above its share, with a second local queue."""
    LocalQueue.objects.create(queue=cast.queues["vision"], slug="night", name="Night", weight=3)
    quotas_apply(cast.cluster)
    fill(stage, "h100", 16)
    stage.submit("eng-vision-2", local_queue="night", card_model="h100", cards=4, command="sleep 600")
    stage.submit("eng-language-1", card_model="h100", cards=16, command="sleep 600")
    stage.run(20)


def test_local_queues_add_up_to_teams_and_teams_with_the_pool_to_the_cluster(cast: Cast) -> None:
    with Stage(cast) as stage:
        busy(cast, stage)
        api = Api("admin")
        teams = rows(api, "quotas?node_group=h100")
        local = rows(api, "quotas?node_group=h100&level=local")
        (total,) = rows(api, "quotas?node_group=h100&level=cluster")
    for team in teams:
        mine = sums([row for row in local if row["team"] == team["team"]])
        for figure in ("nominal", "usable", "used", "reserved", "free", "pending", "pending_jobs"):
            assert mine.get(figure, 0) == team[figure]
    together = sums(teams)
    for figure in ("used", "reserved", "borrowed", "over", "pending", "pending_jobs"):
        assert together.get(figure, 0) == total[figure]
    assert total["nominal"] == together["nominal"] + total["pool"] == total["capacity"] == 32
    assert (total["queue"], total["level"], total["team"]) == ("", "cluster", "")
    assert total["free"] == together.get("free", 0) and total["used"] > 16
    assert all(team[name] is None for team in teams for name in OF_CLUSTER)
    assert all(isinstance(total[name], int) for name in OF_CLUSTER)


def test_one_queue_is_a_row_for_each_node_group_at_both_levels(cast: Cast) -> None:
    api = Api("eng-vision-1")
    team = api.get("quotas/vision")["results"]
    local = api.get("quotas/vision/default")["results"]
    assert (
        [row["node_group"] for row in team] == [row["node_group"] for row in local] == ["a100", "ascend-910b", "h100"]
    )
    assert {(row["queue"], row["level"]) for row in team} == {("vision", "team")}
    assert {(row["queue"], row["level"]) for row in local} == {("vision/default", "local")}
    assert [row["nominal"] for row in team] == [row["nominal"] for row in local]
    assert team == rows(api, "quotas")


@pytest.mark.parametrize("path", ["quotas/language", "quotas/language/default", "quotas/vision/none", "quotas/nobody"])
def test_a_foreign_queue_is_as_unknown_as_one_that_does_not_exist(cast: Cast, path: str) -> None:
    assert refused(Api("lead-vision"), 404, "GET", path) == [(None, "not_found")]


def test_filters_leave_what_they_name(cast: Cast) -> None:
    api = Api("admin")
    assert {row["node_group"] for row in rows(api, "quotas?node_group=a100")} == {"a100"}
    assert len(rows(api, "quotas?cluster=sandbox")) == 9
    for nothing in ("cluster=elsewhere", "node_group=b200", "cluster=%00"):
        assert rows(api, f"quotas?{nothing}") == []


def test_the_sums_of_a_cluster_are_for_those_who_have_a_queue_there(cast: Cast) -> None:
    assert len(rows(Api("eng-vision-1"), "quotas?level=cluster")) == 3
    cast.users["eng-vision-1"].memberships.all().delete()
    assert rows(Api("eng-vision-1"), "quotas?level=cluster") == []


@pytest.mark.parametrize("level", ["team", "local"])
def test_pages_of_a_long_list_have_every_row_once(cast: Cast, level: str) -> None:
    whole = rows(Api("admin"), f"quotas?level={level}")
    for size in (1, 2, 4, 9):
        found: list[Any] = []
        cursor: str | None = ""
        while cursor is not None:
            page = listing.quota_page(
                viewer=cast.actor("admin"), filters=listing.QuotaFilters(level), cursor=cursor, size=size
            )
            assert len(page.rows) <= size
            assert (page.previous is None) == (not cursor)
            found += page.rows
            cursor = page.next
        assert [(row.node_group, row.queue) for row in found] == [(row["node_group"], row["queue"]) for row in whole]


@pytest.mark.parametrize("cursor", ["-1", "x", "1e3", "٣", "99999999", "%00"])
def test_a_cursor_that_is_none_is_refused(cast: Cast, cursor: str) -> None:
    assert refused(Api("admin"), 400, "GET", f"quotas?cursor={cursor}") == [("cursor", "bad_cursor")]


def test_a_cursor_behind_the_end_is_an_empty_page(cast: Cast) -> None:
    page = Api("admin").get("quotas?cursor=500")
    assert (page["results"], page["next"]) == ([], None)
