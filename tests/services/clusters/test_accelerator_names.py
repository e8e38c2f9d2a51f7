"""Accelerators that no catalogue knows are offered to admins, and counted as they say."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent
from clusters.accelerator_names import accelerator_name_forget, accelerator_name_set, accelerator_views
from clusters.backends.kueue_volcano.inventory import cluster_inventory
from clusters.backends.kueue_volcano.settings import accelerator_names
from clusters.backends.kueue_volcano.shape import ClusterShape
from clusters.contract import ClusterInventory
from clusters.models import AcceleratorName, NodeGroup, PreflightRow
from common.errors import InvalidInput, NotAllowed, NotFound
from tests.api.client import Api
from tests.backends.kueue.objects import INSTALLATION, moment, node, snapshot_of
from tests.cast import Cast
from tests.pages.conftest import visitor_of
from tests.pages.visitor import html, words

TPU = "example.com/tpu"
SAID = {"vendor": "example", "card_model": "TPU v9", "sharing": "exclusive"}


@pytest.fixture
def found(cast: Cast) -> Cast:
    """A cluster one of whose groups has cards that nobody knows, and whose setup told of one more device."""
    NodeGroup.objects.filter(slug="h100").update(resource=TPU)
    PreflightRow.objects.create(
        cluster=cast.cluster, feature="devices", verdict="limited", problem="unknown_devices",
        facts={"resources": "example.com/dsp, example.com/tpu", "nodes": 3}, since=timezone.now(),
    )  # fmt: skip
    return cast


def look(cast: Cast) -> ClusterInventory:
    machine = node("n1", cards=0, labels={})
    for part in ("capacity", "allocatable"):
        machine["status"][part] |= {TPU: "4"}
    shape = ClusterShape(INSTALLATION, {})
    return cluster_inventory(snapshot_of(machine), shape, moment(1000), accelerator_names(cast.cluster))


def test_what_nobody_knows_is_offered_once_until_it_is_named(found: Cast) -> None:
    admin = found.actor("admin")
    views = accelerator_views(viewer=admin, cluster=found.cluster)
    assert [(view.resource, view.named) for view in views] == [("example.com/dsp", None), (TPU, None)]
    accelerator_name_set(actor=admin, cluster=found.cluster, resource=TPU, data=SAID)
    named = {view.resource: view.named for view in accelerator_views(viewer=admin, cluster=found.cluster)}
    assert named[TPU] is not None and named[TPU].card_model == "TPU v9"
    assert AuditEvent.objects.get(action="accelerator.name").detail["resource"] == TPU


@pytest.mark.parametrize(
    ("sharing", "unit", "title"), [("exclusive", "card", "TPU v9"), ("vgpu", "slice", "TPU v9 vGPU")]
)
def test_the_next_look_counts_it_as_it_was_said(found: Cast, sharing: str, unit: str, title: str) -> None:
    (before,) = look(found).groups
    assert (before.vendor, before.card_model) == ("example.com", "tpu")
    accelerator_name_set(
        actor=found.actor("admin"), cluster=found.cluster, resource=TPU, data={**SAID, "sharing": sharing}
    )
    inventory = look(found)
    (group,) = inventory.groups
    assert (group.vendor, group.card_model, group.title, group.unit) == ("example", "TPU v9", title, unit)
    assert inventory.nodes[0].installed == 4


def test_what_is_said_to_be_no_card_is_not_counted(found: Cast) -> None:
    accelerator_name_set(actor=found.actor("admin"), cluster=found.cluster, resource=TPU, data={"is_card": False})
    assert look(found).groups == ()
    accelerator_name_forget(actor=found.actor("admin"), cluster=found.cluster, resource=TPU)
    assert len(look(found).groups) == 1


@pytest.mark.parametrize(
    ("data", "attrs"),
    [
        ({}, ["vendor", "card_model"]),
        ({**SAID, "vendor": "No Way!"}, ["vendor"]),
        ({**SAID, "card_model": "\u202e"}, ["card_model"]),
        ({**SAID, "card_model": "x" * 61}, ["card_model"]),
        ({**SAID, "sharing": "halves"}, ["sharing"]),
        ({**SAID, "is_card": "maybe"}, ["is_card"]),
    ],
)
def test_a_name_that_says_nothing_is_refused(found: Cast, data: dict[str, Any], attrs: list[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        accelerator_name_set(actor=found.actor("admin"), cluster=found.cluster, resource=TPU, data=data)
    assert [problem.attr for problem in refused.value.problems] == attrs
    assert not AcceleratorName.objects.exists()


@pytest.mark.parametrize("resource", ["example.com/none", "", "cpu"])
def test_only_what_the_cluster_has_and_nobody_knows_is_named(found: Cast, resource: str) -> None:
    with pytest.raises(NotFound):
        accelerator_name_set(actor=found.actor("admin"), cluster=found.cluster, resource=resource, data=SAID)
    with pytest.raises(NotFound):
        accelerator_name_forget(actor=found.actor("admin"), cluster=found.cluster, resource=resource)


def test_only_admins_name_them(found: Cast) -> None:
    with pytest.raises(NotAllowed):
        accelerator_name_set(actor=found.actor("lead-vision"), cluster=found.cluster, resource=TPU, data=SAID)


def test_the_page_offers_names_and_takes_them_back(found: Cast) -> None:
    admin, address = visitor_of(found, "admin"), "/admin/clusters/sandbox/accelerators/"
    assert "example.com/tpu not named yet" in words(admin.get(address))
    refused = admin.post(address, resource=TPU, vendor="", card_model="TPU v9")
    assert refused.status_code == 422 and 'value="TPU v9"' in html(refused)
    assert admin.post(address, resource=TPU, **SAID).status_code == 302
    assert "example.com/tpu example · TPU v9" in words(admin.get(address))
    assert admin.post(address, resource=TPU, is_other="on").status_code == 302
    assert "example.com/tpu not counted" in words(admin.get(address))
    assert admin.post(address, resource=TPU, act="forget").status_code == 302
    assert "example.com/tpu not named yet" in words(admin.get(address))


def test_a_script_names_them_by_their_resource(found: Cast) -> None:
    api = Api("admin")
    answer = api.call("PUT", f"clusters/sandbox/accelerators/{TPU}", {**SAID, "sharing": "mig"})
    assert answer.status_code == 200
    row = next(row for row in api.get("clusters/sandbox/accelerators") if row["resource"] == TPU)
    assert (row["is_named"], row["card_model"], row["unit"]) == (True, "TPU v9", "slice")
    assert api.call("PUT", f"clusters/sandbox/accelerators/{TPU}", {"vendor": ""}).status_code == 400
    assert api.call("DELETE", f"clusters/sandbox/accelerators/{TPU}").status_code == 204
    assert api.call("DELETE", f"clusters/sandbox/accelerators/{TPU}").status_code == 404
