"""Machines as they come: what they say of themselves, what they report, and what a job can really get of them."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.backends.kueue_volcano.inventory import cluster_inventory
from clusters.backends.kueue_volcano.shape import ClusterShape
from clusters.contract import ClusterInventory, NodeFacts, NodeHealth, NodeTrouble, SharingMode
from tests.backends.kueue.objects import (
    INSTALLATION,
    RESOURCE,
    Object,
    admitted,
    cond,
    container,
    exited,
    job,
    moment,
    node,
    pod,
    snapshot_of,
    workload,
)

PRODUCT = "nvidia.com/gpu.product"
ASCEND = {
    "accelerator": "huawei-Ascend910", "accelerator-type": "module-910b-8", "host-arch": "huawei-arm",
    "node.kubernetes.io/npu.chip.name": "910B3",
}  # fmt: skip


def inventory(*objects: Object) -> ClusterInventory:
    return cluster_inventory(snapshot_of(*objects), ClusterShape(INSTALLATION, {}), moment(1000))


def by_name(found: ClusterInventory) -> dict[str, NodeFacts]:
    return {facts.name: facts for facts in found.nodes}


def with_cards(name: str, resource: str, cards: int, *, usable: int | None = None, **more: Any) -> Object:
    """A machine whose cards are of this resource and no other."""
    thing = node(name, cards=0, **{"labels": {}, **more})
    thing["status"]["capacity"][resource] = str(cards)
    thing["status"]["allocatable"][resource] = str(cards if usable is None else usable)
    return thing


# --------------------------------------------------------------------------- C-67, C-68: what can be had


@pytest.mark.parametrize(
    ("vendor", "labels"),
    [(RESOURCE, {PRODUCT: "NVIDIA-A100-SXM4-80GB"}), ("huawei.com/Ascend910", ASCEND), ("amd.com/gpu", {})],
)
def test_withdrawn_cards_are_out_and_not_phantoms_whoever_made_them(vendor: str, labels: dict[str, str]) -> None:
    """C-68: 8 installed, 5 offered, 4 in use; cards in use do not shrink what is offered."""
    asks = {"name": "main", "resources": {"limits": {vendor: "4"}}}
    user = pod(0, labels={}, owner=None, uid="x", containers=[asks])
    (facts,) = inventory(with_cards("n1", vendor, 8, usable=5, labels=labels), user).nodes
    assert (facts.installed, facts.sick, facts.held, facts.free) == (8, 3, 4, 1)
    assert facts.health is NodeHealth.DEGRADED
    assert [told.trouble for told in facts.conditions] == [NodeTrouble.SICK_CARDS]


@pytest.mark.parametrize("usable", [0, 9])
def test_what_is_offered_is_never_less_than_nothing_nor_more_than_is_there(usable: int) -> None:
    (facts,) = inventory(node("n1", usable=usable)).nodes
    assert (facts.installed, facts.sick) == (8, max(0, 8 - usable))
    assert 0 <= facts.free <= facts.installed


@pytest.mark.parametrize("amount", ["eight", "8x", "NaN", "", "-"])
def test_an_amount_that_is_no_number_is_named_and_not_taken_for_none(amount: str) -> None:
    """C-23: nobody reads zero where nothing can be read."""
    odd = node("n1")
    odd["status"]["allocatable"][RESOURCE] = amount
    (facts,) = inventory(odd).nodes
    assert (facts.installed, facts.free, facts.health) == (8, 0, NodeHealth.DEGRADED)
    assert [told.detail for told in facts.conditions if told.trouble is NodeTrouble.UNREADABLE] == [
        f"{RESOURCE}: {amount}"
    ]


# --------------------------------------------------------------------------- C-70: labels that lie


def test_a_machine_without_cards_has_none_whatever_its_empty_labels_speak_of() -> None:
    """C-70: nothing breaks on a count that is empty, a word, negative or absurd."""
    empty = {
        "cloud.google.com/gke-accelerator": "",
        "gpu.nvidia.com/class": "",
        "gpu.nvidia.com/count": "",
        PRODUCT: "",
    }
    odd = [{PRODUCT: "NVIDIA-L4", "nvidia.com/gpu.count": count} for count in ("", "many", "-1", "9" * 30, "１")]
    found = inventory(*(node(f"n{at}", cards=0, labels=labels) for at, labels in enumerate([empty, *odd])))
    assert [facts.installed for facts in found.nodes] == [0] * 6
    assert found.nodes[0].node_group is None and found.nodes[0].conditions == ()


def test_a_label_that_names_cards_which_are_not_there_is_a_trouble_and_no_place_for_jobs() -> None:
    """C-70: the driver is broken. Its group is that of its sisters."""
    labels = {PRODUCT: "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8"}
    found = inventory(node("well", labels=labels), node("broken", cards=0, labels=labels))
    broken, well = by_name(found)["broken"], by_name(found)["well"]
    assert (broken.installed, broken.sick, broken.free) == (8, 8, 0)
    assert {told.trouble for told in broken.conditions} >= {NodeTrouble.NO_CARDS}
    assert broken.node_group == well.node_group and len(found.groups) == 1
    assert found.groups[0].cards_per_node == 8


def test_cards_without_a_product_are_of_no_known_type_and_count() -> None:
    """C-70: two such machines add up, also when no card of them is free."""
    users = [
        pod(0, labels={}, owner=None, uid=name, name=name, node=name, containers=[container(8)])
        for name in ("n1", "n2")
    ]
    found = inventory(node("n1", labels={}), node("n2", labels={}), *users)
    (group,) = found.groups
    assert (group.vendor, group.resource, group.cards_per_node) == ("nvidia", RESOURCE, 8)
    assert group.card_model
    assert [(facts.node_group, facts.installed, facts.free) for facts in found.nodes] == [(group.name, 8, 0)] * 2


# --------------------------------------------------------------------------- C-71: shares of cards


@pytest.mark.parametrize(
    ("resource", "count", "labels", "sharing"),
    [
        (
            RESOURCE, 4,
            {PRODUCT: "NVIDIA-H100-80GB-HBM3-SHARED", "nvidia.com/gpu.sharing-strategy": "time-slicing",
             "nvidia.com/gpu.count": "1", "nvidia.com/gpu.replicas": "4"},
            SharingMode.TIME_SLICED,
        ),
        (
            "nvidia.com/gpu.shared", 50,
            {PRODUCT: "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "1", "nvidia.com/gpu.replicas": "1"},
            SharingMode.TIME_SLICED,
        ),
        ("nvidia.com/mig-1g.10gb", 7, {PRODUCT: "NVIDIA-H100-80GB-HBM3"}, SharingMode.MIG),
        ("volcano.sh/vgpu-number", 80, {}, SharingMode.VGPU),
        ("huawei.com/Ascend910-2c", 16, ASCEND, SharingMode.VGPU),
        ("cambricon.com/mlu370.share", 10, {}, SharingMode.VGPU),
    ],
)  # fmt: skip
def test_shares_are_counted_as_shares_and_never_as_cards(
    resource: str, count: int, labels: dict[str, str], sharing: SharingMode
) -> None:
    """C-71 and its sisters of other vendors: they say their unit, and whole cards beside them stay a group of cards."""
    cut = with_cards("cut", resource, count, labels=labels)
    if resource != RESOURCE:
        for part in ("capacity", "allocatable"):
            cut["status"][part][RESOURCE] = "0"
    found = inventory(cut, node("whole"))
    groups = {group.name: group for group in found.groups}
    of_cut, of_whole = (groups[by_name(found)[name].node_group or ""] for name in ("cut", "whole"))
    assert (of_cut.unit, of_cut.sharing, of_cut.cards_per_node) == ("slice", sharing, count)
    assert (of_whole.unit, of_whole.sharing, of_whole.cards_per_node) == ("card", SharingMode.EXCLUSIVE, 8)


# --------------------------------------------------------------------------- C-19: cards of what is over


def test_cards_of_a_failed_job_that_runs_on_are_neither_free_nor_lost() -> None:
    """C-19: the gate has its quota back while one pod goes on. They are on their way to others, and not there yet."""
    over = cond("Failed", "BackoffLimitExceeded", s=60)
    finished = cond("Finished", "Failed", "Job failed", s=61)
    ended = pod(1, exited(1, 59), phase="Failed", uid="p1")
    things = [node("n1"), job(over), workload(*admitted(), finished), pod(0, containers=[container(8)]), ended]
    (facts,) = inventory(*things).nodes
    assert [(holder.cards, holder.ending) for holder in facts.holders] == [(8, True)]
    assert (facts.free, facts.outside) == (0, 0)
    (facts,) = inventory(node("n1"), job(), workload(*admitted()), pod(0, containers=[container(8)])).nodes
    assert [(holder.cards, holder.ending) for holder in facts.holders] == [(8, False)]
