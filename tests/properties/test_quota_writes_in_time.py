"""Between any two writes, whichever of them fails: never more quota than cards, no resource in use forgotten."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from clusters.backends.kueue_volcano import names, quotas
from clusters.backends.kueue_volcano.client import KubeClient, Missing
from clusters.backends.kueue_volcano.quota_order import quotas_of, used
from clusters.backends.kueue_volcano.shape import ClusterShape, GroupShape
from clusters.contract import BackendError, GroupQuota, QueuePlan, QuotaPlan, Rejected, Retryable
from quotas.domain.plan import Division, GroupPart, Plan, QueuePart

GROUPS = ("g0", "g1")
SHAPE = ClusterShape("site", {name: GroupShape("nvidia.com/gpu", (("model", name),), 8, 1, 1) for name in GROUPS})
FAILURES = (Rejected("forbidden"), Retryable("conflict"), Retryable("webhook_silent"), Retryable("timeout"))


class WatchedCluster:
    """Objects as server-side apply leaves them. It looks after every write, and refuses the one it is told to."""

    def __init__(self, capacity: Mapping[str, int]) -> None:
        self.capacity = {(names.flavor(group), "nvidia.com/gpu"): cards for group, cards in capacity.items()}
        self.objects: dict[str, dict[str, Any]] = {}
        self.fails_at: int | None = None
        self.error: BackendError = FAILURES[0]
        self.writes = 0

    def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        if params is None:
            if path not in self.objects:
                raise Missing("not_found")
            return json.dumps(self.objects[path]).encode()
        kinds = [kind for kind in quotas.KINDS.values() if kind.path() == path]
        return json.dumps({"items": [obj for obj in self.objects.values() if obj["kind"] == kinds[0].kind]}).encode()

    def apply(self, path: str, body: Mapping[str, Any]) -> bytes:
        self._count_write()
        before = self.objects.get(path, {})
        kept = {name: before[name] for name in ("status",) if name in before}
        after = {**json.loads(json.dumps(body)), **kept}
        after["metadata"]["uid"] = path
        assert used(before) <= quotas_of(after).keys(), "a resource in use was forgotten"
        self.objects[path] = after
        self.look()
        return b"{}"

    def delete(self, path: str, *, uid: str | None = None, grace_seconds: int | None = None) -> None:
        self._count_write()
        assert not used(self.objects.pop(path)), "a queue in use was deleted"

    def _count_write(self) -> None:
        self.writes += 1
        if self.writes == self.fails_at:
            raise self.error

    def look(self) -> None:
        total: Counter[tuple[str, str]] = Counter()
        for obj in self.objects.values():
            total.update(quotas_of(obj))
        assert all(given <= self.capacity.get(pair, 0) for pair, given in total.items()), total

    def hold(self, draw: st.DrawFn) -> None:
        """Jobs hold some of what there is, also of queues that have no quota any more."""
        for obj in self.objects.values():
            if obj["kind"] == names.CLUSTER_QUEUES.kind:
                totals = {pair: draw(st.integers(0, 2)) for pair in quotas_of(obj)}
                obj["status"] = {
                    "reservingWorkloads": sum(totals.values()),
                    "flavorsReservation": [
                        {"name": flavor, "resources": [{"name": resource, "total": str(total)}]}
                        for (flavor, resource), total in totals.items()
                    ],
                }


@st.composite
def divided(draw: st.DrawFn, capacity: Mapping[str, int]) -> QuotaPlan:
    """Any shares of these cards; what is left is the pool. Teams and whole groups may be missing."""
    names_of = draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True))
    groups = draw(st.lists(st.sampled_from(GROUPS), unique=True))
    left, queues = dict.fromkeys(groups, 10_000), {}
    for name in names_of:
        parts = {}
        for group in groups:
            points = draw(st.integers(0, left[group]))
            left[group] -= points
            parts[group] = GroupPart(points)
        queues[name] = QueuePart(groups=parts)
    shared_out = Division(Plan(queues), {group: capacity[group] for group in groups}).shared_out()
    return QuotaPlan(
        queues=tuple(
            QueuePlan(
                name,
                f"slu-{name}",
                tuple(GroupQuota(group, shared_out.part(name, group).nominal) for group in groups),
                ("default",),
            )
            for name in names_of
        ),
        pool=tuple(GroupQuota(group, shared_out.pool[group]) for group in groups),
    )


def bring(cluster: WatchedCluster, plan: QuotaPlan) -> bool:
    """Whether all of it was written."""
    try:
        report = quotas.apply(cast(KubeClient, cluster), plan, SHAPE)
    except BackendError:
        return False
    assert report.drift is None  # what a write of ours left half done is nobody else's doing
    return not report.failed


@given(st.data())
def test_every_moment_of_any_change_of_plans_is_safe_also_when_a_write_fails(data: st.DataObject) -> None:
    capacity = {group: data.draw(st.integers(0, 50)) for group in GROUPS}
    cluster = WatchedCluster(capacity)
    assert bring(cluster, data.draw(divided(capacity)))
    for _ in range(data.draw(st.integers(1, 3))):  # each change begins where the one before it broke off
        cluster.hold(data.draw)
        cluster.writes, cluster.fails_at = 0, data.draw(st.none() | st.integers(1, 12))
        cluster.error = data.draw(st.sampled_from(FAILURES))
        plan = data.draw(divided(capacity))
        bring(cluster, plan)
    cluster.fails_at = None
    assert bring(cluster, plan)
    for queue in plan.queues:
        found = quotas_of(cluster.objects[names.CLUSTER_QUEUES.path(None, names.cluster_queue(queue.queue))])
        planned = {names.flavor(quota.node_group): quota.nominal for quota in queue.quotas}
        assert {flavor: given for (flavor, _resource), given in found.items() if given} == {
            flavor: given for flavor, given in planned.items() if given
        }


@given(st.data())
def test_when_cards_went_away_the_sum_only_falls_until_it_is_theirs(data: st.DataObject) -> None:
    before = {group: data.draw(st.integers(0, 50)) for group in GROUPS}
    after = {group: data.draw(st.integers(0, cards)) for group, cards in before.items()}
    cluster = WatchedCluster(before)
    assert bring(cluster, data.draw(divided(before)))
    plan = data.draw(divided(after))
    assert bring(cluster, plan)
    cluster.capacity = {(names.flavor(group), "nvidia.com/gpu"): cards for group, cards in after.items()}
    cluster.look()
