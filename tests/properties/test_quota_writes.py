"""Quotas are written so that nobody is ever given what is not there, and nothing in use is forgotten."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clusters.backends.kueue_volcano.quota_objects import quota_objects, resource_groups
from clusters.backends.kueue_volcano.quota_order import decreases_first, limits_of, quotas_of, used
from clusters.backends.kueue_volcano.shape import ClusterShape, GroupShape, Manifest
from clusters.contract import GroupQuota, QueuePlan, QuotaPlan

Live = dict[tuple[str, str], dict[str, Any]]

RESOURCES = ("nvidia.com/gpu", "nvidia.com/gpu", "huawei.com/Ascend910")
GROUPS = {
    f"g{number}": GroupShape(resource, (("model", f"m{number}"),), 8, 1, 1) for number, resource in enumerate(RESOURCES)
}
SHAPE = ClusterShape("site", GROUPS)
RENAMED = ClusterShape("site", {**GROUPS, "g0": GroupShape("nvidia.com/gpu.shared", (("model", "m0"),), 8, 1, 1)})

limits = st.none() | st.integers(0, 3_000)
quotas = st.dictionaries(
    st.sampled_from(sorted(GROUPS)), st.tuples(st.integers(0, 3_000), limits, limits), max_size=3
).map(lambda found: tuple(GroupQuota(group, *numbers) for group, numbers in found.items()))
pools = st.dictionaries(st.sampled_from(sorted(GROUPS)), st.integers(0, 3_000), max_size=3).map(
    lambda found: tuple(GroupQuota(group, nominal) for group, nominal in found.items())
)


@st.composite
def plans(draw: st.DrawFn) -> QuotaPlan:
    queues = draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True))
    return QuotaPlan(
        queues=tuple(
            QueuePlan(
                queue,
                f"slu-{queue}",
                draw(quotas),
                ("default",),
                strict=draw(st.booleans()),
                reclaims=draw(st.booleans()),
                borrow_preempts_up_to=draw(st.none() | st.integers(100, 400)),
            )
            for queue in queues
        ),
        pool=draw(pools),
    )


def wanted_of(plan: QuotaPlan, shape: ClusterShape) -> list[Manifest]:
    objects = quota_objects(plan, shape)
    return [*objects.queues, objects.cohort]


def applied(live: Live, manifest: Manifest) -> None:
    """Server-side apply by the only manager: lists and labels as given, status as it was."""
    key = (manifest["kind"], manifest["metadata"]["name"])
    status = live.get(key, {}).get("status")
    live[key] = copy.deepcopy(manifest) | ({"status": status} if status is not None else {})
    for group in live[key]["spec"].get("resourceGroups", []):
        for flavor in group["flavors"]:
            for resource in flavor["resources"]:
                nominal = int(resource["nominalQuota"])
                if nominal and nominal % 1000 == 0:  # the form in which a cluster gives it back
                    resource["nominalQuota"] = f"{nominal // 1000}k"


def sums(live: Live) -> Counter[tuple[str, str]]:
    total: Counter[tuple[str, str]] = Counter()
    for obj in live.values():
        total.update(quotas_of(obj))
    return total


@st.composite
def clusters_in_use(draw: st.DrawFn) -> Live:
    live: Live = {}
    for manifest in wanted_of(draw(plans()), SHAPE):
        applied(live, manifest)
    for (kind, _name), obj in live.items():
        if kind == "ClusterQueue":
            obj["status"] = {
                "flavorsReservation": [
                    {"name": flavor, "resources": [{"name": resource, "total": str(draw(st.integers(0, 9)))}]}
                    for flavor, resource in quotas_of(obj)
                ]
            }
    return live


@given(clusters_in_use(), plans(), st.sampled_from([SHAPE, RENAMED]))
def test_the_sum_never_passes_what_was_or_what_will_be(live: Live, plan: QuotaPlan, shape: ClusterShape) -> None:
    wanted = wanted_of(plan, shape)
    before, after = sums(live), sums({(m["kind"], m["metadata"]["name"]): m for m in wanted})
    has_grown = False
    for write in decreases_first(list(live.values()), wanted):
        last = sums(live)
        applied(live, write)
        now = sums(live)
        has_grown = has_grown or any(now[pair] > last[pair] for pair in now)
        for pair, total in now.items():
            assert total <= (after[pair] if has_grown else max(before[pair], after[pair]))
    assert {pair: n for pair, n in sums(live).items() if n} == {pair: n for pair, n in after.items() if n}


@given(clusters_in_use(), plans(), st.sampled_from([SHAPE, RENAMED]))
def test_what_is_in_use_is_never_taken_away(live: Live, plan: QuotaPlan, shape: ClusterShape) -> None:
    held = {key: used(obj) for key, obj in live.items()}
    for write in decreases_first(list(live.values()), wanted_of(plan, shape)):
        assert held.get((write["kind"], write["metadata"]["name"]), frozenset()) <= quotas_of(write).keys()
        assert_well_formed(write)


@given(clusters_in_use(), plans())
def test_a_second_time_there_is_nothing_to_write(live: Live, plan: QuotaPlan) -> None:
    wanted = wanted_of(plan, SHAPE)
    for write in decreases_first(list(live.values()), wanted):
        applied(live, write)
    assert decreases_first(list(live.values()), wanted) == []


@given(clusters_in_use(), plans())
def test_an_object_is_written_at_most_twice_and_last_as_wanted(live: Live, plan: QuotaPlan) -> None:
    wanted = {(m["kind"], m["metadata"]["name"]): m for m in wanted_of(plan, SHAPE)}
    writes = decreases_first(list(live.values()), list(wanted.values()))
    per_object = Counter((m["kind"], m["metadata"]["name"]) for m in writes)
    assert all(count <= 2 for count in per_object.values())
    last = {(m["kind"], m["metadata"]["name"]): m for m in writes}
    for key in wanted.keys() & last.keys():
        plain = {name: value for name, value in last[key]["spec"].items() if name != "resourceGroups"}
        assert plain == {name: value for name, value in wanted[key]["spec"].items() if name != "resourceGroups"}


@given(clusters_in_use(), plans())
def test_no_write_lends_more_than_there_is_and_the_last_one_has_the_limits_of_the_plan(
    live: Live, plan: QuotaPlan
) -> None:
    wanted = wanted_of(plan, SHAPE)
    for write in decreases_first(list(live.values()), wanted):
        nominal = quotas_of(write)
        assert all(lend is None or lend <= nominal[pair] for pair, (_borrow, lend) in limits_of(write).items())
        applied(live, write)
    for manifest in wanted:
        assert limits_of(live[manifest["kind"], manifest["metadata"]["name"]]) == limits_of(manifest)


pairs = st.dictionaries(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(["r/1", "r/2", "r/3"])), st.integers(0, 9), max_size=8
)


@given(pairs)
def test_any_quotas_make_groups_that_a_cluster_accepts(amounts: Mapping[tuple[str, str], int]) -> None:
    manifest = {"kind": "ClusterQueue", "spec": {"resourceGroups": resource_groups(amounts)}}
    assert_well_formed(manifest)
    found = quotas_of(manifest)
    assert {pair: n for pair, n in found.items() if n} == {pair: n for pair, n in amounts.items() if n}
    assert amounts.keys() <= found.keys()


def assert_well_formed(manifest: Mapping[str, Any]) -> None:
    """The rules of the schema: each flavor and resource in one group, resources in the group's order."""
    groups = manifest["spec"]["resourceGroups"]
    assert_unique(resource for group in groups for resource in group["coveredResources"])
    assert_unique(flavor["name"] for group in groups for flavor in group["flavors"])
    for group in groups:
        for flavor in group["flavors"]:
            assert [resource["name"] for resource in flavor["resources"]] == group["coveredResources"]


def assert_unique(values: Iterable[str]) -> None:
    found = list(values)
    assert len(found) == len(set(found))
