"""Flavors follow the labels of their groups, although a gate that chooses nodes lets nobody change them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import msgspec

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import KubeClient
from clusters.backends.kueue_volcano.quotas import apply
from clusters.backends.kueue_volcano.shape import ClusterShape
from clusters.contract import GroupQuota, QueuePlan, QuotaPlan
from tests.unit.clusters.kueue_volcano.shapes import H100, SHAPE

PLAN = QuotaPlan((QueuePlan("a", "slu-a", (GroupQuota("h100", 8),), ("default",)),), (GroupQuota("h100", 8),))
ALL = replace(SHAPE, groups={"h100": H100})
NARROW = replace(SHAPE, groups={"h100": replace(H100, selector=(*H100.selector, ("site/fabric", "nvlink")))})
FLAVOR = names.FLAVORS.path(None, names.flavor("h100"))


class Gate:
    """A server that keeps flavors with their nodes' labels as they were made, and those in use until they are freed."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.gone: list[str] = []
        self._made = 0

    def get(self, path: str, params: Any = None) -> bytes:
        if params is None:
            return msgspec.json.encode({"metadata": {"labels": {names.INSTALLATION: SHAPE.installation}}})
        end = path.rsplit("/", 1)[-1]
        return msgspec.json.encode({"items": [found for key, found in self.objects.items() if f"/{end}/" in key]})

    def apply(self, path: str, body: dict[str, Any]) -> bytes:
        found = self.objects.get(path)
        if found is None:
            self._made += 1
            found = self.objects[path] = {"metadata": {"uid": f"uid-{self._made}"}, "spec": {}}
        elif "topologyName" in found["spec"]:
            assert found["spec"] == body["spec"], "nodeLabels are immutable when topologyName is set"
        found["metadata"] |= body["metadata"]
        found |= {**body, "metadata": found["metadata"]}
        return b"{}"

    def delete(self, path: str, *, uid: str | None = None, grace_seconds: int | None = None) -> None:
        assert self.objects[path]["metadata"]["uid"] == uid
        self.objects[path]["metadata"]["deletionTimestamp"] = "2026-03-12T08:00:00Z"

    def merge(self, path: str, body: dict[str, Any], *, dry_run: bool = False) -> bytes:
        found = self.objects[path]["metadata"]
        assert body["metadata"] == {"uid": found["uid"], "finalizers": None} and "deletionTimestamp" in found
        del self.objects[path]
        self.gone.append(path)
        return b"{}"


def brought(server: Gate, shape: ClusterShape, plan: QuotaPlan = PLAN) -> tuple[str, ...]:
    report = apply(cast(KubeClient, server), plan, shape)
    assert report.failed == ()
    return report.changed


def test_a_flavor_gets_other_labels_under_its_own_name_and_then_stays() -> None:
    server = Gate()
    brought(server, ALL)
    for shape in (NARROW, ALL):
        assert names.flavor("h100") in brought(server, shape)
        assert server.objects[FLAVOR]["spec"]["nodeLabels"] == dict(shape.groups["h100"].selector)
        assert brought(server, shape) == (), "nothing is left to do"
    assert server.gone == [FLAVOR, FLAVOR]


def test_a_flavor_without_a_topology_is_changed_in_place() -> None:
    server = Gate()
    brought(server, replace(ALL, topology_aware=False))
    brought(server, replace(NARROW, topology_aware=False))
    assert server.objects[FLAVOR]["spec"] == {"nodeLabels": dict(NARROW.groups["h100"].selector)}
    assert server.gone == []


def test_the_flavor_of_a_group_that_is_gone_goes_too() -> None:
    server = Gate()
    brought(server, ALL)
    changed = brought(server, replace(ALL, groups={}), QuotaPlan((QueuePlan("a", "slu-a", (), ("default",)),), ()))
    assert names.flavor("h100") in changed
    assert "deletionTimestamp" in server.objects[FLAVOR]["metadata"]
    assert "deletionTimestamp" not in server.objects[names.FLAVORS.path(None, names.NO_CARDS_FLAVOR)]["metadata"]
