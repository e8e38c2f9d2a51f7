"""The page of idle cards and waste: what does nothing now, and what held cards led to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from clusters.backends.sandbox import driver
from clusters.simulation.commands import Cordon, ExitPod, NodePower
from jobs.waste import idle_now, waste_ranking
from tests.api.client import Api
from tests.cast import Cast
from tests.pages.crowd import crowd
from tests.pages.visitor import Visitor, words
from tests.stage import Stage

Visitors = Callable[[str | None], Visitor]


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def fail_after(stage: Stage, seconds: float, username: str = "eng-vision-1") -> None:
    job = stage.submit(username, cards=8, card_model="h100", command="sleep 6000")
    stage.run(seconds)
    driver.send(stage.cast.cluster, ExitPod(driver.now_ms(), job.attempts.get().object_name, 0, 1))
    stage.run(4)


def test_nodes_that_hold_nothing_are_listed_without_those_that_do_not_answer(stage: Stage, visitor: Visitors) -> None:
    """C-67: a node that is down is not idle; one that is closed is marked."""
    stage.submit(cards=8, card_model="h100", command="sleep 900")
    driver.send(stage.cast.cluster, Cordon(driver.now_ms(), "a100-01"))
    driver.send(stage.cast.cluster, NodePower(driver.now_ms(), "a100-02", up=False))
    stage.run(60)
    idle = idle_now(viewer=stage.cast.actor("admin"))
    names = {each.node.name: each.node.is_open for each in idle.nodes}
    assert len(names) == 8 and "a100-02" not in names and names["a100-01"] is False
    assert all(each.since is not None for each in idle.nodes)
    said = words(visitor("admin").get("/admin/idle/"))
    assert "8 nodes hold nothing." in said and "A100 PCIe · takes no new work" in said


def test_cards_that_are_held_and_do_not_run_are_named_with_their_job(stage: Stage, visitor: Visitors) -> None:
    stage.submit(name="no such image", cards=4, card_model="h100", image="sandbox.invalid/missing:1")
    stage.run(30)
    idle = idle_now(viewer=stage.cast.actor("admin"))
    assert [(each.job.display_name, each.cards, each.is_placed) for each in idle.held] == [("no such image", 4, True)]
    assert (idle.held_jobs, idle.held_cards) == (1, 4)
    said = words(visitor("admin").get("/admin/idle/"))
    assert "4 cards are held and do not run." in said and "no such image" in said


def test_teams_are_ranked_by_what_led_to_nothing(stage: Stage, visitor: Visitors) -> None:
    fail_after(stage, 300, "eng-language-1")
    good = stage.submit("eng-vision-1", cards=8, card_model="h100", command="sleep 120")
    stage.run(300, step=10)
    good.refresh_from_db()
    assert good.state == "succeeded"
    ranking = waste_ranking(viewer=stage.cast.actor("admin"), length=timedelta(days=1))
    language, vision = ranking.teams
    assert (language.team.slug, vision.team.slug) == ("language", "vision")
    assert language.account.percent == 100 and language.account.useful == 0
    assert vision.account.useful >= 8 * 100 and vision.account.waste < language.account.waste
    assert ranking.total.held == language.account.held + vision.account.held
    assert ranking.total.waste <= ranking.total.held
    said = words(visitor("admin").get("/admin/idle/", period="24h"))
    assert said.index("Language") < said.index("Vision")
    assert "is not measured yet" in said


def test_what_was_held_before_the_period_does_not_count(stage: Stage) -> None:
    fail_after(stage, 60)
    stage.skip(3 * 86_400)
    ranking = waste_ranking(viewer=stage.cast.actor("admin"), length=timedelta(days=1))
    assert ranking.teams == () and ranking.total.held == 0


def test_a_script_reads_the_same(stage: Stage) -> None:
    fail_after(stage, 120)
    api = Api("admin")
    body = api.get("waste?days=1")
    (row,) = body["teams"]
    assert row["team"] == "vision" and row["waste"] == sum(row["causes"].values()) == body["total"]["waste"] > 0
    assert row["held"] == row["useful"] + row["open"] + row["waste"]
    assert (api.get("idle")["nodes"], len(api.get("idle/nodes")["results"])) == (10, 10)
    for days in ("0", "91", "x", "-1", "٣"):
        assert api.call("GET", f"waste?days={days}").status_code == 400
    for path in ("waste", "idle"):
        assert Api("lead-vision").call("GET", path).status_code == 403


def test_the_number_of_queries_does_not_grow(cast: Cast, visitor: Visitors) -> None:
    crowd(cast, 7)
    few = visitor("admin").count_queries("/admin/idle/")
    crowd(cast, 70)
    assert visitor("admin").count_queries("/admin/idle/") == few <= 14
