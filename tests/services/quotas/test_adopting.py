"""Adopting queues of others: looked at without a write, taken over in one step or not at all, never counted twice."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEvent, User
from clusters.adoption_models import FoundQueue
from clusters.backends.kueue_volcano.credentials import Account
from clusters.connect import Upload
from clusters.found import found_look
from clusters.models import Cluster, ClusterMode
from clusters.sync import cluster_sync
from common.errors import InvalidInput, NotAllowed
from quotas.adopting import adopt, adoption_preview, found_ask, found_views
from quotas.cluster_services import cluster_open
from quotas.models import QuotaVersion, Share
from quotas.plans.errors import ChangedMeanwhile
from quotas.plans.services import plan_follow
from quotas.plans.store import stored
from quotas.selectors.rows import cluster_row, quota_groups
from quotas.services import quota_plan
from tests import foreign
from tests.api_server import ApiServer
from tests.cast import Cast
from tests.services.support import refused

pytestmark = pytest.mark.django_db

VISION = {"vision-cq": "vision"}


@pytest.fixture
def lab(cast: Cast, server: ApiServer) -> Cluster:
    """A cluster that others divided, connected and looked at; its two node groups are confirmed."""
    return foreign_lab(cast, server)


def foreign_lab(cast: Cast, server: ApiServer, **more: Any) -> Cluster:
    foreign.serve(server, **more)
    upload = Upload({account: foreign.kubeconfig(server, account) for account in Account})
    cluster = cluster_open(actor=cast.actor("admin"), name="Lab", upload=upload).cluster
    foreign.confirm_groups(cluster)
    assert cluster_sync(cluster)
    found_look(cluster)
    cluster.refresh_from_db()
    plan_follow(cluster, cluster.synced_at)
    return cluster


def nominal(cluster: Cluster, team: str, group: str = "h100") -> int:
    queue = next(each for each in quota_plan(cluster).queues if each.queue == team)
    return next((each.nominal for each in queue.quotas if each.node_group == group), 0)


def pool(cluster: Cluster, group: str = "h100") -> int:
    return next(each.nominal for each in quota_plan(cluster).pool if each.node_group == group)


def take(cast: Cast, lab: Cluster, choice: dict[str, str] | None = None, **more: Any) -> QuotaVersion:
    values = {"choice": choice or VISION, "expected_version": stored(lab).number, **more}
    return adopt(actor=cast.actor("admin"), cluster=lab, **values)


def change(server: ApiServer, lab: Cluster, *queues: foreign.Object, **more: Any) -> None:
    """Others change their queues; the console looks and divides anew."""
    foreign.serve(server, clusterqueues=list(queues), **more)
    found_look(lab)
    lab.refresh_from_db()
    plan_follow(lab, lab.synced_at)


def test_found_queues_are_told_with_whose_they_may_be(cast: Cast, lab: Cluster) -> None:
    views = {view.name: view for view in found_views(viewer=cast.actor("admin"), cluster=lab)}
    assert set(views) == {"vision-cq", "shared", "research"}
    assert (views["vision-cq"].proposed, views["vision-cq"].is_open) == ("vision", True)
    assert (views["shared"].proposed, views["shared"].is_open) == ("", True)
    assert views["research"].is_open is False
    with pytest.raises(NotAllowed):
        found_views(viewer=cast.actor("lead-vision"), cluster=lab)
    assert refused(lambda: found_views(viewer=cast.actor("admin"), cluster=cast.cluster)).code == "not_connected"


def test_cards_of_others_are_kept_out_of_the_pool_and_told_apart(lab: Cluster) -> None:
    assert (pool(lab), pool(lab, "a100")) == (32 - 16 - 4 - 8, 16 - 4 - 2)
    row = cluster_row(next(each for each in quota_groups() if each.group.cluster_id == lab.pk))
    assert (row.capacity, row.pool, row.aside, row.down) == (32, 4, 28, 0)
    assert row.capacity + row.missing + row.over == row.used + row.reserved + row.free + row.down + row.aside


def test_a_preview_says_what_comes_of_it_and_changes_nothing(cast: Cast, lab: Cluster) -> None:
    before = list(FoundQueue.objects.order_by("pk").values())
    preview = adoption_preview(viewer=cast.actor("admin"), cluster=lab, choice=VISION)
    taken = {part.group: part for part in preview.taken}
    assert (taken["h100"].found, taken["h100"].basis_points, taken["h100"].comes_to) == (16, 5_000, 16)
    assert (taken["h100"].aside, taken["h100"].starts_with, taken["h100"].difference) == (16, 0, 0)
    assert (preview.adopted, preview.left_alone) == (("vision-cq",), ("research", "shared"))
    assert list(FoundQueue.objects.order_by("pk").values()) == before
    assert not QuotaVersion.objects.filter(cluster=lab).exists()


def test_adopting_gives_the_team_the_share_and_no_card_twice(cast: Cast, lab: Cluster) -> None:
    version = take(cast, lab)
    assert (version.cause, version.author, version.reason) == (
        "adopt",
        User.objects.get(username="admin"),
        "adopted from vision-cq",
    )
    share = Share.objects.get(queue__cluster=lab, queue__team__slug="vision", group__slug="h100")
    assert (share.basis_points, share.nominal) == (5_000, 0)
    assert (nominal(lab, "vision"), pool(lab)) == (0, 32 - 16 - 4 - 8)
    event = AuditEvent.objects.filter(action="quota.adopt_queues").get()
    assert event.detail["queues"] == VISION
    row = FoundQueue.objects.get(name="vision-cq")
    assert (row.team, row.adopted) == (cast.teams["vision"], {"h100": 16, "a100": 4})


def test_the_quota_grows_as_the_found_queue_is_emptied(cast: Cast, lab: Cluster, server: ApiServer) -> None:
    take(cast, lab)
    shared = foreign.queue("shared", cohort="", any=6)
    for left, own in ((16, 0), (10, 6), (0, 16)):
        change(server, lab, foreign.queue("vision-cq", research_h100=left, research_a100=4), shared)
        assert (nominal(lab, "vision"), pool(lab)) == (own, 32 - 16 - 4 - 8)
    change(server, lab, shared)  # it is removed
    assert (nominal(lab, "vision"), nominal(lab, "vision", "a100")) == (16, 4)
    assert FoundQueue.objects.get(name="vision-cq").is_gone
    for _ in range(2):  # what is no longer set aside is forgotten by the look after
        change(server, lab, cohorts=[])
        assert (nominal(lab, "vision"), pool(lab)) == (16, 16)
    assert set(FoundQueue.objects.values_list("name", flat=True)) == {"vision-cq"}


def test_two_queues_of_one_team_make_one_share_also_one_after_the_other(cast: Cast, lab: Cluster) -> None:
    take(cast, lab)
    take(cast, lab, {"shared": "vision"})
    share = Share.objects.get(queue__cluster=lab, queue__team__slug="vision", group__slug="h100")
    assert (share.basis_points, share.nominal) == (6_250, 0)


def test_a_found_queue_that_grows_later_takes_from_the_pool_and_then_from_all(
    cast: Cast,
    lab: Cluster,
    server: ApiServer,
) -> None:
    take(cast, lab)
    change(server, lab, foreign.queue("vision-cq", research_h100=20))
    assert (nominal(lab, "vision"), pool(lab)) == (0, 4)
    change(server, lab, foreign.queue("vision-cq"), foreign.queue("greedy", any=48))
    assert nominal(lab, "vision") + pool(lab) == 0


def test_what_cannot_be_chosen_is_named(cast: Cast, lab: Cluster) -> None:
    def wrong(choice: dict[str, str]) -> set[tuple[str, str]]:
        error = refused(lambda: take(cast, lab, choice), InvalidInput)
        assert isinstance(error, InvalidInput)
        return {(problem.attr, problem.code) for problem in error.problems}

    assert wrong({"vision-cq": ""}) == {("queues", "nothing_chosen")}
    assert wrong({"nobodys": "vision"}) == {("queues.nobodys", "unknown_queue")}
    assert wrong({"research": "vision"}) == {("queues.research", "unknown_queue")}
    assert wrong({"vision-cq": "strangers"}) == {("queues.vision-cq", "unknown_team")}
    with pytest.raises(NotAllowed):
        adopt(actor=cast.actor("lead-vision"), cluster=lab, choice=VISION, expected_version=0)


def test_of_two_admins_at_once_the_second_is_told(cast: Cast, lab: Cluster) -> None:
    seen = stored(lab).number
    take(cast, lab, expected_version=seen)
    error = refused(lambda: take(cast, lab, {"shared": "robotics"}, expected_version=seen), ChangedMeanwhile)
    assert "admin" in str(error.message)
    error = refused(lambda: take(cast, lab))
    assert (error.code, "admin" in str(error.message)) == ("adopted_already", True)


@pytest.mark.parametrize(
    ("status", "reason", "code", "answer"),
    [
        (401, "Unauthorized", "unauthorized", 409),
        (403, "Forbidden", "forbidden", 409),
        (429, "TooManyRequests", "busy", 503),
        (503, "ServiceUnavailable", "server_error", 503),
    ],
)
@pytest.mark.parametrize("kind", ["clusterqueues", "resourceflavors"])
def test_a_cluster_that_does_not_answer_well_leaves_all_as_it_was(
    cast: Cast,
    lab: Cluster,
    server: ApiServer,
    kind: str,
    status: int,
    reason: str,
    code: str,
    answer: int,
) -> None:
    path = f"/apis/kueue.x-k8s.io/v1beta2/{kind}"
    server.answers[path] = (
        status,
        {"Content-Type": "application/json"},
        b'{"kind":"Status","reason":"%s"}' % reason.encode(),
    )
    before = list(FoundQueue.objects.order_by("pk").values())
    error = refused(lambda: take(cast, lab))
    assert (error.code, error.status) == (code, answer)
    assert list(FoundQueue.objects.order_by("pk").values()) == before
    assert Share.objects.filter(queue__cluster=lab, basis_points__gt=0).count() == 0


def test_nothing_of_all_this_is_a_write(cast: Cast, lab: Cluster, server: ApiServer) -> None:
    found_ask(viewer=cast.actor("admin"), cluster=lab)
    take(cast, lab)
    assert Cluster.objects.get(pk=lab.pk).mode == ClusterMode.WATCHING
    assert foreign.writes(server) == []
