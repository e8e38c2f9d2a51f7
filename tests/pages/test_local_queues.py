"""The lead's page of local queues, without scripts; and the admin's, which only shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from clusters.models import PreflightRow
from jobs.services.submit import job_submit
from quotas.limits import limits_let_in
from quotas.models import LocalQueue
from quotas.services import quota_plan
from tests.cast import Cast
from tests.pages.visitor import Visitor, field_error, html, words

Visitors = Callable[[str | None], Visitor]
PAGE = "/team/vision/queues/"


def night() -> LocalQueue:
    return LocalQueue.objects.get(name="Night")


def act(lead: Visitor, do: str, **fields: Any) -> Any:
    return lead.post(PAGE, do=do, queue=night().pk, **fields)


@pytest.fixture
def lead(visitor: Visitors) -> Visitor:
    found = visitor("lead-vision")
    assert found.post(PAGE, **{"new-name": "Night"}).status_code == 302
    return found


def test_a_lead_adds_a_queue_and_sees_it(lead: Visitor) -> None:
    assert "Night default" not in words(lead.get(PAGE))
    assert "Add a local queue" in words(lead.get(PAGE))
    assert night().state == "open"


def test_holding_asks_for_a_reason_and_shows_it_with_the_name(lead: Visitor, cast: Cast) -> None:
    question = words(lead.get(PAGE, do="hold", queue=night().pk))
    assert "Hold Night?" in question and "New jobs are taken, and wait too." in question
    refused = act(lead, "hold", reason=" ")
    assert refused.status_code == 422
    assert "Say why" in field_error(refused, "reason")
    assert act(lead, "hold", reason="Storage is moved").status_code == 302
    page = words(lead.get(PAGE))
    assert "Held" in page and "Storage is moved" in page and "lead-vision" in page
    assert [q.held_local_queues for q in quota_plan(cast.cluster).queues if q.queue == "vision"] == [("night",)]


@pytest.mark.parametrize(
    ("do", "fields", "changed"),
    [
        ("drain", {"reason": "Over"}, {"state": "draining"}),
        ("reopen", {}, {"state": "open"}),
        ("change", {"name": "Late"}, {"name": "Late"}),
        ("default", {}, {"is_default": True}),
        ("close", {}, {"state": "closed"}),
    ],
)
def test_every_act_asks_first_and_is_done_by_a_form(
    lead: Visitor, do: str, fields: dict[str, str], changed: dict[str, Any]
) -> None:
    queue = night()
    assert 'id="confirm-title"' in html(lead.get(PAGE, do=do, queue=queue.pk))
    assert act(lead, do, **fields).status_code == 302
    queue.refresh_from_db()
    assert {name: getattr(queue, name) for name in changed} == changed


def test_a_refusal_stands_in_the_question(lead: Visitor, cast: Cast) -> None:
    default = cast.local_queue("vision")
    page = lead.post(PAGE, do="close", queue=default.pk)
    assert page.status_code == 422
    assert "First make another the default" in words(page)
    taken = lead.post(PAGE, **{"new-name": "night"})
    assert taken.status_code == 422
    assert "of this name already" in field_error(taken, "new-name")


def test_what_is_not_the_teams_is_not_there(lead: Visitor, cast: Cast) -> None:
    for do, queue in (("hold", cast.local_queue("language").pk), ("blow-up", night().pk), ("hold", "x")):
        assert lead.get(PAGE, do=do, queue=queue).status_code == 404
        assert lead.post(PAGE, do=do, queue=queue, reason="x").status_code == 404


def test_weights_are_hidden_with_the_reason_where_they_order_nothing(lead: Visitor, cast: Cast) -> None:
    page = lead.get(PAGE)
    assert "Queues have no weights here" in words(page) and "new-weight" not in html(page)
    PreflightRow.objects.update_or_create(
        cluster=cast.cluster, feature="queue_weights", defaults={"verdict": "ok", "since": cast.cluster.created_at}
    )
    page = lead.get(PAGE)
    assert "Queues have no weights here" not in words(page) and "new-weight" in html(page)
    assert act(lead, "change", name="Night", weight="3").status_code == 302
    assert night().weight == 3


def test_an_admin_sees_the_queues_of_all_teams_and_no_button(lead: Visitor, visitor: Visitors) -> None:
    page = visitor("admin").get("/admin/queues/")
    assert {"Vision", "Language", "Robotics", "Night"} <= set(words(page).split())
    assert "do=hold" not in html(page)


def test_limits_are_set_by_the_form_and_told_of_before_where_they_touch_a_job(
    lead: Visitor, visitor: Visitors, cast: Cast
) -> None:
    assert act(lead, "change", name="Night", most_cards="8", most_cards_each="4").status_code == 302
    assert (night().most_cards, night().most_cards_each) == (8, 4)
    assert "0 of 8 4 for one person" in words(lead.get(PAGE))
    refused = act(lead, "change", name="Night", most_cards="0")
    assert refused.status_code == 422 and "hold the queue" in field_error(refused, "most_cards")
    for number in range(2):
        body = {"framework": "pytorch", "image": "registry.example/a:1", "cards": 2, "card_model": "h100"}
        body |= {"priority": "normal", "name": f"probe {number}", "local_queue": "night"}
        job = job_submit(actor=cast.actor("eng-vision-1"), data=body).job
        limits_let_in({job.public_id: job.local_queue_id}, timezone.now())
    question = act(lead, "change", name="Night", most_cards="2", most_cards_each="")
    assert question.status_code == 200 and night().most_cards == 8
    assert "1 job was let in already, is beyond the limit and goes on: probe 1 (whole cards)." in words(question)
    assert act(lead, "change", name="Night", most_cards="2", most_cards_each="", seen="0 1").status_code == 302
    assert (night().most_cards, night().most_cards_each) == (2, None)
    assert "4 of 2" in words(visitor("admin").get("/admin/queues/"))
    assert act(lead, "change", name="Night", most_cards="", most_cards_each="").status_code == 302
    assert night().most_cards is None
