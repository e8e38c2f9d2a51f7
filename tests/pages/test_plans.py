"""The editor of a division: preview before saving, two admins at once, history, and what waits for a word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from clusters.models import Node
from quotas.models import QuotaVersion, Share, TeamQueue
from quotas.plans.store import stored
from tests.cast import Cast
from tests.pages.visitor import Visitor, html, words
from tests.services.quotas.test_plans import follow, out, parts, save
from tests.stage import Stage

Visitors = Callable[[str], Visitor]
PLAN = "/admin/quotas/sandbox/shares/?group=h100"
ALL = "/admin/quotas/sandbox/shares/"


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def typed(cast: Cast, *groups: str, **changed: str) -> dict[str, str]:
    """The form of these node groups (none = of h100) as it is opened, with what somebody changes: `percent_vision` in
    h100, or a whole name.
    """
    fields = {"expected_version": str(stored(cast.cluster).number), "reason": "", "act": "save"}
    for team, percent in (("vision", "40"), ("language", "40"), ("robotics", "20")):
        for group in groups or ("h100",):
            fields |= {f"percent.{group}.{team}": percent, f"borrow.{group}.{team}": "", f"lend.{group}.{team}": ""}
        fields |= {f"rank.{team}": "0", f"reclaims.{team}": "on"}
    return fields | {_name(name): value for name, value in changed.items()}


def _name(short: str) -> str:
    kind, _, rest = short.partition("_")
    if kind in ("percent", "borrow", "lend"):
        return f"{kind}.h100.{rest}"
    return f"{kind}.{rest}" if kind in ("rank", "reclaims", "strict") else short


def shares() -> dict[str, tuple[int, int]]:
    rows = Share.objects.filter(group__slug="h100").values_list("queue__slug", "basis_points", "nominal")
    return {queue: (points, cards) for queue, points, cards in rows}


def test_percents_become_whole_cards_with_limits_and_a_reason(cast: Cast, visitor: Visitors) -> None:
    fields = typed(cast, percent_vision="50", percent_language="12.5", percent_robotics="0", borrow_vision="25")
    answer = visitor("admin").post(PLAN, **fields | {"rank.vision": "1", "reason": "next quarter"})
    assert answer.status_code == 302
    assert shares() == {"vision": (5_000, 16), "language": (1_250, 4), "robotics": (0, 0)}
    assert Share.objects.get(queue__slug="vision", group__slug="h100").borrow_basis_points == 2_500
    assert TeamQueue.objects.get(slug="vision").rank == 1
    assert QuotaVersion.objects.order_by("-number")[0].reason == "next quarter"
    assert "common pool 37.5 % 12" in words(visitor("admin").get("/admin/quotas/"))


def test_the_rows_of_teams_and_pool_add_up_to_the_last_row_in_every_column(stage: Stage, visitor: Visitors) -> None:
    """With cards in the pool, lent, borrowed and out of service."""
    save(stage.cast, parts(vision=1_000, language=1_000, robotics=5_000))
    for _ in range(2):
        stage.submit("eng-vision-1", cards=8, card_model="h100", command="sleep 900")
    stage.run(30)
    stage.submit("eng-vision-1", cards=24, card_model="h100", command="sleep 900")
    stage.run(2)
    Node.objects.filter(name=Node.objects.filter(group=stage.cast.groups["h100"], used=0)[0].name).update(
        health="cordoned", free=0, out=8
    )
    page = html(visitor("admin").get("/admin/quotas/"))
    table = next(each for each in page.split("<section")[1:] if "H100 NVLink" in each)
    rows = [re.findall(r"<td[^>]*>\s*(\d+)\s*</td>", row) for row in table.split("</details>")[0].split("<tr>")[2:]]
    *parts_of_it, total = [[int(figure) for figure in row] for row in rows if len(row) == 9]
    assert len(parts_of_it) == 4
    assert [sum(column) for column in zip(*parts_of_it, strict=True)] == total
    nominal, used, reserved, free, borrowed, lent, over, down, pending = total
    assert (nominal, used + reserved, down, pending) == (32, 16, 8, 24)
    assert borrowed == lent == 13 and over == 0 and free == 8
    assert parts_of_it[-1] != [parts_of_it[-1][0]] + [0] * 8  # what the pool lends, bears and has left is told


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
    assert "on loan soon whole cards Vision H100 NVLink 8 cards if an owner asks" in words(whole)
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
    assert 'name="percent.h100.vision" value="20"' in page and 'name="percent.h100.language" value="30"' in page
    assert shares()["language"] == (4_000, 13)


def test_the_history_says_what_changed_and_goes_back(cast: Cast, visitor: Visitors) -> None:
    admin = visitor("admin")
    save(cast, parts(vision=1_000), reason="a try")
    said = words(admin.get("/admin/quotas/sandbox/history/"))
    assert "Edited : a try Vision, H100 NVLink: 40 % (13) became 10 % (3)" in said
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
    assert "H100 NVLink: 32 to divide became 24" in words(admin.get("/admin/quotas/sandbox/recount/"))
    number = str(stored(cast.cluster).number)
    assert admin.post("/admin/quotas/sandbox/recount/", expected_version=number).status_code == 302
    assert sum(cards for _points, cards in shares().values()) == 24
    assert "cards that work" not in words(admin.get("/admin/quotas/"))


@pytest.mark.parametrize(
    "address",
    ["/admin/quotas/none/shares/", "/admin/quotas/none/history/", "/admin/quotas/sandbox/history/99/"],
)
def test_what_is_not_there_is_not_found(visitor: Visitors, address: str) -> None:
    assert visitor("admin").get(address).status_code == 404


def test_several_node_groups_are_changed_by_one_version_with_one_reason(cast: Cast, visitor: Visitors) -> None:
    admin, before = visitor("admin"), stored(cast.cluster).number
    page = html(admin.get(ALL))
    assert 'name="percent.h100.vision"' in page and 'name="percent.a100.vision"' in page
    answer = admin.post(PLAN, **typed(cast, percent_vision="30") | {"act": "show", "show_group": "a100"})
    assert (answer.status_code, answer["Location"]) == (302, f"{ALL}?group=a100")
    assert shares()["vision"] == (4_000, 13)
    other = words(admin.get(ALL, group="a100"))
    assert "Vision H100 NVLink 13 10" in other and "1 value differs from what holds" in other
    fields = typed(cast, "a100") | {"percent.a100.vision": "20", "reason": "both at once"}
    assert admin.post(f"{ALL}?group=a100", **fields).status_code == 302
    newest = QuotaVersion.objects.order_by("-number")[0]
    assert (newest.number, newest.reason) == (max(before, 1) + 1, "both at once")
    vision = newest.content["queues"]["vision"]["groups"]
    assert (vision["h100"]["basis_points"], vision["a100"]["basis_points"]) == (3_000, 2_000)
    assert "differs from what holds" not in words(admin.get(ALL))


def test_a_draft_is_there_again_later_and_can_be_discarded(cast: Cast, visitor: Visitors) -> None:
    admin = visitor("admin")
    admin.post(PLAN, **typed(cast, percent_vision="30", act="preview"))
    assert 'name="percent.h100.vision" value="30"' in html(admin.get(PLAN))
    assert 'name="percent.h100.vision" value="40"' in html(visitor("admin").get(PLAN))  # another window, no draft
    admin.post(PLAN, **typed(cast, act="discard"))
    assert 'name="percent.h100.vision" value="40"' in html(admin.get(PLAN))
    assert shares()["vision"] == (4_000, 13)


def test_a_draft_of_another_group_is_laid_over_what_somebody_saved_meanwhile(cast: Cast, visitor: Visitors) -> None:
    admin = visitor("admin")
    admin.post(PLAN, **typed(cast, percent_language="30", act="preview"))
    save(cast, parts(vision=2_000))
    opened = admin.get(ALL, group="a100")
    assert "Vision, H100 NVLink: 40 % (13) became 20 % (6)" in words(opened)
    assert admin.post(f"{ALL}?group=a100", **typed(cast, "a100")).status_code == 302
    assert {name: points for name, (points, _cards) in shares().items()} == {
        "vision": 2_000,
        "language": 3_000,
        "robotics": 2_000,
    }


def test_the_rules_in_words_follow_what_is_typed(cast: Cast, visitor: Visitors) -> None:
    fields = typed(cast, percent_vision="20", act="preview") | {"borrow.h100.vision": "25", "rank.vision": "1"}
    said = words(visitor("admin").client.post(PLAN, fields, headers={"HX-Request": "true"}))
    assert "What these rules mean" in said
    assert "it also takes loans of low work" in said
    assert "A job of more than its 6 borrows, so it takes only such loans. It borrows at most 8" in said
    asleep = typed(cast, percent_vision="20", percent_robotics="0", act="preview")
    said = words(visitor("admin").client.post(PLAN, asleep, headers={"HX-Request": "true"}))
    assert "A job of more than its 6 starts on what is idle, but takes nothing back." in said
    assert "It has no share here: its jobs run on what is idle only" in said


def test_the_three_meanings_of_taking_back_stand_beside_the_rules(visitor: Visitors) -> None:
    said = words(visitor("admin").get(ALL))
    assert "A job of 8 cards of a team with 6 can start on idle cards. It takes nothing back for the last 2" in said
    assert "Give the other team a smaller share and let it borrow" in said
    assert "never loses cards to another team" in said


def test_the_preview_says_what_waiting_jobs_wait_for(stage: Stage, visitor: Visitors) -> None:
    for _ in range(4):
        stage.submit("eng-vision-1", cards=8, card_model="h100", command="sleep 900")
    stage.run(30)
    stage.submit("eng-language-1", name="wants its own", cards=16, card_model="h100")
    stage.run(2)
    fields = typed(stage.cast, percent_vision="20", percent_language="60", percent_robotics="20", act="preview")
    said = words(visitor("admin").post(PLAN, **fields))
    assert "when others have given cards back 0 1" in said and "when cards come free 1 0" in said
    assert "wants its own whole cards Language H100 NVLink 16 cards when cards come free when others have given" in said


def test_a_group_without_nodes_can_be_divided_and_says_that_it_has_none(cast: Cast, visitor: Visitors) -> None:
    cast.groups["h100"].nodes.all().delete()
    admin = visitor("admin")
    assert admin.post(PLAN, **typed(cast, percent_vision="50", percent_robotics="10")).status_code == 302
    assert shares() == {"vision": (5_000, 0), "language": (4_000, 0), "robotics": (1_000, 0)}
    assert "every share comes to 0 until one does" in words(admin.get(PLAN))


def test_what_cannot_be_is_said_before_one_leaves_for_another_sheet(cast: Cast, visitor: Visitors) -> None:
    admin, leaving = visitor("admin"), {"act": "show", "show_group": "a100"}
    answer = admin.post(PLAN, **typed(cast, percent_vision="0.05") | leaving)
    assert answer.status_code == 422 and "in steps of 0.1" in words(answer)
    too_much = admin.post(PLAN, **typed(cast, percent_vision="80") | leaving)
    assert too_much.status_code == 302  # the others of the group may be on the next sheet
    assert "come to 140 % together" in words(admin.get(ALL, group="a100"))
