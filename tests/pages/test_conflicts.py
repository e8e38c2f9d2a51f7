"""The page of conflicts, what admins decide about quotas set from outside, and the same by script."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from clusters.models import Notice
from jobs.models import Job
from jobs.services.submit import job_submit
from quotas.models import QuotaVersion, Share
from tests.api.client import Api, errors_of
from tests.cast import Cast
from tests.pages.visitor import Visitor, html, words
from tests.stage import BODY

Visitors = Callable[[str | None], Visitor]
PAGE = "/admin/clusters/sandbox/conflicts/"


def notice(cast: Cast, source: str, subject: str, facts: dict[str, Any], **more: Any) -> Notice:
    at = timezone.now() - timedelta(minutes=5)
    return Notice.objects.create(
        cluster=cast.cluster, source=source, subject=subject, facts=facts, opened_at=at, **more
    )


def drift(cast: Cast, found: int = 1, **more: Any) -> Notice:
    planned = Share.objects.get(queue=cast.queues["vision"], group=cast.groups["h100"]).nominal
    change = {"queue": "vision", "node_group": "h100", "field": "nominal", "planned": planned, "found": found}
    pool = {"queue": "", "node_group": "h100", "field": "nominal", "planned": 0, "found": 2}
    limit = {"queue": "vision", "node_group": "h100", "field": "lend_limit", "planned": None, "found": 0}
    rules = {"queue": "vision", "node_group": "", "field": "rules", "planned": None, "found": None}
    facts = {"changes": [change, pool, limit, rules], "by": ["kubectl-edit"], "at": None, "decided": "", **more}
    return notice(cast, "drift", "quotas", facts)


def submitted(cast: Cast) -> Job:
    return job_submit(actor=cast.actor("eng-vision-1"), data={**BODY, "name": "night run"}).job


def everything(cast: Cast, job: Job) -> None:
    """One conflict of each kind."""
    since = (timezone.now() - timedelta(minutes=7)).isoformat()
    proof = {"job": job.public_id, "attempt": 1, "cards": 8, "since": since}
    placed = {**proof, "pods": 1, "unplaceable": True}
    drift(cast)
    notice(cast, "not_placed", "h100", {"group": "H100", "free": 6, "blocks": [3, 3], "count": 1, "jobs": [placed]})
    notice(cast, "missing", "queues_again", {"count": 1, "queues": [{"queue": "vision"}]})
    ended = {**proof, "ended": False}
    notice(cast, "never_ending", "node-1", {"node": "node-1", "cards": 8, "count": 1, "jobs": [ended]})
    notice(
        cast,
        "loop",
        "a:b",
        {"count": 3, "times": [], "jobs": [{"job": job.public_id, "count": 2}, {"job": "01GONE", "count": 1}]},
    )
    nodes = [{"node": "node-2", "cards": 3}]
    pod = {"pod": "etl-7", "space": "etl", "scheduler": "house-scheduler", "cards": 3, "node": "node-2"}
    theirs = {"schedulers": ["house-scheduler"], "pods": [pod]}
    notice(cast, "two_schedulers", "h100", {"group": "H100", "cards": 3, "count": 1, "nodes": nodes, **theirs})


def test_without_conflicts_the_page_says_so(cast: Cast, visitor: Visitors) -> None:
    assert "No conflict Nothing works against" in words(visitor("admin").get(PAGE))


def test_each_conflict_has_its_sentence_its_proof_and_where_to_look(cast: Cast, visitor: Visitors) -> None:
    job = submitted(cast)
    everything(cast, job)
    page = visitor("admin").get(PAGE)
    text = words(page)
    for sentence in (
        "H100: 1 job is admitted, and no node takes it. Cards free there: 6.",
        "Its pod with 8 cards does not fit on any free node.",
        "The queue of vision was gone from the cluster. It is made again.",
        "node-1: pods were told to end and still hold 8 cards.",
        "Two jobs have interrupted each other 3 times within 30 minutes.",
        "H100: 3 cards are taken by pods of no queue, beside the jobs of teams. Placed by: house-scheduler.",
        "etl/etl-7 It holds 3 cards of node-2, and the scheduler house-scheduler has placed it.",
        "4 quotas are other than planned: they were set from outside the console, by kubectl-edit.",
        "Common pool h100: 0 cards are planned, 2 are set.",
        "vision h100: may lend any number of cards by the plan, 0 are set.",
        "vision Its order, or from whom it takes cards back, is other than planned.",
        "It was interrupted for the other one 2 times.",
    ):
        assert sentence in text, sentence
    assert f'href="/jobs/{job.public_id}/"' in html(page) and "night run" in text and "01GONE" in text
    assert "/admin/nodes/?cluster=sandbox&amp;node=node-2" in html(page)
    assert "Adopt" in text and "Take over" in text


def test_the_list_of_clusters_counts_them_and_leads_there(cast: Cast, visitor: Visitors) -> None:
    everything(cast, submitted(cast))
    page = visitor("admin").get("/admin/clusters/")
    assert "Conflicts 6" in words(page) and "What proves it" in words(page)
    assert html(page).count(f'href="{PAGE}"') == 7


def test_what_is_over_stands_below_for_a_week(cast: Cast, visitor: Visitors) -> None:
    for days in (1, 8):
        at = timezone.now() - timedelta(days=days)
        nodes = {"group": f"H{days}00", "cards": 3, "count": 1, "nodes": []}
        notice(cast, "two_schedulers", "h100", nodes, closed_at=at)
    text = words(visitor("admin").get(PAGE))
    assert "Over within a week" in text and "H100: 3 cards" in text and "H800" not in text


def test_the_page_needs_as_many_queries_for_many_conflicts(cast: Cast, visitor: Visitors) -> None:
    job = submitted(cast)
    everything(cast, job)
    admin = visitor("admin")
    few = admin.count_queries(PAGE)
    for number in range(20):
        facts = {
            "count": 3,
            "times": [],
            "jobs": [{"job": job.public_id, "count": 2}, {"job": f"01X{number}", "count": 1}],
        }
        notice(cast, "loop", f"a:{number}", facts)
    assert admin.count_queries(PAGE) == few <= 12


# --------------------------------------------------------------------------- deciding


def test_taking_over_is_asked_first_and_then_done(cast: Cast, visitor: Visitors) -> None:
    drift(cast)
    admin = visitor("admin")
    asked = words(admin.get(f"{PAGE}take-over/"))
    assert "Write the plan over what was set on Sandbox?" in asked and "by kubectl-edit" in asked
    assert Notice.objects.get().facts["decided"] == ""
    response = admin.post(f"{PAGE}take-over/")
    assert (response.status_code, response.url) == (302, PAGE)
    assert Notice.objects.get().closed_at is not None  # the sandbox is asked at once
    assert "are being written to Sandbox" in words(admin.get(PAGE))


def test_adopting_shows_what_it_would_do_and_then_makes_a_version(cast: Cast, visitor: Visitors) -> None:
    drift(cast)
    admin = visitor("admin")
    assert "Adopt what was set on Sandbox?" in words(admin.get(f"{PAGE}adopt/"))
    number = QuotaVersion.objects.order_by("-number").values_list("number", flat=True)[0]
    stale = admin.post(f"{PAGE}adopt/", expected_version=number - 1)
    assert stale.status_code == 409 and Notice.objects.get().facts["decided"] == ""
    response = admin.post(f"{PAGE}adopt/", expected_version=number, reason="Night shift")
    assert (response.status_code, response.url) == (302, PAGE)
    version = QuotaVersion.objects.order_by("-number")[0]
    assert (version.cause, version.reason) == ("adopt", "Night shift")
    assert Share.objects.get(queue=cast.queues["vision"], group=cast.groups["h100"]).nominal == 1


def test_what_cannot_be_adopted_says_why(cast: Cast, visitor: Visitors) -> None:
    drift(cast, found=10_000)
    admin = visitor("admin")
    assert admin.get(f"{PAGE}adopt/").status_code == 302
    assert "it is more than the node group has" in words(admin.get(PAGE))


@pytest.mark.parametrize("decided", ["take_over", "adopt"])
def test_what_is_decided_is_not_asked_again(cast: Cast, visitor: Visitors, decided: str) -> None:
    drift(cast, decided=decided)
    page = visitor("admin").get(PAGE)
    assert "take-over/" not in html(page) and "Quotas were set from outside the console." in words(page)


# --------------------------------------------------------------------------- API


def test_notices_come_with_their_facts(cast: Cast) -> None:
    drift(cast)
    (told,) = Api("admin").get("notices")["results"]
    assert (told["source"], told["subject"], told["cluster"]) == ("drift", "quotas", "sandbox")
    assert told["facts"]["by"] == ["kubectl-edit"] and told["text"].startswith("4 quotas are other than planned")


def test_a_script_decides_after_a_dry_run(cast: Cast) -> None:
    drift(cast)
    api = Api("admin")
    path = "clusters/sandbox/quota-plan"
    number = api.get(path)["version"]
    told = api.call("POST", f"{path}/adopt", {"expected_version": number, "dry_run": True}).json()
    assert told["dry_run"] is True and told["preview"]["cards"]
    assert api.call("POST", f"{path}/take-over", {"dry_run": True}).json()["dry_run"] is True
    assert api.get(path)["version"] == number and Notice.objects.get().facts["decided"] == ""
    saved = api.call("POST", f"{path}/adopt", {"expected_version": number}).json()
    assert saved["plan"]["version"] == number + 1
    for part, body in (("adopt", {"expected_version": number + 1}), ("take-over", {})):
        again = api.call("POST", f"{path}/{part}", body)
        assert errors_of(again, 409) == [(None, "no_drift")]
