"""The page about a group of shared card slices, the same by script, and the mark of every job that is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from clusters.models import NodeGroup, Notice
from jobs.models import Job
from quotas.selectors.sharing import sharing_view
from quotas.sharing_models import SharingPolicy
from tests.api.client import Api, errors_of
from tests.cast import Cast
from tests.pages.visitor import Visitor, field_error, html, words
from tests.slices import add_slices
from tests.stage import Stage

Visitors = Callable[[str | None], Visitor]
PAGE = "/admin/clusters/sandbox/groups/slices/sharing/"
API = "/api/v1/clusters/sandbox/groups/slices/sharing"


@pytest.fixture
def slices(cast: Cast) -> NodeGroup:
    return add_slices(cast)


@pytest.fixture
def stage(cast: Cast, slices: NodeGroup) -> Iterator[Stage]:
    with Stage(cast) as stage:
        yield stage


def typed(version: int = 0, **changed: str) -> dict[str, str]:
    return {"expected_version": str(version), "why": "Notebooks need little.", "slowdown": "1.3", **changed}


# --- the page


def test_the_page_says_what_holds_and_saves_what_is_decided(stage: Stage, visitor: Visitors) -> None:
    admin = visitor("admin")
    assert "Sharing of A100 slices" in words(admin.get("/admin/clusters/"))
    before = words(admin.get(PAGE))
    assert "a slice that is cut in hardware" in before and "1.3 times that on whole cards" in before
    assert "nobody has said so yet" in before
    decided = typed(slowdown="1.75", is_transitional="on", until="2999-12-31", team="vision", reason="Small models.")
    after = words(admin.client.post(PAGE, decided, follow=True))
    assert "1.75 times that on whole cards" in after and "Allowed by admin" in after
    assert sharing_view(NodeGroup.objects.get(slug="slices")).slowdown == 1_750
    stage.submit(cards=2, card_model="slices", command="sleep infinity")
    assert "Vision 1 job" in words(admin.get(PAGE))
    dropped = typed(1, reason_vision="Small models.", drop_vision="on")
    over = words(admin.client.post(PAGE, dropped, follow=True))
    assert "Vision may train here no more: new training is refused, and jobs that are here go on." in over
    assert "Vision 1 job" in over


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"why": ""}, "why"),
        ({"slowdown": "0.5"}, "slowdown"),
        ({"slowdown": "fast"}, "slowdown"),
        ({"until": "2999-01-01"}, "until"),
        ({"team": "vision"}, "reason"),
    ],
)
def test_what_is_wrong_stands_at_its_field(
    slices: NodeGroup, visitor: Visitors, changed: dict[str, str], field: str
) -> None:
    answer = visitor("admin").post(PAGE, **typed(**changed))
    assert answer.status_code == 422
    assert field_error(answer, field)
    assert not SharingPolicy.objects.exists()


def test_the_second_of_two_admins_sees_what_holds_and_keeps_what_was_typed(
    slices: NodeGroup, visitor: Visitors
) -> None:
    admin = visitor("admin")
    admin.post(PAGE, **typed(slowdown="1.5"))
    answer = admin.post(PAGE, **typed(slowdown="2"))
    assert answer.status_code == 409
    assert "admin saved this meanwhile" in words(answer) and "1.5 times that on whole cards" in words(answer)
    assert 'value="2"' in html(answer) and 'name="expected_version" value="1"' in html(answer)
    assert sharing_view(slices).slowdown == 1_500


# --- the same by script


def test_a_script_reads_and_decides(slices: NodeGroup) -> None:
    api = Api("admin")
    assert api.get(API) == {
        "cluster": "sandbox", "node_group": "slices", "kind": "mig", "unit": "slice", "version": 0, "why": "",
        "transitional": False, "until": None, "slowdown": 1300, "training": [], "changed_by": "", "changed_at": None,
    }  # fmt: skip
    said = {"expected_version": 0, "why": "Notebooks.", "slowdown": 2000, "training": {"vision": "Small models."}}
    answer = api.call("PUT", API, said)
    assert answer.status_code == 200
    saved = api.get(API)
    assert (saved["version"], saved["slowdown"], saved["changed_by"]) == (1, 2000, "admin")
    assert [(each["team"], each["reason"], each["given_by"]) for each in saved["training"]] == [
        ("vision", "Small models.", "admin")
    ]
    assert errors_of(api.call("PUT", API, said), 409) == [("expected_version", "changed_meanwhile")]
    wrong = {"why": 3, "slowdown": "1.3", "until": "31.12.2027", "training": ["vision"], "name": "x"}
    problems = errors_of(api.call("PUT", API, wrong), 400)
    assert {attr for attr, _code in problems} == {"expected_version", *wrong}


# --- marks


def test_every_job_is_marked_wherever_it_is_shown(stage: Stage, visitor: Visitors) -> None:
    whole = stage.submit(name="on whole cards", cards=8, card_model="h100", command="sleep infinity")
    shared = stage.submit(name="on slices", cards=2, card_model="slices", kind="development", command="sleep infinity")
    stuck = {"card_model": "slices", "kind": "development", "image": "sandbox.invalid/missing:1"}
    pulling = stage.submit(name="still pulling", cards=1, **stuck)
    none = stage.submit(name="without cards", cards=0)
    stage.run(12)
    ids = [whole.public_id, shared.public_id]
    proof = {"attempt": 1, "cards": 2, "pods": 1, "unplaceable": True, "since": timezone.now().isoformat()}
    proofs = [{**proof, "job": each} for each in ids]
    facts = {"group": "A100 slices", "free": 0, "blocks": [], "count": 2, "jobs": proofs}
    opened = timezone.now() - timedelta(minutes=5)
    Notice.objects.create(
        cluster=stage.cast.cluster, source="not_placed", subject="slices", facts=facts, opened_at=opened
    )
    engineer, lead, admin = visitor("eng-vision-1"), visitor("lead-vision"), visitor("admin")
    node = Job.objects.get(pk=shared.pk).attempts.get().runs.get().nodes[0]
    both = {"on whole cards": "exclusive", "on slices": "shared"}
    shown: list[tuple[Any, dict[str, str]]] = [
        (engineer.get("/jobs/"), both),
        (engineer.get(f"/jobs/{whole.public_id}/"), {"on whole cards": "exclusive"}),
        (engineer.get(f"/jobs/{shared.public_id}/"), {"on slices": "shared"}),
        (engineer.client.post("/jobs/bulk/", {"operation": "hold", "ids": ids}), both),
        (engineer.get("/jobs/new/preview/", framework="pytorch", cards="2", card_model="slices", kind="development"),
         {"A100 slices": "shared"}),
        (engineer.get(f"/jobs/{shared.public_id}/hold/"), {"Hold on slices?": "shared"}),
        (lead.get("/team/vision/"), both),
        (lead.get("/team/vision/jobs/"), both),
        (admin.get("/admin/jobs/"), both),
        (admin.get("/admin/nodes/", node=node), {"on slices": "shared"}),
        (admin.get("/admin/idle/"), {"still pulling": "shared"}),
        (admin.get("/admin/clusters/sandbox/conflicts/"), both),
        (admin.get("/admin/audit/"), dict(zip(ids, both.values(), strict=True))),
    ]  # fmt: skip
    for answer, expected in shown:
        assert answer.status_code == 200
        for name, sharing in expected.items():
            assert mark_after(html(answer), name) == sharing, f"{name} at {answer.wsgi_request.path}"
    api = Api("eng-vision-1")
    listed = {job["name"]: job["sharing"] for job in api.get("jobs")["results"]}
    assert listed == {**both, "still pulling": "shared", "without cards": None}
    assert api.get(f"jobs/{pulling.public_id}")["sharing"] == "shared"
    assert "A100 slices (shared card slices)" in words(engineer.get("/jobs/new/"))
    assert "2 slices on A100 slices." in words(engineer.get(f"/jobs/{shared.public_id}/"))
    assert "data-sharing" not in html(engineer.get(f"/jobs/{none.public_id}/"))


def mark_after(page: str, name: str) -> str:
    """The first mark after the last mention of a job by its name in the page's content."""
    content = page[max(0, page.find("<main")) :]
    after = content[content.rfind(f">{name}<") :] if f">{name}<" in content else content
    found = re.search(r'data-sharing="(\w+)" title="[^"]+"', after)
    return found[1] if found else ""
