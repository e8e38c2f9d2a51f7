"""The editor of a division: preview before saving, two admins at once, history, and what waits for a word."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from quotas.models import QuotaVersion, Share, TeamQueue
from quotas.plans.store import stored
from tests.cast import Cast
from tests.pages.visitor import Visitor, html, words
from tests.services.quotas.test_plans import follow, out, parts, save
from tests.stage import Stage

Visitors = Callable[[str], Visitor]
PLAN = "/admin/quotas/sandbox/groups/h100/"


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def typed(cast: Cast, **changed: str) -> dict[str, str]:
    """The form as it is opened, with what somebody changes."""
    fields = {"expected_version": str(stored(cast.cluster).number), "reason": "", "act": "save"}
    for team, percent in (("vision", "40"), ("language", "40"), ("robotics", "20")):
        fields |= {f"percent_{team}": percent, f"borrow_{team}": "", f"lend_{team}": "", f"rank_{team}": "0"}
        fields[f"reclaims_{team}"] = "on"
    return fields | changed


def shares() -> dict[str, tuple[int, int]]:
    rows = Share.objects.filter(group__slug="h100").values_list("queue__slug", "basis_points", "nominal")
    return {queue: (points, cards) for queue, points, cards in rows}


def test_percents_become_whole_cards_with_limits_and_a_reason(cast: Cast, visitor: Visitors) -> None:
    fields = typed(cast, percent_vision="50", percent_language="12.5", percent_robotics="0", borrow_vision="25")
    answer = visitor("admin").post(PLAN, **fields | {"rank_vision": "1", "reason": "next quarter"})
    assert answer.status_code == 302
    assert shares() == {"vision": (5_000, 16), "language": (1_250, 4), "robotics": (0, 0)}
    assert Share.objects.get(queue__slug="vision", group__slug="h100").borrow_basis_points == 2_500
    assert TeamQueue.objects.get(slug="vision").rank == 1
    assert QuotaVersion.objects.order_by("-number")[0].reason == "next quarter"
    assert "common pool 37.5 % 12" in words(visitor("admin").get("/admin/quotas/"))


@pytest.mark.parametrize(
    ("changed", "says"),
    [({"percent_vision": "forty"}, "such as 40 or 12.5"), ({"percent_vision": "-1"}, "such as 40"),
     ({"percent_vision": "101"}, "at most 100 %"), ({"percent_vision": "40.125"}, "such as 40"),
     ({"percent_vision": "0.05"}, "in steps of 0.1"), ({"percent_vision": "４０"}, "such as 40"),
     ({"percent_vision": ""}, "such as 40"), ({"percent_vision": "80"}, "come to 140 % together"),
     ({"borrow_vision": "x"}, "such as 40"), ({"rank_vision": "9"}, "9 is not one of the available choices"),
     ({"rank_vision": "1", "reclaims_vision": ""}, "takes nothing while it borrows"),
     ({"reason": "x" * 301}, "at most 300")],
)  # fmt: skip
def test_a_share_that_cannot_be_is_said_and_nothing_changes(
    cast: Cast, visitor: Visitors, changed: dict[str, str], says: str
) -> None:
    before = shares()
    answer = visitor("admin").post(PLAN, **typed(cast, **changed))
    assert answer.status_code == 422
    assert says in words(answer)
    assert shares() == before


def test_the_preview_says_what_saving_would_do_and_saves_nothing(stage: Stage, visitor: Visitors) -> None:
    stage.submit("eng-vision-1", name="on loan soon", cards=8, card_model="h100", command="sleep 900")
    stage.run(30)
    before = shares()
    fields = typed(stage.cast, percent_vision="10", act="preview")
    whole = visitor("admin").post(PLAN, **fields)
    assert whole.status_code == 200
    assert "Vision H100 NVLink 13 3 8 5 0" in words(whole)
    assert "on loan soon Vision H100 NVLink 8 if an owner asks" in words(whole)
    part = visitor("admin").client.post(PLAN, fields, headers={"HX-Request": "true"})
    assert "<html" not in html(part) and "on loan soon" in words(part)
    assert shares() == before


def test_the_second_of_two_admins_sees_what_changed_and_loses_nothing(cast: Cast, visitor: Visitors) -> None:
    fields = typed(cast, percent_language="30")
    save(cast, parts(vision=2_000))
    answer = visitor("admin").post(PLAN, **fields)
    assert answer.status_code == 422
    said = words(answer)
    assert "admin saved version" in said
    assert "Vision, H100 NVLink: 40 % (13) became 20 % (6)" in said
    page = html(answer)
    assert 'name="percent_vision" value="20"' in page and 'name="percent_language" value="30"' in page
    assert shares()["language"] == (4_000, 13)


def test_the_history_says_what_changed_and_goes_back(cast: Cast, visitor: Visitors) -> None:
    admin = visitor("admin")
    save(cast, parts(vision=1_000), reason="a try")
    said = words(admin.get("/admin/quotas/sandbox/history/"))
    assert "Changed : a try Vision, H100 NVLink: 40 % (13) became 10 % (3)" in said
    number = stored(cast.cluster).number
    address = f"/admin/quotas/sandbox/history/{number - 1}/"
    assert "Vision H100 NVLink 3 13" in words(admin.get(address))
    assert admin.post(address, expected_version=str(number - 1)).status_code == 409
    assert admin.post(address, expected_version=str(number), reason="was better").status_code == 302
    assert shares()["vision"] == (4_000, 13)
    assert "Back to version" in words(admin.get("/admin/quotas/sandbox/history/"))


def test_what_waits_for_a_word_is_a_banner_with_its_preview(cast: Cast, visitor: Visitors) -> None:
    admin = visitor("admin")
    assert "cards that work" not in words(admin.get("/admin/quotas/"))
    out(cast, "h100", 1)
    follow(cast)
    assert "has 24 cards that work, and 32 are divided" in words(admin.get("/admin/quotas/"))
    assert "H100 NVLink: 32 cards became 24" in words(admin.get("/admin/quotas/sandbox/recount/"))
    number = str(stored(cast.cluster).number)
    assert admin.post("/admin/quotas/sandbox/recount/", expected_version=number).status_code == 302
    assert sum(cards for _points, cards in shares().values()) == 24
    assert "cards that work" not in words(admin.get("/admin/quotas/"))


@pytest.mark.parametrize(
    "address",
    ["/admin/quotas/sandbox/groups/none/", "/admin/quotas/none/history/", "/admin/quotas/sandbox/history/99/"],
)
def test_what_is_not_there_is_not_found(visitor: Visitors, address: str) -> None:
    assert visitor("admin").get(address).status_code == 404
