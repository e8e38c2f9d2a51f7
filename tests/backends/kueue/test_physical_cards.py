"""C-71: how many physical cards lie behind shares, where a node says so; and nobody guesses where it does not."""

from __future__ import annotations

import json

import pytest

from clusters.backends.kueue_volcano.inventory import cluster_inventory
from clusters.backends.kueue_volcano.shape import ClusterShape
from clusters.contract import NodeFacts, NodeGroupFacts, SharingMode
from tests.backends.kueue.objects import INSTALLATION, RESOURCE, Object, moment, node, snapshot_of

PRODUCT, COUNT = "nvidia.com/gpu.product", "nvidia.com/gpu.count"
STRATEGY, REPLICAS = "nvidia.com/gpu.sharing-strategy", "nvidia.com/gpu.replicas"
H100 = "NVIDIA-H100-80GB-HBM3"
MIG_1G, MIG_3G, MIG_7G = "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb", "nvidia.com/mig-7g.80gb"
HAMI = "hami.io/node-nvidia-register"
TWO_DEVICES = [{"id": f"GPU-{at}", "count": 10, "devmem": 32768, "devcore": 100, "health": True} for at in (0, 1)]


def machine(
    offers: dict[str, int], labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None
) -> Object:
    thing = node("n1", cards=0, labels=labels or {})
    thing["metadata"]["annotations"] = annotations or {}
    for part in ("capacity", "allocatable"):
        thing["status"][part] |= {name: str(count) for name, count in offers.items()}
    return thing


def seen(thing: Object) -> tuple[NodeGroupFacts, NodeFacts]:
    found = cluster_inventory(snapshot_of(thing), ClusterShape(INSTALLATION, {}), moment(1000))
    ((group,), (facts,)) = (found.groups, found.nodes)
    return group, facts


@pytest.mark.parametrize(
    ("offers", "labels", "physical"),
    [
        ({RESOURCE: 4}, {PRODUCT: f"{H100}-SHARED", STRATEGY: "time-slicing", COUNT: "1", REPLICAS: "4"}, 1),
        ({RESOURCE: 0, "nvidia.com/gpu.shared": 50}, {PRODUCT: H100, COUNT: "1", REPLICAS: "1"}, 1),
        ({"nvidia.com/gpu.shared": 40}, {PRODUCT: H100, COUNT: "8"}, 8),
        ({"nvidia.com/gpu.shared": 50}, {PRODUCT: H100}, None),
        ({"nvidia.com/gpu.shared": 4}, {PRODUCT: H100, COUNT: "8"}, None),  # more cards than shares: one of them lies
        ({"nvidia.com/gpu.shared": 4}, {PRODUCT: H100, COUNT: "many"}, None),
    ],
)
def test_the_label_that_counts_cards_tells_how_many_are_time_sliced(
    offers: dict[str, int], labels: dict[str, str], physical: int | None
) -> None:
    group, facts = seen(machine(offers, labels))
    assert (group.unit, group.sharing, facts.physical) == ("slice", SharingMode.TIME_SLICED, physical)


@pytest.mark.parametrize(
    ("offers", "labels", "physical"),
    [
        ({MIG_7G: 8}, {}, 8),  # each fills a card
        ({MIG_1G: 1}, {}, 1),
        ({MIG_1G: 7}, {PRODUCT: H100, COUNT: "1"}, 1),
        ({MIG_1G: 56}, {PRODUCT: H100, COUNT: "8"}, 8),  # eight at least, and there are no more
        ({MIG_3G: 4}, {PRODUCT: H100, COUNT: "2"}, 2),
        ({MIG_1G: 7}, {PRODUCT: H100, COUNT: "8"}, None),  # on one card, or one on each of seven
        ({MIG_1G: 7}, {}, None),
        ({"nvidia.com/mig-9g.1tb": 4}, {}, None),  # a profile that nobody knows
        ({MIG_7G: 4}, {f"{MIG_7G}.sharing-strategy": "time-slicing"}, None),
        ({f"{MIG_7G}.shared": 4}, {COUNT: "1"}, 1),
        ({f"{MIG_7G}.shared": 4}, {}, None),
    ],
)
def test_so_many_instances_of_a_profile_fit_on_one_card_and_where_the_bounds_meet_it_is_known(
    offers: dict[str, int], labels: dict[str, str], physical: int | None
) -> None:
    group, facts = seen(machine(offers, labels))
    assert (group.unit, group.sharing, facts.physical) == ("slice", SharingMode.MIG, physical)


def test_whole_cards_beside_instances_are_behind_none_of_them() -> None:
    """Of two cards one is whole: the instances are on the other. The machine counts as it did, by its better cards."""
    shape = {"slices": {MIG_1G: 7, RESOURCE: 0}, "both": {MIG_1G: 3, RESOURCE: 1}}
    _, slices = seen(machine(shape["slices"], {PRODUCT: H100, COUNT: "1"}))
    group, both = seen(machine(shape["both"], {PRODUCT: H100, COUNT: "2"}))
    assert slices.physical == 1
    assert (group.unit, both.installed, both.physical) == ("card", 1, 1)


@pytest.mark.parametrize(
    ("product", "physical"), [(f"{H100}-MIG-1g.10gb", None), (f"{H100}-MIG-7g.80gb", 14), (f"{H100}-MIG-INVALID", None)]
)
def test_instances_under_the_name_of_a_whole_card_are_slices(product: str, physical: int | None) -> None:
    """Where all cards of a machine are divided alike, its label counts instances: it says nothing of cards."""
    group, facts = seen(machine({RESOURCE: 14}, {PRODUCT: product, COUNT: "14", STRATEGY: "none"}))
    assert (group.unit, group.sharing, facts.installed) == ("slice", SharingMode.MIG, 14)
    assert group.card_model == f"H100-80GB-HBM3 MIG {product.rpartition('-')[2]}"
    assert facts.physical == physical


def test_instances_that_are_time_sliced_on_top_are_not_counted_as_cards_either() -> None:
    labels = {PRODUCT: f"{H100}-MIG-7g.80gb-SHARED", COUNT: "2", REPLICAS: "4", STRATEGY: "time-slicing"}
    group, facts = seen(machine({RESOURCE: 8}, labels))
    assert (group.unit, group.card_model, facts.physical) == ("slice", "H100-80GB-HBM3 MIG 7g.80gb", None)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(TWO_DEVICES),
        json.dumps([*TWO_DEVICES, TWO_DEVICES[0]]),  # one is told of twice
        "GPU-0,10,32768,100,NVIDIA-Tesla V100,0,true:GPU-1,10,32768,100,NVIDIA-Tesla V100,0,false:",
    ],
)
def test_a_plugin_that_counts_cards_several_times_under_their_own_name_tells_so_in_its_register(text: str) -> None:
    group, facts = seen(machine({RESOURCE: 20}, annotations={HAMI: text}))
    assert (group.unit, group.sharing) == ("slice", SharingMode.VGPU)
    assert (facts.installed, facts.physical) == (20, 2)


@pytest.mark.parametrize("text", ["[", "[1]", '[{"id": 7}]', "GPU-0", "GPU-0,x,1,2", ":::", ""])
def test_a_register_that_cannot_be_read_tells_nothing(text: str) -> None:
    group, facts = seen(machine({"volcano.sh/vgpu-number": 20}, annotations={"volcano.sh/node-vgpu-register": text}))
    assert (group.sharing, facts.installed, facts.physical) == (SharingMode.VGPU, 20, None)


def test_a_register_that_a_removed_plugin_left_behind_makes_no_shares_of_whole_cards() -> None:
    group, facts = seen(machine({RESOURCE: 2}, annotations={HAMI: json.dumps(TWO_DEVICES)}))
    assert (group.unit, facts.installed, facts.physical) == ("card", 2, 2)


@pytest.mark.parametrize(
    ("resource", "annotation", "text"),
    [
        (
            "volcano.sh/vgpu-number",
            "volcano.sh/node-vgpu-register",
            "GPU-a,10,32768,NVIDIA-A100,true,hami-core:GPU-b,10,32768,NVIDIA-A100,true,hami-core",
        ),
        ("huawei.com/Ascend910B3", "hami.io/node-register-Ascend910B3", json.dumps(TWO_DEVICES)),
        ("hygon.com/dcunum", "hami.io/node-dcu-register", json.dumps(TWO_DEVICES)),
    ],
)
def test_registers_of_other_plugins_and_vendors_are_read_as_well(resource: str, annotation: str, text: str) -> None:
    group, facts = seen(machine({resource: 20}, annotations={annotation: text}))
    assert (group.unit, group.sharing, facts.physical) == ("slice", SharingMode.VGPU, 2)


def test_of_virtual_cards_nobody_registers_the_number_behind_is_not_known() -> None:
    _, facts = seen(machine({"huawei.com/Ascend910-2c": 16}))
    assert facts.physical is None
