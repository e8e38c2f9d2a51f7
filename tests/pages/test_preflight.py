"""The page of what a cluster can do, and the notices of what has become worse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from clusters.models import Cluster, Notice, PreflightRow
from clusters.preflight.service import preflight_run
from clusters.preflight.words import Feature
from tests.api.client import Api
from tests.cast import Cast
from tests.pages.visitor import Visitor, words

Visitors = Callable[[str | None], Visitor]


def worsen(cast: Cast) -> None:
    """The gate stopped between two looks."""
    preflight_run(cast.cluster, timezone.now() - timedelta(hours=2))
    PreflightRow.objects.filter(feature="gate_runs").update(verdict="missing", problem="gate_stopped")
    Notice.objects.create(
        cluster=cast.cluster,
        source="preflight",
        subject="gate_runs",
        facts={"before": "ok", "after": "missing", "problem": "gate_stopped", "facts": {}},
        opened_at=timezone.now(),
    )


def test_before_the_first_look_the_page_says_so(cast: Cast, visitor: Visitors) -> None:
    text = words(visitor("admin").get("/admin/clusters/sandbox/preflight/"))
    assert "Not looked at yet." in text and "No look yet" in text


def test_the_table_has_what_to_mend_first_and_a_row_for_each_feature(cast: Cast, visitor: Visitors) -> None:
    worsen(cast)
    text = words(visitor("admin").get("/admin/clusters/sandbox/preflight/"))
    assert "To look at 4 rows" in text and f"In order {len(Feature) - 4} rows" in text
    assert "No pod of the Kueue controller is ready." in text
    assert "Look at the deployment kueue-controller-manager." in text
    assert text.index("Jobs are admitted") < text.index("In order") < text.index("Shares count cards alone")


def test_an_admin_asks_for_a_look_and_is_told_that_it_comes(cast: Cast, visitor: Visitors) -> None:
    admin = visitor("admin")
    response = admin.post("/admin/clusters/sandbox/preflight/")
    assert (response.status_code, response.url) == (302, "/admin/clusters/sandbox/preflight/")
    assert "A new look is on its way." in words(admin.get("/admin/clusters/sandbox/preflight/"))
    preflight_run(Cluster.objects.get())
    assert "A new look is on its way." not in words(admin.get("/admin/clusters/sandbox/preflight/"))


def test_a_cluster_that_could_not_be_asked_says_why(cast: Cast, visitor: Visitors) -> None:
    Cluster.objects.update(survey_error="forbidden", survey_tried_at=timezone.now())
    text = words(visitor("admin").get("/admin/clusters/sandbox/preflight/"))
    assert "right" in text


def test_what_became_worse_is_a_banner_until_somebody_has_seen_it(cast: Cast, visitor: Visitors) -> None:
    worsen(cast)
    admin = visitor("admin")
    page = admin.get("/admin/clusters/")
    assert "Jobs are admitted: was OK, now Missing. No pod of the Kueue controller is ready." in words(page)
    assert "1 need attention" in words(admin.get("/admin/nodes/"))
    notice = Notice.objects.get()
    response = admin.post(f"/admin/notices/{notice.pk}/seen/")
    assert (response.status_code, response.url) == (302, "/admin/clusters/")
    assert "need attention" not in words(admin.get("/admin/clusters/"))
    assert Notice.objects.get().seen_by == cast.users["admin"]


def test_pages_are_in_the_readers_language(cast: Cast, visitor: Visitors) -> None:
    worsen(cast)
    client = visitor("admin").client
    text = words(client.get("/admin/clusters/sandbox/preflight/", headers={"Accept-Language": "zh-Hans"}))
    assert "Kueue 控制器没有就绪的 Pod。" in text and "No pod of the Kueue controller is ready." not in text


# --------------------------------------------------------------------------- API


def test_the_api_gives_the_table_and_takes_a_wish(cast: Cast) -> None:
    admin = Api("admin")
    assert admin.get("clusters/sandbox/preflight") == {
        "read_at": None,
        "is_asked": False,
        "error_code": "",
        "error": "",
        "rows": [],
    }
    assert admin.call("POST", "clusters/sandbox/preflight").status_code == 202
    assert admin.get("clusters/sandbox/preflight")["is_asked"] is True
    preflight_run(Cluster.objects.get())
    rows: list[dict[str, Any]] = admin.get("clusters/sandbox/preflight")["rows"]
    assert [row["feature"] for row in rows] == [feature.value for feature in Feature]
    results = next(row for row in rows if row["feature"] == "results")
    assert (results["verdict"], results["found"]) == ("missing", "No team has a volume here.")


@pytest.mark.parametrize("username", ["eng-vision-1", "lead-vision"])
def test_the_api_is_for_admins(cast: Cast, username: str) -> None:
    for method, path in (("GET", "clusters/sandbox/preflight"), ("GET", "notices"), ("POST", "notices/1/seen")):
        assert Api(username).call(method, path).status_code == 403
    assert Api("admin").call("GET", "clusters/nowhere/preflight").status_code == 404


def test_notices_over_the_api(cast: Cast) -> None:
    worsen(cast)
    (notice,) = Api("admin").get("notices")["results"]
    assert (notice["cluster"], notice["source"], notice["subject"]) == ("sandbox", "preflight", "gate_runs")
    assert notice["text"].startswith("Jobs are admitted: was OK, now Missing.")
    assert Api("admin").call("POST", f"notices/{notice['id']}/seen").status_code == 204
    assert Api("admin").get("notices")["results"] == []
    assert Api("admin").call("POST", "notices/999999/seen").status_code == 404
