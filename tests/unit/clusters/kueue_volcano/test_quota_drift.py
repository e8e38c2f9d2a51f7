"""What of our queues somebody else has set, and which queues somebody removed: by who wrote each field last."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from clusters.backends.kueue_volcano.quota_drift import drift_of, vanished
from clusters.backends.kueue_volcano.quota_objects import quota_objects
from clusters.contract import DriftField, GroupQuota, QueuePlan, QuotaChange, QuotaPlan
from tests.unit.clusters.kueue_volcano.shapes import SHAPE

PLAN = QuotaPlan(
    queues=(
        QueuePlan("vision", "slu-vision-7k2m9q", (GroupQuota("h100", 26, lend_limit=4),), ("default",)),
        QueuePlan("speech", "slu-speech-1a2b3c", (GroupQuota("h100", 19),), ("default",)),
    ),
    pool=(GroupQuota("h100", 19),),
)
OBJECTS = quota_objects(PLAN, SHAPE)
WANTED = [*OBJECTS.queues, OBJECTS.cohort]
Edit = Callable[[dict[str, Any]], None]


def owned_by(manager: str, *fields: str, at: str = "2026-11-30T10:00:00Z", **more: str) -> dict[str, Any]:
    spec = {f"f:{name}": {} for name in fields}
    return {"manager": manager, "operation": "Update", "time": at, "fieldsV1": {"f:spec": spec}, **more}


def as_found(edits: dict[str, Edit], managed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The planned objects as a cluster gives them back, some of them edited by somebody else."""
    found = copy.deepcopy([*WANTED, *OBJECTS.after])
    for obj in found:
        if (name := obj["metadata"]["name"]) in edits and obj["kind"] in ("ClusterQueue", "Cohort"):
            edits[name](obj["spec"])
            obj["metadata"]["managedFields"] = managed
    return found


def set_resource(field: str, value: str | None, flavor: str = "slu-h100") -> Edit:
    def edit(spec: dict[str, Any]) -> None:
        for group in spec["resourceGroups"]:
            for entry in group["flavors"]:
                if entry["name"] == flavor:
                    resource = next(each for each in entry["resources"] if each["name"] == "nvidia.com/gpu")
                    resource.pop(field, None)
                    resource |= {} if value is None else {field: value}

    return edit


def set_rule(**rules: Any) -> Edit:
    return lambda spec: spec.update(rules)


BY_HAND = [owned_by("kubectl-edit", "resourceGroups", "queueingStrategy", "preemption", "stopPolicy")]
N, B, L, R = DriftField


@pytest.mark.parametrize(
    ("name", "edit", "changes"),
    [
        ("slu-vision", set_resource("nominalQuota", "30"), (QuotaChange("vision", "h100", N, 26, 30),)),
        ("slu-vision", set_resource("nominalQuota", "26000m"), ()),
        ("slu-vision", set_resource("borrowingLimit", "2"), (QuotaChange("vision", "h100", B, None, 2),)),
        ("slu-vision", set_resource("lendingLimit", None), (QuotaChange("vision", "h100", L, 4, None),)),
        ("slu-vision", set_rule(queueingStrategy="StrictFIFO"), (QuotaChange("vision", "", R),)),
        ("slu-vision", set_rule(preemption={"withinClusterQueue": "Never"}), (QuotaChange("vision", "", R),)),
        ("slu-vision", set_rule(stopPolicy="Hold"), ()),
        ("slu", set_resource("nominalQuota", "0"), (QuotaChange("", "h100", N, 19, 0),)),
        ("slu", set_rule(resourceGroups=[]), (QuotaChange("", "h100", N, 19, 0),)),
    ],
    ids=[
        "more cards",
        "the same in another form",
        "a limit of borrowing",
        "no limit of lending",
        "another order",
        "other rules of taking back",
        "a field that is none of ours",
        "the common pool",
        "no common pool at all",
    ],
)
def test_what_somebody_else_set_is_told(name: str, edit: Edit, changes: tuple[QuotaChange, ...]) -> None:
    drift = drift_of(as_found({name: edit}, BY_HAND), WANTED)
    assert (drift.changes if drift else ()) == changes
    if drift:
        assert (drift.by, drift.at) == (("kubectl-edit",), datetime(2026, 11, 30, 10, tzinfo=UTC))


@pytest.mark.parametrize(
    "managed",
    [
        [],
        [owned_by("sluice", "resourceGroups")],
        [owned_by("kueue", "resourceGroups", subresource="status")],
        [owned_by("backup", "admissionChecksStrategy")],
        [{"manager": "kubectl", "operation": "Update"}],
    ],
    ids=["nobody is named", "we wrote it", "a status", "another field", "no fields"],
)
def test_an_older_plan_of_ours_is_no_drift(managed: list[dict[str, Any]]) -> None:
    assert drift_of(as_found({"slu-vision": set_resource("nominalQuota", "13")}, managed), WANTED) is None


def test_several_queues_are_told_together_with_the_newest_time() -> None:
    found = as_found(
        {"slu-vision": set_resource("nominalQuota", "20"), "slu-speech": set_resource("nominalQuota", "25")},
        [
            owned_by("helm", "resourceGroups"),
            owned_by("argocd-controller", "resourceGroups", at="2026-11-30T10:05:00Z"),
        ],
    )
    drift = drift_of(found, WANTED)
    assert drift is not None and [(each.queue, each.found) for each in drift.changes] == [
        ("vision", 20),
        ("speech", 25),
    ]
    assert (drift.by, drift.at) == (("argocd-controller", "helm"), datetime(2026, 11, 30, 10, 5, tzinfo=UTC))


def test_a_queue_that_local_queues_still_point_at_had_been_there() -> None:
    found = [
        obj for obj in as_found({}, []) if (obj["kind"], obj["metadata"]["name"]) != ("ClusterQueue", "slu-vision")
    ]
    assert vanished(found, OBJECTS.queues) == ("vision",)
    assert drift_of(found, WANTED) is None
    nothing_of_it = [obj for obj in found if obj["metadata"].get("namespace") != "slu-vision-7k2m9q"]
    assert vanished(nothing_of_it, OBJECTS.queues) == ()
    assert vanished([], OBJECTS.queues) == ()
