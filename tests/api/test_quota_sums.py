"""The sums of the quota table when nothing in it is zero, read as a script reads them: over HTTP, level by level."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Team
from clusters.models import Node, NodeGroup, ObservedWorkload
from clusters.selectors import node_view
from quotas.models import Demand, GroupCards, LocalQueue, Share, TeamQueue
from quotas.services import team_queue_create
from tests.api.client import Api
from tests.api.test_quota_rows import rows
from tests.cast import Cast, build_cluster

EXACT = ("nominal", "usable", "used", "reserved", "free", "over", "down", "pending", "pending_jobs")
KEYS = (*EXACT, "borrowed", "lent", "borrowable")
OF_CLUSTER = ("capacity", "pool", "pool_lent", "pool_down", "pool_free", "missing", "down_held", "releasing", "outside")
POOL = {"nominal": "pool", "usable": "pool_free", "free": "pool_free", "lent": "pool_lent", "down": "pool_down"}


class Scene:
    """Rows as a sync would leave them."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self._jobs = 0

    def shares(self, group: NodeGroup, nominal: dict[str, int], *, divided: int) -> None:
        for team, cards in nominal.items():
            Share.objects.filter(queue__slug=team, group=group).update(nominal=cards)
        GroupCards.objects.update_or_create(group=group, defaults={"cards": divided})

    def job(self, queue: str, group: NodeGroup, *, running: int = 0, starting: int = 0, waiting: int = 0) -> None:
        """Of a local queue `team/name`: what runs, what is admitted and does not run, what waits."""
        self._jobs += 1
        ulid, (team, name) = f"{self._jobs:026}", queue.split("/")
        local = LocalQueue.objects.get(queue__slug=team, queue__cluster=group.cluster, slug=name)
        held = running + starting
        Demand.objects.create(job_ulid=ulid, local_queue=local, group=group, owner_id=1, cards=held + waiting)
        ObservedWorkload.objects.create(
            cluster=group.cluster, job_ulid=ulid, attempt_no=1, uid=ulid, revision="1", version=self._jobs, facts={},
            cards_running=running, cards_held=held, seen_at=timezone.now(),
        )  # fmt: skip

    def node(self, group: NodeGroup, number: int, *, used: int = 0, ending: int = 0, **more: Any) -> None:
        node = Node.objects.filter(group=group).order_by("name")[number]
        holder = {"job_ulid": "0" * 26, "attempt": 1, "running": True}
        node.holders = [{**holder, "cards": used, "ending": False}, {**holder, "cards": ending, "ending": True}]
        for name, value in more.items():
            setattr(node, name, value)
        node.free = node_view(node, group.slug).free
        node.save()


def with_something_everywhere(cast: Cast) -> Scene:
    """Cards that are free and quota that is held over cannot be in one group, so that it takes four."""
    scene = Scene(cast)
    LocalQueue.objects.create(queue=cast.queues["vision"], slug="night", name="Night", weight=2)
    h100, a100, ascend = (cast.groups[slug] for slug in ("h100", "a100", "ascend-910b"))

    # A node was closed for long while 24 cards of 32 are divided; two teams hold more than they have now.
    scene.shares(h100, {"vision": 8, "language": 8, "robotics": 8}, divided=24)
    scene.job("vision/default", h100, running=9)
    scene.job("vision/default", h100, waiting=8)
    scene.job("vision/night", h100, running=3, starting=2)
    scene.job("language/default", h100, starting=8)
    scene.job("language/default", h100, waiting=16)
    scene.job("robotics/default", h100, running=4)
    scene.node(h100, 0, used=6, ending=2, health="cordoned")
    scene.node(h100, 1, used=7, outside=1)

    # The pool and both neighbours lend, some cards are sick, the rest is free.
    scene.shares(a100, {"vision": 8, "language": 9, "robotics": 11}, divided=32)
    scene.job("vision/default", a100, running=6, starting=2)
    scene.job("vision/night", a100, running=6)
    scene.job("vision/night", a100, waiting=4)
    scene.job("language/default", a100, running=2, starting=2)
    scene.job("robotics/default", a100, running=1)
    scene.node(a100, 0, used=3, ending=1, sick=3, health="degraded")
    scene.node(a100, 1, outside=2)

    # One of two nodes has left and the other is down, and what is held bears nothing of it. Not whole cards either.
    NodeGroup.objects.filter(pk=ascend.pk).update(unit="slice")
    scene.shares(ascend, {"vision": 4, "language": 4, "robotics": 4}, divided=16)
    scene.job("vision/night", ascend, running=5, starting=2)
    Node.objects.filter(group=ascend).order_by("name")[1].delete()
    scene.node(ascend, 0, used=5, health="down", outside=1)

    # The pool lends one card and has one left.
    spare = NodeGroup.objects.create(
        cluster=cast.cluster, slug="spare", title="Spare", vendor="nvidia", card_model="L40", sharing="exclusive",
        unit="card", cards_per_node=8, position=9,
    )  # fmt: skip
    Share.objects.bulk_create(Share(queue=queue, group=spare, basis_points=2_500) for queue in cast.queues.values())
    Node.objects.create(
        cluster=cast.cluster, group=spare, name="spare-1", health="ready", installed=8, free=8, seen_at=timezone.now()
    )
    scene.shares(spare, {"vision": 2, "language": 2, "robotics": 2}, divided=8)
    scene.job("vision/default", spare, running=3)
    return scene


def added(found: list[dict[str, Any]], figures: tuple[str, ...]) -> Counter[str]:
    total: Counter[str] = Counter(dict.fromkeys(figures, 0))
    for row in found:
        total.update({name: row[name] for name in figures})
    return total


def check_levels(api: Api, cluster: str) -> None:
    """Every row of every node group of a cluster, against the three sums."""
    teams, local, totals = (
        rows(api, f"quotas?cluster={cluster}&level={level}") for level in ("team", "local", "cluster")
    )
    for row in (*teams, *local, *totals):
        assert all(type(row[name]) is int and row[name] >= 0 for name in KEYS)
        assert row["usable"] == row["nominal"] - row["lent"] - row["down"] + row["borrowed"] + row["over"]
        assert row["used"] + row["reserved"] + row["free"] == row["usable"]
        assert row["used"] + row["reserved"] <= row["nominal"] or row["borrowed"] + row["over"]
    for total in totals:
        of_group = [row for row in teams if row["node_group"] == total["node_group"]]
        for team in of_group:
            mine = [
                row for row in local
                if (row["node_group"], row["queue"].split("/")[0]) == (team["node_group"], team["queue"])
            ]  # fmt: skip
            sums = added(mine, KEYS)
            assert {name: sums[name] for name in EXACT} == {name: team[name] for name in EXACT}
            assert sums["borrowed"] - sums["lent"] == team["borrowed"] - team["lent"]
        sums = added(of_group, KEYS)
        for name in (*EXACT, "borrowed", "lent"):
            assert sums[name] + (total[POOL[name]] if name in POOL else 0) == total[name], name
        assert total["pool"] == total["pool_lent"] + total["pool_down"] + total["pool_free"]
        assert total["lent"] == total["borrowed"]
        assert (
            total["capacity"] + total["missing"] + total["over"]
            == total["used"] + total["reserved"] + total["free"] + total["down"] + total["aside"]
        )
        assert {row["unit"] for row in of_group} == {total["unit"]}


def test_the_levels_add_up_while_nothing_is_zero(standing_cast: Cast) -> None:
    with_something_everywhere(standing_cast)
    api = Api("admin")
    check_levels(api, "sandbox")
    teams, totals = rows(api, "quotas"), rows(api, "quotas?level=cluster")
    assert all(added(teams, KEYS)[name] for name in KEYS)
    assert all(added(totals, OF_CLUSTER)[name] for name in OF_CLUSTER)
    h100, a100, ascend = (
        next(row for row in totals if row["node_group"] == group) for group in ("h100", "a100", "ascend-910b")
    )
    assert [h100[name] for name in ("capacity", "used", "reserved", "borrowed", "over", "free", "down")] == [
        32, 16, 10, 4, 2, 0, 8,
    ]  # fmt: skip
    assert [a100[name] for name in ("capacity", "used", "reserved", "borrowed", "over", "free", "down")] == [
        32, 15, 4, 6, 0, 10, 3,
    ]  # fmt: skip
    assert [(row["releasing"], row["outside"]) for row in (h100, a100, ascend)] == [(2, 1), (1, 2), (0, 1)]
    assert (ascend["unit"], ascend["missing"], ascend["capacity"]) == ("slice", 8, 8)


@pytest.mark.parametrize("team", ["vision", "language", "robotics"])
def test_a_queue_says_of_itself_what_the_table_says(standing_cast: Cast, team: str) -> None:
    with_something_everywhere(standing_cast)
    api = Api("admin")
    own = api.get(f"quotas/{team}")["results"]
    assert own == [row for row in rows(api, "quotas") if row["queue"] == team]
    for local in rows(api, "quotas?level=local"):
        if local["queue"].startswith(f"{team}/"):
            assert local in api.get(f"quotas/{local['queue']}")["results"]
    assert all(row[name] is None for row in own for name in OF_CLUSTER)


def test_queues_of_one_name_on_two_clusters_are_never_mixed(standing_cast: Cast) -> None:
    second = build_cluster("north", is_default=False)
    for team in Team.objects.all():
        team_queue_create(actor=None, team=team, cluster=second)
    scene = with_something_everywhere(standing_cast)
    h100 = NodeGroup.objects.get(cluster=second, slug="h100")
    scene.shares(h100, {"vision": 1, "language": 2, "robotics": 0}, divided=32)
    scene.job("vision/default", h100, running=1)
    api = Api("admin")
    for cluster in ("sandbox", "north"):
        check_levels(api, cluster)
    found = [row for row in api.get("quotas/vision")["results"] if row["node_group"] == "h100"]
    assert {(row["cluster"], row["nominal"], row["used"], row["pending"]) for row in found} == {
        ("sandbox", 8, 12, 8), ("north", 1, 1, 0),
    }  # fmt: skip
    assert TeamQueue.objects.filter(slug="vision").count() == 2
