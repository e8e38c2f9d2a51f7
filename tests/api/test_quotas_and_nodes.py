"""`GET /quotas`, `GET /groups`, shares, people: rows, keys, who sees what."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Team, User
from quotas.models import Share
from tests.api.client import Api, refused
from tests.cast import Cast
from tests.faults.truth import true_figures
from tests.services.jobs.situations import fill
from tests.services.support import row_counts
from tests.stage import Stage

KEYS = {
    "queue", "level", "node_group", "unit", "nominal", "usable", "used", "reserved", "free", "borrowed", "lent",
    "over", "down", "borrowable", "pending", "pending_jobs",
}  # fmt: skip
"""The keys that scripts may rely on."""


@pytest.fixture
def cast(standing_cast: Cast) -> Cast:
    return standing_cast


def test_quota_rows_carry_the_promised_keys_and_true_numbers(cast: Cast) -> None:
    with Stage(cast) as stage:
        fill(stage, "h100", 16)
        stage.submit("eng-language-1", card_model="h100", cards=32, command="sleep 600")
        stage.run(4)
        page = Api("admin").get("quotas")
        truth = true_figures()
    assert set(page) == {"next", "previous", "results"}
    assert len(page["results"]) == 9
    for row in page["results"]:
        assert set(row) >= KEYS
        assert all(isinstance(row[key], int) for key in KEYS - {"queue", "level", "node_group", "unit"})
        assert row["usable"] == row["nominal"] - row["lent"] - row["down"] + row["borrowed"] + row["over"]
        assert row["free"] == row["usable"] - row["used"] - row["reserved"] >= 0
        figures = truth[row["queue"], row["node_group"]]
        assert (row["used"], row["reserved"], row["pending"], row["pending_jobs"]) == (
            figures.used,
            figures.reserved,
            figures.pending,
            figures.pending_jobs,
        )
        assert row["level"] == "team" and row["unit"] == "card" and row["is_guide"] is False


@pytest.mark.parametrize("username", ["eng-vision-1", "lead-vision"])
def test_a_member_sees_the_own_teams_rows_only(cast: Cast, username: str) -> None:
    for level in ("team", "local"):
        rows = Api(username).get(f"quotas?level={level}")["results"]
        assert {row["team"] for row in rows} == {"vision"}
        assert {row["level"] for row in rows} == {level}
        assert "language" not in str(rows)


def test_a_level_that_does_not_exist_is_refused(cast: Cast) -> None:
    assert refused(Api("admin"), 400, "GET", "quotas?level=person") == [("level", "unknown_choice")]


def test_nodes_add_up_to_their_installed_cards(cast: Cast) -> None:
    with Stage(cast) as stage:
        fill(stage, "h100", 16)
        groups = Api("admin").get("groups")["results"]
    assert [group["node_group"] for group in groups] == ["a100", "ascend-910b", "h100"]
    for group in groups:
        for node in group["nodes"]:
            parts = ("used", "reserved", "ending", "outside", "free", "out")
            assert sum(node[part] for part in parts) == node["installed"] == 8
    used = {group["node_group"]: sum(node["used"] for node in group["nodes"]) for group in groups}
    assert used == {"h100": 16, "a100": 0, "ascend-910b": 0}


@pytest.mark.parametrize("username", ["eng-vision-1", "lead-vision"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "groups", None),
        ("GET", "teams", None),
        ("POST", "teams", {"name": "New"}),
        ("POST", "people", {"username": "new"}),
        ("PUT", "clusters/sandbox/groups/h100/shares", {"shares": {"vision": 10_000}}),
        ("PUT", "clusters/nowhere/groups/h100/shares", {"shares": {}}),
    ],
)
def test_what_is_the_admins_is_a_403_for_everybody_else(
    cast: Cast, username: str, method: str, path: str, body: Any
) -> None:
    assert refused(Api(username), 403, method, path, body) == [(None, "not_allowed")]


def test_an_admin_sets_shares_in_basis_points(cast: Cast) -> None:
    shares = {"shares": {"vision": 5_000, "language": 2_500, "robotics": 0}}
    answer = Api("admin").call("PUT", "clusters/sandbox/groups/h100/shares", shares)
    assert (answer.status_code, answer.json()) == (200, {**shares, "dry_run": False, "preview": None})
    rows = Share.objects.filter(group=cast.groups["h100"]).values_list("queue__slug", "nominal")
    assert dict(rows) == {"vision": 16, "language": 8, "robotics": 0}


@pytest.mark.parametrize(
    ("shares", "code"),
    [
        (None, "not_pairs"),
        ([], "not_pairs"),
        ({"vision": "50"}, "not_pairs"),
        ({"vision": 0.5}, "not_pairs"),
        ({"vision": True}, "not_pairs"),
        ({"nobody": 1}, "unknown_team"),
        ({"vision": -1}, "negative"),
        ({"vision": 10_001}, "above_whole"),
        ({"vision": 6_000}, "above_whole"),
        ({"vision": 10**30}, "above_whole"),
    ],
)
def test_shares_that_make_no_sense_are_refused(cast: Cast, shares: Any, code: str) -> None:
    path = "clusters/sandbox/groups/h100/shares"
    assert refused(Api("admin"), 400, "PUT", path, {"shares": shares}) == [("shares", code)]


def test_a_dry_run_of_shares_says_what_they_would_do_and_keeps_nothing(cast: Cast) -> None:
    api = Api("admin")
    before = row_counts()
    path, shares = "clusters/sandbox/groups/h100/shares", {"vision": 1_000}
    answer = api.call("PUT", path, {"shares": shares, "dry_run": True}).json()
    assert (answer["shares"], answer["dry_run"]) == (shares, True)
    rows = {row["queue"]: (row["before"]["nominal"], row["after"]["nominal"]) for row in answer["preview"]["rows"]}
    assert (rows, answer["preview"]["pool"]["h100"]) == ({"vision": (13, 3)}, 10)
    for body in ({"shares": {"vision": 6_000}}, {"shares": {"vision": 15}}):
        wrong = [refused(api, 400, "PUT", path, {**body, "dry_run": dry_run}) for dry_run in (True, False)]
        assert wrong[0] == wrong[1]
    assert row_counts() == before


@pytest.mark.parametrize("dry_run", [True, False])
def test_shares_over_a_version_that_holds_no_more_are_told(cast: Cast, dry_run: bool) -> None:
    api, path = Api("admin"), "clusters/sandbox/groups/h100/shares"
    seen = api.get("clusters/sandbox/quota-plan")["version"]
    body = {"expected_version": seen, "dry_run": dry_run}
    assert api.call("PUT", path, {"shares": {"vision": 1_000}, "expected_version": seen}).status_code == 200
    told = refused(api, 409, "PUT", path, {"shares": {"vision": 2_000}, **body})
    assert told == [("expected_version", "changed_meanwhile")]
    assert Share.objects.get(queue__slug="vision", group=cast.groups["h100"]).basis_points == 1_000


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "clusters/sandbox/groups/h100/shares", {"shares": {"vision": 1_000}}),
        ("POST", "clusters/sandbox/quota-plan/recount", {"expected_version": 0}),
        ("POST", "clusters/sandbox/quota-plan/take-over", {}),
        ("POST", "clusters/sandbox/quota-plan/adopt", {"expected_version": 0}),
        ("POST", "clusters/sandbox/found-queues/adopt", {"queues": {}, "expected_version": 0}),
        ("POST", "queues", {"queue": "vision", "name": "New"}),
        ("PATCH", "queues/vision/default", {"weight": 2}),
        ("POST", "queues/vision/default/hold", {"reason": "x"}),
        ("POST", "maintenance", {}),
        ("POST", "nodes/sandbox/h100-01/cordon", {"reason": "x"}),
        ("POST", "nodes/sandbox/h100-01/uncordon", {}),
        ("PATCH", "clusters/sandbox/groups/h100", {"title": "Other"}),
        ("POST", "clusters/sandbox/groups/h100/confirm", {}),
    ],
)
def test_where_dry_run_is_misspelt_nothing_is_changed(cast: Cast, method: str, path: str, body: Any) -> None:
    api = Api("admin")
    before = row_counts()
    told = refused(api, 400, method, path, {**body, "dryRun": True, "dry-run": True})
    assert told == [("dry-run", "unknown_field"), ("dryRun", "unknown_field")]
    assert row_counts() == before


def test_shares_of_a_group_that_does_not_exist_are_a_404(cast: Cast) -> None:
    for path in ("clusters/sandbox/groups/b200/shares", "clusters/nowhere/groups/h100/shares"):
        assert refused(Api("admin"), 404, "PUT", path, {"shares": {}}) == [(None, "not_found")]


# --------------------------------------------------------------------------- people and teams


def test_an_admin_adds_a_team_and_a_person_who_can_sign_in(cast: Cast) -> None:
    api = Api("admin")
    team = api.call("POST", "teams", {"name": "Speech 语音"}).json()
    assert Team.objects.get(slug=team["slug"]).name == "Speech 语音"
    body = {"username": "eng-speech-1", "name": "Ada", "team": team["slug"], "role": "lead"}
    made = api.call("POST", "people", body)
    assert made.status_code == 201
    user = User.objects.get(username="eng-speech-1")
    assert user.check_password(made.json()["password"])
    assert user.memberships.get().role == "lead"
    given = api.call("POST", "people", {"username": "eng-speech-2", "password": "a fairly long secret"})
    assert given.status_code == 201 and given.json()["password"] is None


@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        ("teams", {}, ("name", "blank")),
        ("teams", {"name": "vision"}, ("name", "taken")),
        ("teams", {"name": 1}, ("name", "not_text")),
        ("people", {}, ("username", "blank")),
        ("people", {"username": "ADMIN"}, ("username", "taken")),
        ("people", {"username": "a b"}, ("username", "invalid")),
        ("people", {"username": "new", "password": "short"}, ("password", "weak")),
        ("people", {"username": "new", "team": "nobody"}, ("team", "unknown_team")),
        ("people", {"username": "new", "team": "vision", "role": "king"}, ("role", "unknown_choice")),
    ],
)
def test_people_and_teams_that_make_no_sense_are_refused(
    cast: Cast, path: str, body: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert refused(Api("admin"), 400, "POST", path, body) == [problem]


# --------------------------------------------------------------------------- oneself


def test_me_tells_who_one_is_and_in_which_teams(cast: Cast) -> None:
    me = Api("lead-vision").get("me")
    assert (me["username"], me["is_platform_admin"]) == ("lead-vision", False)
    assert me["memberships"] == [{"team": "vision", "role": "lead"}]


def test_language_and_time_zone_are_ones_own(cast: Cast) -> None:
    api = Api("eng-vision-1")
    answer = api.call("PATCH", "me", {"language": "zh-hans", "time_zone": "Asia/Shanghai", "is_platform_admin": True})
    body = answer.json()
    assert (body["language"], body["time_zone"], body["is_platform_admin"]) == ("zh-hans", "Asia/Shanghai", False)
    for field, value in (("language", "fr"), ("time_zone", "Mars/Base"), ("language", 1)):
        assert refused(api, 400, "PATCH", "me", {field: value})[0][0] == field
