"""C-32: virtual cards count by their number alone; their memory and cores are parts of a card, never cards."""

from __future__ import annotations

import json

import pytest

from clusters.backends.kueue_volcano.bundle import card_resource
from clusters.backends.kueue_volcano.inventory import cluster_inventory
from clusters.backends.kueue_volcano.shape import ClusterShape
from clusters.contract import CardPart, SharingMode
from tests.backends.kueue.objects import INSTALLATION, Object, job, moment, node, pod, snapshot_of

HAMI = {"nvidia.com/gpu": "2", "nvidia.com/gpucores": "30", "nvidia.com/gpumem": "1024"}
VOLCANO = {"volcano.sh/vgpu-number": "2", "volcano.sh/vgpu-cores": "30", "volcano.sh/vgpu-memory": "1024"}


@pytest.mark.parametrize(
    ("asks", "expected"),
    [
        (HAMI, "nvidia.com/gpu"),
        (VOLCANO, "volcano.sh/vgpu-number"),
        (("hygon.com/dcucores", "hygon.com/dcumem", "hygon.com/dcunum"), "hygon.com/dcunum"),
        (("metax-tech.com/sgpu", "metax-tech.com/vcore", "metax-tech.com/vmemory"), "metax-tech.com/sgpu"),
        (("huawei.com/Ascend910B3", "huawei.com/Ascend910B3-memory"), "huawei.com/Ascend910B3"),
        (("mellanox.com/hca", "nvidia.com/gpu"), "nvidia.com/gpu"),
        (("example.com/fpga", "nvidia.com/gpu"), "nvidia.com/gpu"),
        (("example.com/fpga",), "example.com/fpga"),
        (("nvidia.com/total-gpucores", "nvidia.com/total-gpumem", "nvidia.com/gpumemory"), ""),
        ((), ""),
    ],
)
def test_the_resource_of_cards_is_found_among_all_that_is_asked_for(asks: tuple[str, ...], expected: str) -> None:
    assert card_resource(asks) == expected


def asking(amounts: dict[str, str]) -> Object:
    return {"name": "main", "resources": {"limits": amounts}}


@pytest.mark.parametrize("amounts", [HAMI, VOLCANO])
def test_a_job_whose_size_was_not_written_down_has_the_number_of_its_virtual_cards(amounts: dict[str, str]) -> None:
    bare = job(pods=1)
    bare["metadata"]["annotations"] = {}
    (row,) = snapshot_of(bare, pod(0, containers=[asking(amounts)])).observed(read_at=moment(100))
    assert [found.cards for found in row.facts.pods] == [2]


def test_a_card_cut_into_virtual_ones_is_a_shared_group_whose_pods_hold_slices() -> None:
    machine = node(cards=20)
    for offered in ("capacity", "allocatable"):
        machine["status"][offered] |= {"nvidia.com/gpucores": "600", "nvidia.com/gpumem": "20480"}
    stranger = pod(0, labels={}, owner=None, uid="somebody", name="somebody", containers=[asking(HAMI)])
    found = cluster_inventory(snapshot_of(machine, stranger), ClusterShape(INSTALLATION, {}), moment(1000))
    ((group,), (facts,)) = (found.groups, found.nodes)
    assert (group.sharing, group.unit) == (SharingMode.VGPU, "slice")
    assert (facts.installed, facts.outside, facts.free) == (20, 2, 18)


# --------------------------------------------------------------------------- memory and cores beside the number


def machine(count: str, cards: int, annotations: dict[str, str] | None = None, **offers: int) -> Object:
    thing = node(cards=0, labels={})
    thing["metadata"]["annotations"] = annotations or {}
    for part in ("capacity", "allocatable"):
        thing["status"][part] |= {count: str(cards)} | {name: str(amount) for name, amount in offers.items()}
    return thing


def strangers(*asks: dict[str, str], running: bool = True) -> list[Object]:
    phase = "Running" if running else "Pending"
    return [
        pod(
            0,
            labels={},
            owner=None,
            uid=f"p{at}-{phase}",
            name=f"p{at}-{phase}",
            containers=[asking(amounts)],
            phase=phase,
        )
        for at, amounts in enumerate(asks)
    ]


def parts_of(*objects: Object) -> dict[str, CardPart]:
    (facts,) = cluster_inventory(snapshot_of(*objects), ClusterShape(INSTALLATION, {}), moment(1000)).nodes
    return {part.resource: part for part in facts.parts}


def test_memory_and_cores_are_for_each_card_and_are_summed_in_their_own_units() -> None:
    """C-32: two cards with 1024 MiB and 30 % each are 2048 MiB and 60 %."""
    there = machine("nvidia.com/gpu", 20, **{"nvidia.com/gpucores": 600, "nvidia.com/gpumem": 20_480})
    found = parts_of(there, *strangers(HAMI), *strangers({**HAMI, "nvidia.com/gpu": "1"}, running=False))
    assert found == {
        "nvidia.com/gpumem": CardPart("nvidia.com/gpumem", "MiB", 20_480, 3_072, 2_048, 0),
        "nvidia.com/gpucores": CardPart("nvidia.com/gpucores", "%", 600, 90, 60, 0),
    }


def test_each_container_multiplies_by_its_own_cards() -> None:
    there = machine("nvidia.com/gpu", 20, **{"nvidia.com/gpucores": 600, "nvidia.com/gpumem": 20_480})
    (two,) = strangers(HAMI)
    two["spec"]["containers"].append({**asking({"nvidia.com/gpu": "1", "nvidia.com/gpumem": "512"}), "name": "side"})
    found = parts_of(there, two)
    assert (found["nvidia.com/gpumem"].asked, found["nvidia.com/gpucores"].asked) == (2_560, 60)


def test_cards_whose_share_of_memory_nobody_names_are_told_beside_the_sum() -> None:
    """A percentage names the memory as well, in another unit; it is not added to what is asked in MiB."""
    bare, percent = {"nvidia.com/gpu": "3"}, {"nvidia.com/gpu": "1", "nvidia.com/gpumem-percentage": "50"}
    there = machine("nvidia.com/gpu", 20, **{"nvidia.com/gpucores": 600, "nvidia.com/gpumem": 20_480})
    found = parts_of(there, *strangers(HAMI, bare, percent))
    assert (found["nvidia.com/gpumem"].asked, found["nvidia.com/gpumem"].unsaid) == (2_048, 3)
    assert found["nvidia.com/gpucores"].unsaid == 4
    assert found["nvidia.com/gpumem-percentage"] == CardPart("nvidia.com/gpumem-percentage", "%", None, 50, 50, 3)


def test_what_a_node_has_is_read_from_its_register_where_it_reports_no_such_resource() -> None:
    text = "GPU-a,10,32768,NVIDIA-A100,true,hami-core:GPU-b,10,32768,NVIDIA-A100,true,hami-core"
    there = machine("volcano.sh/vgpu-number", 20, {"volcano.sh/node-vgpu-register": text})
    found = parts_of(there, *strangers(VOLCANO))
    assert {name: (part.asked, part.capacity) for name, part in found.items()} == {
        "volcano.sh/vgpu-memory": (2_048, 65_536),
        "volcano.sh/vgpu-cores": (60, 200),
    }


def test_portions_of_npus_are_called_after_their_card() -> None:
    asks = {"huawei.com/Ascend910B3": "2", "huawei.com/Ascend910B3-memory": "8192"}
    devices = json.dumps([{"id": f"npu-{at}", "count": 4, "devmem": 65_536, "devcore": 20} for at in range(2)])
    there = machine("huawei.com/Ascend910B3", 8, {"hami.io/node-register-Ascend910B3": devices})
    assert parts_of(there, *strangers(asks)) == {
        "huawei.com/Ascend910B3-memory": CardPart("huawei.com/Ascend910B3-memory", "MiB", 131_072, 16_384, 16_384, 0)
    }


def test_whole_cards_have_no_such_parts_and_what_nobody_gives_or_asks_for_is_not_listed() -> None:
    assert parts_of(node(), *strangers({"nvidia.com/gpu": "2"})) == {}
    assert parts_of(machine("volcano.sh/vgpu-number", 20), *strangers({"volcano.sh/vgpu-number": "2"})) == {}
