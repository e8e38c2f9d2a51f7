"""Machines: whose cards they have, how many of them work, and who holds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clusters.backends.kueue_volcano import names, raw
from clusters.backends.kueue_volcano.inventory import cluster_inventory
from clusters.backends.kueue_volcano.shape import ClusterShape, GroupShape
from clusters.backends.kueue_volcano.snapshot import Snapshot
from clusters.contract import ClusterInventory, NodeFacts, NodeHealth, NodeTrouble, SharingMode
from clusters.domain.accelerators import accelerator
from tests.backends.kueue.objects import (
    INSTALLATION,
    RESOURCE,
    ULID,
    Object,
    cond,
    container,
    exited,
    job,
    marks,
    moment,
    node,
    pod,
    running,
    snapshot_of,
    waiting,
)

H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
GIVEN = {"h100": GroupShape(RESOURCE, (("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"),), 8, 0, 0)}
NOW = moment(1000)


def inventory(*objects: Object, given: dict[str, GroupShape] | None = None) -> ClusterInventory:
    shape = ClusterShape(INSTALLATION, GIVEN if given is None else given)
    return cluster_inventory(snapshot_of(*objects), shape, NOW)


def machine(*objects: Object, given: dict[str, GroupShape] | None = None) -> NodeFacts:
    (facts,) = inventory(*objects, given=given).nodes
    return facts


def somebody(cards: int, name: str, on: str = "n1") -> Object:
    return pod(0, labels={}, owner=None, uid=name, name=name, node=on, containers=[container(cards)])


def mixed() -> ClusterInventory:
    listed = raw.decode_list(names.NODES, (Path(__file__).parent / "mixed_nodes.json").read_bytes())
    assert not listed.broken
    snapshot = Snapshot(INSTALLATION)
    snapshot.replace(names.NODES, listed.items)
    return cluster_inventory(snapshot, ClusterShape(INSTALLATION, {}), NOW)


def test_machines_of_many_vendors_are_counted_as_they_are() -> None:
    nodes = {facts.name: facts for facts in mixed().nodes}
    read = {name: (f.installed, f.sick, f.offered, f.health.value) for name, f in nodes.items()}
    assert read == {
        "gpu-01": (8, 0, 8, "ready"),
        "gpu-02-degraded": (8, 3, 5, "degraded"),
        "gpu-03-cordoned": (8, 0, 0, "cordoned"),
        "gpu-04-notready": (8, 0, 0, "down"),
        "gpu-05-timesliced": (8, 0, 8, "ready"),
        "gpu-07-label-but-none": (8, 8, 0, "degraded"),
        "npu-01": (8, 0, 8, "ready"),
        "amd-01": (8, 0, 0, "cordoned"),
        "cpu-01-empty-labels": (0, 0, 0, "ready"),
        "gpu-08-custom-resource": (4, 0, 4, "degraded"),
    }
    assert nodes["cpu-01-empty-labels"].node_group is None
    assert (nodes["gpu-01"].cpu_millis, nodes["gpu-01"].memory_bytes) == (127_500, 1017153192 * 1024)
    assert nodes["gpu-07-label-but-none"].node_group == nodes["gpu-02-degraded"].node_group


def test_groups_are_proposed_by_model_and_sharing() -> None:
    groups = {group.name: group for group in mixed().groups}
    assert {name: (g.vendor, g.card_model, g.interconnect, g.unit, g.cards_per_node) for name, g in groups.items()} == {
        "a100-sxm4-80gb": ("nvidia", "A100-SXM4-80GB", "NVLink", "card", 8),
        "a10g-time-slices": ("nvidia", "A10G", "PCIe", "slice", 8),
        "amd-740f": ("amd", "AMD 740f", "", "card", 8),
        "ascend-910b3": ("ascend", "Ascend 910B3", "HCCS", "card", 8),
        "gtx-1080-ti": ("nvidia", "gtx-1080-ti", "", "card", 4),
        "h100-80gb-hbm3": ("nvidia", "H100-80GB-HBM3", "NVLink", "card", 8),
    }
    ascend = groups["ascend-910b3"]
    assert ascend.resource == "huawei.com/Ascend910"
    assert ("accelerator-type", "module-910b-8") in ascend.selector
    assert groups["a10g-time-slices"].sharing is SharingMode.TIME_SLICED
    assert all(group.selector == tuple(sorted(group.selector)) for group in groups.values())


def test_a_given_group_keeps_its_name_its_resource_and_its_selector() -> None:
    found = inventory(node("n1"), node("n2", labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}))
    assert [facts.node_group for facts in found.nodes] == ["h100", "a100-sxm4-80gb"]
    group = next(group for group in found.groups if group.name == "h100")
    assert (group.resource, group.selector) == (RESOURCE, GIVEN["h100"].selector)


def test_a_machine_that_two_given_groups_claim_is_in_neither_and_keeps_its_cards() -> None:
    exact = GroupShape(RESOURCE, (("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"), ("rack", "1")), 8, 0, 0)
    found = inventory(node("n1", labels={**H100, "rack": "1"}), node("n2"), given={**GIVEN, "rack-1": exact})
    assert [(facts.node_group, facts.installed) for facts in found.nodes] == [(None, 8), ("h100", 8)]
    assert [group.name for group in found.groups] == ["h100"]


def test_what_a_narrower_group_leaves_is_proposed_by_the_same_label() -> None:
    narrow = {"nvlink": GroupShape(RESOURCE, (*H100.items(), ("site/fabric", "nvlink")), 8, 0, 0)}
    nodes = [node(f"n{n}", labels={**H100, "site/fabric": fabric}) for n, fabric in enumerate(("nvlink", "pcie"))]
    found = inventory(*nodes, given=narrow)
    assert [facts.node_group for facts in found.nodes] == ["nvlink", "h100-80gb-hbm3"]
    left = next(group for group in found.groups if group.name == "h100-80gb-hbm3")
    assert left.selector == (*H100.items(), ("site/fabric", "pcie"))
    assert left.title == "H100-80GB-HBM3 pcie"


def test_what_was_put_aside_claims_its_machines_and_what_was_proposed_keeps_its_name() -> None:
    given = GIVEN["h100"]
    for kind in ("asides", "proposed"):
        shape = ClusterShape(INSTALLATION, {}, **{kind: {"lab": replace(given, sharing=SharingMode.EXCLUSIVE)}})
        found = cluster_inventory(snapshot_of(node("n1")), shape, NOW)
        assert [facts.node_group for facts in found.nodes] == ["lab"], kind


def test_machines_that_slice_whole_cards_do_not_join_a_group_of_whole_ones() -> None:
    labels = {**H100, "nvidia.com/gpu.sharing-strategy": "time-slicing"}
    whole = {"h100": replace(GIVEN["h100"], sharing=SharingMode.EXCLUSIVE)}
    facts = machine(node("n1", cards=40, labels=labels), given=whole)
    assert facts.node_group == "h100-80gb-hbm3-time-slices"
    assert facts.offers == ((RESOURCE, SharingMode.TIME_SLICED),)


def test_a_proposed_name_never_takes_a_given_one() -> None:
    other = GroupShape(RESOURCE, (("pool", "x"),), 8, 0, 0)
    found = inventory(node("n1"), given={"h100-80gb-hbm3": other})
    assert [facts.node_group for facts in found.nodes] == ["h100-80gb-hbm3-2"]


def test_an_unknown_card_is_offered_under_its_own_name() -> None:
    thing = node("n1", cards=0, labels={})
    for part in ("capacity", "allocatable"):
        thing["status"][part] |= {"example.com/tpu": "4", "rdma/hca": "8", "hugepages-2Mi": "0"}
    (group,) = inventory(thing, given={}).groups
    assert (group.name, group.vendor, group.resource, group.cards_per_node) == (
        "tpu",
        "example.com",
        "example.com/tpu",
        4,
    )
    assert group.selector == ()


@pytest.mark.parametrize(
    ("resource", "vendor", "sharing"),
    [
        ("nvidia.com/gpu", "nvidia", SharingMode.EXCLUSIVE),
        ("nvidia.com/mig-1g.10gb", "nvidia", SharingMode.MIG),
        ("nvidia.com/gpu.shared", "nvidia", SharingMode.TIME_SLICED),
        ("volcano.sh/vgpu-number", "nvidia", SharingMode.VGPU),
        ("amd.com/gpu", "amd", SharingMode.EXCLUSIVE),
        ("huawei.com/Ascend910", "ascend", SharingMode.EXCLUSIVE),
        ("huawei.com/Ascend910B4", "ascend", SharingMode.EXCLUSIVE),
        ("huawei.com/Ascend310P", "ascend", SharingMode.EXCLUSIVE),
        ("huawei.com/ascend-1980", "ascend", SharingMode.EXCLUSIVE),
        ("huawei.com/npu", "ascend", SharingMode.EXCLUSIVE),
        ("huawei.com/Ascend910-2c", "ascend", SharingMode.VGPU),
        ("cambricon.com/mlu370", "cambricon", SharingMode.EXCLUSIVE),
        ("cambricon.com/mlu370.share", "cambricon", SharingMode.VGPU),
        ("hygon.com/dcu", "hygon", SharingMode.EXCLUSIVE),
        ("hygon.com/dcunum", "hygon", SharingMode.VGPU),
        ("iluvatar.ai/gpu", "iluvatar", SharingMode.EXCLUSIVE),
        ("mthreads.com/vgpu", "mthreads", SharingMode.VGPU),
        ("metax-tech.com/gpu", "metax", SharingMode.EXCLUSIVE),
        ("enflame.com/gcu", "enflame", SharingMode.EXCLUSIVE),
        ("kunlunxin.com/vxpu", "kunlunxin", SharingMode.VGPU),
        ("habana.ai/gaudi", "intel", SharingMode.EXCLUSIVE),
        ("aws.amazon.com/neuron", "aws", SharingMode.EXCLUSIVE),
        ("example.com/tpu", "example.com", SharingMode.EXCLUSIVE),
    ],
)
def test_card_resources_are_known_by_their_names(resource: str, vendor: str, sharing: SharingMode) -> None:
    """C-35."""
    row = accelerator(resource)
    assert row is not None and (row.vendor, row.sharing) == (vendor, sharing)


@pytest.mark.parametrize(
    "resource",
    [
        "cpu", "memory", "hugepages-1Gi", "pods", "rdma/hca_shared_devices_a", "github.com/fuse", "nvidia.com/gpumem",
        "nvidia.com/gpumem-percentage", "nvidia.com/gpucores", "nvidia.com/priority", "huawei.com/Ascend910B4-memory",
        "huawei.com/npu-core", "hygon.com/dcumem", "hygon.com/dcucores", "mthreads.com/sgpu-core",
        "sluice.dev/no-cards",
        "mthreads.com/sgpu-core", "mthreads.com/sgpu-memory", "cambricon.com/mlu.smlu.vmemory",
        "cambricon.com/mlu.smlu.vcore",
        "metax-tech.com/vmemory", "metax-tech.com/vcore", "enflame.com/gcu-memory", "kunlunxin.com/vxpu-memory",
        "iluvatar.ai/gpu.vMem", "iluvatar.ai/gpu.vCore", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores",
        "volcano.sh/vgpu-memory-percentage", "vpc.amazonaws.com/pod-eni", "devices.kubevirt.io/kvm",
        "aws.amazon.com/neuroncore", "node.kubernetes.io/thing",
    ],
)  # fmt: skip
def test_parts_of_cards_and_other_devices_are_no_cards(resource: str) -> None:
    assert accelerator(resource) is None


def test_shared_cards_are_counted_in_shares_and_are_a_group_of_their_own() -> None:
    """C-71, both ways in which they are announced."""
    labels = {
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-SHARED",
        "nvidia.com/gpu.sharing-strategy": "time-slicing",
    }
    renamed = node("n2", cards=0, labels=H100)
    for part in ("capacity", "allocatable"):
        renamed["status"][part] |= {RESOURCE: "0", "nvidia.com/gpu.shared": "50"}
    found = inventory(node("n1", cards=4, labels=labels), renamed, node("n3"), given={})
    groups = {facts.name: facts.node_group for facts in found.nodes}
    assert len(set(groups.values())) == 3
    units = {group.name: (group.unit, group.sharing.value) for group in found.groups}
    assert units[groups["n1"] or ""] == units[groups["n2"] or ""] == ("slice", "time_sliced")
    assert units[groups["n3"] or ""] == ("card", "exclusive")


# --------------------------------------------------------------------------- health (C-67, C-68, C-70)


def taint(key: str, effect: str = "NoSchedule", s: float = 0) -> Object:
    return {"key": key, "effect": effect, "timeAdded": moment(s).strftime("%Y-%m-%dT%H:%M:%SZ")}


@pytest.mark.parametrize(
    ("thing", "health", "offered"),
    [
        (node(), NodeHealth.READY, 8),
        (node(usable=5), NodeHealth.DEGRADED, 5),
        (node(cordoned=True, taints=[taint("node.kubernetes.io/unschedulable", s=7)]), NodeHealth.CORDONED, 0),
        (node(ready="False"), NodeHealth.DOWN, 0),
        (node(ready="Unknown", taints=[taint("node.kubernetes.io/unreachable", "NoExecute")]), NodeHealth.DOWN, 0),
        (node(taints=[taint("maintenance")]), NodeHealth.CORDONED, 0),
        (node(taints=[taint("maintenance", "PreferNoSchedule")]), NodeHealth.READY, 8),
        (node(taints=[taint(RESOURCE)]), NodeHealth.READY, 8),
        (node(conditions=[cond("MemoryPressure", s=9)]), NodeHealth.DEGRADED, 8),
        (node(cards=0), NodeHealth.DEGRADED, 0),
    ],
    ids=[
        "well", "three cards are broken", "cordoned", "not ready", "not heard of", "kept for others",
        "a taint that asks", "the taint of its own cards", "short of memory", "its label names cards that it has not",
    ],
)  # fmt: skip
def test_a_machine_offers_what_a_job_can_get(thing: Object, health: NodeHealth, offered: int) -> None:
    facts = machine(thing)
    assert (facts.health, facts.offered, facts.node_group) == (health, offered, "h100")


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        (node(), ()),
        (node(usable=5), ((NodeTrouble.SICK_CARDS, "3"),)),
        (node(cordoned=True), ((NodeTrouble.CORDONED, ""),)),
        (node(ready="False"), ((NodeTrouble.NOT_READY, ""),)),
        (node(ready="Unknown"), ((NodeTrouble.UNHEARD, ""),)),
        (node(taints=[{**taint("pool"), "value": "train"}]), ((NodeTrouble.TAINTED, "pool=train:NoSchedule"),)),
        (node(taints=[taint("drain", "NoExecute")]), ((NodeTrouble.TAINTED, "drain:NoExecute"),)),
        (node(taints=[taint(RESOURCE)]), ()),
        (node(conditions=[cond("MemoryPressure", s=9)]), ((NodeTrouble.MEMORY_PRESSURE, ""),)),
        (node(conditions=[cond("DiskPressure")]), ((NodeTrouble.DISK_PRESSURE, ""),)),
        (node(conditions=[cond("PIDPressure")]), ((NodeTrouble.PID_PRESSURE, ""),)),
        (node(conditions=[cond("PIDPressure", status="False")]), ()),
        (node(cards=0), ((NodeTrouble.NO_CARDS, ""),)),
        (
            node(cordoned=True, ready="False", usable=7),
            ((NodeTrouble.NOT_READY, ""), (NodeTrouble.CORDONED, ""), (NodeTrouble.SICK_CARDS, "1")),
        ),
    ],
    ids=[
        "well", "three cards are broken", "cordoned", "not ready", "not heard of", "kept for others",
        "emptied by a taint", "the taint of its own cards", "short of memory", "short of disk", "short of processes",
        "no longer short", "a label that lies", "the worst is named first",
    ],
)  # fmt: skip
def test_everything_that_is_not_well_is_named(thing: Object, expected: tuple[tuple[NodeTrouble, str], ...]) -> None:
    """C-67, C-68, C-70."""
    assert tuple((told.trouble, told.detail) for told in machine(thing).conditions) == expected


def test_it_is_said_since_when() -> None:
    assert machine(node(ready="False")).since == moment(0)
    cordoned = node(cordoned=True, taints=[taint("node.kubernetes.io/unschedulable", s=7)])
    assert machine(cordoned).since == moment(7)
    assert machine(node(conditions=[cond("DiskPressure", s=9)])).since == moment(9)
    assert machine(node(ready="False", version="2", taints=[taint("x", s=5000)])).since == moment(0)


def test_a_machine_without_conditions_is_not_said_to_be_well() -> None:
    thing = node()
    thing["status"]["conditions"] = []
    assert machine(thing).health is NodeHealth.DOWN


# --------------------------------------------------------------------------- who holds cards


def test_holders_are_told_by_attempt_and_strangers_as_a_number() -> None:
    """C-44."""
    pulling = pod(1, waiting("ContainerCreating"), uid="p1", containers=[container(1)])
    ending = pod(2, running(3), uid="p2", deleted=90, containers=[container(1)])
    over = pod(3, exited(0, 9), phase="Succeeded", uid="p3", containers=[container(2)])
    theirs = pod(4, labels=marks(installation="01kother"), uid="p4", containers=[container(1)])
    theirs["spec"]["schedulerName"] = "house-scheduler"
    stranger = somebody(1, "x")
    facts = machine(node(), job(), pod(0), pulling, ending, over, theirs, stranger)
    held = {(holder.running, holder.ending): holder.cards for holder in facts.holders}
    assert held == {(True, False): 4, (False, False): 1, (True, True): 1}
    assert {(holder.job_ulid, holder.attempt) for holder in facts.holders} == {(ULID, 1)}
    assert (facts.outside, facts.free) == (2, 0)
    assert [(pod.scheduler, pod.cards) for pod in facts.outsiders] == [("house-scheduler", 1), ("default-scheduler", 1)]


def test_broken_cards_are_neither_free_nor_lost() -> None:
    """C-68: 8 installed, 3 broken, 4 used, 1 free."""
    facts = machine(node(usable=5), pod(0))
    assert (facts.installed, facts.sick, facts.held, facts.free) == (8, 3, 4, 1)


def test_pods_on_a_machine_that_is_not_heard_of_still_hold_its_cards() -> None:
    facts = machine(node(ready="Unknown"), pod(0, running(3), deleted=90))
    assert (facts.held, facts.free, facts.health) == (4, 0, NodeHealth.DOWN)


def test_what_holds_no_cards_of_the_group_holds_none() -> None:
    no_cards = pod(0, containers=[{"name": "main", "resources": {"requests": {"cpu": "4"}}}])
    other = somebody(0, "x")
    other["spec"]["containers"] = [{"name": "main", "resources": {"limits": {"rdma/hca": "1"}}}]
    facts = machine(node(), no_cards, other)
    assert (facts.holders, facts.outside) == ((), 0)


def test_whether_the_gate_chooses_nodes_is_as_the_cluster_was_set_up() -> None:
    assert inventory(node()).topology_aware and inventory(node()).read_at == NOW
    shape = ClusterShape(INSTALLATION, {}, topology_aware=False)
    assert not cluster_inventory(snapshot_of(node()), shape, NOW).topology_aware
