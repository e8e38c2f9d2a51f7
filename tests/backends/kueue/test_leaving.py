"""Leaving a cluster: what is ours and empty may go; nothing in use, nothing that others name, nothing of others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import Missing
from clusters.backends.kueue_volcano.leaving import Leaver
from clusters.contract import Fate, Rejected

OURS = {names.INSTALLATION: "me"}
IDLE = {"pendingWorkloads": 0, "reservingWorkloads": 0, "admittedWorkloads": 0}
LOCAL, TEAM, FLAVOR, COHORT = names.LOCAL_QUEUES, names.CLUSTER_QUEUES, names.FLAVORS, names.COHORTS
SPACE = "slu-vision"
Object = dict[str, Any]


class Cluster:
    """Objects by kind, and what was deleted; both accounts speak to it."""

    def __init__(self, objects: Mapping[names.Kind, list[Object]]) -> None:
        self.objects = objects
        self.deleted: list[str] = []
        self.before_delete: Callable[[], None] = lambda: None

    def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        for kind, items in self.objects.items():
            spaces = {each["metadata"].get("namespace") for each in items}
            if path in {kind.path(space) for space in spaces} | {kind.path()}:
                found = [each for each in items if path in (kind.path(), kind.path(each["metadata"].get("namespace")))]
                if params and "labelSelector" in params:
                    found = [each for each in found if each["metadata"]["labels"] == OURS]
                return json.dumps({"items": found}).encode()
            for each in items:
                if path == kind.path(each["metadata"].get("namespace"), each["metadata"]["name"]):
                    self.before_delete()
                    return json.dumps(each).encode()
        raise Missing("not_found", path)

    def delete(self, path: str, *, uid: str | None = None) -> None:
        assert uid is not None, "a delete names the exact object"
        if "refused" in path:
            raise Rejected("denied", path)
        self.deleted.append(path.rpartition("/")[2])
        for items in self.objects.values():
            items[:] = [each for each in items if each["metadata"]["uid"] != uid]


def thing(
    name: str, *, space: str = "", labels: Object | None = None, status: Object | None = None, **spec: Any
) -> Object:
    meta = {"name": name, "uid": f"uid-{name}", "labels": OURS if labels is None else labels}
    found: Object = {"metadata": meta | ({"namespace": space} if space else {}), "spec": spec}
    return found if status is None else {**found, "status": status}


def quota(flavor: str) -> list[Object]:
    return [{"flavors": [{"name": flavor, "resources": []}]}]


def cluster(**changed: list[Object]) -> Cluster:
    """One team with one queue for people, both empty, in one node group; and what is never taken away."""
    found = {
        "localqueues": [thing("default", space=SPACE, status=IDLE, clusterQueue="slu-cq")],
        "clusterqueues": [thing("slu-cq", status=IDLE, cohortName="slu", resourceGroups=quota("slu-h100"))],
        "resourceflavors": [thing("slu-h100")],
        "cohorts": [thing("slu")],
        "namespaces": [thing(SPACE)],
        "workloads": [],
    } | changed
    kinds = (LOCAL, TEAM, FLAVOR, COHORT, names.NAMESPACES, names.WORKLOADS)
    return Cluster({kind: found[kind.plural] for kind in kinds})


def leaver(found: Cluster) -> Leaver:
    client: Any = found
    return Leaver(client, client, "me")


def fates(found: Cluster) -> dict[str, str]:
    return {each.name: each.fate.value for each in leaver(found).left_behind()}


def test_what_is_ours_and_empty_goes_in_the_order_in_which_nothing_is_named_any_more() -> None:
    found = cluster()
    assert fates(found) == {
        "default": "goes", "slu-cq": "goes", "slu-h100": "goes", "slu": "stays", "slu-vision": "stays"
    }  # fmt: skip
    taken = leaver(found).take_away()
    assert found.deleted == ["default", "slu-cq", "slu-h100"] == [each.name for each in taken.removed]
    assert taken.failed == ()


@pytest.mark.parametrize("count", ["pendingWorkloads", "reservingWorkloads", "admittedWorkloads"])
def test_a_queue_with_work_stays_and_so_does_what_it_names(count: str) -> None:
    busy = thing("default", space=SPACE, status={**IDLE, count: 1}, clusterQueue="slu-cq")
    found = cluster(localqueues=[busy])
    assert fates(found)["default"] == "in_use"
    assert leaver(found).take_away().removed == () and found.deleted == []


def test_a_queue_of_which_the_gate_has_said_nothing_yet_may_be_in_use() -> None:
    silent = thing("default", space=SPACE, clusterQueue="slu-cq")
    assert fates(cluster(localqueues=[silent]))["default"] == "in_use"


@pytest.mark.parametrize(("over", "fate"), [("True", "goes"), ("False", "in_use")])
def test_work_that_is_held_is_counted_by_no_queue_and_keeps_it_all_the_same(over: str, fate: str) -> None:
    held = thing("job", space=SPACE, labels={}, queueName="default", active=False)
    held["status"] = {"conditions": [{"type": "Finished", "status": over}]}
    found = cluster(workloads=[held])
    assert fates(found)["default"] == fate
    leaver(found).take_away()
    assert ("default" in found.deleted) is (fate == "goes")


def test_what_others_use_of_ours_stays() -> None:
    """Somebody hands work in to our team queue by a queue of their own; another has our flavor in their quota."""
    theirs = thing("main", space="lab", labels={}, status=IDLE, clusterQueue="slu-cq")
    found = cluster(localqueues=[theirs])
    assert {name: fates(found)[name] for name in ("slu-h100",)} == {"slu-h100": "needed"}
    assert leaver(found).take_away().removed == ()
    other = thing("vision-cq", labels={}, status=IDLE, resourceGroups=quota("slu-h100"))
    found = cluster(clusterqueues=[other])
    assert fates(found)["slu-h100"] == "needed" and "vision-cq" not in fates(found)
    leaver(found).take_away()
    assert found.deleted == ["default"]


def test_nothing_of_others_is_even_listed() -> None:
    others = {names.INSTALLATION: "somebody else"}
    found = cluster(
        localqueues=[thing("default", space=SPACE, labels=others, status=IDLE, clusterQueue="x")],
        clusterqueues=[thing("x", labels={}, status=IDLE)],
        resourceflavors=[thing("any", labels={})],
        cohorts=[],
        namespaces=[],
    )
    assert fates(found) == {}
    assert leaver(found).take_away().removed == () and found.deleted == []


def test_what_got_work_a_moment_ago_is_not_removed() -> None:
    found = cluster()
    local = found.objects[LOCAL][0]
    found.before_delete = lambda: local["status"].update(pendingWorkloads=1)
    local["status"] = dict(IDLE)
    assert leaver(found).take_away().removed == () and found.deleted == []


def test_one_that_the_cluster_keeps_is_told_with_its_reason_and_what_it_needs_stays() -> None:
    kept = thing("refused", space=SPACE, status=IDLE, clusterQueue="slu-cq")
    found = cluster(localqueues=[kept, thing("default", space=SPACE, status=IDLE, clusterQueue="slu-cq")])
    taken = leaver(found).take_away()
    assert taken.failed == (("refused", "denied"),)
    assert found.deleted == ["default"], "its team queue is named by what stays"


def test_each_is_told_as_the_tools_of_the_cluster_call_it() -> None:
    left = {each.name: (each.space, each.address) for each in leaver(cluster()).left_behind() if each.fate is Fate.GOES}
    assert left["default"] == (SPACE, "localqueues.kueue.x-k8s.io/default")
    assert left["slu-h100"] == ("", "resourceflavors.kueue.x-k8s.io/slu-h100")
