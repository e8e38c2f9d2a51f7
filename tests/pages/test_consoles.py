"""Sign-in, roles, the lead's and the admin's pages, and what holds for every page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from allauth.account.adapter import get_adapter
from django.db import InterfaceError, OperationalError
from django.test import Client, RequestFactory
from django.urls import reverse
from redis.exceptions import ConnectionError as RedisConnectionError

from accounts.models import ApiToken, AuditEvent, Membership, Team, User
from clusters.models import Node
from console.pages import server_error
from console.settings import production
from jobs.models import Job
from quotas.models import Share
from tests.cast import PASSWORD, Cast
from tests.node_rows import count_cards
from tests.pages.crowd import crowd
from tests.pages.visitor import Visitor, html, words
from tests.stage import Stage

Visitors = Callable[[str | None], Visitor]

PAGES = {
    "eng-vision-1": ["/jobs/", "/jobs/?whose=team", "/jobs/new/", "/account/tokens/"],
    "lead-vision": ["/team/vision/", "/team/vision/jobs/"],
    "admin": [
        "/admin/nodes/",
        "/admin/nodes/?node=h100-01",
        "/admin/nodes/?show=attention",
        "/admin/quotas/",
        "/admin/jobs/",
        "/admin/setup/",
        "/admin/audit/",
    ],
}
EVERY_PAGE = [(who, path) for who, paths in PAGES.items() for path in paths]


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


# --------------------------------------------------------------------------- every page


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize(("who", "path"), EVERY_PAGE)
def test_every_page_renders_for_its_role_in_both_languages(
    cast: Cast, visitor: Visitors, who: str, path: str, language: str
) -> None:
    crowd(cast, 14, usernames=("eng-vision-1", "eng-language-1"))
    User.objects.update(language=language)
    answer = visitor(who).get(path)
    text = html(answer)
    assert answer.status_code == 200
    assert f'<html lang="{"zh-Hans" if language == "zh-hans" else "en"}"' in text
    assert not re.search(r"%\(\w+\)[sd]|\{\{|\{%", text), "a placeholder was left unfilled"
    assert text.count("<h1") == 1


@pytest.mark.parametrize(("who", "path"), EVERY_PAGE)
def test_no_page_needs_what_the_content_security_policy_forbids(
    cast: Cast, visitor: Visitors, who: str, path: str
) -> None:
    crowd(cast, 7)
    answer = visitor(who).get(path)
    text = html(answer)
    assert "unsafe" not in answer["Content-Security-Policy"]
    assert not re.search(r"<[^>]+\sstyle=", text), "a style attribute"
    assert not re.search(r"<[^>]+\son[a-z]+=", text), "a handler attribute"
    assert not re.search(r"<script(?![^>]*\ssrc=)", text), "an inline script"
    assert "<style" not in text
    assert not re.search(r'(?:src|href)="(?:https?:)?//', text), "something from another host"


@pytest.mark.parametrize(("who", "path"), EVERY_PAGE)
def test_ids_are_unique_and_references_lead_somewhere(cast: Cast, visitor: Visitors, who: str, path: str) -> None:
    crowd(cast, 7)
    text = html(visitor(who).get(path))
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids)), {i for i in ids if ids.count(i) > 1}
    referred = re.findall(r'\s(?:for|aria-labelledby|aria-describedby|data-copy|popovertarget)="([^"]+)"', text)
    missing = {name for value in referred for name in value.split()} - set(ids)
    assert missing <= {"confirm-title"}, "only the dialog's title comes later"


@pytest.mark.parametrize("path", [path for _who, path in EVERY_PAGE])
def test_strangers_are_sent_to_the_sign_in_page_and_back(visitor: Visitors, path: str) -> None:
    stranger = visitor(None)
    answer = stranger.get(path)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in/?next=/")
    fragment = stranger.fragment(path)
    assert fragment.status_code == 401 and fragment["HX-Redirect"].startswith("/sign-in/?next=/")


@pytest.mark.parametrize("who", ["eng-vision-1", "lead-vision"])
@pytest.mark.parametrize("path", PAGES["admin"])
def test_the_admins_pages_are_for_admins(visitor: Visitors, who: str, path: str) -> None:
    answer = visitor(who).get(path)
    assert answer.status_code == 403
    assert "for platform admins" in words(answer)


@pytest.mark.parametrize("rest", ["", "jobs/"])
def test_a_lead_sees_the_own_team_only(visitor: Visitors, rest: str) -> None:
    assert visitor("lead-vision").get(f"/team/vision/{rest}").status_code == 200
    assert visitor("lead-vision").get(f"/team/language/{rest}").status_code == 404
    assert visitor("lead-vision").get(f"/team/nobody/{rest}").status_code == 404
    assert visitor("eng-vision-1").get(f"/team/vision/{rest}").status_code == 403
    assert visitor("eng-language-1").get(f"/team/vision/{rest}").status_code == 404
    assert visitor("admin").get(f"/team/vision/{rest}").status_code == 404


def test_everybody_begins_in_the_console_that_fits(cast: Cast, visitor: Visitors) -> None:
    def first(who: str) -> str:
        return visitor(who).get("/").headers.get("Location", "")

    assert first("eng-vision-1") == first("lead-vision") == "/jobs/"
    assert first("admin") == "/admin/nodes/"
    Team.objects.update(archived_at="2026-01-01T00:00:00Z")
    assert first("admin") == "/admin/setup/"
    assert "You are in no team yet." in words(visitor("eng-vision-1").get("/"))


def test_a_lead_switches_consoles_and_an_engineer_has_one(visitor: Visitors) -> None:
    lead, engineer = html(visitor("lead-vision").get("/jobs/")), html(visitor("eng-vision-1").get("/jobs/"))
    assert '<a href="/team/vision/">' in lead and "sl-switch-menu" in lead
    assert "sl-switch-menu" not in engineer


# --------------------------------------------------------------------------- sign-in, language, tokens


def test_one_signs_in_is_led_on_and_signs_out(cast: Cast) -> None:
    browser = Client()
    form = browser.get("/sign-in/?next=/account/tokens/")
    assert 'name="next" value="/account/tokens/"' in html(form)
    answer = browser.post("/sign-in/", {"login": "eng-vision-1", "password": PASSWORD, "next": "/account/tokens/"})
    assert answer["Location"] == "/account/tokens/"
    assert browser.get("/account/tokens/").status_code == 200
    browser.post("/sign-out/")
    assert browser.get("/account/tokens/").status_code == 302


def test_a_wrong_password_is_said_at_the_form(cast: Cast) -> None:
    answer = Client().post("/sign-in/", {"login": "eng-vision-1", "password": "wrong"})
    assert answer.status_code == 200
    assert 'role="alert"' in html(answer)
    assert 'value="eng-vision-1"' in html(answer)


def test_a_stranger_changes_the_language_of_the_sign_in_page(cast: Cast) -> None:
    browser = Client(headers={"accept-language": "en"})
    answer = browser.post("/account/language/", {"language": "zh-hans", "next": "/sign-in/"})
    assert answer["Location"] == "/sign-in/"
    assert '<html lang="zh-Hans"' in html(browser.get("/sign-in/"))


def test_a_persons_language_is_kept_with_the_person(cast: Cast, visitor: Visitors) -> None:
    engineer = visitor("eng-vision-1")
    engineer.post("/account/language/", language="zh-hans", next="/jobs/?state=failed")
    assert User.objects.get(username="eng-vision-1").language == "zh-hans"
    assert '<html lang="zh-Hans"' in html(visitor("eng-vision-1").get("/jobs/"))


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)", ""])
def test_the_language_switch_leads_nowhere_else(visitor: Visitors, target: str) -> None:
    answer = visitor("eng-vision-1").post("/account/language/", language="en", next=target)
    assert answer["Location"] == "/"


def test_a_language_nobody_offers_is_refused(visitor: Visitors) -> None:
    assert visitor("eng-vision-1").post("/account/language/", language="tlh").status_code == 400


def test_a_token_is_shown_once_and_works_until_it_is_revoked(visitor: Visitors) -> None:
    engineer = visitor("eng-vision-1")
    made = engineer.post("/account/tokens/", name="nightly", days="30")
    text = re.search(r'<code id="token-text">(\w+)</code>', html(made))
    assert text is not None and "no-store" in made["Cache-Control"]
    again = engineer.get("/account/tokens/")
    assert "nightly" in words(again) and text[1] not in html(again)
    header = {"Authorization": f"Token {text[1]}"}
    assert Client().get("/api/v1/me", headers=header).status_code == 200
    token = ApiToken.objects.get()
    engineer.post(f"/account/tokens/{token.public_id}/revoke/")
    assert Client().get("/api/v1/me", headers=header).status_code == 401


@pytest.mark.parametrize(("name", "days"), [("", "30"), ("x", "0"), ("x", "400"), ("x", "many")])
def test_a_token_that_cannot_be_made_says_why(visitor: Visitors, name: str, days: str) -> None:
    answer = visitor("eng-vision-1").post("/account/tokens/", name=name, days=days)
    assert answer.status_code == 422
    assert 'class="sl-error"' in html(answer)
    assert not ApiToken.objects.exists()


def test_nobody_revokes_the_token_of_another(visitor: Visitors) -> None:
    visitor("eng-vision-1").post("/account/tokens/", name="mine", days="30")
    token = ApiToken.objects.get()
    assert visitor("eng-vision-2").post(f"/account/tokens/{token.public_id}/revoke/").status_code == 404
    assert ApiToken.objects.exists()


# --------------------------------------------------------------------------- the lead's console


def test_the_lead_sees_what_the_share_is_used_for(stage: Stage, visitor: Visitors) -> None:
    stage.submit("eng-vision-1", name="large", cards=16, card_model="h100", command="sleep 900")
    stage.run(30)
    said = words(visitor("lead-vision").get("/team/vision/"))
    assert "16 cards are in use. 3 of them are borrowed." in said
    assert "H100 NVLink share 13 cards, 40 %" in said
    assert "used 16 reserved 0 free 0 borrowed 3 lent 0" in said
    assert "eng-vision-1 1 16 0" in said, "who holds them"


def test_the_queue_is_in_the_order_in_which_jobs_are_tried(stage: Stage, visitor: Visitors) -> None:
    for name, priority, who in (("first", "normal", "eng-vision-1"), ("low", "low", "eng-vision-2")):
        stage.submit(who, name=name, priority=priority, cards=32, card_model="h100")
    stage.submit("lead-vision", name="raised", priority="high", cards=32, card_model="h100")
    held = stage.submit("eng-vision-1", name="put aside", cards=32, card_model="h100")
    Job.objects.filter(pk=held.pk).update(held=True)
    Job.objects.update(state="queued")
    text = html(visitor("lead-vision").get("/team/vision/"))
    assert re.findall(r'<a class="sl-name"[^>]*>([^<]*)</a>', text) == ["raised", "first", "low", "put aside"]
    assert "Waiting, 3 jobs · 1 held" in words(visitor("lead-vision").get("/team/vision/"))


def test_the_teams_list_is_narrowed_to_one_person(stage: Stage, visitor: Visitors) -> None:
    stage.submit("eng-vision-1", name="his")
    stage.submit("eng-vision-2", name="hers")
    said = html(visitor("lead-vision").get("/team/vision/jobs/", owner="eng-vision-2"))
    assert re.findall(r'<a class="sl-name"[^>]*>([^<]*)</a>', said) == ["hers"]


# --------------------------------------------------------------------------- the admin's console


def test_every_card_is_a_square_with_the_letter_of_its_team(stage: Stage, visitor: Visitors) -> None:
    stage.submit("eng-vision-1", cards=5, card_model="h100", command="sleep 900")
    stage.submit("eng-language-1", cards=2, card_model="h100", command="sleep 900")
    stage.run(30)
    text = html(visitor("admin").get("/admin/nodes/"))
    squares = re.findall(r'<span class="sl-squares" role="img" aria-label="(h100-\d\d): [^"]*">(.*?)</span>', text)
    letters = "".join(letter for _node, drawn in squares for letter in re.findall(r"<i>(\w)</i>", drawn))
    assert sorted(letters) == ["L", "L", "V", "V", "V", "V", "V"]
    assert all(drawn.count("<i") == 8 for _node, drawn in squares)


def test_a_node_opens_at_the_side_with_its_jobs(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit("eng-vision-1", name="who is there", cards=8, card_model="h100", command="sleep 900")
    stage.run(30)
    node = job.attempts.get().runs.get().nodes[0]
    answer = visitor("admin").get("/admin/nodes/", node=node)
    assert f'<h2 id="detail-title" class="sl-mono">{node}</h2>' in html(answer)
    assert re.search("who is there eng-vision-1 . Vision", words(answer))


def test_a_cordoned_node_is_never_free_and_needs_attention(stage: Stage, visitor: Visitors) -> None:
    Node.objects.filter(name="h100-01").update(health="cordoned")
    count_cards()
    answer = visitor("admin").get("/admin/nodes/")
    assert "8 cards are out of service" in words(answer)
    assert "h100-01: 0 used, 0 reserved, 0 ending, 0 outside, 0 free, 8 out of service" in html(answer)
    narrowed = html(visitor("admin").get("/admin/nodes/", show="attention"))
    assert set(re.findall(r'id="node-([^"]+)"', narrowed)) == {"h100-01", "side"}


def test_from_an_empty_room_to_a_person_who_can_submit(cast: Cast, visitor: Visitors) -> None:
    admin = visitor("admin")
    assert admin.post("/admin/setup/teams/", **{"team-name": "Speech"}).status_code == 302
    team = Team.objects.get(name="Speech")
    made = admin.post(
        "/admin/setup/people/",
        **{"person-username": "new", "person-full_name": "王雨桐", "person-team": team.slug, "person-role": "engineer"},
    )
    password = re.search(r'<code id="password">([^<]+)</code>', html(made))
    assert password is not None and "no-store" in made["Cache-Control"]
    assert password[1] not in html(admin.get("/admin/setup/"))
    assert admin.post("/admin/quotas/equal/").status_code == 302
    assert set(Share.objects.values_list("basis_points", flat=True)) == {2500}
    browser = Client()
    assert browser.post("/sign-in/", {"login": "new", "password": password[1]}).status_code == 302
    answer = browser.post(
        "/jobs/new/", {"framework": "pytorch", "image": "a/b:1", "cards": "4", "priority": "normal", "kind": "training"}
    )
    assert answer.status_code == 302 and Job.objects.get().team == team


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("teams/", {"team-name": " "}),
        ("teams/", {"team-name": "Vision"}),
        ("people/", {"person-username": "", "person-team": "vision", "person-role": "engineer"}),
        ("people/", {"person-username": "eng-vision-1", "person-team": "vision", "person-role": "engineer"}),
        ("people/", {"person-username": "x", "person-team": "no-team", "person-role": "engineer"}),
        ("people/", {"person-username": "x", "person-team": "vision", "person-role": "king"}),
        ("members/", {"member-username": "nobody", "member-team": "vision", "member-role": "lead"}),
        ("members/", {"member-username": "eng-vision-1", "member-team": "vision", "member-role": "king"}),
        ("members/", {"member-username": "eng-vision-1", "member-team": "vision", "member-role": ""}),
        ("members/", {"member-username": "eng-vision-1", "member-team": "vision"}),
    ],
)
def test_a_team_or_person_that_cannot_be_added_says_why(
    cast: Cast, visitor: Visitors, path: str, fields: dict[str, str]
) -> None:
    before = (Team.objects.count(), User.objects.count())
    answer = visitor("admin").post(f"/admin/setup/{path}", **fields)
    assert answer.status_code == 422
    assert 'class="sl-error"' in html(answer)
    assert (Team.objects.count(), User.objects.count()) == before


def test_a_person_taken_out_of_a_team_loses_it_at_once(cast: Cast, visitor: Visitors) -> None:
    engineer = visitor("eng-vision-1")
    membership = Membership.objects.get(user=cast.users["eng-vision-1"])
    visitor("admin").post(reverse("admin_console:member_remove", args=[membership.pk]))
    assert "You are in no team yet." in words(engineer.get("/"))
    again = {"member-username": "eng-vision-1", "member-team": "robotics", "member-role": "lead"}
    visitor("admin").post("/admin/setup/members/", **again)
    assert Membership.objects.get(user=cast.users["eng-vision-1"]).role == "lead"


def test_the_audit_trail_names_who_did_what(stage: Stage, visitor: Visitors) -> None:
    job = stage.submit("eng-vision-1")
    visitor("eng-vision-1").post(f"/jobs/{job.public_id}/cancel/")
    said = words(visitor("admin").get("/admin/audit/"))
    assert re.search(rf"eng-vision-1 job\.cancel {job.public_id} whole cards Vision", said)


def test_the_audit_trail_is_paged(cast: Cast, visitor: Visitors) -> None:
    AuditEvent.objects.bulk_create(
        AuditEvent(actor_name=f"person {n}", action="x.y", target_type="t", target_id="1") for n in range(120)
    )
    first = html(visitor("admin").get("/admin/audit/"))
    older = re.search(r'href="(\?[^"]*)" rel="next"', first)
    assert older is not None
    second = html(visitor("admin").get(f"/admin/audit/{older[1]}"))
    names = [set(re.findall(r"person \d+", text)) for text in (first, second)]
    assert len(names[0]) == len(names[1]) == 50 and not names[0] & names[1]


# --------------------------------------------------------------------------- Django's own admin


def test_the_operators_admin_can_be_read_and_not_written(cast: Cast, visitor: Visitors) -> None:
    crowd(cast, 2)
    Job.objects.update(env={"SECRET": "hush"})
    User.objects.filter(username="admin").update(is_staff=True)
    admin = visitor("admin")
    index = html(admin.get("/operator/"))
    lists = sorted(set(re.findall(r'href="(/operator/(?:accounts|jobs|quotas|clusters)/\w+/)"', index)))
    assert len(lists) >= 12
    for path in lists:
        assert admin.get(path).status_code == 200, path
        assert admin.get(f"{path}add/").status_code == 403, path
    for model in (Job, User):
        row = model.objects.order_by("pk").first()
        path = f"/operator/{model._meta.app_label}/{model._meta.model_name}/{row.pk}/change/"  # type: ignore[union-attr]
        text = html(admin.get(path))
        assert "hush" not in text and "md5$" not in text
        assert admin.post(path).status_code == 403


def test_the_operators_admin_is_closed_to_others(visitor: Visitors) -> None:
    assert visitor("lead-vision").get("/operator/jobs/job/").status_code == 302


@pytest.mark.parametrize("path", ["/jobs/", "/jobs/new/", "/account/tokens/", "/nowhere/", "/api/v1/jobs", "/readyz"])
def test_no_cache_keeps_what_one_person_was_shown(visitor: Visitors, path: str) -> None:
    kept = visitor("eng-vision-1").get(path).headers["Cache-Control"]
    assert {"no-store", "private"} <= set(kept.split(", "))


def test_behind_the_proxy_the_limit_of_sign_ins_counts_each_address(rf: RequestFactory, settings: Any) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = production.ALLAUTH_TRUSTED_PROXY_COUNT
    asked = rf.get("/sign-in/", REMOTE_ADDR="127.0.0.1", headers={"X-Forwarded-For": "203.0.113.9"})
    assert get_adapter().get_client_ip(asked) == "203.0.113.9"


# --------------------------------------------------------------------------- errors


def test_errors_say_what_is_lost_and_what_is_not(visitor: Visitors) -> None:
    missing = visitor("eng-vision-1").get("/nowhere/")
    assert missing.status_code == 404 and "look the same on purpose" in words(missing)
    forged = Client(enforce_csrf_checks=True).post("/account/language/", {"language": "en"})
    assert forged.status_code == 403 and "too old to be sent" in words(forged)


def test_the_page_for_our_own_failure_needs_no_database(rf: RequestFactory) -> None:
    answer = server_error(rf.get("/jobs/"))
    assert answer.status_code == 500 and "Jobs that were submitted are safe" in words(answer)


@pytest.mark.parametrize("error", [OperationalError, InterfaceError, RedisConnectionError])
@pytest.mark.parametrize("path", ["/jobs/", "/api/v1/jobs"])
def test_while_the_data_is_away_people_and_scripts_are_asked_to_come_back(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, path: str, error: type[Exception]
) -> None:
    def away(*_args: object, **_named: object) -> None:
        raise error("the connection is closed")

    client = Client(raise_request_exception=False)
    client.force_login(cast.users["eng-vision-1"], backend="allauth.account.auth_backends.AuthenticationBackend")
    monkeypatch.setattr("jobs.selectors.jobs_visible", away)
    answer = client.get(path)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    monkeypatch.setattr("jobs.selectors.jobs_visible", lambda _viewer: 1 // 0)
    assert client.get(path).status_code == 500


def test_a_time_zone_that_this_machine_does_not_know_breaks_no_page(visitor: Visitors, cast: Cast) -> None:
    User.objects.filter(username="eng-vision-1").update(time_zone="Atlantis/Capital")
    assert visitor("eng-vision-1").get("/jobs/").status_code == 200
