"""C-32: virtual cards count by their number alone; their memory and cores are parts of a card, never cards."""

from __future__ import annotations

import pytest

from clusters.backends.kueue_volcano.bundle import card_resource
from clusters.backends.kueue_volcano.inventory import cluster_inventory
from clusters.backends.kueue_volcano.shape import ClusterShape
from clusters.contract import SharingMode
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
