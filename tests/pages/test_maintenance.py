"""The page of maintenance, and what people whose jobs run into it are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django.utils.timezone import localtime

from clusters.nodes_models import Maintenance
from jobs.maintenance import tell_owners
from jobs.models import Job, JobEvent
from tests.api.client import Api
from tests.cast import Cast
from tests.pages.visitor import Visitor, field_error, words
from tests.stage import Stage

Visitors = Callable[[str | None], Visitor]


@pytest.fixture
def stage(cast: Cast) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def fields(**changes: str) -> dict[str, str]:
    begin = localtime(timezone.now() + timedelta(hours=2))
    values = {
        "place": "sandbox/h100",
        "node": "",
        "starts_at": begin.strftime("%Y-%m-%dT%H:%M"),
        "ends_at": (begin + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M"),
        "reason": "new firmware",
    }
    return {**values, **changes}


def running(stage: Stage, **more: Any) -> Job:
    job = stage.submit("eng-vision-1", cards=8, card_model="h100", command="sleep 90000", **more)
    stage.run(60)
    job.refresh_from_db()
    assert job.state == "running"
    return job


def test_maintenance_of_a_group_is_planned_and_called_off(stage: Stage, visitor: Visitors) -> None:
    admin = visitor("admin")
    assert "Nothing is planned" in words(admin.get("/admin/maintenance/"))
    assert admin.post("/admin/maintenance/", **fields()).status_code == 302
    row = Maintenance.objects.get()
    assert (row.node, row.group, row.reason) == ("", stage.cast.groups["h100"], "new firmware")
    said = words(admin.get("/admin/maintenance/"))
    assert "H100 NVLink Sandbox · new firmware · admin" in said and "to come" in said
    assert admin.post(f"/admin/maintenance/{row.public_id}/cancel/").status_code == 302
    assert "called off" in words(admin.get("/admin/maintenance/"))
    assert admin.post(f"/admin/maintenance/{row.public_id}/cancel/").status_code == 302, "told, not broken"
    assert admin.post("/admin/maintenance/none/cancel/").status_code == 404


def test_one_node_is_planned_from_its_own_page(stage: Stage, visitor: Visitors) -> None:
    admin = visitor("admin")
    form = admin.get("/admin/maintenance/", cluster="sandbox", group="h100", node="h100-02")
    assert b'value="h100-02"' in form.content
    admin.post("/admin/maintenance/", **fields(node="h100-02"))
    row = Maintenance.objects.get()
    assert (row.node, row.group) == ("h100-02", None)


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"starts_at": ""}, "starts_at", "Say when"),
        ({"ends_at": "2020-01-01T00:00"}, "ends_at", "after its start"),
        ({"reason": " "}, "reason", "Say why"),
        ({"node": "none"}, "node", "no node of this name"),
    ],
)
def test_what_makes_no_sense_is_said_at_its_field(
    stage: Stage, visitor: Visitors, changes: dict[str, str], field: str, said: str
) -> None:
    answer = visitor("admin").post("/admin/maintenance/", **fields(**changes))
    assert answer.status_code == 422 and said in field_error(answer, field)
    assert not Maintenance.objects.exists()


def test_owners_of_jobs_that_would_not_end_before_are_told_once(stage: Stage, visitor: Visitors) -> None:
    endless, short = running(stage), running(stage, max_run_seconds=600)
    visitor("admin").post("/admin/maintenance/", **fields())
    assert tell_owners(timezone.now()) == 1 and tell_owners(timezone.now()) == 0
    event = JobEvent.objects.get(code="maintenance_ahead")
    assert event.job == endless and event.facts["maintenance"] == Maintenance.objects.get().public_id
    owner = visitor("eng-vision-1")
    said = words(owner.get(f"/jobs/{endless.public_id}/"))
    assert "before it would end: new firmware. Save its work before." in said
    assert "Maintenance takes its nodes at" in said
    assert "new firmware" not in words(owner.get(f"/jobs/{short.public_id}/"))


def test_a_job_that_is_kept_back_says_why(stage: Stage, visitor: Visitors) -> None:
    visitor("admin").post("/admin/maintenance/", **fields())
    job = stage.submit("eng-vision-1", cards=8, card_model="h100", command="sleep 60")
    stage.run(10)
    said = words(visitor("eng-vision-1").get(f"/jobs/{job.public_id}/"))
    assert "It would not end before maintenance of the nodes that could hold it" in said


def test_a_script_plans_and_calls_off(stage: Stage) -> None:
    running(stage)
    api, now = Api("admin"), timezone.now()
    body = {
        "cluster": "sandbox",
        "node_group": "h100",
        "starts_at": (now + timedelta(hours=1)).isoformat(),
        "ends_at": (now + timedelta(hours=2)).isoformat(),
        "reason": "firmware",
    }
    asked = api.call("POST", "maintenance", {**body, "dry_run": True})
    assert asked.status_code == 200 and (asked.json()["on_it"], len(asked.json()["nodes"])) == (1, 4)
    assert not Maintenance.objects.exists()
    made = api.call("POST", "maintenance", body)
    assert made.status_code == 201
    (row,) = api.get("maintenance")
    assert (row["id"], row["node_group"], row["by"]) == (made.json()["id"], "h100", "admin")
    assert api.call("POST", f"maintenance/{row['id']}/cancel").json()["cancelled_at"] is not None
    assert api.call("POST", f"maintenance/{row['id']}/cancel").status_code == 409
    for wrong in (
        {"starts_at": "2026-01-01T00:00"},
        {"ends_at": 7},
        {"ends_at": "9999-12-31T23:59:59Z"},
        {"node": "a\x00"},
    ):
        assert api.call("POST", "maintenance", {**body, **wrong}).status_code == 400
    assert Api("lead-vision").call("GET", "maintenance").status_code == 403
