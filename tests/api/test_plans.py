"""The plan API: what was read can be sent back, a dry run keeps nothing, and the second of two is told."""

from __future__ import annotations

from typing import Any

import pytest

from quotas.models import QuotaVersion, Share
from tests.api.client import Api, errors_of
from tests.cast import Cast
from tests.services.quotas.test_plans import follow, out
from tests.services.support import row_counts
from tests.stage import Stage

PATH = "clusters/sandbox/quota-plan"


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


@pytest.fixture
def api(cast: Cast) -> Api:
    return Api("admin")


def put(api: Api, queues: Any, *, expected: Any = None, **more: Any) -> Any:
    number = api.get(PATH)["version"] if expected is None else expected
    return api.call("PUT", PATH, {"expected_version": number, "queues": queues, **more})


def vision(**part: Any) -> dict[str, Any]:
    return {"vision": {"groups": {"h100": part}}}


def test_what_is_read_can_be_sent_back_and_changes_nothing(api: Api) -> None:
    plan = api.get(PATH)
    assert set(plan) == {
        "version", "author", "reason", "made_at", "cards", "pool", "waiting", "waiting_since", "queues",
    }  # fmt: skip
    assert plan["queues"]["vision"]["groups"]["h100"] == {
        "basis_points": 4_000, "borrow_basis_points": None, "lend_basis_points": None, "nominal": 13,
    }  # fmt: skip
    before = QuotaVersion.objects.count()
    answer = put(api, plan["queues"])
    assert answer.status_code == 200
    assert answer.json() == {"dry_run": False, "plan": plan, "preview": None}
    assert QuotaVersion.objects.count() == before


def test_a_change_is_a_version_and_what_is_left_out_stays(api: Api) -> None:
    first = put(api, vision(borrow_basis_points=1_250), reason="less to borrow").json()["plan"]
    assert (first["author"], first["reason"]) == ("admin", "less to borrow")
    second = put(api, {"vision": {"rank": 2, "groups": {"h100": {"basis_points": 1_000}}}}).json()["plan"]
    part = second["queues"]["vision"]["groups"]["h100"]
    assert (part["basis_points"], part["borrow_basis_points"], part["nominal"]) == (1_000, 1_250, 3)
    assert (second["queues"]["vision"]["rank"], second["pool"]["h100"]) == (2, 10)
    third = put(api, vision(borrow_basis_points=None)).json()["plan"]
    assert third["queues"]["vision"]["groups"]["h100"]["borrow_basis_points"] is None
    assert third["queues"]["vision"]["rank"] == 2


def test_a_dry_run_answers_what_it_would_do_and_keeps_nothing(api: Api) -> None:
    before, plan = row_counts(), api.get(PATH)
    answer = put(api, vision(basis_points=1_000), dry_run=True).json()
    assert (answer["dry_run"], answer["plan"]) == (True, plan)
    row = answer["preview"]["rows"][0]
    assert (row["queue"], row["node_group"], row["before"]["nominal"], row["after"]["nominal"]) == (
        "vision",
        "h100",
        13,
        3,
    )
    assert (answer["preview"]["pool"]["h100"], answer["preview"]["jobs"]) == (10, [])
    assert row_counts() == before


def test_the_second_of_two_admins_is_told_and_nothing_is_overwritten(api: Api) -> None:
    seen = api.get(PATH)["version"]
    assert put(api, vision(basis_points=1_000), expected=seen).status_code == 200
    answer = put(api, vision(basis_points=2_000), expected=seen)
    assert errors_of(answer, 409) == [("expected_version", "changed_meanwhile")]
    assert Share.objects.get(queue__slug="vision", group__slug="h100").basis_points == 1_000


@pytest.mark.parametrize(
    ("queues", "attr", "code"),
    [
        (None, "queues", "not_an_object"),
        ([], "queues", "not_an_object"),
        ({"vision": 1}, "queues.vision", "not_an_object"),
        ({"vision": {"groups": []}}, "queues.vision.groups", "not_an_object"),
        ({"vision": {"rank": "1"}}, "queues.vision.rank", "not_a_number"),
        ({"vision": {"rank": 4}}, "queues.vision.rank", "unknown_rank"),
        ({"vision": {"strict": 1}}, "queues.vision.strict", "not_a_boolean"),
        ({"vision": {"ranks": 1}}, "queues.vision.ranks", "unknown_field"),
        (vision(basis_point=10), "queues.vision.groups.h100.basis_point", "unknown_field"),
        ({"vision": {"rank": 1, "reclaims": False}}, "queues.vision.rank", "rank_needs_reclaim"),
        ({"nobody": {}}, "queues.nobody", "unknown_team"),
        ({"vision": {"groups": {"v100": {}}}}, "queues.vision.groups.v100", "unknown_group"),
        (vision(basis_points=40.5), "queues.vision.groups.h100.basis_points", "not_a_number"),
        (vision(basis_points=True), "queues.vision.groups.h100.basis_points", "not_a_number"),
        (vision(basis_points=5), "queues.vision.groups.h100.basis_points", "too_fine"),
        (vision(basis_points=-10), "queues.vision.groups.h100.basis_points", "negative"),
        (vision(basis_points=8_000), "cards.h100", "above_whole"),
        (vision(lend_basis_points=10_010), "queues.vision.groups.h100.lend_basis_points", "share_above_whole"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_plan_that_cannot_be_is_refused_at_its_field(
    api: Api, queues: Any, attr: str, code: str, dry_run: bool
) -> None:
    before = row_counts()
    assert errors_of(put(api, queues, dry_run=dry_run), 400) == [(attr, code)]
    assert row_counts() == before


@pytest.mark.parametrize(
    ("body", "attr"),
    [
        ({"expected_version": "3"}, "expected_version"),
        ({}, "expected_version"),
        ({"expected_version": -1}, "expected_version"),
        ({"expected_version": 3, "reason": 5}, "reason"),
        ({"expected_version": 3, "dry_run": "no"}, "dry_run"),
        ({"expected_version": 3, "dryrun": True}, "dryrun"),
    ],
)
def test_what_comes_with_a_plan_is_checked_too(api: Api, body: dict[str, Any], attr: str) -> None:
    answer = api.call("PUT", PATH, {"queues": {}, **body})
    assert [field for field, _code in errors_of(answer, 400)] == [attr]


@pytest.mark.parametrize("path", ["", "/recount", "/versions/1/restore"])
def test_a_dry_run_is_refused_where_the_change_would_be(api: Api, path: str) -> None:
    put(api, vision(basis_points=1_000))
    method, more = ("POST", {}) if path else ("PUT", {"queues": vision(basis_points=2_000)})
    seen = api.get(PATH)["version"]
    stale = api.call(method, PATH + path, {"expected_version": seen - 1, "dry_run": True, **more})
    assert errors_of(stale, 409) == [("expected_version", "changed_meanwhile")]
    long = api.call(method, PATH + path, {"expected_version": seen, "dry_run": True, "reason": "x" * 301, **more})
    assert errors_of(long, 400) == [("reason", "too_long")]


def test_the_history_is_read_and_gone_back_in(api: Api) -> None:
    put(api, vision(basis_points=1_000))
    newest, *older = api.get(f"{PATH}/versions")["results"]
    assert (newest["cause"], newest["version"]) == ("edit", len(older) + 1)
    address = f"{PATH}/versions/{older[0]['version']}/restore"
    before = row_counts()
    dry = api.call("POST", address, {"expected_version": newest["version"], "dry_run": True}).json()
    assert dry["preview"]["rows"][0]["after"]["nominal"] == 13
    assert row_counts() == before
    made = api.call("POST", address, {"expected_version": newest["version"], "reason": "oops"}).json()["plan"]
    assert made["queues"] == older[0]["queues"]
    assert QuotaVersion.objects.order_by("-number")[0].restored == older[0]["version"]
    stale = api.call("POST", address, {"expected_version": newest["version"]})
    assert errors_of(stale, 409) == [("expected_version", "changed_meanwhile")]
    missing = api.call("POST", f"{PATH}/versions/999/restore", {"expected_version": made["version"]})
    assert errors_of(missing, 404) == [(None, "not_found")]


def test_what_waits_is_shown_and_taken_over(api: Api, cast: Cast) -> None:
    out(cast, "h100", 1)
    follow(cast)
    plan = api.get(PATH)
    assert plan["waiting"] == {"h100": 24}
    body = {"expected_version": plan["version"]}
    assert api.call("POST", f"{PATH}/recount", {**body, "dry_run": True}).json()["preview"]["cards"]["h100"] == 24
    taken = api.call("POST", f"{PATH}/recount", body).json()["plan"]
    assert (taken["cards"]["h100"], taken["waiting"]) == (24, {})


def test_a_team_may_have_nothing_while_it_holds_cards_and_a_group_may_have_no_nodes(api: Api, cast: Cast) -> None:
    with Stage(cast) as stage:
        job = stage.submit(cards=8, card_model="h100", command="sleep 900")
        stage.run(30)
        preview = put(api, vision(basis_points=0), dry_run=True).json()["preview"]
        assert [(each["job"], each["cards"]) for each in preview["jobs"]] == [(job.public_id, 8)]
        assert put(api, vision(basis_points=0)).status_code == 200
        rows = api.get("quotas")["results"]
        row = next(row for row in rows if (row["queue"], row["node_group"]) == ("vision", "h100"))
        assert (row["nominal"], row["used"] + row["reserved"], row["borrowed"] + row["over"], row["free"]) == (
            0,
            8,
            8,
            0,
        )
        cast.groups["a100"].nodes.all().delete()
        answer = put(api, {"vision": {"groups": {"a100": {"basis_points": 3_000}}}})
        assert answer.json()["plan"]["queues"]["vision"]["groups"]["a100"]["nominal"] == 0
        assert answer.json()["plan"]["cards"]["a100"] == 0


def test_a_dry_run_says_when_the_waiting_jobs_start_today_and_with_the_plan(api: Api, cast: Cast) -> None:
    with Stage(cast) as stage:
        for _ in range(4):
            stage.submit(cards=8, card_model="h100", command="sleep 900")
        stage.run(30)
        waiting = stage.submit("eng-language-1", cards=16, card_model="h100")
        stage.run(2)
        queues = {
            "vision": {"groups": {"h100": {"basis_points": 2_000}}},
            "language": {"groups": {"h100": {"basis_points": 6_000}}},
        }
        queued = put(api, queues, dry_run=True).json()["preview"]["queued"]
    assert [(each["job"], each["before"], each["after"]) for each in queued] == [(waiting.public_id, "cards", "takes")]
