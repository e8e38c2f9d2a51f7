"""Weights that are switched off leave nothing on the cluster's queues."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, cast

import msgspec

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import KubeClient
from clusters.backends.kueue_volcano.quotas import apply
from clusters.contract import GroupQuota, QueuePlan, QuotaPlan
from tests.unit.clusters.kueue_volcano.shapes import SHAPE

PLAN = QuotaPlan(
    queues=tuple(QueuePlan(team, f"slu-{team}", (GroupQuota("h100", 8),), ("default",)) for team in ("a", "b")),
    pool=(GroupQuota("h100", 8),),
)
WEIGHED = replace(PLAN, queues=tuple(replace(queue, weights=(("default", 2),)) for queue in PLAN.queues))


class Recorded:
    """A server that keeps what is written. An apply leaves what it does not name: somebody else has set it too."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.merged: list[tuple[str, Any]] = []

    def get(self, path: str, params: Any = None) -> bytes:
        if params is None:
            return msgspec.json.encode({"metadata": {"labels": {names.INSTALLATION: SHAPE.installation}}})
        end = path.rsplit("/", 1)[-1]
        return msgspec.json.encode({"items": [found for key, found in self.objects.items() if f"/{end}/" in key]})

    def apply(self, path: str, body: dict[str, Any]) -> bytes:
        found = self.objects.setdefault(path, {"metadata": {"uid": path}})
        written = copy.deepcopy(body)
        found["metadata"] |= written.pop("metadata")
        found["spec"] = found.get("spec", {}) | written.pop("spec", {})
        found |= written
        return b"{}"

    def merge(self, path: str, body: dict[str, Any], *, dry_run: bool = False) -> bytes:
        self.merged.append((path, body))
        for name, value in body["spec"].items():
            assert value is None
            del self.objects[path]["spec"][name]
        return b"{}"

    def settings(self, name: str) -> set[str]:
        """Paths of the objects that have it."""
        return {path for path, found in self.objects.items() if name in found.get("spec", {})}


def brought(server: Recorded, plan: QuotaPlan) -> tuple[str, ...]:
    report = apply(cast(KubeClient, server), plan, SHAPE)
    assert report.failed == ()
    return report.changed


def test_switching_weights_off_takes_their_settings_away_once_and_touches_nothing_else() -> None:
    server = Recorded()
    brought(server, WEIGHED)
    assert len(server.settings("admissionScope")) == len(PLAN.queues)
    assert brought(server, WEIGHED) == () and server.merged == []
    brought(server, PLAN)
    assert server.settings("admissionScope") == server.settings("fairSharing") == set()
    assert {name for _path, body in server.merged for name in body["spec"]} == {"admissionScope", "fairSharing"}
    server.merged.clear()
    assert brought(server, PLAN) == () and server.merged == []
